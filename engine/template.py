"""Texts with `{{ name }}` in them: Jinja, sandboxed and cut down to substitution and filters.

    {{ order_id }}    {{ fields['Order no.'] }}    {{ missing | join(', ') | default('nothing', true) }}

There are no statements, calls, attributes or operators, so a template can only put words together.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from jinja2 import StrictUndefined, TemplateSyntaxError, UndefinedError, nodes
from jinja2 import Template as Compiled
from jinja2.sandbox import SandboxedEnvironment

FILTERS = ("capitalize", "default", "first", "join", "last", "length", "lower", "title", "trim", "upper")

# What the nodes of Jinja's tree that packs may not use are called in an error.
_REFUSED: tuple[tuple[type[nodes.Node], str], ...] = (
    (nodes.Call, "a call"),
    (nodes.Getattr, "an attribute"),
    (nodes.Getitem, "an index"),
    (nodes.CondExpr, "a condition"),
    (nodes.Stmt, "a statement"),
    (nodes.Expr, "an operator"),
)


class TemplateError(ValueError):
    """A template that can't be compiled, or a name without a value when it is rendered."""


def _as_written(value: Any) -> Any:
    """True, false and lists as an author would write them."""
    if isinstance(value, bool):
        return str(value).lower()
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else value


def _environment() -> SandboxedEnvironment:
    environment = SandboxedEnvironment(
        undefined=StrictUndefined, keep_trailing_newline=True, autoescape=False, finalize=_as_written
    )
    environment.filters = {name: environment.filters[name] for name in FILTERS}
    environment.globals = {}
    environment.tests = {}
    return environment


_ENVIRONMENT = _environment()


@dataclass(frozen=True, slots=True)
class Template:
    """A text that was checked. Equal sources are equal templates.

    `plain` are the names written as they are, `fields` those written `fields['...']`, `names` all of them.
    """

    source: str
    plain: frozenset[str] = field(compare=False)
    fields: frozenset[str] = field(compare=False)

    @property
    def names(self) -> frozenset[str]:
        return self.plain | self.fields

    def render(self, values: Mapping[str, Any], fields: Mapping[str, Any] | None = None) -> str:
        """The text with its names filled in; `fields` are what `fields['...']` looks in, by default `values` as well.

        Raises:
            TemplateError: a name has no value, and no `default`; or a filter doesn't fit its value.
        """
        try:
            return _compiled(self.source).render({**values, "fields": values if fields is None else fields})
        except UndefinedError as error:
            raise TemplateError(f"a name has no value here ({error.message})") from None
        except (TypeError, ValueError) as error:
            raise TemplateError(f"a filter doesn't fit its value ({error})") from None


@lru_cache(maxsize=20_000)
def compile_template(source: str) -> Template:
    """The template that `source` writes down.

    Raises:
        TemplateError: with a sentence that says what an author should change.
    """
    for opening in ("{#", "{%"):
        if opening in source.replace(f"'{opening}'", ""):
            raise TemplateError(
                f"'{opening}' starts a comment or a statement, which don't work; write {{{{ '{opening}' }}}}"
            )
    try:
        tree = _ENVIRONMENT.parse(_exact(source))
    except TemplateSyntaxError as error:
        raise TemplateError(f"{error.message}: a template knows only {{{{ name }}}} and filters") from None
    plain: set[str] = set()
    named: set[str] = set()
    for node in _expressions(tree):
        if isinstance(node, nodes.Name):
            plain.add(node.name)
        elif isinstance(node, nodes.Getitem):
            named.add(node.arg.value)  # type: ignore[attr-defined]
    return Template(source, frozenset(plain), frozenset(named))


@lru_cache(maxsize=20_000)
def _compiled(source: str) -> Compiled:
    return _ENVIRONMENT.from_string(_exact(source))


def _exact(source: str) -> str:
    """Jinja turns every line end into one kind; carriage returns are kept by writing them as constants."""
    return source.replace("\r", "{{ '\\r' }}")


def _expressions(tree: nodes.Template) -> Iterator[nodes.Node]:
    """Every name and constant in the tree, if all of it is allowed."""
    for output in tree.body:
        if not isinstance(output, nodes.Output):
            raise _refusal(output)
        for part in output.nodes:
            if not isinstance(part, nodes.TemplateData):
                yield _checked(part)


def _checked(node: nodes.Node) -> nodes.Node:
    """The name or constant that an expression starts from."""
    used: set[str] = set()
    while isinstance(node, nodes.Filter):
        if node.name in used:  # also keeps a template's output near the size of its input
            raise TemplateError(f"the filter '{node.name}' stands twice")
        used.add(node.name)
        if node.name not in FILTERS:
            raise TemplateError(f"there is no filter '{node.name}'; there are: {', '.join(FILTERS)}")
        if node.kwargs or node.dyn_args or node.dyn_kwargs or not all(isinstance(a, nodes.Const) for a in node.args):
            raise TemplateError(f"the filter '{node.name}' takes texts, numbers, true and false only")
        if node.node is None:
            raise TemplateError("a filter needs a name before it")
        node = node.node
    if isinstance(node, nodes.Name) and node.name == "fields":
        raise TemplateError("'fields' needs a field's name: {{ fields['name'] }}")
    if isinstance(node, nodes.Const) and not isinstance(node.value, str):
        raise TemplateError(
            "a number, 'true', 'false' or 'none' is no name; a field of that name is {{ fields['name'] }}"
        )
    if isinstance(node, nodes.Name | nodes.Const) or _is_field(node):
        return node
    raise _refusal(node)


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
