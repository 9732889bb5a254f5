"""Agents by name without what is secret in their names: these stand in messages, and in files that are handed on."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

MASK = "***"
# The hexadecimal digits of a digest that are told: so few confirm no guess of a password, and miss one change in
# 65,536.
TOLD = 4

# Words of names; `max_tokens` has none of these.
_SECRET = frozenset(
    "accesskey accesstoken apikey auth authorization authtoken bearer cookie credential credentials key pass "
    "passphrase passwd password passwords privatekey pw pwd secret secretkey secrets sig signature token".split()
)
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_HEADER = re.compile(r"([A-Za-z][A-Za-z0-9_-]*)\s*:(?!//)(?=.)")

# What is shown instead of a value.
Hide = Callable[[str], str]


def is_secret(name: str) -> bool:
    """Whether the value of something that is called so is nobody else's business: by the whole words of its name."""
    return any(word.lower() in _SECRET for word in _WORD.findall(name))


def plain(value: str) -> str:
    """MASK, whatever the value is."""
    return MASK


def marked(value: str) -> str:
    """MASK with a few digits of the value's digest: who changes the value changes these."""
    return f"{MASK}{hashlib.sha256(value.encode('utf-8', 'surrogatepass')).hexdigest()[:TOLD]}"


def masked_url(url: str, hide: Hide = plain) -> str:
    """An address without its password, and without what parameters with a secret's name are set to.

    A user without a password is one: that is how keys are sent.
    """
    try:
        parts = urlsplit(url)
        query = parse_qsl(parts.query, keep_blank_values=True, strict_parsing=True) if parts.query else []
    except ValueError:
        return url.partition("?")[0].rpartition("@")[2]
    login, at, host = parts.netloc.rpartition("@")
    if not at and not any(is_secret(name) for name, _ in query):
        return url
    hidden = [(name, hide(value) if is_secret(name) else value) for name, value in query]
    if at:
        user, colon, password = login.partition(":")
        host = f"{user}:{hide(password)}@{host}" if colon else f"{hide(user)}@{host}"
    return urlunsplit(parts._replace(netloc=host, query=urlencode(hidden, safe="*")))


def masked_words(words: Sequence[str], hide: Hide = plain) -> list[str]:
    """A command without what options, variables and headers with a secret's name are set to: `--token X`, `API_KEY=X`,
    `Authorization: X`."""
    shown, secret = [], False
    for word in words:
        name, equals, value = word.partition("=")
        header = _HEADER.match(word)
        if secret and not word.startswith("--"):
            shown.append(hide(word))
            secret = False
        elif header is not None and is_secret(header[1]):
            shown.append(f"{header[0]} {hide(word[header.end() :])}")
        elif equals and "://" not in name and is_secret(name):
            shown.append(f"{name}={hide(value)}")
        elif equals and "://" in value and "://" not in name:
            shown.append(f"{name}={masked_url(value, hide)}")
        else:
            shown.append(masked_url(word, hide) if "://" in word else word)
            secret = word.startswith("-") and not equals and is_secret(word)
    return shown


def masked_value(name: str, value: Any, hide: Hide = plain) -> Any:
    """JSON without the texts that stand under a secret's name, at any depth. A number is no secret."""
    if isinstance(value, str):
        return hide(value) if is_secret(name) else value
    if isinstance(value, Mapping):
        return {key: masked_value(key if is_secret(key) else name, part, hide) for key, part in value.items()}
    if isinstance(value, list):
        return [masked_value(name, part, hide) for part in value]
    return value
