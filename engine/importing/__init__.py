"""Packs made of what is there already: tickets that a help desk exports as CSV, and GitHub's issue forms."""
