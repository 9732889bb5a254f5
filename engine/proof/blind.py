"""P07: how near a policy that doesn't read comes to the best return.

Such a policy sees all but messages, ids, values and texts. At the start it therefore can't tell apart the tickets of
which the same shows: they are a group, and its first action is one for the whole group. Let it see everything from then
on; it only gets better. So on a group it returns no more than the greatest mean, over the first action, of reward and
V* after it.

Some actions tell nothing: in all of the group's tickets they change no state, earn the same and have the same outcome.
A policy that begins with one is in the same group afterwards, with a step fewer and nothing gained, so beginning with
what it does next is no worse (by induction over the steps). Such actions are left out.

An agent sees which group it is in, so a policy for all of a task's tickets returns no more than the mean of the groups'
bounds. That mean is what is compared: a ticket that shows something of its own is a group of its own, and no fault.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from engine.action import Choice, action_space
from engine.automaton import Automaton, State
from engine.dynamics.graph import explore
from engine.dynamics.values import Partial, Table, Values, values
from engine.pack import REWARD_UNIT, Demands, Pack
from engine.proof.episodes import seed_of
from engine.proof.result import Check, Counterexample, margin
from engine.proof.tickets import Study
from engine.solve import Budget

# What was explored once may be explored again.
_UNBOUNDED = 1 << 62


@dataclass(frozen=True, slots=True)
class FirstMove:
    """What one action does at the start. `worth` is the reward and V* after it; `outcome` and `reward` are what is
    heard of it, `changed` whether the state is another."""

    worth: int
    reward: int
    outcome: str
    changed: bool


FirstMoves = Mapping[Choice, FirstMove]


@dataclass(frozen=True, slots=True)
class Opening:
    """A variant of a ticket, how often the ticket's cases are of it, and its first moves; None where not proved."""

    machine: Automaton
    weight: Fraction
    moves: FirstMoves | None


@dataclass(frozen=True, slots=True)
class _Group:
    """Openings that look alike, with the best first action and what it is worth on average; None: to do nothing."""

    openings: tuple[tuple[Opening, FirstMoves], ...]
    weight: Fraction
    choice: Choice | None
    bound: Fraction


def first_moves(known: Study) -> FirstMoves:
    """All valid actions in the initial state."""
    graph = known.graph
    machine, after = graph.machine, known.values.best[-2]
    found = {}
    for choice in action_space(machine.pack).choices:
        move = machine.apply(machine.initial, choice)
        worth = move.reward + after[graph.numbers[graph.symmetry.canonical(move.state)]]
        found[choice] = FirstMove(worth, move.reward, move.outcome, move.state != machine.initial)
    return found


def blind(
    pack: Pack, openings: Sequence[Opening], demands: Demands
) -> tuple[tuple[Check, ...], Mapping[str, Fraction]]:
    """The checks of the whole pack: one that holds, or one for each task that fails; and the bound by task."""
    if not openings:
        return (Check("P07", "no matter"),), {}
    checks: list[Check] = []
    bounds: dict[str, Fraction] = {}
    for task in dict.fromkeys(opening.machine.task.id for opening in openings):
        own = [opening for opening in openings if opening.machine.task.id == task]
        proved = [(opening, opening.moves) for opening in own if opening.moves is not None]
        if len(proved) < len(own):
            message = f"under '{task}' nothing is proved of agents that don't read: a ticket has too many moves"
            checks.append(Check("P07", "not proved", None, message, pack.place))
            continue
        groups = [*_groups(proved)]
        tickets = sum(group.weight for group in groups)
        bounds[task] = sum((group.weight * group.bound for group in groups), Fraction(0)) / tickets
        best = sum((opening.weight * _optimum(moves) for opening, moves in proved), Fraction(0)) / tickets
        if best - bounds[task] < margin(demands, "P07"):
            checks.append(_failed(task, groups, bounds[task], best, margin(demands, "P07")))
    return tuple(checks) or (Check("P07", "holds"),), bounds


def _groups(proved: Sequence[tuple[Opening, FirstMoves]]) -> Iterator[_Group]:
    alike: dict[Hashable, list[tuple[Opening, FirstMoves]]] = {}
    for opening, moves in proved:
        alike.setdefault(_seen(opening.machine), []).append((opening, moves))
    for members in alike.values():
        weight = sum((opening.weight for opening, _ in members), Fraction(0))
        choice, bound = None, Fraction(0)
        for one in members[0][1]:
            if not _tells_nothing([moves[one] for _, moves in members]):
                worth = sum((opening.weight * moves[one].worth for opening, moves in members), Fraction(0))
                if worth / weight / REWARD_UNIT > bound:
                    choice, bound = one, worth / weight / REWARD_UNIT
        yield _Group(tuple(members), weight, choice, bound)


def _seen(machine: Automaton) -> Hashable:
    """What an agent sees at the start that doesn't read. Facts don't show; the steps are the pack's."""
    view = machine.observation(machine.initial)
    return view.required, view.missing, view.progress, tuple(name for name, _ in view.known)


def _tells_nothing(moves: Sequence[FirstMove]) -> bool:
    """Whether one action comes to the same everywhere, and to nothing that would be worth a step."""
    first = moves[0]
    return first.reward <= 0 and all(
        not move.changed and (move.outcome, move.reward) == (first.outcome, first.reward) for move in moves
    )


def _optimum(moves: FirstMoves) -> Fraction:
    return Fraction(max(0, *(move.worth for move in moves.values())), REWARD_UNIT)


# -- What is told of a bound that is too high


def _failed(task: str, groups: Sequence[_Group], bound: Fraction, best: Fraction, asked: Fraction) -> Check:
    worst = max(groups, key=lambda group: (group.bound, group.weight))
    tickets = len({opening.machine.ticket.id for opening, _ in worst.openings})
    alike = f"the {tickets} tickets that look alike to it" if tickets > 1 else "a ticket that looks like no other"
    message = (
        f"under '{task}' an agent that doesn't read may return {float(bound):.4f} on average, "
        f"{float(best - bound):.4f} less than the best one; {float(asked)} are asked for"
    )
    if worst.choice is None:
        return Check("P07", "fails", None, message, worst.openings[0][0].machine.ticket.place)
    choice = worst.choice
    opening, _ = max(worst.openings, key=lambda one: one[1][choice].worth)
    message += f". It does best, up to {float(worst.bound):.4f}, to begin with {_words(choice)} on {alike}"
    message += ": tickets of other categories that look the same at the start would make it read"
    episode = _episode(opening.machine, choice)
    return Check("P07", "fails", None, message, opening.machine.ticket.place, episode)


def _words(choice: Choice) -> str:
    given = ", ".join(str(value) for _, value in choice.parameters)
    return f"{choice.type}({given})"


def _episode(machine: Automaton, choice: Choice) -> Counterexample:
    """The episode that begins with an action and goes on as well as can be."""
    known = values(explore(machine, Budget(_UNBOUNDED)))
    actions = tuple(one.canonical() for one in (choice, *_best_after(known, choice)))
    return Counterexample(machine.ticket.id, seed_of(machine.pack, machine.ticket, machine), actions)


def _best_after(known: Values, choice: Choice) -> Iterator[Choice]:
    """A shortest way to the most that can be had after an action, and to the goal where that is one."""
    graph = known.graph
    machine = graph.machine

    def number(state: State) -> int:
        return graph.numbers[graph.symmetry.canonical(state)]

    state, remaining = machine.apply(machine.initial, choice).state, graph.horizon - 1
    best, goal = known.best[remaining][number(state)], known.goal[remaining][number(state)]
    table: Table | Partial = known.goal if goal == best else known.best
    # With the fewest steps in which it can be had, each step has to be one of a shortest way.
    remaining = next(steps for steps in range(remaining + 1) if table[steps][number(state)] == best)
    while remaining:
        worth, earlier = table[remaining][number(state)], table[remaining - 1]
        for one in action_space(machine.pack).choices:
            move = machine.apply(state, one)
            after = earlier[number(move.state)]
            if after is not None and move.reward + after == worth:
                yield one
                state, remaining = move.state, remaining - 1
                break
