"""The README's picture shows what the program prints today."""

from __future__ import annotations

from docs.picture import PICTURE, draw


def test_the_picture_is_up_to_date() -> None:
    svg = draw()
    assert PICTURE.read_text(encoding="utf-8") == svg, "run: python -m docs.picture"
    assert "Return&#160;2.0000" in svg
    assert "url(http" not in svg and "<script" not in svg and "<image" not in svg
