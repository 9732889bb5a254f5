"""Which mutants a pack has: every one of each kind, each with its place."""

from __future__ import annotations

from pathlib import Path

from engine.proof.mutant import KINDS
from engine.proof.mutants import mutants, some
from tests.proof.changes import shipped, written

# What has more to mutate: each line has its mutants beside it, those of kinds that TINY has too left out.
RICH = """\
pack: rich
version: 1.0.0
description: A shop for lamps and more.
fields:
  name: {description: Name}
  size: {description: Size, sample: ['1', '2']}
  place: {description: Place}
categories:
  lamp: {description: Lamps, requires: [name, size]}
  sofa: {description: Sofas, requires: [name, size, place]}
  desk: {description: Desks, requires: [place]}
people:
  slow: {description: Slow, stalls: 2}
facts:
  age: {values: [1, 2, 3]}
  state: {values: [open, kept, sold]}
rewards: {fields: 0.4, classification: 0.6}
rules:
  resolve:
    - outcome: late
      when: {missing: 0, facts: {age: {minimum: 3}, state: [kept, sold]}}
      then: {set: {state: open}, point_out: true, say: Too late.}
tickets:
  - id: r-1
    task: hard-efficient-resolution
    category: lamp
    person: slow
    messages: [{text: A small one., known: [size]}, Any.]
    optional: [place]
    known: {name: Lumo}
    facts: {age: 1}
    answers:
      size:
        - {say: One., value: '1', wrong: true, gives: {place: Here}, gives_wrong: [place]}
        - {say: Two., value: '2'}
        - {say: No more., gives: {place: There}}
      place: {waive: true}
"""
OF_RICH = {
    "category": {(26, "files ticket 'r-1' under 'sofa'")},  # one field apart from lamp; desk is three apart
    # Desk and always in both other tasks: the first of them.
    "task": {(25, "gives ticket 'r-1' the task 'easy-info-collection'")},
    "fact": {(31, "begins ticket 'r-1' with 'age' 2"), (16, "begins with 'state' 'kept'")},
    "optional": {
        (24, "makes 'name' optional in ticket 'r-1'"),
        (24, "makes 'size' optional in ticket 'r-1'"),
        (29, "makes 'place' needless in ticket 'r-1'"),
    },
    "known": {
        (30, "hides 'name', which ticket 'r-1' knows from the start"),
        (30, "lets ticket 'r-1' know 'size' from the start"),
        (28, "hides 'size', which message 1 of ticket 'r-1' states"),
    },
    "turn": {
        (13, "lets the person 'slow' stall one time less"),
        (27, "takes the person 'slow' from ticket 'r-1'"),
        *((33 + n, f"drops answer {n} for 'size' in ticket 'r-1'") for n in (1, 2, 3)),
        (34, "no longer gives 'place' in answer 1 for 'size' in ticket 'r-1'"),
        (36, "no longer gives 'place' in answer 3 for 'size' in ticket 'r-1'"),
        (37, "drops the answer for 'place' in ticket 'r-1'"),
    },
    "order": {
        (34, "swaps answers 1 and 2 for 'size' in ticket 'r-1'"),
        (35, "swaps answers 2 and 3 for 'size' in ticket 'r-1'"),
    },
    "value": {
        (34, "takes the wrong value for right in answer 1 for 'size' in ticket 'r-1'"),
        (34, "takes the wrong 'place' for right in answer 1 for 'size' in ticket 'r-1'"),
        (35, "gives a wrong value in answer 2 for 'size' in ticket 'r-1'"),
        (36, "gives a wrong 'place' in answer 3 for 'size' in ticket 'r-1'"),
    },
    "reply": {(37, "no longer waives in the answer for 'place' in ticket 'r-1'")},
    "rule": {(20, "drops the rule resolve.late")},
    "condition": {
        (21, "lets the rule resolve.late fire whatever `missing` is"),
        (21, "lets the rule resolve.late fire whatever 'age' is"),
        (21, "lets the rule resolve.late take 2 for the minimum of 'age'"),
        (21, "lets the rule resolve.late take 4 for the minimum of 'age'"),
        (21, "lets the rule resolve.late fire whatever 'state' is"),
        (21, "lets the rule resolve.late no longer fire where 'state' is 'kept'"),
        (21, "lets the rule resolve.late no longer fire where 'state' is 'sold'"),
    },
    "effect": {
        (22, "lets the rule resolve.late leave 'state' alone"),
        (22, "lets the rule resolve.late set 'state' to 'kept'"),
        (22, "lets the rule resolve.late not point out"),
    },
    "reward": {
        (22, "lets the rule resolve.late waste the step"),
        (17, "pays 0.6 for the fields and 0.4 for the classification"),
    },
    "view": {
        (1, "shows the requirements of 'hard-efficient-resolution' from the start"),
        (1, "lets the desk classify in 'hard-efficient-resolution'"),
    },
}


def test_every_mutant_of_most_kinds(tmp_path: Path) -> None:
    pack, document = written(tmp_path, RICH)
    found: dict[str, set[tuple[int, str]]] = {}
    for mutant in mutants(pack, document):
        found.setdefault(mutant.kind, set()).add((mutant.place.line, mutant.what))
    assert set(found) | {"goal"} == set(KINDS)  # it has no goal
    assert {kind: found[kind] for kind in OF_RICH} == OF_RICH


def test_places_are_those_of_the_file_they_stand_in() -> None:
    _, document = shipped("bank_disputes")
    files = {Path(mutant.place.file).name for mutant in mutants(*shipped("bank_disputes"))}
    assert files == {"pack.yaml", "tickets.yaml"} and "tests" in document


def test_some_are_always_the_same_and_few_others_where_there_is_one_less() -> None:
    pack, document = shipped("it_helpdesk_de")
    of_all = [*mutants(pack, document)]
    assert some(pack, of_all, 10_000) == tuple(of_all)
    chosen = [of_all.index(one) for one in some(pack, of_all, 50)]
    assert len(chosen) == 50 and chosen == sorted(chosen)
    without_one = [of_all.index(one) for one in some(pack, of_all[1:], 50)]
    assert len({*chosen} - {*without_one}) <= 1


def test_the_page_has_every_kind(root: Path) -> None:
    page = (root / "docs" / "mutation.md").read_text("utf-8")
    assert [line for kind, what in KINDS.items() if (line := f"| `{kind}` | {what} |\n") not in page] == []
