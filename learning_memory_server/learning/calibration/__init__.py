"""How well predictions turn out: stated confidence, shares that held, and what advice changes. Pure functions."""
