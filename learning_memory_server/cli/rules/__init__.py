"""The commands for rules: add, change and retire rules, and answer suggestions."""
