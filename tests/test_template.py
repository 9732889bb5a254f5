"""Templates: names and filters, and every other byte as it was written."""

from __future__ import annotations

import pytest

from engine.build_tickets import field_template
from engine.filters import TemplateError
from engine.template import compile_template


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("plain text", "plain text"),
        ("", ""),
        ("It is {{ order }}.", "It is A-1."),
        ("{{order}}{{ order }}", "A-1A-1"),
        ("{{ order | lower }}", "a-1"),
        ("{{ fields['⚠️ 版本?'] }}", "3"),
        ("{{ missing | join(' and ') }}", "os and browser"),
        ("{{ missing }}", "os, browser"),
        ("{{ wrong | join(', ') | default('nothing', true) }}", "nothing"),
        ("{{ category | default('none', true) }}", "none"),
        ("{{ told }}", "false"),
        ("{name} ${7} { {order} } %s", "{name} ${7} { {order} } %s"),
        ("a\r\nb\rc\n", "a\r\nb\rc\n"),
        ("\n  {{ order }}\t\n\n", "\n  A-1\t\n\n"),
        ("{{ '{{' }}{{ '}}' }}", "{{}}"),
    ],
)
def test_rendering(source: str, text: str) -> None:
    values = {"order": "A-1", "⚠️ 版本?": "3", "missing": ["os", "browser"], "wrong": [], "category": "", "told": False}
    assert compile_template(source).render(values) == text


def test_a_value_is_never_read_as_a_template() -> None:
    assert compile_template("{{ order }}").render({"order": "{{ secret }}"}) == "{{ secret }}"


def test_names_are_told_apart_by_how_they_are_written() -> None:
    template = compile_template("{{ a }} {{ fields['b'] }} {{ c | lower }}")
    assert template.plain == {"a", "c"}
    assert template.fields == {"b"}
    assert template.names == {"a", "b", "c"}
    assert template.render({"a": "1", "c": "3"}, {"b": "2"}) == "1 2 3"


@pytest.mark.parametrize(
    "name", ["order_id", "from", "class", "it's", 'a "b"', "a\\nb", "}}", "{{ x }}", "⚠️ 版本?", "", "a\nb"]
)
def test_a_field_of_any_name_has_a_template(name: str) -> None:
    assert field_template(name).names == {name}
    assert field_template(name).render({name: "value"}) == "value"


@pytest.mark.parametrize(
    "source",
    [
        "{{ order",
        "{{ }}",
        "{% if order %}x{% endif %}",
        "{% raw %}x{% endraw %}",
        "{# lost #}",
        "{{ order.upper() }}",
        "{{ order.__class__ }}",
        "{{ order['x'] }}",
        "{{ order + 'x' }}",
        "{{ 'x' if order else 'y' }}",
        "{{ order | no_such_filter }}",
        "{{ range(10) }}",
        "{{ fields[order] }}",
        "{{ fields }}",
        "{{ none }}",
        "{{ true }}",
        "{{ 5 }}",
    ],
)
def test_nothing_else_of_jinja_works(source: str) -> None:
    with pytest.raises(TemplateError):
        compile_template(source)


LISTS: tuple[object, ...] = ([], [""], ["a", "b"])
TEXTS = ("", "a b")


@pytest.mark.parametrize(
    ("source", "values"),
    [
        ("{{ x | join(', ') | default('none', true) | upper }}", LISTS),
        ("{{ x | first | default('none') }}", LISTS),
        ("{{ x | length }}", LISTS),
        ("{{ x | lower | capitalize | title | trim | default('', true) | length }}", TEXTS),
        ("{{ x | trim('.') | upper }}", (True, 5)),
        ("{{ fields['x'] | last | default('?') }}", TEXTS),
        ("{{ 'a' | upper }}", ()),
    ],
)
def test_a_filter_fits(source: str, values: tuple[object, ...]) -> None:
    compile_template(source).fit(lambda name: values)


@pytest.mark.parametrize(
    ("source", "values", "gist"),
    [
        ("{{ x | lower }}", LISTS, "'lower' doesn't fit a list; join it first: | join(', ') | lower"),
        ("{{ x | join }}", TEXTS, "'join' fits lists only"),
        ("{{ x | first }}", LISTS, "there is no first or last of nothing"),
        ("{{ x | last }}", TEXTS, "there is no first or last of nothing"),
        ("{{ x | first | upper }}", LISTS, "'upper' has nothing to work on"),
        ("{{ x | length }}", (False,), "'length' doesn't fit true or false"),
        ("{{ x | first }}", (3,), "'first' doesn't fit a number"),
        ("{{ '' | first }}", (), "there is no first or last of nothing"),
    ],
)
def test_a_filter_does_not_fit(source: str, values: tuple[object, ...], gist: str) -> None:
    with pytest.raises(TemplateError) as caught:
        compile_template(source).fit(lambda name: values)
    assert gist in str(caught.value)


@pytest.mark.parametrize(
    "source", ["{{ x | join(1) }}", "{{ x | join(', ', 'upper') }}", "{{ x | default(none) }}", "{{ x | lower('a') }}"]
)
def test_a_filter_takes_only_what_is_meant_for_it(source: str) -> None:
    with pytest.raises(TemplateError, match="in brackets"):
        compile_template(source)


def test_true_and_false_are_written_as_in_a_pack() -> None:
    template = compile_template("{{ x | join('/') }} {{ y | upper }} {{ x }}")
    assert template.render({"x": [True, False], "y": False}) == "true/false FALSE true, false"


@pytest.mark.parametrize("source", ["{{ délai", "{{ a and {{ b }}", "x {{ a | join('}}')"])
def test_braces_that_are_never_closed(source: str) -> None:
    with pytest.raises(TemplateError, match="is never closed: '}}' is missing"):
        compile_template(source)


def test_a_missing_value_is_an_error() -> None:
    with pytest.raises(TemplateError):
        compile_template("{{ order }}").render({})


def test_equal_sources_are_equal_templates() -> None:
    assert compile_template("{{ a }}") == compile_template("{{ a }}")
    assert compile_template("{{ a }}") != compile_template("{{ b }}")
