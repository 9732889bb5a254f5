"""The proof of a pack as text: its numbers, a line for each check, and the episodes that show what is wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from engine.pack import REWARD_UNIT, Pack
from engine.proof import told
from engine.proof.prove import BUDGET, OF_TICKETS
from engine.proof.result import KINDS, Check, Numbers, PackProof, severity
from engine.proof.scene import Scene, bests, play
from engine.proof.told import Proved, Unproved, Verdict
from engine.terminal import printable

# How many failures of a check are shown, unless all are asked for.
SHOWN = 3
# From how many columns on there is room for the names of tasks.
WIDE = 100
# How wide a table may become, on however narrow a terminal.
WIDEST = 1_000

_STYLES: Mapping[str, str] = {
    "holds": "green",
    "error": "bold red",
    "warning": "bold yellow",
    "not proved": "bold yellow",
    "no matter": "dim",
    "ignored": "dim",
}


@dataclass(frozen=True, slots=True)
class Wish:
    """How much is shown: one ticket only; every failure; the best line of every ticket."""

    ticket: str | None = None
    every: bool = False
    lines: bool = False
    budget: int = BUDGET


def report(proved: Proved, console: Console, wish: Wish) -> None:
    """Prints the proof of one pack."""
    pack, proof = proved.pack, proved.proof
    _header(proved, console)
    show(_of_ticket(proof) if wish.ticket is not None else _of_tasks(pack, proof, console.width), console)
    console.print()
    for verdict in told.verdicts(proof):
        if wish.ticket is None or verdict.word != "ignored":
            _verdict(verdict, console)
    console.print()
    limit = None if wish.every else SHOWN
    for code, checks in told.failures(proof).items():
        _failures(pack, proof, code, checks, console, limit)
    _unproved(told.unproved(proof), console, limit)
    if wish.ticket is not None:
        _best_episodes(pack, proof, wish, console)
    elif wish.lines:
        _best_lines(pack, proof, wish, console)


def closing(errors: int, warnings: int, wish: Wish) -> str:
    """What all packs come to, in a line."""
    if errors or warnings:
        return f"{told.count(errors, 'error')}, {told.count(warnings, 'warning')}"
    if wish.ticket is None:
        return "Everything holds."
    *others, last = (code for code in KINDS if code not in OF_TICKETS)
    return f"Everything that is about this ticket alone holds; {', '.join(others)} and {last} are about the whole pack."


def _header(proved: Proved, console: Console) -> None:
    proof = proved.proof
    took = f" in {proved.seconds:.1f} s" if proved.seconds is not None else ""
    name = f"[bold]{escape(printable(proof.pack))}[/] {escape(printable(proof.version))}"
    console.print(f"{name}: {told.count(len(proof.tickets), 'ticket')}{took}", soft_wrap=True)
    console.print(f"  [dim]digest {proof.digest}[/]\n", soft_wrap=True)


def _verdict(verdict: Verdict, console: Console) -> None:
    kind, word = verdict.kind, verdict.word
    margin = f"margin {told.units(verdict.margin * REWARD_UNIT)}" if verdict.margin is not None else ""
    detail = ", ".join(filter(None, (verdict.detail, margin)))
    gap = " " * (12 - len(word)) if detail else ""
    console.print(f"  {kind.code}  {kind.name:<12}  [{_STYLES[word]}]{word}[/]{gap}{escape(detail)}", soft_wrap=True)


def show(table: Table, console: Console) -> None:
    """Prints a table, a little to the right; without blanks at the ends of lines where no terminal needs them."""
    indented = Padding.indent(table, 2)
    width, options = console.width, console.options.update(max_width=WIDEST)
    console.width = max(width, console.measure(indented, options=options).minimum)  # else numbers would be cut
    if console.is_terminal:
        console.print(indented)
        console.width = width
        return
    with console.capture() as captured:
        console.print(indented)
    for line in captured.get().splitlines():
        console.print(line.rstrip(), markup=False, soft_wrap=True)
    console.width = width


# -- Numbers


def plain_table(first: str, *more: str, gap: int = 1) -> Table:
    """A table of numbers under names, without lines, with so many blanks between."""
    table = Table(box=None, padding=(0, 0, 0, gap), header_style="dim", pad_edge=False)
    table.add_column(first, overflow="fold")
    for name in more:
        table.add_column(name, justify="right", no_wrap=True)
    return table


_NUMBERS = ("states", "V*", "fewest", "optimal", "random", "easy", "medium", "hard")


def _of_tasks(pack: Pack, proof: PackProof, width: int) -> Table:
    """A row for each task that has tickets: ranges, and means of what chance may expect."""
    table = plain_table("task", "tickets", *_NUMBERS, "blind")
    for task, about in pack.tasks.items():
        ids = [ticket.ticket for ticket in proof.tickets if pack.tickets[ticket.ticket].task == task]
        if ids:
            bound = proof.blind.get(task)
            blind = told.decimal(bound, 3) if bound is not None else "-"
            name = task if width >= WIDE else about.difficulty
            table.add_row(Text(printable(name)), f"{len(ids):,}", *_numbers([*told.known_numbers(proof, ids)]), blind)
    return table


def _of_ticket(proof: PackProof) -> Table:
    """A row for each variant of the one ticket that was proved."""
    table = plain_table("variant", *_NUMBERS)
    for variant in proof.tickets[0].variants:
        table.add_row(Text(told.title(variant)), *_numbers([variant.numbers] if variant.numbers is not None else []))
    return table


def _numbers(known: Sequence[Numbers]) -> list[str]:
    grades = [one.random_grades for one in known]
    means = (
        told.mean([one.random_return for one in known]),
        *(told.mean([getattr(one, name) for one in grades]) for name in ("easy", "medium", "hard")),
    )
    return [
        told.span((one.states for one in known), "{:,}".format),
        told.span((one.optimum for one in known), told.units),
        told.span(one.fewest_steps for one in known if one.fewest_steps is not None),
        told.span(one.optimal_steps for one in known),
        *("-" if value is None else told.decimal(value, 3) for value in means),
    ]


# -- What doesn't hold


def _failures(
    pack: Pack, proof: PackProof, code: str, checks: Sequence[Check], console: Console, limit: int | None
) -> None:
    for check in checks[:limit]:
        grave = severity(proof.demands, code)
        head = f"[{_STYLES[grave]}]{grave}[/] [bold]{code}[/] {escape(told.lines(check.message))}"
        console.print(head, soft_wrap=True)
        if check.place is not None:
            console.print(f"  {escape(told.at(check.place))}", soft_wrap=True)
        if check.counterexample is not None:
            _episode(play(pack, check.counterexample), console)
        console.print()
    _more(len(checks) - len(checks[:limit]), f"of {code}", console)


def _unproved(found: Sequence[Unproved], console: Console, limit: int | None) -> None:
    for one in found[:limit]:
        head = f"[{_STYLES['not proved']}]not proved[/] {escape(one.message)}"
        console.print(f"{head}\n  {', '.join(one.codes)}", soft_wrap=True)
        if one.place is not None:
            console.print(f"  {escape(one.place)}", soft_wrap=True)
        console.print()
    _more(len(found) - len(found[:limit]), "not proved", console)


def _more(left: int, of_what: str, console: Console) -> None:
    if left:
        console.print(f"and {left:,} more {of_what}; --all shows every one\n", soft_wrap=True)


def _episode(scene: Scene, console: Console) -> None:
    """The steps one below the other, with reward and return so far; `>` marks the step that paid."""
    console.print(f"  ticket {escape(scene.ticket)}, seed {scene.seed}", soft_wrap=True)
    table = Table(box=None, padding=(0, 0, 0, 1), header_style="dim", pad_edge=False)
    table.show_header = bool(scene.steps)
    table.add_column("", width=1)
    table.add_column("step", justify="right")
    table.add_column("", ratio=1, overflow="fold")
    table.add_column("reward", justify="right", no_wrap=True)
    table.add_column("return", justify="right", no_wrap=True)
    table.add_row("", "", _speech("customer", scene.message))
    for step in scene.steps:
        action = Text.assemble((step.action, "bold"), (f" ({step.outcome})", "dim"))
        amounts = (f"{step.reward / REWARD_UNIT:+.4f}", f"{step.total / REWARD_UNIT:.4f}")
        style = "reverse" if step.paid else ""
        table.add_row(">" if step.paid else "", str(step.number), action, *amounts, style=style)
        table.add_row("", "", _speech(step.speaker, step.text))
    show(table, console)
    for step in scene.steps:
        if step.paid:
            rule = f"rule {scene.rule}, {scene.place}" if scene.rule is not None else "no rule: none fires there"
            paid = f"step {step.number}: {step.reward / REWARD_UNIT:+.4f} by {rule}"
            console.print(f"  > {escape(paid)}", soft_wrap=True)
    if not scene.steps:
        return  # it is the opening that counts
    steps = told.count(len(scene.steps), "step")
    end = f"{scene.end} after {steps}; return {scene.total / REWARD_UNIT:.4f}, score {scene.score:.4f}"
    console.print(f"  {end}", soft_wrap=True)


def _speech(speaker: str, text: str) -> Text:
    return Text.assemble((f"{speaker}: ", "cyan"), text)


# -- Best lines


def _best_episodes(pack: Pack, proof: PackProof, wish: Wish, console: Console) -> None:
    """The best line of play of each variant of the one ticket that was proved, as an episode."""
    for best in bests(pack, proof, proof.tickets[0].ticket, wish.budget):
        console.print(f"[bold]A best line of play[/], {escape(told.title(best.variant))}", soft_wrap=True)
        if best.known is None or best.episode is None:
            console.print("  not proved\n")
            continue
        number = best.known.optimal.episodes
        if number:
            others = "the only one that returns" if number == 1 else f"one of {told.many(number)} that return"
            console.print(f"  {others} as much")
        _episode(play(pack, best.episode), console)
        console.print()


def _best_lines(pack: Pack, proof: PackProof, wish: Wish, console: Console) -> None:
    """The best line of play of each variant of each ticket, as a line of text."""
    console.print("[bold]Best lines of play[/]")
    for ticket in proof.tickets:
        for best in bests(pack, proof, ticket.ticket, wish.budget):
            several = f" ({told.title(best.variant)})" if len(ticket.variants) > 1 else ""
            line = told.brief(best.episode.actions) if best.episode is not None else "not proved"
            worth = (
                f"{told.units(best.known.numbers.optimum)} in {told.count(best.known.optimal.steps, 'step')}: "
                if best.known is not None
                else ""
            )
            console.print(
                f"  {escape(printable(ticket.ticket))}{escape(several)}: {worth}{escape(line)}", soft_wrap=True
            )
    console.print()
