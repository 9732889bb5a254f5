"""Plays a pack's own `tests:` and says where an answer isn't the expected one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, islice, permutations, product
from typing import Any

from engine.case import make_case
from engine.diagnostics import Finding, Place
from engine.episode import Episode
from engine.expected import NOTHING, Difference, differences
from engine.pack import AnyOrder, Expectation, Pack, ScriptedStep, ScriptedTest

FAILED = "PACK070"

# All that `expect` and `final` may name, besides the observation's keys: what it is after the last step of an episode.
# What is said is without noise: whatever customers say besides, a test stays as it is.
PARTS: Mapping[str, Callable[[Episode], Any]] = {
    "outcome": lambda episode: episode.outcome,
    "reward": lambda episode: episode.reward,
    "says": lambda episode: episode.steps[-1].bare if episode.steps else episode.case.message,
    "error": lambda episode: episode.error,
    "wasted": lambda episode: episode.steps[-1].wasted if episode.steps else None,
    "done": lambda episode: episode.done,
    "terminated": lambda episode: episode.terminated,
    "truncated": lambda episode: episode.truncated,
    "end_reason": lambda episode: episode.end_reason,
    "return": lambda episode: episode.total,
    "score": lambda episode: episode.score(),
    "optimal_steps": lambda episode: episode.optimal_steps,
    "regret": lambda episode: episode.regret,
}


@dataclass(frozen=True, slots=True)
class Instance:
    """One test at one seed, and in one order where it has steps that may be taken in any.

    `order` has these steps in the order in which they are taken, each by its number: all steps of the test are
    numbered from 1, as they are written.
    """

    test: ScriptedTest
    seed: int
    order: tuple[int, ...] | None = None

    @property
    def id(self) -> str:
        """`the number needs three asks[7]`, and with an order `any order does[7, order 2-1-3]`."""
        order = f", order {_listed(self.order)}" if self.order else ""
        return f"{self.test.name}[{self.seed}{order}]"


@dataclass(frozen=True, slots=True)
class Failure:
    """An answer that isn't the expected one. `episode` is as far as it went, up to that answer.

    `step` is the number of the episode's step, from 1; None at the end. `place` is where what was expected is written.
    `expected` and `got` have the parts that differ, by path (`known_info.email`), as plain JSON; what isn't there at
    all isn't in them.
    """

    instance: Instance
    step: int | None
    place: Place
    message: str
    expected: Mapping[str, Any]
    got: Mapping[str, Any]
    episode: Episode

    @property
    def where(self) -> str:
        return "at the end" if self.step is None else f"step {self.step}"


def instances(test: ScriptedTest) -> tuple[Instance, ...]:
    """All that a test plays: each seed, in each order; the order in which it is written comes first."""
    orders = _orders(test)
    return tuple(Instance(test, seed, order) for seed in test.seeds for order in orders)


def failures(pack: Pack, instance: Instance) -> tuple[Failure, ...]:
    """Every answer of an instance that isn't as expected."""
    return tuple(failure for _, failure in _play(pack, instance))


def all_failures(pack: Pack) -> Iterator[Failure]:
    """The failures of all of a pack's tests, each as soon as it is found."""
    for test in pack.tests:
        for instance in instances(test):
            yield from failures(pack, instance)


def run_tests(pack: Pack, tests: Iterable[ScriptedTest] | None = None) -> Iterator[Finding]:
    """A finding for every step of a test, and for every end of one, that isn't as expected; one for all seeds and
    orders. `tests` are some of the pack's; None: all of them."""
    for test in pack.tests if tests is None else tests:
        played = instances(test)
        found: dict[int, list[Failure]] = {}
        for expectation, failure in chain.from_iterable(_play(pack, instance) for instance in played):
            found.setdefault(id(expectation), []).append(failure)
        for failed in found.values():
            often = _how_often(test, len(failed), len(played))
            yield Finding(FAILED, f"{sentence(failed[0])}{often}", failed[0].place)


def sentence(failure: Failure) -> str:
    """What failed, in a line: "test 'any order does', seed 7, order 2-1, step 2: reward is 0.0, expected 0.5"."""
    instance = failure.instance
    order = f", order {_listed(instance.order)}" if instance.order else ""
    return f"test '{instance.test.name}', seed {instance.seed}{order}, {failure.where}: {failure.message}"


def _how_often(test: ScriptedTest, failed: int, played: int) -> str:
    if played == 1:
        return ""
    seeds = len(test.seeds)
    what = "orders" if seeds == 1 else "seeds" if seeds == played else "seeds and orders"
    return f" (at {failed} of {played} {what})"


def _listed(order: tuple[int, ...]) -> str:
    return "-".join(map(str, order))


def _orders(test: ScriptedTest) -> list[tuple[int, ...] | None]:
    groups, first = [], 1
    for step in test.steps:
        many = len(step.steps) if isinstance(step, AnyOrder) else 1
        if isinstance(step, AnyOrder):
            groups.append([*permutations(range(first, first + many))])
        first += many
    return [tuple(chain(*order)) for order in product(*groups)] if groups else [None]


def _stages(instance: Instance) -> Iterator[tuple[ScriptedStep, AnyOrder | None]]:
    """The steps of an instance in the order in which it takes them, each with the group that is over after it."""
    order, first = iter(instance.order or ()), 1
    for step in instance.test.steps:
        if isinstance(step, ScriptedStep):
            yield step, None
            first += 1
        else:
            taken = list(islice(order, len(step.steps)))
            for which in taken:
                yield step.steps[which - first], step if which == taken[-1] else None
            first += len(taken)


def _play(pack: Pack, instance: Instance) -> Iterator[tuple[Expectation, Failure]]:
    """The failures of an instance, each with what wasn't met."""
    test = instance.test
    episode = Episode.start(make_case(pack, test.ticket, instance.seed))
    for number, (step, group) in enumerate(_stages(instance), 1):
        if episode.done:
            message = f"the episode is over already ({episode.end_reason}); expected at most {number - 1} steps"
            expected, got = {"done": False}, {"done": True}
            yield step.expect, Failure(instance, number, step.place, message, expected, got, episode)
            return
        episode = episode.step(step.do)
        yield from _judged(instance, number, step.expect, step.place, episode)
        if group is not None:
            yield from _judged(instance, number, group.expect, group.place, episode)
    yield from _judged(instance, None, test.final, test.place, episode)


def _judged(
    instance: Instance, step: int | None, expectation: Expectation, place: Place, episode: Episode
) -> Iterator[tuple[Expectation, Failure]]:
    differing: dict[str, list[Difference]] = {}
    for name, expected in expectation.parts.items():
        found = list(differences(name, expected, _part(episode, name), episode.case.fill))
        if found:
            differing[name] = found
    if differing:
        place = expectation.places.get(next(iter(differing)), place)
        every = [one for found in differing.values() for one in found]
        expected, got = ({one.path: one[which] for one in every if one[which] is not NOTHING} for which in (1, 2))
        yield expectation, Failure(instance, step, place, "; ".join(map(str, every)), expected, got, episode)


def _part(episode: Episode, name: str) -> Any:
    return PARTS[name](episode) if name in PARTS else episode.observation[name]
