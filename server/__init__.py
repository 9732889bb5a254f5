"""The packs over HTTP: a service that knows no protocol, and thin adapters around it.

PYTEST_DONT_REWRITE: see engine/__init__.py.
"""
