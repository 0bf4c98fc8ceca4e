"""What a person has said: calls that were refused, preferences, and answers to what agents may be shown."""
