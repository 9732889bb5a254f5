"""Reads HTML pages for tests, and insists that they are well-formed."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from xml.etree import ElementTree

VOID = {"meta", "br", "link", "img", "input", "hr"}


@dataclass
class Element:
    name: str
    attributes: dict[str, str]
    texts: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """All of it, with single blanks."""
        return " ".join("".join(self.texts).split())

    @property
    def words(self) -> str:
        """The same with a blank wherever an element ends, as between cells."""
        return " ".join(" ".join(self.texts).split())


class Reader(HTMLParser):
    """Reads a page, and insists that every element is closed, in its turn, and that no attribute is given twice."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[Element] = []
        self._open: list[Element] = []
        self.feed(text)
        self.close()
        assert not self._open, [element.name for element in self._open]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len({name for name, _ in attrs}) == len(attrs), attrs
        element = Element(tag, {name: value or "" for name, value in attrs})
        self.elements.append(element)
        if tag not in VOID:
            self._open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open, tag
        assert self._open.pop().name == tag

    def handle_data(self, data: str) -> None:
        for element in self._open:
            element.texts.append(data)

    def all(self, name: str, of_class: str | None = None) -> list[Element]:
        named = (element for element in self.elements if element.name == name)
        return [one for one in named if of_class is None or of_class in one.attributes.get("class", "").split()]

    def text(self, name: str) -> list[str]:
        return ["".join(element.texts) for element in self.all(name)]


def pictures(text: str) -> Iterator[ElementTree.Element]:
    for picture in re.findall(r"<svg\b.*?</svg>", text, re.DOTALL):
        yield ElementTree.fromstring(picture)


def takes_nothing_from_elsewhere(text: str) -> None:
    """The page's policy allows its own styles, by their digest, and nothing else; they fetch nothing."""
    (style,) = re.findall(r"<style>(.*?)</style>", text, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = "default-src 'none'; style-src 'sha256-" + digest + "'; base-uri 'none'; form-action 'none'"
    assert f'<meta http-equiv="Content-Security-Policy" content="{policy}">' in text
    assert "url(" not in style and "@import" not in style
    assert "prefers-color-scheme: dark" in style and "@media print" in style
