"""What the product is about, in the standard library alone."""
