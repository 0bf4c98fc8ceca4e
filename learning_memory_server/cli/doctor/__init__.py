"""`doctor`: checks that return findings, one module per layer. `command` shows the findings and repairs."""
