"""Past sessions: how often they would have broken rules, and a report."""
