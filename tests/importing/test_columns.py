"""Which column is what: exact names, then without regard to capitals, then numbers; and mistakes in what is said."""

from __future__ import annotations

import pytest

from engine.importing.columns import Pair, Plan, plan

HEADER = ["Ticket", "Subject", "Body", "Queue", "queue ", "C+D", "Order number", "", "Copy", "Copy"]


def said(*pairs: str) -> tuple[Plan, list[str]]:
    split = [pair.partition("=") for pair in pairs]
    made, mistakes = plan([Pair(what, column, at) for at, (what, _, column) in enumerate(split)], HEADER)
    return made, [mistake.sentence() for mistake in mistakes]


def test_a_plan() -> None:
    made, mistakes = said(
        "id=Ticket",
        "message=Subject+Body",
        "message=C+D",
        "field.order=order NUMBER",
        "known.order=Body",
        "field.a.b=#8",
    )
    assert mistakes == []
    assert made == Plan({"id": 0}, [(1, 2), (5,)], {"order": 6, "a.b": 7}, {"order": 2})
    assert made.names == ["order", "a.b"]


@pytest.mark.parametrize(
    ("pair", "sentence"),
    [
        ("category=Que", "there is no column 'Que'; did you mean 'Queue'?"),
        ("message=Subject+Bod", "there is no column 'Bod'; did you mean 'Body'?"),
        ("id=Tick+et", "there is no column 'Tick+et'; did you mean 'Ticket'?"),
        (
            "id=xyz",
            "there is no column 'xyz'; there are: Ticket, Subject, Body, Queue, queue , C+D, Order number, Copy, Copy",
        ),
        (
            "id=#11",
            "there is no column '#11'; there are: Ticket, Subject, Body, Queue, queue , C+D, Order number, Copy, Copy",
        ),
        ("id=Copy", "2 columns are called 'Copy'; say which by its number (#9, #10)"),
        ("id=QUEUE", "2 columns are called 'QUEUE'; say which by its number (#4, #5)"),
        ("Id=Ticket", "a column can't be 'Id'; did you mean 'id'?"),
        ("field=Ticket", "a column can't be 'field'; did you mean 'field.NAME'?"),
        (
            "zzz=Ticket",
            "a column can't be 'zzz'; there are: id, message, category, task, split, field.NAME, known.NAME",
        ),
        ("field.=Ticket", "a field's name is missing after 'field.'"),
        ("split=Body", "'split' is given twice"),
    ],
)
def test_mistakes(pair: str, sentence: str) -> None:
    assert said("message=Body", "split=Ticket", pair)[1][-1] == sentence


def test_every_mistake_is_told() -> None:
    assert said("a=b", "id=none")[1] == [
        "a column can't be 'a'; there are: id, message, category, task, split, field.NAME, known.NAME",
        "there is no column 'none'; there are: Ticket, Subject, Body, Queue, queue , C+D, Order number, Copy, Copy",
    ]
    assert said("id=Ticket")[1] == ["nothing says which column is the message: message=COLUMN is missing"]
    many = [f"field.f{number}=Ticket" for number in range(201)]
    assert said("message=Body", *many)[1] == ["200 fields are the most, and these are 201"]
    assert said("message=Body", *many[:200])[1] == []
