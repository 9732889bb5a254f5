"""The gate before every route and socket: whose token it is, how often somebody comes, which pages may call.

`admit` is asked first, with a request's path and headers; what it raises is the answer. Frames on a socket and items of
a batch come through `spend`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from ipaddress import AddressValueError, IPv6Address, IPv6Network

from server.limits import Limiter
from server.problems import Problem, quoted
from server.tokens import Tokens

Headers = tuple[tuple[str, str], ...]

# Probes of whoever runs the server: they know no token, and come as often as they like.
OPEN = frozenset({"/health", "/ready"})

# Browsers are neither to guess the type of an answer, nor to keep it, nor to run, load or frame a thing. A header that
# an answer brings itself takes the place of its namesake: what people look at is shown by a Space in a frame.
SECURITY_HEADERS: Headers = (
    ("X-Content-Type-Options", "nosniff"),
    ("Cache-Control", "no-store"),
    ("Referrer-Policy", "no-referrer"),
    ("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'"),
)
# For `/`, which a Space frames: JSON that runs nothing, and that anybody may frame.
FRAMED: Headers = (*SECURITY_HEADERS[:-1], ("Content-Security-Policy", "default-src 'none'"))

_SCHEME = "Bearer"
_PORTS = {"http": ":80", "https": ":443"}
_VARY = ("Vary", "Origin")
_EXPOSED = ("Access-Control-Expose-Headers", "Mcp-Session-Id, Retry-After, WWW-Authenticate")
_PREFLIGHT: Headers = (("Access-Control-Allow-Methods", "GET, POST, DELETE"), ("Access-Control-Max-Age", "600"))


class Gate:
    """`tokens` None lets everybody in, `limiter` None as often as they like.

    `origins` are those of the pages that browsers may call from, besides the server's own; "*" stands for any.
    """

    def __init__(self, tokens: Tokens | None, limiter: Limiter | None, origins: tuple[str, ...]) -> None:
        self._tokens = tokens
        self._limiter = limiter
        self._any = "*" in origins
        self._origins = frozenset(_normal(origin) for origin in origins)

    def admit(self, path: str, headers: Mapping[str, str], address: str | None, count: int = 1) -> str:
        """The name of the token that a request or a socket's handshake comes with; "" where there are no tokens.

        Header names are in lower case. Raises Problem 401, 403, 429.
        """
        origin = headers.get("origin")
        if origin is not None and not self._is_allowed(origin) and not _is_own(origin, headers.get("host", "")):
            raise Problem(
                403,
                f"A page of {quoted(origin)} may not call this server: it is neither the server's own page nor one of "
                "the origins that CORS names.",
            )
        if path in OPEN:
            return ""
        owner = _owner(self._tokens, headers) if self._tokens is not None else ""
        self.spend(owner, address, count)
        return owner

    def glance(self, method: str, path: str, headers: Mapping[str, str]) -> str:
        """Whose token it is, for a request that is admitted elsewhere: nothing is counted. Raises Problem 401."""
        if self._tokens is None or method == "OPTIONS" or path in OPEN:
            return ""
        return _owner(self._tokens, headers)

    def spend(self, owner: str, address: str | None, count: int = 1) -> None:
        """Count requests, by their owner, else by address. Raises Problem 429."""
        if self._limiter is None:
            return
        wait = self._limiter.wait(owner or _neighbourhood(address), count)
        if wait == math.inf:
            raise _too_many(count, self._limiter.burst)
        if wait:
            seconds = math.ceil(wait)
            unit = "second" if seconds == 1 else "seconds"
            raise Problem(429, f"Too many requests: try again after {seconds} {unit}.", retry_after=seconds)

    def spend_more(self, owner: str, address: str | None, count: int) -> None:
        """Count what a request holds besides the one that `admit` counted. Raises Problem 429."""
        if self._limiter is not None and count >= self._limiter.burst:
            raise _too_many(count + 1, self._limiter.burst)
        if count:
            self.spend(owner, address, count)

    def cors(self, origin: str | None) -> Headers:
        """What an answer says to the page of an origin that may call, a refusal too; nothing to any other."""
        if origin is None:
            return ()
        if _normal(origin) in self._origins and origin != "*":
            allowed = (("Access-Control-Allow-Origin", origin), ("Access-Control-Allow-Credentials", "true"))
            return (*allowed, _EXPOSED, _VARY)
        return (("Access-Control-Allow-Origin", "*"), _EXPOSED, _VARY) if self._any else ()

    def preflight(self, method: str, headers: Mapping[str, str]) -> Headers | None:
        """The headers of the answer, 204 without a body, to a browser that asks whether a page may call.

        None where it is no such question, or the page may not: the request goes the way of any other. Such a question
        comes without a token, so it is to be answered before `admit` is asked.
        """
        if method != "OPTIONS" or "access-control-request-method" not in headers:
            return None
        allowed = self.cors(headers.get("origin"))
        if not allowed:
            return None
        asked = headers.get("access-control-request-headers")
        named = (("Access-Control-Allow-Headers", asked),) if asked else ()  # who may call may say what it likes
        return (*allowed, *_PREFLIGHT, *named)

    def _is_allowed(self, origin: str) -> bool:
        return self._any or _normal(origin) in self._origins


def _too_many(count: int, burst: int) -> Problem:
    return Problem(429, f"{count} at once are too many: send {burst} at the most.")


def headers_for(problem: Problem) -> Headers:
    """The headers that belong to the answer to a problem."""
    if problem.status == 401:
        return (("WWW-Authenticate", _SCHEME),)
    if "retry_after" in problem.members:
        return (("Retry-After", str(problem.members["retry_after"])),)
    return ()


def _owner(tokens: Tokens, headers: Mapping[str, str]) -> str:
    """Either header may hold the token: where a proxy takes Authorization for itself, the other is left."""
    scheme, _, bearer = headers.get("authorization", "").strip().partition(" ")
    given = [bearer.strip() if scheme.lower() == _SCHEME.lower() else "", headers.get("x-api-key", "").strip()]
    for token in filter(None, given):
        owner = tokens.owner(token)
        if owner is not None:
            return owner
    if any(given):
        raise Problem(401, "This token is not known here: it is mistyped, or was revoked.")
    raise Problem(401, "A token is needed: send it in the header Authorization: Bearer TOKEN, or in X-API-Key.")


def _normal(origin: str) -> str:
    """An origin as browsers write it: in small letters, without the port that its scheme has anyway."""
    origin = origin.lower()
    return origin.removesuffix(_PORTS.get(origin.partition("://")[0], ""))


def _is_own(origin: str, host: str) -> bool:
    """Whether an origin is that of the host that was asked."""
    scheme, _, place = _normal(origin).partition("://")
    return bool(place) and scheme in _PORTS and place == host.lower().removesuffix(_PORTS[scheme])


def _neighbourhood(address: str | None) -> str:
    """What stands for an address: of IPv6 its first half, since whoever has one address has all that begin so."""
    if address is None or ":" not in address:
        return address or ""
    try:
        parsed = IPv6Address(address)
    except AddressValueError:
        return address
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(IPv6Network((int(parsed), 64), strict=False))
