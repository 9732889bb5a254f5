"""Names that look the same and aren't: what differs is shown by its code point."""

from __future__ import annotations

import unicodedata

# Cyrillic and Greek letters beside the Latin ones that they are taken for.
_LATIN = str.maketrans(
    "аеорсухіјѕԁһԛԝвкмнтАВЕКМНОРСТХІЈЅΑΒΕΖΗΙΚΜΝΟΡΤΥΧονυ", "aeopcyxijsdhqwbkmhtABEKMHOPCTXIJSABEZHIKMNOPTYXovu"
)


def difference(name: str, near: str) -> str | None:
    """The first character in which two names differ, if they look the same; else None."""
    if name == near or _seen(name) != _seen(near):
        return None
    at = next((i for i, (one, other) in enumerate(zip(name, near, strict=False)) if one != other), None)
    at = min(len(name), len(near)) if at is None else at
    return f"character {at + 1} is {_shown(name[at : at + 1])} here and {_shown(near[at : at + 1])} there"


def _seen(name: str) -> str:
    plain = unicodedata.normalize("NFKC", name).translate(_LATIN)
    return "".join(each for each in plain if unicodedata.category(each) != "Cf").strip()


def _shown(character: str) -> str:
    if not character:
        return "missing"
    return f"U+{ord(character):04X} ({unicodedata.name(character, 'no name').lower()})"
