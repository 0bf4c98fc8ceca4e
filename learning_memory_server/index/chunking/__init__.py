"""How long texts are cut into parts."""
