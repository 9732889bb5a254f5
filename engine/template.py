"""Texts with `{{ name }}` in them: Jinja, cut down to substitution and filters.

    {{ order_id }}    {{ fields['Order no.'] }}    {{ missing | join(', ') | default('nothing', true) }}

There are no statements, calls, attributes, operators or brackets, so a template can only put words together, and is
read in one go from its beginning to its end, whatever stands in it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from jinja2 import StrictUndefined, Undefined

from engine.filters import ARGUMENTS, FILTERS, TemplateError, as_written

Filters = tuple[tuple[str, tuple[Any, ...]], ...]

_OPENING = re.compile(r"\{[{%#]")
# A word is anything but blanks and ASCII's signs; one that is no name is told so.
_TOKEN = re.compile(r"\s*(\}\}|\{\{|[^\s\x00-\x1f!-/:-@\[-^`{-\x7f]+|.|\Z)", re.DOTALL)
# What may end a text, by its quote; and what a backslash makes of the next character.
_STOPS = {quote: re.compile(rf"\\.|{quote}", re.DOTALL) for quote in "'\""}
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPES = {"\\": "\\", "'": "'", '"': '"', "n": "\n", "r": "\r", "t": "\t"}
_TRUTHS = {"true": True, "True": True, "false": False, "False": False}
_NO_NAMES = {*_TRUTHS, "none", "None"}
# What a template comes to stays near what it is: the most names in one, and the longest text in a filter's brackets.
MAX_NAMES: Final = 100
MAX_ARGUMENT: Final = 200
# How many tokens are looked at for the end of an expression that is wrong already.
_FAR: Final = 1_000


class Chain(NamedTuple):
    """A name, or a text (`name` is None), and the filters that it goes through, each with its arguments.

    `is_field`: the name is written `fields['...']`.
    """

    name: str | None
    text: str
    filters: Filters
    is_field: bool = False

    @property
    def longest_argument(self) -> int:
        """How many characters the longest text in its filters' brackets has."""
        given = (argument for _, arguments in self.filters for argument in arguments if isinstance(argument, str))
        return max(map(len, given), default=0)

    def value(self, start: Any) -> Any:
        """What comes out where the name stands for `start`.

        Raises:
            TemplateError: a filter doesn't fit.
        """
        value = start
        for name, arguments in self.filters:
            value = FILTERS[name](value, *arguments)
        if isinstance(value, Undefined):
            if value is start:
                raise TemplateError(f"'{self.name}' has no value here", self.name)
            raise TemplateError("there is no first or last of nothing: add | default('...')")
        return value

    def fill(self, values: Mapping[str, Any], fields: Mapping[str, Any]) -> str:
        """The text that it stands for. Raises TemplateError."""
        if self.name is None:
            return str(as_written(self.value(self.text)))
        try:
            start = (fields if self.is_field else values)[self.name]
        except KeyError:
            start = StrictUndefined(name=self.name)
        return str(as_written(self.value(start)))


@dataclass(frozen=True, slots=True)
class Template:
    """A text that was checked. Equal sources are equal templates.

    `plain` are the names written as they are, `fields` those written `fields['...']`, `names` all of them. `pieces` are
    put together in turn.
    """

    source: str
    plain: frozenset[str] = field(compare=False)
    fields: frozenset[str] = field(compare=False)
    pieces: tuple[str | Chain, ...] = field(compare=False)

    @property
    def names(self) -> frozenset[str]:
        return self.plain | self.fields

    def render(self, values: Mapping[str, Any], fields: Mapping[str, Any] | None = None) -> str:
        """The text with its names filled in; `fields` are what `fields['...']` looks in, by default `values` as well.

        Raises:
            TemplateError: a name has no value, and no `default`; or a filter doesn't fit its value.
        """
        named = values if fields is None else fields
        return "".join([piece if isinstance(piece, str) else piece.fill(values, named) for piece in self.pieces])

    def fit(self, examples: Callable[[str], Iterable[Any]]) -> None:
        """Tries every filter on each value that its name may have.

        Raises:
            TemplateError: one doesn't fit.
        """
        for chain in self.pieces:
            if isinstance(chain, str) or not chain.filters:
                continue
            for value in examples(chain.name) if chain.name is not None else (chain.text,):
                try:
                    chain.value(value)
                except TemplateError as error:
                    raise TemplateError(str(error), chain.name) from None


def compile_template(source: str) -> Template:
    """The template that `source` writes down.

    Raises:
        TemplateError: with a sentence that says what an author should change.
    """
    pieces: list[str | Chain] = []
    end = 0
    while (opening := _OPENING.search(source, end)) is not None:
        sign = opening[0]
        if sign != "{{":
            message = f"'{sign}' starts a comment or a statement, which don't work; write {{{{ '{sign}' }}}}"
            raise TemplateError(message, sign)
        reader = _Reader(source, opening.start())
        pieces += (source[end : opening.start()], reader.expression())
        end = reader.end
    pieces.append(source[end:])
    chains = [piece for piece in pieces if isinstance(piece, Chain)]
    if len(chains) > MAX_NAMES:
        raise TemplateError(f"{MAX_NAMES} names in one template are the most")
    plain = frozenset(chain.name for chain in chains if chain.name is not None and not chain.is_field)
    fields = frozenset(chain.name for chain in chains if chain.name is not None and chain.is_field)
    return Template(source, plain, fields, tuple(piece for piece in pieces if piece != ""))


class _Reader:
    """Reads one expression, from its '{{' on. Afterwards `end` is where its '}}' ends."""

    def __init__(self, source: str, start: int) -> None:
        self.source, self.start, self.end = source, start, start + 2
        self.token = ""  # the one that comes next
        self._take()

    def expression(self) -> Chain | str:
        """A text without filters is just that. Raises TemplateError."""
        name, text, is_field = self._beginning()
        filters: dict[str, tuple[Any, ...]] = {}
        while self.token == "|":
            self._take()
            called = self._take()
            if called not in FILTERS:
                what = "a filter's name is missing after '|'" if called == "}}" else f"there is no filter '{called}'"
                raise TemplateError(f"{what}; there are: {', '.join(FILTERS)}", called)
            if called in filters:
                raise TemplateError(f"the filter '{called}' stands twice", called)
            filters[called] = self._arguments(called) if self.token == "(" else ()
        if self.token != "}}":
            raise self._refusal(self.token)
        return Chain(name, text, tuple(filters.items()), is_field) if name is not None or filters else text

    def _take(self) -> str:
        """The next token. After '}}' there is none: it stays the next one."""
        taken = self.token
        if taken == "}}":
            return taken
        found = _TOKEN.match(self.source, self.end)
        self.token = found[1] if found is not None else ""
        if found is None or self.token in ("", "{{"):
            raise TemplateError("'{{' is never closed: '}}' is missing after the name", self.source[self.start :])
        self.end = found.end()
        if self.token in _STOPS:
            self.end = self._closed(found.start(1))
            self.token = self.source[found.start(1) : self.end]
        return taken

    def _closed(self, start: int) -> int:
        """Where the text ends whose quote stands at `start`."""
        quote = self.source[start]
        for found in _STOPS[quote].finditer(self.source, start + 1):
            if found[0] == quote:
                return found.end()
        raise TemplateError(f"a quote is never closed: {quote} is missing at the end of the text", self._so_far())

    def _beginning(self) -> tuple[str | None, str, bool]:
        """What the expression starts from: a name, or else a text; and whether the name is a field's."""
        token = self._take()
        if token[0] in _STOPS:
            return None, _unquoted(token), False
        if token == "fields":
            opening, named, closing = (self._take() for _ in range(3))
            if (opening, closing) != ("[", "]") or named[0] not in _STOPS:
                raise TemplateError("'fields' needs a field's name: {{ fields['name'] }}", "fields")
            return _unquoted(named), "", True
        if token == "}}":
            raise TemplateError("there is no name between '{{' and '}}'", self._so_far())
        if token.isascii() and not token[0].isalnum() and not token.isidentifier():
            raise self._refusal(token)
        if token in _NO_NAMES or not token.isidentifier():
            raise TemplateError(f"'{token}' is no name; a field of that name is {{{{ fields['{token}'] }}}}", token)
        return token, "", False

    def _arguments(self, called: str) -> tuple[Any, ...]:
        """What stands in a filter's brackets, which must be of the kinds that it takes."""
        takes = ARGUMENTS.get(called, ())
        self._take()
        given: list[str] = []
        while self.token not in (")", "}}") and len(given) < 2 * len(takes):
            given.append(self._take())
        values = [_unquoted(token) if token[0] in _STOPS else _TRUTHS.get(token) for token in given[::2]]
        in_turn = len(given) != 2 * len(values) and all(token == "," for token in given[1::2])
        fits = all(isinstance(value, kind) for value, kind in zip(values, takes, strict=False))
        if self._take() == ")" and fits and (in_turn or not given):
            if any(isinstance(value, str) and len(value) > MAX_ARGUMENT for value in values):
                raise TemplateError(f"a text in brackets has {MAX_ARGUMENT} characters at the most", called)
            return tuple(values)
        names = " and ".join("a text" if kind is str else "true or false" for kind in takes)
        raise TemplateError(f"the filter '{called}' takes {names or 'nothing'} in brackets", called)

    def _refusal(self, token: str) -> TemplateError:
        near = self._so_far()
        for _ in range(_FAR):
            self._take()  # where there is no end, that is what is wrong
        return TemplateError(f"'{token}' doesn't work in a template: it knows only {{{{ name }}}} and filters", near)

    def _so_far(self) -> str:
        return self.source[self.start : self.end]


def _unquoted(token: str) -> str:
    def character(found: re.Match[str]) -> str:
        if found[1] not in _ESCAPES:
            raise TemplateError(f"'{found[0]}' in quotes has no meaning; write '\\\\' for a backslash", found[0])
        return _ESCAPES[found[1]]

    return _ESCAPE.sub(character, token[1:-1])
