"""HTML pages that need nothing from anywhere else, nor any script: their template, and the styles that all share."""

from __future__ import annotations

import base64
import hashlib
from functools import cache

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup

_LOADER = PackageLoader("engine.proof", ".")


@cache
def sheet(package: str, name: str) -> Template:
    """The template `name`.html in a package, which extends sheet.html, with the styles of `name`.css after the shared.

    The page's policy allows these styles, by their digest, and nothing else.
    """
    own = PackageLoader(package, ".")
    environment = Environment(
        loader=ChoiceLoader([own, _LOADER]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    shared = _LOADER.get_source(environment, "sheet.css")[0]
    style = shared + own.get_source(environment, f"{name}.css")[0]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return environment.get_template(f"{name}.html", globals={"style": Markup(style), "style_hash": digest})
