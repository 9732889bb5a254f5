"""From YAML text to packs, cases, automata, episodes and proofs; see docs/contributing.md for the rooms.

PYTEST_DONT_REWRITE: pytest would rewrite what comes with a plugin, and warn of what was imported before it.
"""
