"""Texts with `{{ name }}` in them: Jinja, sandboxed and cut down to substitution and filters.

    {{ order_id }}    {{ fields['Order no.'] }}    {{ missing | join(', ') | default('nothing', true) }}

There are no statements, calls, attributes or operators, so a template can only put words together.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

from jinja2 import StrictUndefined, TemplateSyntaxError, Undefined, UndefinedError, nodes
from jinja2 import Template as Compiled
from jinja2.sandbox import SandboxedEnvironment

from engine.filters import ARGUMENTS, FILTERS, TemplateError, as_written

Filters = tuple[tuple[str, tuple[Any, ...]], ...]

# What may stand between '{{' and '}}', as far as an end can be found in it.
_EXPRESSION = re.compile(r"""(?:'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|(?!\}\}|\{\{)[^'"])*""", re.DOTALL)

# What the nodes of Jinja's tree that packs may not use are called in an error.
_REFUSED: tuple[tuple[type[nodes.Node], str], ...] = (
    (nodes.Call, "a call"),
    (nodes.Getattr, "an attribute"),
    (nodes.Getitem, "an index"),
    (nodes.CondExpr, "a condition"),
    (nodes.Stmt, "a statement"),
    (nodes.Expr, "an operator"),
)


def _environment() -> SandboxedEnvironment:
    environment = SandboxedEnvironment(
        undefined=StrictUndefined, keep_trailing_newline=True, autoescape=False, finalize=as_written
    )
    environment.filters = dict(FILTERS)
    environment.globals = {}
    environment.tests = {}
    return environment


_ENVIRONMENT = _environment()


class Chain(NamedTuple):
    """A name, or a text (`name` is None), and the filters that it goes through, each with its arguments."""

    name: str | None
    text: str
    filters: Filters

    def value(self, start: Any) -> Any:
        """What comes out where the name stands for `start`.

        Raises:
            TemplateError: a filter doesn't fit.
        """
        value = start
        for name, arguments in self.filters:
            value = FILTERS[name](value, *arguments)
        if isinstance(value, Undefined):
            raise TemplateError("there is no first or last of nothing: add | default('...')")
        return value


@dataclass(frozen=True, slots=True)
class Template:
    """A text that was checked. Equal sources are equal templates.

    `plain` are the names written as they are, `fields` those written `fields['...']`, `names` all of them.
    """

    source: str
    plain: frozenset[str] = field(compare=False)
    fields: frozenset[str] = field(compare=False)
    chains: tuple[Chain, ...] = field(compare=False, default=())

    @property
    def names(self) -> frozenset[str]:
        return self.plain | self.fields

    def render(self, values: Mapping[str, Any], fields: Mapping[str, Any] | None = None) -> str:
        """The text with its names filled in; `fields` are what `fields['...']` looks in, by default `values` as well.

        Raises:
            TemplateError: a name has no value, and no `default`; or a filter doesn't fit its value.
        """
        named = values if fields is None else fields
        pieces = _pieces(self.source)
        if pieces is not None:
            try:
                return "".join([_written(piece, values, named) for piece in pieces])
            except KeyError:
                pass  # Jinja says what is missing
        try:
            return _compiled(self.source).render({**values, "fields": named})
        except UndefinedError as error:
            raise TemplateError(f"a name has no value here ({error.message})") from None

    def fit(self, examples: Callable[[str], Iterable[Any]]) -> None:
        """Tries every filter on each value that its name may have.

        Raises:
            TemplateError: one doesn't fit.
        """
        for chain in self.chains:
            for value in examples(chain.name) if chain.name is not None else (chain.text,):
                try:
                    chain.value(value)
                except TemplateError as error:
                    raise TemplateError(str(error), chain.name) from None


@lru_cache(maxsize=20_000)
def compile_template(source: str) -> Template:
    """The template that `source` writes down.

    Raises:
        TemplateError: with a sentence that says what an author should change.
    """
    for opening in ("{#", "{%"):
        if opening in source.replace(f"'{opening}'", ""):
            message = f"'{opening}' starts a comment or a statement, which don't work; write {{{{ '{opening}' }}}}"
            raise TemplateError(message, opening)
    _closed(source)
    try:
        tree = _ENVIRONMENT.parse(_exact(source))
    except TemplateSyntaxError as error:
        raise TemplateError(f"{error.message}: a template knows only {{{{ name }}}} and filters", "{{") from None
    plain: set[str] = set()
    named: set[str] = set()
    chains = []
    for node, filters in _expressions(tree):
        name, text = None, ""
        if isinstance(node, nodes.Name):
            name = node.name
            plain.add(name)
        elif isinstance(node, nodes.Getitem):
            name = node.arg.value  # type: ignore[attr-defined]
            named.add(name)
        elif isinstance(node, nodes.Const):
            text = node.value
        if filters:
            chains.append(Chain(name, text, filters))
    return Template(source, frozenset(plain), frozenset(named), tuple(chains))


def _closed(source: str) -> None:
    at = source.find("{{")
    while at >= 0:
        found = _EXPRESSION.match(source, at + 2)
        end = found.end() if found else at + 2
        if not source.startswith("}}", end):
            if source[end : end + 1] in ("'", '"'):
                return  # a quote that is never closed: Jinja says so
            raise TemplateError("'{{' is never closed: '}}' is missing after the name", source[at : at + 30])
        at = source.find("{{", end + 2)


@lru_cache(maxsize=20_000)
def _compiled(source: str) -> Compiled:
    return _ENVIRONMENT.from_string(_exact(source))


class _Piece(NamedTuple):
    """A text as it is; or the name of what stands there, of a field where it is written `fields['...']`."""

    text: str
    is_name: bool = False
    is_field: bool = False


@lru_cache(maxsize=20_000)
def _pieces(source: str) -> tuple[_Piece, ...] | None:
    """A template that only puts texts and names together, which takes no Jinja; None where there are filters."""
    pieces: list[_Piece] = []
    for output in _ENVIRONMENT.parse(_exact(source)).body:
        for node in output.nodes:  # type: ignore[attr-defined]
            if isinstance(node, nodes.TemplateData):
                pieces.append(_Piece(node.data))
            elif isinstance(node, nodes.Const):
                pieces.append(_Piece(node.value))
            elif isinstance(node, nodes.Name):
                pieces.append(_Piece(node.name, is_name=True))
            elif isinstance(node, nodes.Getitem):
                pieces.append(_Piece(node.arg.value, is_name=True, is_field=True))  # type: ignore[attr-defined]
            else:
                return None
    return tuple(pieces)


def _written(piece: _Piece, values: Mapping[str, Any], named: Mapping[str, Any]) -> str:
    if not piece.is_name:
        return piece.text
    return str(as_written((named if piece.is_field else values)[piece.text]))


def _exact(source: str) -> str:
    """Jinja turns every line end into one kind; carriage returns are kept by writing them as constants."""
    return source.replace("\r", "{{ '\\r' }}")


def _expressions(tree: nodes.Template) -> Iterator[tuple[nodes.Node, Filters]]:
    """Every name and constant in the tree with its filters, if all of it is allowed."""
    for output in tree.body:
        if not isinstance(output, nodes.Output):
            raise _refusal(output)
        for part in output.nodes:
            if not isinstance(part, nodes.TemplateData):
                yield _checked(part)


def _checked(node: nodes.Node) -> tuple[nodes.Node, Filters]:
    """The name or constant that an expression starts from, and its filters in the order in which they work."""
    filters: list[tuple[str, tuple[Any, ...]]] = []
    while isinstance(node, nodes.Filter):
        if any(node.name == name for name, _ in filters):  # also keeps a template's output near the size of its input
            raise TemplateError(f"the filter '{node.name}' stands twice", node.name)
        filters.insert(0, (node.name, _arguments(node)))
        if node.node is None:
            raise TemplateError("a filter needs a name before it")
        node = node.node
    if isinstance(node, nodes.Name) and node.name == "fields":
        raise TemplateError("'fields' needs a field's name: {{ fields['name'] }}", "fields")
    if isinstance(node, nodes.Const) and not isinstance(node.value, str):
        raise TemplateError(
            "a number, 'true', 'false' or 'none' is no name; a field of that name is {{ fields['name'] }}"
        )
    if isinstance(node, nodes.Name | nodes.Const) or _is_field(node):
        return node, tuple(filters)
    raise _refusal(node)


def _arguments(node: nodes.Filter) -> tuple[Any, ...]:
    """A filter's arguments, which must be of the kinds that it takes."""
    if node.name not in FILTERS:
        raise TemplateError(f"there is no filter '{node.name}'; there are: {', '.join(FILTERS)}", node.name)
    plain = not (node.kwargs or node.dyn_args or node.dyn_kwargs)
    values = tuple(each.value for each in node.args if isinstance(each, nodes.Const))
    takes = ARGUMENTS.get(node.name, ())
    fits = len(takes) >= len(values) == len(node.args)
    if plain and fits and all(isinstance(value, kind) for value, kind in zip(values, takes, strict=False)):
        return values
    names = " and ".join("a text" if kind is str else "true or false" for kind in takes)
    raise TemplateError(f"the filter '{node.name}' takes {names or 'nothing'} in brackets", node.name)


def _is_field(node: nodes.Node) -> bool:
    """Whether a node is `fields['name']`."""
    return (
        isinstance(node, nodes.Getitem)
        and isinstance(node.node, nodes.Name)
        and node.node.name == "fields"
        and isinstance(node.arg, nodes.Const)
        and isinstance(node.arg.value, str)
    )


def _refusal(node: nodes.Node) -> TemplateError:
    what = next((words for kind, words in _REFUSED if isinstance(node, kind)), "this")
    return TemplateError(f"{what} doesn't work in a template: it knows only {{{{ name }}}} and filters")
