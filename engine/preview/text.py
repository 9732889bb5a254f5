"""A ticket's view as text, for a terminal or a pipe: what is shown, and in which order. Nothing is printed here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from engine.pack import Pack, Person
from engine.preview.view import Asked, Best, Customer, Row, Spoken, View, ways
from engine.proof import told
from engine.terminal import printable

# How many values of an action are listed.
LISTED = 12
# How wide ids and categories may be in a list of tickets, and from how many columns on a message has room beside them.
WIDEST, WIDE = 24, 72
# What each kind of turn does.
_VERBS = {"value": "answers", "wrong": "is wrong", "stall": "stalls", "refusal": "refuses", "waive": "waives"}
_STYLES = {"value": "green", "wrong": "red", "waive": "magenta"}

Pairs = Iterator[tuple[str, RenderableType]]


def overview(pack: Pack, rows: Sequence[Row], width: int) -> Iterator[RenderableType]:
    """A line for each ticket; in few columns more, so that messages can be read."""
    head = Text.assemble((printable(pack.name), "bold"), f" {printable(pack.version)}: ")
    yield head + Text(told.count(len(rows), "ticket") + "\n")
    if width < WIDE:
        for row in rows:
            yield _indented(_pairs(_brief(pack, row)))
        return
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim", pad_edge=False, expand=True)
    table.add_column("ticket", max_width=WIDEST, overflow="fold")
    table.add_column("task")
    table.add_column("category", max_width=WIDEST, overflow="fold")
    table.add_column("steps", justify="right")
    table.add_column("opening message", ratio=1, no_wrap=True, overflow="ellipsis")
    for row in rows:
        table.add_row(*map(Text, _cells(pack, row)))
    yield _indented(table)


def _cells(pack: Pack, row: Row) -> tuple[str, str, str, str, str]:
    """A ticket's id, task, category, steps and message."""
    ticket = row.ticket
    category = printable(ticket.category) if ticket.category is not None else "-"
    steps = "-" if row.steps is None else str(row.steps)
    message = printable(" ".join(row.message.split()))
    return printable(ticket.id), printable(pack.tasks[ticket.task].difficulty), category, steps, message


def _brief(pack: Pack, row: Row) -> Pairs:
    name, task, category, steps, message = _cells(pack, row)
    text = Text(name, "bold").append(f", {task}, {category}, {steps} {'step' if steps == '1' else 'steps'}", "not bold")
    yield "ticket", text
    yield "", Text(message, "cyan")


def pages(found: View) -> Iterator[RenderableType]:
    """All there is to see of a ticket: first what the agent sees, then what is hidden from it."""
    case, pack = found.case, found.case.pack
    name = Text.assemble((printable(pack.name), "bold"), f" {printable(pack.version)}, ticket ")
    yield name.append(printable(case.ticket.id), "bold").append(f", seed {case.seed}")
    yield Text(f"{printable(case.ticket.task)}: {told.lines(case.automaton.task.description)}\n")
    yield Text("What the agent sees", "bold green")
    yield _indented(_pairs(_seen(found)))
    yield Text("\nHidden from the agent", "bold yellow")
    yield _indented(_pairs(_hidden(found)))
    yield Text("\nHow the customer answers (hidden)", "bold yellow")
    yield from _answers(found)
    if found.openings:
        yield Text("\nOther messages that may open the ticket", "bold yellow")
        yield _indented(_pairs(_openings(found)))
    yield Text("\nThe best that can be done (hidden)", "bold yellow")
    yield _indented(_best(found.best))


def _seen(found: View) -> Pairs:
    seen, pack = found.seen, found.case.pack
    yield "customer", Text(told.lines(seen["customer_message"]), "cyan")
    yield "known", Text(_values(seen["known_info"].items()))
    hidden = not seen["required"] and bool(found.case.ticket.required)
    yield "required", Text("nothing shows before classifying" if hidden else _names(seen["required"]))
    yield "missing", Text("nothing shows before classifying" if hidden else _names(seen["missing_required"]))
    yield "progress", Text(f"{seen['info_progress']:.4g}; {told.count(seen['remaining_steps'], 'step')} at the most")
    for number, (name, choices) in enumerate(ways(pack).items()):
        values = [" ".join(str(value) for _, value in choice.parameters) or "(alone)" for choice in choices]
        more = len(values) - LISTED
        listed = ", ".join(map(printable, values[:LISTED])) + (f" and {more:,} more" if more > 0 else "")
        yield "" if number else "actions", Text.assemble((printable(name), "bold"), f": {listed or 'none is valid'}")


def _hidden(found: View) -> Pairs:
    case = found.case
    ticket, pack, machine = case.ticket, case.pack, case.automaton
    if ticket.category is None:
        yield "category", Text("none: there is nothing to classify")
    else:
        who = "the agent classifies" if machine.reads else "the desk knows it"
        requires = pack.categories[ticket.category].requires
        yield "category", Text(f"{printable(ticket.category)}, which needs {_names(requires)}; {who}")
    yield "required", Text(_names(ticket.required))
    if ticket.optional:
        yield "optional", Text(_names(ticket.optional))
    if pack.facts:
        yield "facts", Text(_values(zip(pack.facts, machine.initial.facts, strict=True)))
    yield "goal", Text(_values(ticket.goal.items()) if ticket.goal else "whatever is required is known")
    yield "customer", _customer(found.customer)
    for number, one in enumerate(found.customers):
        yield "" if number else "or", _customer(one).append(f" (seed {one.seed})", "dim")


def _customer(found: Customer | None) -> Text:
    if found is None:
        return Text("nobody in particular")
    person = found.person
    text = Text(printable(person.name), "bold")
    if person.description != person.name:
        text.append(f": {told.lines(person.description)}", "not bold")
    parts = [told.before(found.manner), _noise(person)]
    return text.append("".join(f"; {part}" for part in parts if part), "not bold")


def _noise(person: Person) -> str:
    if person.noise is None:
        return ""
    return "noise of their own" if person.noise.texts else "no noise"


def _answers(found: View) -> Iterator[RenderableType]:
    for asked in found.asked:
        head = Text(f"  {printable(asked.field)}", "bold").append(f"  {asked.need}", "dim not bold")
        yield head.append(", known from the start" if asked.known else "", "dim not bold")
        yield Padding.indent(_script(asked), 4)
    others = [name for name in found.case.pack.fields if name not in {asked.field for asked in found.asked}]
    if others:
        yield _indented(Text(f"Nothing is said of {_names(others)}.", "dim"))


def _script(asked: Asked) -> RenderableType:
    if not asked.turns:
        return Text("there is nothing to say", "dim")
    table = Table.grid(padding=(0, 1, 0, 0))
    table.add_column(justify="right", no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(ratio=1, overflow="fold")
    for number, turn in enumerate(asked.turns, 1):
        verb = Text(_VERBS[turn.kind] + (" (person)" if turn.of_person else ""), _STYLES.get(turn.kind, "yellow"))
        table.add_row(str(number), verb, Text("\n").join(_speech(turn)))
    last = len(asked.turns)
    again = "the same again each time" if last == 1 else f"turn {last} again each time"
    table.add_row("", Text("then", "dim"), Text(again + ("" if asked.settles else "; it never becomes known"), "dim"))
    return table


def _speech(turn: Spoken) -> Iterator[Text]:
    if turn.before:
        yield Text(f"noise before: {told.lines(turn.before)}", "dim")
    yield Text(told.lines(turn.said), "cyan")
    if turn.after:
        yield Text(f"noise after: {told.lines(turn.after)}", "dim")
    for one in turn.told:
        wrong = ", which is wrong" if one.wrong else ""
        yield Text(f"-> {printable(one.field)} = {told.lines(one.value)}{wrong}", "red" if one.wrong else "green")


def _openings(found: View) -> Pairs:
    for one in found.openings:
        text = Text(told.lines(one.text), "cyan")
        yield f"seed {one.seed}", text.append(f"\nstates {_names(one.known)}" if one.known else "", "dim")


def _best(found: Best | None) -> RenderableType:
    if found is None:
        return Text("not worked out: there are too many moves to look at")
    fewest = "there is no way to the goal" if found.fewest is None else f"the goal takes {found.fewest} at the least"
    head = f"V* {told.units(found.optimum)} in {told.count(found.steps, 'step')}; {fewest}"
    return Text(f"{head}\n{told.brief(found.line)}")


# -- Words


def _pairs(rows: Pairs) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True, style="dim")
    table.add_column(ratio=1, overflow="fold")
    for name, value in rows:
        table.add_row(name, value)
    return table


def _indented(what: RenderableType) -> Padding:
    return Padding.indent(what, 2)


def _names(names: Sequence[str]) -> str:
    return ", ".join(map(printable, names)) or "nothing"


def _values(pairs: Any) -> str:
    return ", ".join(f"{printable(name)} = {told.lines(_scalar(value))}" for name, value in pairs) or "nothing"


def _scalar(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
