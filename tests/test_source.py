"""YAML text to values with places, and what is refused on the way."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from engine.diagnostics import Finding, Report
from engine.encoding import decode
from engine.nodes import File, Map, NotJson
from engine.scalars import resolve
from engine.source import MAX_BYTES, MAX_DEPTH, Budget, open_file, parse


def read(text: str | bytes) -> tuple[Map | None, tuple[Finding, ...]]:
    report = Report()
    file = decode("p.yaml", text if isinstance(text, bytes) else text.encode(), report)
    document = parse(file, Budget(), report) if file is not None else None
    return document, report.findings()


def value(text: str | bytes) -> Map:
    document, findings = read(text)
    assert findings == ()
    assert document is not None
    return document


def test_every_key_value_and_item_knows_its_place() -> None:
    document = value("a: x\nlist:\n  - {k: v}\n  - two\n")
    assert document == {"a": "x", "list": [{"k": "v"}, "two"]}
    assert document.key_spot("list").place == ("p.yaml", 2, 1)
    assert document.value_spot("a").place == ("p.yaml", 1, 4)
    assert document["list"].item_spot(1).place == ("p.yaml", 4, 5)
    assert document["list"][0].value_spot("k").place == ("p.yaml", 3, 9)


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_lines_are_counted_as_yaml_counts_them(newline: str) -> None:
    document = value(f"a: 'x'{newline}# 中文{newline}b: y{newline}")
    assert document.key_spot("b").place == ("p.yaml", 3, 1)
    assert document.key_spot("b").line == ("", "b: y")


def test_a_column_counts_characters() -> None:
    assert value("{中文: 'é', b: y}").key_spot("b").place.column == 11


def test_a_byte_order_mark_takes_no_column() -> None:
    assert value("\ufeffa: x").key_spot("a").place == ("p.yaml", 1, 1)


DATE = NotJson("a date")


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("no", False), ("Yes", True), ("on", True), ("OFF", False), ("true", True), ("False", False),
        ("14", 14), ("-7", -7), ("+7", 7), ("0", 0), ("0.5", 0.5),
        ("0314", NotJson("the number 204", 204)), ("0x1F", NotJson("the number 31", 31)),
        ("0b11", NotJson("the number 3", 3)), ("1_000", NotJson("the number 1000", 1000)),
        ("12:30:45", NotJson("the number 45045", 45045)), ("190:20:30", NotJson("the number 685230", 685230)),
        ("1:30.5", NotJson("the number 90.5", 90.5)), ("08", "08"),
        ("1.0", 1.0), (".5", 0.5), ("6.8523015e+5", 685230.15),
        ("~", None), ("null", None), ("", None),
        ("2022-08-01", DATE), ("2001-12-14 21:59:43.10 -5", DATE), ("2022-13-45", DATE),
        (".inf", NotJson("a number without end")), (".NaN", NotJson("a number without end")),
        ("0b_", NotJson("a number that can't be read")),
        ("9" * 5000, NotJson("a number")), ("1" + ":59" * 5000, NotJson("a number")),
        ("y", "y"), ("N", "N"), ("1e3", "1e3"), ("1.0.0", "1.0.0"), ("+49 30 1234", "+49 30 1234"), ("=", "="),
        ("<<", "<<"), ("nothing", "nothing"), ("0x", "0x"), ("12:61", "12:61"), ("5 lamps", "5 lamps"),
    ],
)  # fmt: skip
def test_plain_text_means_what_yaml_1_1_says(text: str, meaning: Any) -> None:
    assert resolve(text) == meaning
    assert type(resolve(text)) is type(meaning)


@pytest.mark.parametrize("text", ["no", "0314", "12:30:45", "2022-08-01", "~", "#W23", "{name}", "*x", " a ", ""])
@pytest.mark.parametrize("quote", ["'", '"'])
def test_what_is_quoted_is_text(text: str, quote: str) -> None:
    assert value(f"{quote}{text}{quote}: {quote}{text}{quote}") == {text: text}


def test_what_yaml_changed_is_remembered_as_it_was_written() -> None:
    document = value("a: 0314\nb: [No, 'No']")
    assert (document.value_spot("a").raw, document["b"].item_spot(0).raw, document["b"].item_spot(1).raw) == (
        "0314",
        "No",
        None,
    )


def test_text_arrives_as_it_was_written() -> None:
    text = "\u200b\u200bمرة آليًّا؟ Zu\u0308rich\ta \\n \U0001f525"
    assert value(f"a: '{text}'\nb: |+\n  {text}\n\n")["a"] == text
    assert value(f"b: |+\n  {text}\n\n")["b"] == f"{text}\n\n"


def test_an_alias_stands_for_what_it_names() -> None:
    document = value("a: &x {k: [1, two]}\nb: *x\nc: &y 0314\nd: *y\n")
    assert document["b"] is document["a"]
    assert (document["d"], document.value_spot("d").raw) == (NotJson("the number 204", 204), "0314")


@pytest.mark.parametrize(
    "text",
    [
        "a: one # a comment",
        "a: one# two",
        "a: 'x #y' # c",
        "a: b\n#c: d\n",
        "a:\n  b: c\n  #d: e\n",
        "a: |\n  x #y\n",
        "a: [\n  b\n  #c\n]\n",
    ],
)
def test_an_ordinary_comment_is_a_comment(text: str) -> None:
    value(text)


REFUSED = [
    # Files.
    ("", 1, 1, "PACK013", "empty"),
    ("# nothing but this\n", 1, 1, "PACK013", "empty"),
    ("---\n...\n", 1, 1, "PACK013", "empty"),
    ("- a\n- b\n", 1, 1, "PACK013", "a mapping"),
    ("just words\n", 1, 1, "PACK013", "a mapping"),
    (b"a: \xe9\n", 1, 4, "PACK002", "byte 0xe9 is not UTF-8"),
    ("a: b".encode("utf-16"), 1, 1, "PACK002", "UTF-16"),
    ("a: b\x07c\n", 1, 5, "PACK003", "U+0007"),
    ("a: b\nc: 'd\x85e'\n", 2, 6, "PACK003", '"\\x85"'),
    ("a: 'x \u2028 y'\n", 1, 7, "PACK003", 'write it as "\\u2028" in double quotes'),
    ("a: x\u2029\n", 1, 5, "PACK003", 'write it as "\\u2029"'),
    # Keys.
    ("a: b\nc: d\na: e\n", 3, 1, "PACK005", "'a' is given twice (first at line 1)"),
    ("x: {a: b, 'a': c}\n", 1, 11, "PACK005", "'a' is given twice"),
    ("no: b\n", 1, 1, "PACK009", "YAML reads no as false; quote it"),
    ("a: {14: b}\n", 1, 5, "PACK009", "YAML reads 14 as a number; quote it"),
    ("2022-08-01: b\n", 1, 1, "PACK009", "a date"),
    ("~: b\n", 1, 1, "PACK009", "quote it"),
    ("{[a, b]: c}\n", 1, 2, "PACK009", "a key must be text, and this is a list; quote it"),
    ("a: b\n{c: d}: e\n", 2, 1, "PACK009", "this is a mapping (key: value); quote it"),
    ("a: {{ order_id }}\n", 1, 4, "PACK009", "quote a text that begins with '{'"),
    ("a: &x {k: v}\nb: {<<: *x}\n", 2, 5, "PACK008", "merge keys"),
    # Several documents, tags, anchors and aliases.
    ("a: b\n---\nc: d\n", 2, 1, "PACK006", "a second document starts here"),
    ("a: b\n...\n---\nc: d\n", 3, 1, "PACK006", "a second document"),
    ("a: !!str 14\n", 1, 4, "PACK007", "tag"),
    ("a: !important\n", 1, 4, "PACK007", "quote it"),
    ("a: !shop!x b\n", 1, 4, "PACK007", "'!' starts a tag"),
    ("a: !!python/name:os.system {}\n", 1, 4, "PACK007", "tag"),
    ("a: *x\n", 1, 4, "PACK011", "quote the text"),
    ("a: &Co is late\n", 1, 4, "PACK011", "if it is part of the text, quote it"),
    ("a: &x [*x]\n", 1, 8, "PACK011", "inside what it names"),
    # Texts that a comment cuts short.
    ("say: order #W23\n", 1, 12, "PACK010", "the text ends at 'order'"),
    ("ref: #W23\n", 1, 6, "PACK010", "there is no text"),
    ("a:\n  - #W23\n", 2, 5, "PACK010", "there is no text"),
    ("a: {say: order #W23}\n", 1, 16, "PACK010", "'order'"),
    ("a: order\t#W23\n", 1, 10, "PACK010", "'order'"),
    ("say: my order is\n  #W23, a lamp\n", 2, 3, "PACK010", "'my order is'"),
    ("a: b\r\nsay: 中文 #W23\r\n", 2, 9, "PACK010", "'中文'"),
    # Syntax, in an author's words.
    ("a: Say it. Example: a lamp\n", 1, 19, "PACK004", "a plain text holds ': '; quote it"),
    ("a: [x: y: z]\n", 1, 9, "PACK004", "a plain text holds ': '; quote it"),
    ("a: {b: c,\n    d: e f: g}\n", 2, 11, "PACK004", "a plain text holds ': '; quote it"),
    ("a: **bold**\n", 1, 4, "PACK004", "'*' starts an alias; quote the text"),
    ("a: & more\n", 1, 4, "PACK004", "'&' starts an anchor; quote the text"),
    ("a: @home\n", 1, 4, "PACK004", "'@' can't start a plain text"),
    ("a: `x`\n", 1, 4, "PACK004", "'`' can't start a plain text"),
    ("a: %20\n", 1, 4, "PACK004", "'%' can't start a plain text"),
    ("a:\n\t- b\n", 2, 1, "PACK004", "a tab can't be used for indentation"),
    ("a:\n  b: c\n\td: e\n", 3, 1, "PACK004", "a tab can't be used for indentation"),
    ('a: "b\nc: d\n', 1, 4, "PACK004", "this quote is never closed"),
    ("a: 'it's late'\n", 1, 8, "PACK004", "goes on after its closing quote"),
    ('a: "Yes," he said\n', 1, 11, "PACK004", "goes on after its closing quote"),
    ('a: ["b" c]\n', 1, 9, "PACK004", "goes on after its closing quote"),
    ("a: [b, c\nd: e\n", 1, 4, "PACK004", "'[' is never closed"),
    ("a: {b: c\nd: e\n", 1, 4, "PACK004", "'{' is never closed"),
    ("a: [b]]\n", 1, 7, "PACK004", "']' closes a bracket that was never opened"),
    ("a: {name} is late\n", 1, 11, "PACK004", "begins with '[' or '{' must be quoted"),
    ("a: [b, , c]\n", 1, 8, "PACK004", "an empty item where text is meant"),
    ('a: "b \\d"\n', 1, 7, "PACK004", "this escape"),
    ('a: "C:\\Users"\n', 1, 7, "PACK004", "this escape"),
    ("a: > 5 lamps\n", 1, 4, "PACK004", "quote a text that begins with one of them"),
    ("a: - b\n", 1, 4, "PACK004", "'- ' starts a list item"),
    ("a: ? b\n", 1, 4, "PACK004", "'? ' starts a key"),
    ("a: b\n  c: d\n", 2, 3, "PACK004", "deeper than 'a' on line 1, which has its text already"),
    ("a:\n    b: c\n  d: e\n", 3, 3, "PACK004", "doesn't fit the ones above"),
    ("a: b\nsay hello\nc: d\n", 2, 1, "PACK004", "a key needs ': ' after it"),
    ("a: b\n...\nc: d\n", 2, 1, "PACK004", "'...' ends the document"),
    ("  a: b\nc: d\n", 2, 1, "PACK004", "or this line is indented less than the first one"),
    ("%FOO\n---\na: b\n", 1, 1, "PACK004", "directive"),
    ("a: {b: c, wrong:}\n", 1, 16, "PACK004", "a key needs ': ' after it"),
    ("a:\n- !!! b\n", 2, 3, "PACK007", "this is one ('!!!')"),
    # Limits.
    ("a: " + "[" * (MAX_DEPTH + 5), 1, 3 + MAX_DEPTH, "PACK012", "nested too deep"),
    ("- " * 2000, 1, 2 * MAX_DEPTH + 1, "PACK012", "nested too deep"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "line", "column", "code", "gist"), REFUSED, ids=[repr(case[0])[:30] for case in REFUSED]
)
def test_refused_with_place_and_remedy(text: str | bytes, line: int, column: int, code: str, gist: str) -> None:
    _, findings = read(text)
    assert [(finding.code, finding.place.line, finding.place.column) for finding in findings] == [(code, line, column)]
    assert gist in findings[0].message


_TURN = 'a:\n  - b:\n      - {say: "It is.", value: ORD-50231, '
_DASH = "a list item needs '- ' before it (a hyphen and a space)"
_SPACE = "which isn't a space; type a space instead"
# Where the mistake is, however far from there it is noticed, and the whole sentence.
CLOSER = [
    (_TURN, 3, 9, "'{' is never closed: '}' is missing"),
    (_TURN + "\n\n  # the end\n", 3, 9, "'{' is never closed: '}' is missing"),
    ("a: [b, {c: d,\n", 1, 8, "'{' is never closed: '}' is missing"),
    ('t:\n  - "Where is it?\n  - b\n  - {a: "x", b: y}\n', 2, 5,
     'this quote is closed on line 4 only: " is missing at the end of the text, or one inside it isn\'t written \\"'),
    ("t:\n  a: 'Where is it?\n  b: c\n  d: it's\n", 2, 6,
     "this quote is closed on line 4 only: ' is missing at the end of the text, or one inside it isn't written ''"),
    ("t:\n  - a\n  -Nothing.\n  - b\n", 3, 3, _DASH),
    ("t:\n  - a\n  -Nothing.\nu: b\n", 3, 3, _DASH),
    ("t:\n  - id: x\n    m: y\n  -id: t-2\n    m: z\n", 4, 3, _DASH),
    ("t:\n  - a\n  \u2013 b\nu: v\n", 3, 3, f"{_DASH}; this is U+2013 (en dash)"),
    ("t:\n  \u2013 id: x\n    m: y\n", 2, 3, f"{_DASH}; this is U+2013 (en dash)"),
    ("t:\n  category:\u00a0exchange\n  d: e\n", 2, 12, f"this is U+00A0 (no-break space), {_SPACE}"),
    ("t:\n  a: b\n\u00a0\u00a0category: x\n  d: e\n", 3, 1, f"this is U+00A0 (no-break space), {_SPACE}"),
    ("t:\n  a: b\n  \u200bc:d\n  e: f\n", 3, 3, f"this is U+200B (zero width space), {_SPACE}"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "line", "column", "message"), CLOSER, ids=[repr(case[0])[-30:] for case in CLOSER])
def test_the_mistake_is_named_where_it_was_made(text: str, line: int, column: int, message: str) -> None:
    _, findings = read(text)
    assert [(finding.place[1:], finding.message) for finding in findings] == [((line, column), message)]


def test_json_writes_a_character_as_two_escapes() -> None:
    # U+1F600 is D83D DE00 in UTF-16; in the last text a backslash and five letters are meant.
    assert value('{"a": "\\ud83d\\ude00!", "b": "\\\\ud83d"}') == {"a": "\U0001f600!", "b": "\\ud83d"}
    _, [finding] = read('{"a": "\\ud83d"}')
    assert finding.code == "PACK004"
    _, [finding] = read('a: "\\ud83d\\ude00"\n')  # no JSON
    assert finding.code == "PACK004"


def test_everything_before_a_syntax_error_is_reported_with_it() -> None:
    _, findings = read("a: b\na: c\nno: d\ne: !x f\ng: [h\n")
    assert [(finding.code, finding.place.line) for finding in findings] == [
        ("PACK005", 2), ("PACK009", 3), ("PACK007", 4), ("PACK004", 5),
    ]  # fmt: skip


def test_the_first_of_two_values_is_kept() -> None:
    assert read("a: b\na: c\nno: d\n")[0] == {"a": "b", "no": "d"}


def test_a_line_far_inside_a_long_file_is_shown() -> None:
    _, findings = read("# x\n" * 5000 + "a: é @\nb: @c\n")
    assert (findings[0].place.line, findings[0].source, findings[0].caret) == (5002, "b: @c", 3)


def test_what_cannot_be_read(tmp_path: Path) -> None:
    def refused(path: Path) -> tuple[str, str]:
        report = Report()
        assert open_file(path, Budget(), report) is None
        [finding] = report.findings()
        return finding.code, finding.message

    assert refused(tmp_path / "none.yaml") == ("PACK001", "there is no such file")
    assert refused(tmp_path) == ("PACK001", "this is not a file")
    assert refused(Path("/dev/zero")) == ("PACK001", "this is not a file")
    assert refused(Path("nul\0byte"))[0] == "PACK001"
    large = tmp_path / "large.yaml"
    large.write_bytes(b"x" * (MAX_BYTES + 1))
    assert refused(large) == ("PACK012", "the pack is too large: 8 MB are the most")


def test_a_place_is_found_again() -> None:
    file = File("p", "a\r\nbc\n\nd")
    assert [
        file.find(file.spot(index).place).offset for index in range(len(file.text)) if file.text[index] not in "\r\n"
    ] == [0, 3, 4, 7]


HOSTILE = {
    "aliases of lists": "a: &a [x, x, x, x, x, x, x, x, x]\n"
    + "".join(f"{n}: &{n} [{', '.join([f'*{o}'] * 9)}]\n" for o, n in zip("abcdef", "bcdefg", strict=True)),
    "aliases of a long text": f"a: &a {'x' * 1_000_000}\nb: [{'*a ,' * 200_000}]",
    "a deep list": "a: " + "[" * 4_000_000,
    "deep lists in a block": "- " * 2_000_000,
    "a long number": "a: 1" + ":59" * 2_000_000,
    "a long line": "a: " + "x" * 7_900_000 + "\nb: @",
    "many lines": "a: 'x" + "\n" * 7_900_000,
    "many documents": "---\n" * 1_900_000,
    "many keys given twice": "".join(f"k{n}: x\n" for n in range(50_000)) * 2,
    "many unknown aliases": "a: [" + "*x ," * 1_900_000,
    "many merges": "a: &a {x: y}\nb: [" + "{<<: *a}," * 200_000,
    "many empty mappings": "a: [" + "{}," * 2_600_000,
    "many anchors": "a: [" + "".join(f"&a{n} x," for n in range(400_000)),
    "control characters": "a: '" + "\x01" * 7_900_000,
    "a comment": "a: b " + "#x " * 2_600_000,
    "many unknown keys": "".join(f"k{n}: x\n" for n in range(120_000)),
    "many commas in braces": "a: {" + "".join(f"k{n}, " for n in range(80_000)) + "}",
    "a key given twice above a great many lines": "t:\n  - a: x\n    a: x\n" + "     y\n" * 1_100_000,
    "many items without a dash": "t:\n  - a: x\n    b: x\n" + "    a: x\n    b: x\n" * 200_000,
    "a line that fits nothing below a great many": "a:\n    b: c\n" + "\n" * 7_900_000 + "  d: e\n",
    "items that are all torn apart": "tickets:\n" + "  - id: x\n  - task: y\n  - messages: z\n" * 40_000,
}

MEASURED = """
import resource, sys, time
from pathlib import Path
from engine.load import check_pack
check_pack("no such pack")
before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
pack, findings = check_pack(Path(sys.argv[1]))
assert pack is None and findings
print(time.process_time() - start, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1000)
"""


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_file_is_refused_at_once(kind: str, tmp_path: Path, root: Path) -> None:
    """Within a second of processor time (on a machine that does nothing else: well under it) and 100 MB."""
    path = tmp_path / "pack.yaml"
    path.write_text(HOSTILE[kind], encoding="utf-8")
    done = subprocess.run([sys.executable, "-c", MEASURED, path], cwd=root, capture_output=True, text=True, check=True)
    seconds, megabytes = map(float, done.stdout.split())
    assert megabytes < 100
    assert seconds < 2
