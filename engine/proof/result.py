"""What a proof says: of each check whether it holds, and an episode that shows it where it doesn't."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from engine.diagnostics import Place
from engine.dynamics.grades import Grades
from engine.pack import Demands, Rule, Severity
from engine.turns import Manner

# "not proved": there were more states than may be looked at. "no matter": the check is about another kind of ticket.
Status = Literal["holds", "fails", "not proved", "no matter"]


@dataclass(frozen=True, slots=True)
class Kind:
    """One of the checks P01 to P11: what holds, in one sentence, and what is asked unless somebody says otherwise.

    `margin` is in reward units, None where the check has none.
    """

    code: str
    name: str
    holds_when: str
    severity: Severity
    margin: Fraction | None = None


KINDS: Mapping[str, Kind] = {
    kind.code: kind
    for kind in (
        Kind("P01", "solvable", "some sequence of actions reaches the goal within max_steps", "error"),
        Kind("P02", "bounds", "every step's reward and every episode's return lie in the reward range", "error"),
        Kind("P03", "optimum", "the best return is the reward range's maximum", "error"),
        Kind(
            "P04",
            "no shortcut",
            "no episode that misses the goal comes near V*",
            "warning",
            Fraction(1, 2),
        ),
        Kind("P05", "no farming", "no loop of states pays", "error"),
        Kind("P06", "idle", "an episode that achieves nothing returns at most 0 and scores 0", "warning"),
        Kind("P07", "blind", "no policy that doesn't read comes near V*", "warning", Fraction(1, 4)),
        Kind("P08", "observations", "every reachable observation is valid under the contract", "error"),
        Kind("P09", "live", "every rule, answer turn and field of the pack can come to play", "warning"),
        Kind("P10", "order", "chance does better under easy than under medium than under hard", "warning"),
        Kind("P11", "leaks", "nothing hidden stands where an agent sees it, and no id tells the category", "warning"),
    )
}


@dataclass(frozen=True, slots=True)
class Counterexample:
    """An episode that shows why a check fails: the case of `ticket` and `seed`, and the actions in canonical form.

    `paid` is the number of the step, from 1, that the fault comes down to, and `rule` the rule that fired there; both
    None where it is no single step's.
    """

    ticket: str
    seed: int
    actions: tuple[Mapping[str, Any], ...]
    paid: int | None = None
    rule: Rule | None = None


@dataclass(frozen=True, slots=True)
class Check:
    """What came of one check, of a ticket, or of the whole pack where `ticket` is None."""

    code: str
    status: Status
    ticket: str | None = None
    message: str = ""  # what is wrong, where it fails; what is too much, where it isn't proved
    place: Place | None = None
    counterexample: Counterexample | None = None


@dataclass(frozen=True, slots=True)
class Numbers:
    """What is true of one variant of a ticket. Returns are in ten-thousandths; `states` counts merged ones.

    `fewest_steps` is None where no episode reaches the goal, `short` the best return of an episode that doesn't.
    """

    states: int
    optimum: int
    worst: int
    short: int
    fewest_steps: int | None
    optimal_steps: int
    optimal_episodes: int
    random_return: Fraction
    random_grades: Grades


@dataclass(frozen=True, slots=True)
class Variant:
    """The cases of a ticket in which a message states `known` and the customer is of this manner.

    `seed` makes one of them; `numbers` is None where there are too many states.
    """

    known: frozenset[str]
    manner: Manner
    seed: int
    numbers: Numbers | None


@dataclass(frozen=True, slots=True)
class TicketProof:
    """The numbers of a ticket's variants; what was checked of it stands in the pack's proof."""

    ticket: str
    variants: tuple[Variant, ...]


def margin(demands: Demands, code: str) -> Fraction:
    """How far from the best return a check wants others to stay, in reward units."""
    return demands.margins.get(code, KINDS[code].margin or Fraction(0))


def severity(demands: Demands, code: str) -> Severity:
    """How grave it is where a check fails. What is an error by itself can't be asked to be less."""
    usual = KINDS[code].severity
    return usual if usual == "error" else demands.severities.get(code, usual)


@dataclass(frozen=True, slots=True)
class PackProof:
    """The proof of a pack. `checks` has one entry for each ticket and check that is about single tickets, one for the
    pack for each of the others, in the order of the codes, then of the tickets; those to be ignored are left out.

    `blind` is the greatest return, in reward units, that P07's bound leaves to a policy that doesn't read, by task;
    only tasks where the agent classifies are there.
    """

    pack: str
    version: str
    digest: str
    demands: Demands
    tickets: tuple[TicketProof, ...]
    checks: tuple[Check, ...]
    blind: Mapping[str, Fraction]

    def failed(self, grave: Severity) -> tuple[Check, ...]:
        """The checks of a severity that don't hold; what isn't proved doesn't."""
        bad = [check for check in self.checks if check.status in ("fails", "not proved")]
        return tuple(check for check in bad if severity(self.demands, check.code) == grave)

    @property
    def sound(self) -> bool:
        """Whether every check that is an error holds."""
        return not self.failed("error")
