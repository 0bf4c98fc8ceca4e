"""Rules of a person: where they come from, what they match, and how agents keep to them."""
