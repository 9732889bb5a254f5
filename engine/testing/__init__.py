"""Scenarios of packs in tests of one's own; `engine.pytest_plugin` brings them to pytest. Outside the pure core."""
