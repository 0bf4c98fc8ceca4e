"""What a person has said: calls that were refused, and answers to what agents may be shown."""
