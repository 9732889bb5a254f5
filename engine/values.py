"""Whether values are valid under their field's schema."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Container, Mapping
from datetime import date, datetime, time
from typing import Any, Final
from uuid import UUID

from engine.diagnostics import Report
from engine.nodes import Map, Spot, entries
from engine.pack import Field
from engine.patterns import MAX_COST, Pattern, PatternError

# What all patterns of a pack may cost together.
MAX_TOTAL: Final = 50_000_000

_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:\S+")
_EMAIL = re.compile(r"[^@\s]+@[^@\s]+")


def _parses(parse: Callable[[str], Any]) -> Callable[[str], bool]:
    def check(value: str) -> bool:
        try:
            parse(value)
        except ValueError:
            return False
        return True

    return check


# The formats that a field may name, checked in the same way wherever the pack is loaded.
FORMATS: Mapping[str, Callable[[str], bool]] = {
    "date": lambda value: len(value) == 10 and _parses(date.fromisoformat)(value),
    "date-time": lambda value: "T" in value.upper() and _parses(datetime.fromisoformat)(value),
    "email": lambda value: _EMAIL.fullmatch(value) is not None,
    "ipv4": _parses(ipaddress.IPv4Address),
    "ipv6": _parses(ipaddress.IPv6Address),
    "time": _parses(time.fromisoformat),
    "uri": lambda value: _URI.fullmatch(value) is not None,
    "uuid": lambda value: len(value) == 36 and _parses(UUID)(value),
}


class ValueCheck:
    """Checks right values and samples. Each pair of a field and a value is checked once."""

    def __init__(self, fields: Mapping[str, Field], nodes: Map, report: Report) -> None:
        """`nodes` is where the fields are written."""
        self.fields, self.nodes, self.report = fields, nodes, report
        self.spent = 0
        self._problems: dict[tuple[str, str], str | None] = {}
        self._patterns = {name: self._pattern(name) for name in fields}
        # As sets: an enum may list thousands of values.
        self._enums = {name: frozenset(field.schema.get("enum") or ()) for name, field in fields.items()}

    def _pattern(self, name: str) -> Pattern | None:
        source = self.fields[name].schema.get("pattern")
        if not isinstance(source, str):
            return None
        try:
            return Pattern(source)
        except PatternError as error:
            schema = entries(entries(self.nodes, name), "schema")
            self.report.add("PACK047", schema.value_spot("pattern"), str(error))
            return None

    def problem(self, name: str, value: str) -> str | None:
        """What is wrong with a value, or None."""
        key = (name, value)
        if key not in self._problems:
            self._problems[key] = self._problem(name, value)
        return self._problems[key]

    def report_problem(self, name: str, value: str, spot: Spot) -> None:
        """Reports a value that isn't valid."""
        enum = self.fields[name].schema.get("enum")
        message = f"'{_cut(value)}' is not a valid '{name}': {self.problem(name, value)}"
        self.report.add("PACK044", spot, message, meant=(value, enum) if enum else None)

    def _problem(self, name: str, value: str) -> str | None:
        schema = self.fields[name].schema
        if not schema:
            return None
        if "const" in schema and value != schema["const"]:
            return f"only '{_cut(str(schema['const']))}' is"
        if "enum" in schema and value not in self._enums[name]:
            return "it is not one of the field's values"
        if len(value) < _number(schema.get("minLength"), 0):
            return f"it has fewer than {schema['minLength']} characters"
        if len(value) > _number(schema.get("maxLength"), len(value)):
            return f"it has more than {schema['maxLength']} characters"
        if not FORMATS.get(str(schema.get("format")), _anything)(value):
            return f"it doesn't have the format '{schema['format']}'"
        pattern = self._patterns[name]
        if pattern is None:
            return None
        cost = pattern.cost(len(value))
        self.spent += cost
        if cost > MAX_COST or self.spent > MAX_TOTAL:
            return "its pattern has too many ways to go about texts this long; make it simpler"
        return None if pattern.found_in(value) else f"it doesn't match {schema['pattern']}"

    def check_samples(self, refused: Container[str]) -> None:
        """Every value of a sample is valid, whatever is drawn for its '#' and '?'. `refused` fields are left out."""
        for name, field in self.fields.items():
            node = entries(self.nodes, name)
            if name in refused:
                continue
            if isinstance(field.sample, str):
                self._check_end(field.sample, node.value_spot("sample"))
                drawn = (example(field.sample, *letters) for letters in ("0A", "9Z", "5M"))
                wrong = next((value for value in drawn if self.problem(name, value) is not None), None)
                if wrong is not None:
                    self.report_problem(name, wrong, node.value_spot("sample"))
                continue
            seen: set[str] = set()
            for index, value in enumerate(field.sample or ()):
                spot = node["sample"].item_spot(index)
                if value in seen:
                    self.report.add("PACK040", spot, f"'{_cut(value)}' is listed twice")
                seen.add(value)
                if self.problem(name, value) is not None:
                    self.report_problem(name, value, spot)

    def _check_end(self, sample: str, spot: Spot) -> None:
        if (len(sample) - len(sample.rstrip("\\"))) % 2:
            message = "'\\' takes the next character as it is, and there is none; write '\\\\' for a backslash"
            self.report.add("PACK024", spot, message)


def example(pattern: str, digit: str, letter: str) -> str:
    """A sample's pattern with one digit and one letter everywhere."""
    return re.sub(
        r"\\(.?)|#|\?",
        lambda found: (found[1] or "") if found[0][0] == "\\" else (digit if found[0] == "#" else letter),
        pattern,
        flags=re.DOTALL,
    )


def _anything(value: str) -> bool:
    return True


def _number(value: Any, default: int) -> float:
    return value if isinstance(value, int | float) else default


def _cut(value: str) -> str:
    return value if len(value) <= 60 else value[:60] + "…"
