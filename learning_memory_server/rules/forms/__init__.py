"""Common wordings of rules, each converted to a pattern."""
