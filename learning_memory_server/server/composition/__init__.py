"""Where settings become services: backends, wiring, logging, and statistics over all of them."""
