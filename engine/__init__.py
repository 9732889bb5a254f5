"""From YAML text to packs, cases, automata, episodes and proofs; see docs/contributing.md for the rooms."""
