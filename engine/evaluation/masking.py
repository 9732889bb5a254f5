"""Agents by name without what is secret in their names: these stand in messages, and in files that are handed on."""

from __future__ import annotations

import re
from collections.abc import Sequence
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

MASK = "***"

_SECRET = re.compile(r"key|token|secret|passw|credential|auth|(?:^|[^a-z])sig(?:nature)?(?:$|[^a-z])", re.IGNORECASE)


def is_secret(name: str) -> bool:
    """Whether the value of something that is called so is nobody else's business."""
    return _SECRET.search(name) is not None


def masked_url(url: str) -> str:
    """An address without its password, and without what parameters with a secret's name are set to."""
    try:
        parts = urlsplit(url)
        query = parse_qsl(parts.query, keep_blank_values=True, strict_parsing=True) if parts.query else []
    except ValueError:
        return url.partition("?")[0].rpartition("@")[2]
    user, at, host = parts.netloc.rpartition("@")
    if not at and not any(is_secret(name) for name, _ in query):
        return url
    hidden = [(name, MASK if is_secret(name) else value) for name, value in query]
    host = f"{user.partition(':')[0]}:{MASK}@{host}" if at else host
    return urlunsplit(parts._replace(netloc=host, query=urlencode(hidden, safe="*")))


def masked_words(words: Sequence[str]) -> list[str]:
    """A command without what options and variables with a secret's name are set to: `--token X`, `API_KEY=X`."""
    shown, secret = [], False
    for word in words:
        name, equals, _ = word.partition("=")
        if secret and not word.startswith("-"):
            shown.append(MASK)
            secret = False
        elif equals and is_secret(name):
            shown.append(f"{name}={MASK}")
        else:
            shown.append(masked_url(word) if "://" in word else word)
            secret = word.startswith("-") and is_secret(word)
    return shown
