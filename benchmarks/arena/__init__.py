"""Trap tasks on which agents with a memory and without one are compared."""
