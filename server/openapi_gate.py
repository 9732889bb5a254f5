"""The description of what stands before every route: tokens, rates and origins; and of what every answer says."""

from __future__ import annotations

from collections.abc import Mapping

from server.gate import SECURITY_HEADERS
from server.schemas import Schema

SCHEMES: Mapping[str, Schema] = {
    "bearer": {
        "type": "http",
        "scheme": "bearer",
        "description": "A token, where the server has any; `deskproof token` makes one",
    },
    "key": {
        "type": "apiKey",
        "in": "header",
        "name": "X-API-Key",
        "description": "The same, where a proxy takes `Authorization` for itself",
    },
}

# Either will do, and where the server has no tokens neither is needed.
SECURITY: list[Schema] = [{}, *({name: []} for name in SCHEMES)]

PROSE = f"""\
**Tokens and rates.** A server may ask for a token, and may count requests by token, else by address; `/health` and \
`/ready` are free of both. An episode belongs to the token that began it: to any other it isn't there.

**Browsers.** What a page of another origin sends is a 403, whatever the route, unless the server was told to let it \
in. A preflight for a page that may call (`OPTIONS`, with `Access-Control-Request-Method`) is answered by a 204 that \
says what may be sent, and needs no token. Every answer has {", ".join(f"`{name}`" for name, _ in SECURITY_HEADERS)}: \
nobody is to guess its type, keep it, run it or frame it, but `/` and `/docs` may be framed."""
