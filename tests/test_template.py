"""Templates: names and filters, and every other byte as it was written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
        ("{{ '{%' }}{{ '{#' }} %} #}", "{%{# %} #}"),
        ("}} { { order } }", "}} { { order } }"),
        ("{{\r\n order\t|\nlower }}\r", "a-1\r"),
        ("{{ 'a\r\n\"b' }}{{ \"it's\" | upper }}", "a\r\n\"bIT'S"),
        (r"{{ '\'\"\\\n\t' }}", "'\"\\\n\t"),
        ('{{ fields["it\'s"] }}', "4"),
        ("{{ नाम }} {{ délai2 }} {{ _x }} {{ not }} {{ self | lower() }}", "5 6 7 8 9"),
        ("{{ none_yet | default('x') }}{{ fields['none yet'] | default(\"y\", false) | upper }}", "xY"),
    ],
)
def test_rendering(source: str, text: str) -> None:
    values: dict[str, object] = {"order": "A-1", "⚠️ 版本?": "3", "missing": ["os", "browser"], "wrong": []}
    values |= {
        "category": "",
        "told": False,
        "it's": "4",
        "नाम": "5",
        "délai2": "6",
        "_x": "7",
        "not": "8",
        "self": "9",
    }
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
        "{{ (order) }}",
        "{{ -order }}",
        "{{- order }}",
        "{{ order -}}",
        "{{ not order }}",
        "{{ order, order }}",
        "{{ order 'x' }}",
        "{{ 'x' 'y' }}",
        "{{ order | }}",
        "{{ order | lower lower }}",
        "{{ order | lower | lower }}",
        "{{ order | default('x'.y) }}",
        "{{ fields['x'] ['y'] }}",
        "{{ fields[('x')] }}",
        "{{ 2nd }}",
        "{{ ⚠️ }}",
        "{{ it's }}",
        "{{ 'it }}",
        r"{{ '\ud800' }}",
        r"{{ '\d' }}",
        "{{ x | join('" + "-" * 201 + "') }}",
    ],
)
def test_nothing_else_of_jinja_works(source: str) -> None:
    with pytest.raises(TemplateError):
        compile_template(source)


DEEP = 100_000


@pytest.mark.parametrize(
    "inside",
    [
        "(" * DEEP + "f" + ")" * DEEP, "-" * DEEP + "f", "+" * DEEP + "f", "not " * DEEP + "f", "[" * DEEP + "]" * DEEP,
        "{1:" * DEEP + "1" + "}" * DEEP, "f[" * DEEP + "f" + "]" * DEEP, "f." * DEEP + "f", "f ~ " * DEEP + "f",
        "f if f else " * DEEP + "f", "f ** " * DEEP + "f", "f" + " | lower" * DEEP,
        "f" + " | default(" * DEEP + ")" * DEEP,
        "f is " + "not " * DEEP + "f", "'a' " * DEEP, "9" * DEEP, "f | default(" + "9" * DEEP + ")", "1." + "9" * DEEP,
        "fields" + "['a']" * DEEP, "fields[" * DEEP + "'a'" + "]" * DEEP,
    ],
    ids=lambda inside: inside[:12],
)  # fmt: skip
def test_however_deep_or_long_it_is(inside: str) -> None:
    with pytest.raises(TemplateError) as caught:
        compile_template("{{ " + inside + " }}")
    assert len(caught.value.near or "") <= 30


@pytest.mark.parametrize("source", ["\r" * DEEP, "{{ 'a' }}" * DEEP, "{{ '" + r"\\" * DEEP + "' }}", "} {" * DEEP])
def test_a_long_template_is_read_in_one_go(source: str) -> None:
    assert compile_template(source).render({}) == source.replace("{{ '", "").replace("' }}", "").replace(r"\\", "\\")


SIGNS = """{{ }} {% {# ' " \\ | ( ) , [ ] . - fields x lower join default true none 7 2nd é ⚠️ \U0001f600""".split()
PIECES = [*SIGNS, " ", "\n", "\r", "\0", "\u3000"]


@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=3)).map("".join))
def test_whatever_a_template_says(source: str) -> None:
    """It is refused in a sentence, or can be used."""
    try:
        template = compile_template(source)
    except TemplateError:
        return
    template.fit(lambda name: ())
    if "{{" not in source:
        assert template.render({}) == source


@given(st.text())
def test_any_name_and_any_text_can_be_written(text: str) -> None:
    assert field_template(text).render({text: "value"}) == "value"
    quoted = text.replace("\\", "\\\\").replace('"', '\\"')
    assert compile_template('{{ "' + quoted + '" }}').render({}) == text


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


@pytest.mark.parametrize("source", ["{{ délai", "{{ a and {{ b }}", "x {{ a | join('}}')", "{{", "{{ a | x", "{{ (a"])
def test_braces_that_are_never_closed(source: str) -> None:
    with pytest.raises(TemplateError, match="is never closed: '}}' is missing"):
        compile_template(source)


def test_a_template_has_only_so_many_names() -> None:
    assert compile_template("{{ x }}" * 100).render({"x": "ab"}) == "ab" * 100
    with pytest.raises(TemplateError, match="100 names in one template are the most"):
        compile_template("{{ x }}" * 101)


def test_a_missing_value_is_an_error() -> None:
    with pytest.raises(TemplateError):
        compile_template("{{ order }}").render({})


def test_equal_sources_are_equal_templates() -> None:
    assert compile_template("{{ a }}") == compile_template("{{ a }}")
    assert compile_template("{{ a }}") != compile_template("{{ b }}")
