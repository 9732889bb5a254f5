"""What is true of a case by brute force: every sequence of actions, one by one. Obvious, and slow."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

from engine.action import action_space
from engine.case import Case, make_case
from engine.episode import Episode
from engine.pack import Pack, Ticket
from graders import grade_easy, grade_hard, grade_medium

# How often a seed is tried for each kind of case; a ticket has at most two messages and two people.
SEEDS = 60


@dataclass(frozen=True)
class Truth:
    """What is true of a case, as `engine.dynamics` says it. None: no such episode."""

    optimum: int
    worst: int
    short: int
    goal: int | None
    fewest_steps: int | None
    optimal_steps: int
    optimal_episodes: int
    goal_steps: int | None  # the fewest steps of an episode that reaches the goal with the return `goal`
    expected: Fraction
    easy: Fraction
    medium: Fraction
    hard: Fraction


def episodes(start: Episode) -> Iterator[Episode]:
    """An episode and all that may come of it, by any sequence of valid actions."""
    yield start
    if not start.done:
        for choice in action_space(start.case.pack).choices:
            yield from episodes(start.step(choice.canonical()))


def brute_force(case: Case) -> Truth:
    """From the definitions. An agent may stop at any time; the uniformly random one stops when the episode is done."""
    choices = len(action_space(case.pack).choices)
    found: list[tuple[int, int, bool]] = []  # return, steps, whether it reaches the goal
    totals = [Fraction(0)] * 4
    for episode in episodes(Episode.start(case)):
        total = sum(step.reward for step in episode.steps)
        found.append((total, len(episode.steps), episode.terminated))
        if episode.done:
            record = episode.record()
            grades = (grade_easy(record), grade_medium(record), grade_hard(record))
            chance = Fraction(1, choices ** len(episode.steps))
            for index, value in enumerate((Fraction(total, 10_000), *map(exact, grades))):
                totals[index] += chance * value
    optimum = max(total for total, _, _ in found)
    resolved = [(total, steps) for total, steps, reached in found if reached]
    goal = max((total for total, _ in resolved), default=None)
    at_goal = [steps for total, steps in resolved if total == goal]
    best = at_goal if goal == optimum else [steps for total, steps, _ in found if total == optimum]
    return Truth(
        optimum=optimum,
        worst=min(total for total, _, _ in found),
        short=max(total for total, _, reached in found if not reached),
        goal=goal,
        fewest_steps=min((steps for _, steps in resolved), default=None),
        optimal_steps=min(best),
        optimal_episodes=len(best) if goal == optimum else 0,
        goal_steps=min(at_goal, default=None),
        expected=totals[0],
        easy=totals[1],
        medium=totals[2],
        hard=totals[3],
    )


@cache
def exact(grade: float) -> Fraction:
    """The fraction that a grade is: steps and fields are few, so its denominator is small."""
    return Fraction(grade).limit_denominator(1_000)


def cases(pack: Pack, ticket: Ticket) -> list[Case]:
    """A case for each automaton of a ticket."""
    found = [
        make_case(pack, ticket.id, seed) for seed in range(SEEDS if len(ticket.messages + ticket.people) > 1 else 1)
    ]
    return list({case.automaton: case for case in found}.values())
