"""Clients' hooks: their events become triggers, and what is shown becomes their answers."""
