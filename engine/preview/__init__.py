"""Tickets as their authors want to look at them: what the agent sees, and what is hidden from it."""
