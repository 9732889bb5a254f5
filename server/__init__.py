"""The packs over HTTP: a service that knows no protocol, and thin adapters around it."""
