"""V*, optimal and fewest steps against brute force over all action sequences, and findings for unsound tickets."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.action import action_space
from engine.automaton import Automaton, State
from engine.load import check_pack, load_pack
from engine.pack import Pack
from engine.solve import OverBudget, Solution, fewest_steps, solve, variants


def brute_force(machine: Automaton) -> tuple[int, int, int | None]:
    """(V*, optimal steps, fewest steps), from the definition: every sequence of at most max_steps actions.

    Sequences that meet in a state at the same step go on alike, so each (state, step) is looked at once.
    """
    choices = action_space(machine.pack).choices
    seen: dict[tuple[State, int], tuple[int, int, int | None]] = {}

    def best_from(state: State, step: int) -> tuple[int, int, int | None]:
        """(greatest return still to come, fewest further steps for it, fewest further steps to the goal)."""
        if state.resolved:
            return 0, 0, 0
        if step == machine.pack.max_steps:
            return 0, 0, None
        if (state, step) not in seen:
            values = []
            goals = []
            for choice in choices:
                move = machine.transition(state, choice)
                value, steps, goal = best_from(move.state, step + 1)
                values.append((-(move.reward + value), steps + 1))
                goals += [] if goal is None else [goal + 1]
            worst, steps = min(values)
            seen[state, step] = -worst, steps, min(goals, default=None)
        return seen[state, step]

    return best_from(machine.initial, 0)


@pytest.mark.parametrize(
    "ticket",
    ["e-two", "e-known", "e-free", "e-idle", "m-chatty", "m-waived", "m-goal", "h-repair", "h-slow", "m-script"],
)
def test_solution_is_brute_force_s(desk: Pack, ticket: str) -> None:
    for machine in variants(desk, desk.tickets[ticket]):
        solution = solve(machine)
        assert solution is not None
        assert (solution.best, solution.optimal_steps, fewest_steps(machine)) == brute_force(machine)
        assert solution.best == 20_000


BASE = """
pack: p
version: 1.0.0
description: d
fields: {os: {description: System}, pet: {description: Pet}}
categories: {t: {description: T, requires: [os]}}
tickets:
  - {id: a, task: easy-info-collection, category: t, messages: [Hi], answers: {os: %s}}
"""


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "p.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def codes(path: Path) -> list[str]:
    return [finding.code for finding in check_pack(path)[1]]


def stalls(number: int) -> str:
    return "[" + "{say: hm}, " * number + "{say: Linux, value: Linux}]"


def test_too_many_turns(tmp_path: Path) -> None:
    # Eleven turns and resolve make twelve steps, classify thirteen; ten are allowed.
    path = write(tmp_path, BASE % stalls(10))
    pack, findings = check_pack(path)
    assert pack is None
    assert [(f.code, f.place.line, f.message, f.expected) for f in findings] == [
        (
            "PACK060",
            8,
            "ticket 'a' can't be resolved in 10 steps: it takes 11 asks (11 for 'os')",
            "max_steps of at least 13",
        )
    ]


def test_resolvable_but_not_at_the_best_return(tmp_path: Path) -> None:
    # Nine turns and resolve fit into ten steps, but classify, worth 0.5, doesn't.
    path = write(tmp_path, BASE % stalls(8))
    assert [(f.code, f.message, f.expected) for f in check_pack(path)[1]] == [
        (
            "PACK061",
            "ticket 'a' has a best possible return of 1.5, not 2.0: it takes 9 asks (9 for 'os')",
            "max_steps of at least 11",
        )
    ]


SLOW = """\
pack: p
version: 1.0.0
fields: {a: {}, b: {}, c: {}, d: {}, e: {}}
people: {slow: {refuses: 1, stalls: 3, fields: [a, b]}, quick: {}}
tickets:
  - id: t-1
    task: easy-info-collection
    person: [quick, slow]
    messages: [Hello.]
    required: [a, b, c, d, e]
    answers: {a: [{say: Hm.}, x], b: x, c: x, d: x, e: x}
"""


def test_what_takes_so_long_is_told(tmp_path: Path) -> None:
    """By hand: the slow one answers a after 1 + 3 + 1 turns, b after 1 + 3, the others at once: 6 + 5 + 3."""
    [found] = check_pack(write(tmp_path, SLOW))[1]
    assert (found.code, found.place.line, found.expected) == ("PACK060", 6, "max_steps of at least 15")
    assert found.message == (
        "ticket 't-1' can't be resolved in 10 steps: it takes 14 asks (6 for 'a', 5 for 'b', 1 for 'c', 1 for 'd', 1 "
        "for others), of which the person 'slow' puts off 8"
    )


def test_a_max_steps_that_is_too_low_is_told_once(tmp_path: Path) -> None:
    """Two steps where three tickets need three: to ask twice, or to ask and classify, and to resolve."""
    ticket = (
        "  - {{id: {0}, task: easy-info-collection, messages: [Hello.], required: [{1}], answers: {{a: x, b: x}}}}\n"
    )
    tickets = "".join(ticket.format(*one) for one in (("t-1", "a, b"), ("t-2", "b, a"), ("t-3", "a")))
    text = f"pack: p\nversion: 1.0.0\nmax_steps: 2\nfields: {{a: {{}}, b: {{}}}}\ntickets:\n{tickets}"
    [found] = check_pack(write(tmp_path, text))[1]
    assert (found.code, found.place[1:], found.expected) == ("PACK060", (3, 12), "max_steps of at least 3")
    assert found.message == "2 steps are too few for 2 of 3 tickets: 't-1' needs 3, 't-2' needs 3"
    # Of one ticket the ticket may be the mistake.
    [found] = check_pack(write(tmp_path, text.replace("required: [b, a]", "required: [b]")))[1]
    assert (found.code, found.place.line) == ("PACK060", 6)


def test_max_steps_of_the_pack_s_own(tmp_path: Path) -> None:
    path = write(tmp_path, BASE % stalls(10) + "max_steps: 13\n")
    pack = load_pack(path)
    # -1.0 / 13, rounded towards zero in ten-thousandths.
    assert (pack.max_steps, pack.rewards.waste) == (13, -769)
    (machine,) = variants(pack, pack.tickets["a"])
    assert solve(machine) == Solution(20_000, 13)
    assert fewest_steps(machine) == 12


def test_only_ever_wrong(tmp_path: Path) -> None:
    assert codes(write(tmp_path, BASE % "{say: DOS, value: DOS, wrong: true}")) in (["PACK042"], ["PACK060"])


def test_goal_that_no_rule_reaches(tmp_path: Path) -> None:
    text = BASE % "Linux" + "facts: {paid: {values: [false, true]}}\n"
    text = text.replace("answers:", "goal: {paid: true}, answers:")
    findings = check_pack(write(tmp_path, text))[1]
    assert [(f.code, f.message) for f in findings] == [
        ("PACK060", "ticket 'a' can't be resolved: its goal needs 'paid' to be true")
    ]


def test_an_impossible_goal_is_found_at_once_among_many_facts(tmp_path: Path) -> None:
    # 3^14 combinations of facts; nothing ever sets the last one to 2.
    facts = "".join(f"  f{n}: {{values: [0, 1, 2]}}\n" for n in range(14))
    actions = "".join(f"  a{n}: {{description: x}}\n" for n in range(14))
    rules = "".join(
        f"  a{n}: [{{outcome: up, when: {{facts: {{f{n}: 0}}}}, then: {{set: {{f{n}: 1}}, say: x}}}}]\n"
        for n in range(14)
    )
    text = BASE % "Linux" + f"max_steps: 40\nfacts:\n{facts}actions:\n{actions}rules:\n{rules}"
    goal = ", ".join(f"f{n}: {2 if n == 13 else 1}" for n in range(14))
    findings = check_pack(write(tmp_path, text.replace("answers:", f"goal: {{{goal}}}, answers:")))[1]
    assert [(f.code, f.message) for f in findings] == [
        ("PACK060", "ticket 'a' can't be resolved: its goal needs 'f13' to be 2")
    ]
    assert codes(write(tmp_path, text.replace("answers:", f"goal: {{{goal[:-1]}1}}, answers:"))) == []


def test_an_action_that_may_ask_for_no_field(tmp_path: Path) -> None:
    text = BASE % "Linux" + "actions: {go: {asks: x, parameters: {x: {type: string, required: false}}}}\n"
    text += "rules: {go: [{outcome: went, then: {say: Off we go.}}]}\n"
    assert codes(write(tmp_path, text)) == []


def test_many_alike_fields_are_merged(tmp_path: Path) -> None:
    # 8 required of 60 fields: naively 2^60 states.
    names = [f"f{number}" for number in range(60)]
    text = "pack: p\nversion: 1.0.0\ndescription: d\nfields:\n" + "".join(f"  {n}: {{description: x}}\n" for n in names)
    text += f"categories: {{t: {{description: T, requires: [{', '.join(names[:8])}]}}}}\n"
    answers = ", ".join(f"{n}: v{n}" for n in names)
    text += f"tickets: [{{id: a, task: easy-info-collection, category: t, messages: [Hi], answers: {{{answers}}}}}]\n"
    assert codes(write(tmp_path, text)) == []
    assert codes(write(tmp_path, text + "max_steps: 9\n")) == ["PACK061"]
    assert codes(write(tmp_path, text + "max_steps: 8\n")) == ["PACK060"]


def test_what_took_long_in_vain_is_not_tried_again(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else each finished episode of a draft that is too large would take as long again."""
    pack = load_pack(root / "tests" / "packs" / "desk.yaml")
    machine = variants(pack, next(iter(pack.tickets.values())))[0]
    monkeypatch.setattr("engine.solve.BUDGET", 1)
    with pytest.raises(OverBudget):
        solve(machine)
    monkeypatch.setattr("engine.solve.BUDGET", 200_000)
    with pytest.raises(OverBudget):
        solve(machine)
