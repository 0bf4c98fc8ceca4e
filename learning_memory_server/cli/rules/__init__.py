"""The commands on rules: a person makes, changes and retires rules, and answers suggestions."""
