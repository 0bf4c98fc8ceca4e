"""The commands on rules: what a person says of them, and what waits for a person's answer."""
