"""The semantics of the design, one ticket of tests/packs/desk.yaml at a time, each value worked out by hand."""

from __future__ import annotations

from typing import Any

import pytest

from engine.case import make_case
from engine.episode import Episode, EpisodeOver
from engine.pack import Pack

ASK_ORDER = {"type": "ask_info", "field": "order"}
ASK_EMAIL = {"type": "ask_info", "field": "email"}
ASK_DEVICE = {"type": "ask_info", "field": "device"}
ASK_COLOUR = {"type": "ask_info", "field": "colour"}
CLASSIFY = {"type": "classify"}
RESOLVE = {"type": "resolve"}
TELL = {"type": "tell", "how": "mail"}


def as_category(name: str) -> dict[str, str]:
    return {"type": "classify", "category": name}


def played(pack: Pack, ticket: str, *actions: dict[str, Any], seed: int = 0) -> list[Episode]:
    """The episode after each action."""
    episodes = [Episode.start(make_case(pack, ticket, seed))]
    for action in actions:
        episodes.append(episodes[-1].step(action))
    return episodes[1:]


def rewards(episodes: list[Episode]) -> list[float | None]:
    return [episode.reward for episode in episodes]


def outcomes(episodes: list[Episode]) -> list[str | None]:
    return [episode.outcome for episode in episodes]


def test_ideal_episode(desk: Pack) -> None:
    # Phi: 0.5 for the category, then 1/2 and 2/2 of 0.5; what is left of 2.0 at the end: 1.0.
    steps = played(desk, "e-two", CLASSIFY, ASK_ORDER, ASK_EMAIL, RESOLVE)
    assert rewards(steps) == [0.5, 0.25, 0.25, 1.0]
    assert outcomes(steps) == ["classify.right", "ask_info.answered", "ask_info.answered", "resolve.done"]
    last = steps[-1]
    assert (last.total, last.terminated, last.truncated, last.end_reason) == (2.0, True, False, "resolved")
    assert last.observation["status"] == "resolved"
    with pytest.raises(EpisodeOver):
        last.step(RESOLVE)


def test_first_observation_shows_the_contract_keys(desk: Pack) -> None:
    assert Episode.start(make_case(desk, "e-two", 0)).observation == {
        "ticket_id": "e-two",
        "customer_message": "Where is it?",
        "history": [{"role": "customer", "step": 0, "text": "Where is it?"}],
        "known_info": {},
        "required": ["order", "email"],
        "missing_required": ["order", "email"],
        "info_progress": 0.0,
        "status": "open",
        "step_count": 0,
        "remaining_steps": 10,
    }


def test_history_holds_both_sides_of_each_step(desk: Pack) -> None:
    (step,) = played(desk, "e-two", {"action_type": "ask_info", "parameters": {"field": "order"}})
    assert step.observation["history"][1:] == [
        {"role": "agent", "step": 1, "action": {"type": "ask_info", "field": "order"}},
        {"role": "customer", "step": 1, "text": "ORD-1"},
    ]
    assert step.observation["known_info"] == {"order": "ORD-1"}
    assert step.observation["info_progress"] == 0.5


def test_ten_invalid_actions_cost_exactly_one(desk: Pack) -> None:
    steps = played(desk, "e-two", *[{"type": "ask_info", "field": "shoe size"}] * 10)
    assert set(rewards(steps)) == {-0.1}
    assert (steps[-1].total, steps[-1].truncated, steps[-1].end_reason) == (-1.0, True, "max_steps")
    assert set(outcomes(steps)) == {"invalid"}
    assert steps[0].observation["history"][-1] == {
        "role": "desk",
        "step": 1,
        "text": "ask_info: 'shoe size' is not a valid field. Valid: order, email, device, colour.",
    }


@pytest.mark.parametrize(
    ("action", "text"),
    [
        ({}, "No action was named. Valid actions: ask_info, classify, resolve, tell."),
        ({"type": "asks"}, "There is no action 'asks'. Valid actions: ask_info, classify, resolve, tell."),
        ({"type": "ask_info"}, "ask_info needs field: one of order, email, device, colour."),
        ({"type": "ask_info", "field": 3}, "ask_info: '3' is not a valid field. Valid: order, email, device, colour."),
        ({"type": "resolve", "why": "x"}, "resolve takes no 'why'. It takes: nothing."),
        (
            {"type": "classify", "category": "x"},
            "classify: 'x' is not a valid category. Valid: delivery, repair, praise.",
        ),
    ],
)
def test_an_invalid_action_says_what_is_valid(desk: Pack, action: dict[str, str], text: str) -> None:
    (step,) = played(desk, "e-two", action)
    assert (step.outcome, step.reward, step.error) == ("invalid", -0.1, text)
    assert step.observation["missing_required"] == ["order", "email"]


def test_premature_resolve_keeps_the_ticket_open(desk: Pack) -> None:
    (step,) = played(desk, "e-two", RESOLVE)
    assert (step.outcome, step.reward, step.done) == ("resolve.premature", -0.1, False)
    assert step.history[-1]["text"] == "It isn't settled yet. Still missing: order, email."
    assert step.history[-1]["role"] == "customer"


def test_wasted_asks(desk: Pack) -> None:
    steps = played(desk, "e-two", ASK_COLOUR, ASK_ORDER, ASK_ORDER)
    assert outcomes(steps) == ["ask_info.unneeded", "ask_info.answered", "ask_info.known"]
    assert rewards(steps) == [-0.1, 0.25, -0.1]


def test_nothing_missing_at_the_start(desk: Pack) -> None:
    # No field to earn, so the greatest Phi is 0.5 and resolving pays 1.5.
    steps = played(desk, "e-known", CLASSIFY, RESOLVE)
    assert rewards(steps) == [0.5, 1.5]
    start = Episode.start(make_case(desk, "e-known", 0)).observation
    assert (start["missing_required"], start["info_progress"]) == ([], 1.0)
    assert start["known_info"] == {"order": "ORD-2", "email": "b@example.org"}


def test_no_category(desk: Pack) -> None:
    # Nothing to classify: 0.5 for the field and 1.5 at the end; classifying is wasted.
    steps = played(desk, "e-free", CLASSIFY, as_category("repair"), ASK_ORDER, RESOLVE)
    assert outcomes(steps)[:2] == ["classify.needless", "classify.needless"]
    assert rewards(steps) == [-0.1, -0.1, 0.5, 1.5]


def test_nothing_to_do_but_resolve(desk: Pack) -> None:
    start = Episode.start(make_case(desk, "e-idle", 0)).observation
    assert (start["required"], start["info_progress"]) == ([], 1.0)
    assert rewards(played(desk, "e-idle", RESOLVE)) == [2.0]


def test_stall_wrong_right_refusal_waiver(desk: Pack) -> None:
    steps = played(
        desk, "m-script", CLASSIFY, ASK_ORDER, ASK_ORDER, ASK_ORDER, ASK_DEVICE, ASK_COLOUR, ASK_COLOUR, RESOLVE
    )
    assert outcomes(steps) == [
        "classify.right",
        "ask_info.stalled",
        "ask_info.mistaken",
        "ask_info.answered",
        "ask_info.waived",
        "ask_info.refused",
        "ask_info.answered",
        "resolve.done",
    ]
    # Three fields share 0.5: 0.1666, 0.3333 and 0.5 of it, rounded down to ten-thousandths.
    assert rewards(steps) == [0.5, 0.0, 0.0, 0.1666, 0.1667, 0.0, 0.1667, 1.0]
    assert steps[-1].total == 2.0
    assert steps[2].observation["known_info"] == {"order": "ORD-4"}
    assert steps[2].observation["missing_required"] == ["device", "colour"]
    assert steps[4].observation["required"] == ["order", "device", "colour"]
    assert steps[4].observation["missing_required"] == ["colour"]
    assert steps[4].history[-1]["text"] == "No idea what it's called."
    assert steps[-1].observation["known_info"] == {"order": "ORD-5", "colour": "green"}


def test_optional_field_costs_nothing_once(desk: Pack) -> None:
    steps = played(desk, "m-script", ASK_EMAIL, ASK_EMAIL)
    assert outcomes(steps) == ["ask_info.answered", "ask_info.known"]
    assert rewards(steps) == [0.0, -0.1]
    assert steps[0].observation["known_info"] == {"email": "c@example.org"}


def test_wrong_value_is_pointed_out_at_no_cost(desk: Pack) -> None:
    steps = played(desk, "m-chatty", CLASSIFY, ASK_ORDER, RESOLVE, RESOLVE, ASK_COLOUR, RESOLVE)
    # The chatty answer settles order and device: 2/3 of 0.5 = 0.3333; the grey lamp the last 0.1667.
    assert rewards(steps) == [0.5, 0.3333, 0.0, -0.1, 0.1667, 1.0]
    assert outcomes(steps)[2:4] == ["resolve.mistaken", "resolve.premature"]
    assert steps[1].observation["known_info"] == {"order": "ORD-6", "device": "Lumo 3", "colour": "blue"}
    assert steps[1].observation["missing_required"] == []
    assert steps[2].observation["missing_required"] == ["colour"]
    assert steps[2].observation["known_info"]["colour"] == "blue"
    assert steps[2].history[-1]["text"] == "That can't be right. Please check again: colour."
    assert steps[4].observation["known_info"]["colour"] == "grey"


def test_a_played_turn_counts_even_if_the_ask_is_wasted(desk: Pack) -> None:
    # order is known again after the first ask; asking once more plays its last turn again, and colour is wrong again.
    steps = played(desk, "m-chatty", ASK_ORDER, ASK_COLOUR, ASK_ORDER)
    assert outcomes(steps) == ["ask_info.answered", "ask_info.answered", "ask_info.known"]
    # 2/3 of 0.5 = 0.3333, then 0.1667; then colour is lost again (-0.1667), and the ask is wasted (-0.1).
    assert rewards(steps) == [0.3333, 0.1667, -0.2667]
    assert steps[2].observation["known_info"]["colour"] == "blue"


def test_everything_waived(desk: Pack) -> None:
    steps = played(desk, "m-waived", CLASSIFY, ASK_ORDER, ASK_EMAIL, ASK_ORDER, RESOLVE)
    assert outcomes(steps)[1:4] == ["ask_info.waived", "ask_info.waived", "ask_info.known"]
    assert rewards(steps) == [0.5, 0.25, 0.25, -0.1, 1.0]
    assert steps[-1].observation["known_info"] == {}


def test_goal_over_facts(desk: Pack) -> None:
    steps = played(desk, "m-goal", CLASSIFY, TELL, ASK_ORDER, RESOLVE, {"type": "tell", "how": "phone"}, TELL, RESOLVE)
    assert outcomes(steps) == [
        "classify.right",
        "tell.early",
        "ask_info.answered",
        "resolve.unmet",
        "tell.early",
        "tell.told",
        "resolve.done",
    ]
    assert rewards(steps) == [0.5, -0.1, 0.5, -0.1, -0.1, 0.0, 1.0]
    assert steps[5].history[-1] == {"role": "desk", "step": 6, "text": "Told about ORD-7, told: true."}


def test_easy_wrong_category_is_corrected_at_no_cost(desk: Pack) -> None:
    steps = played(desk, "e-two", as_category("repair"), as_category("praise"), CLASSIFY, CLASSIFY)
    assert outcomes(steps) == ["classify.wrong", "classify.wrong", "classify.corrected", "classify.needless"]
    assert rewards(steps) == [-0.1, -0.1, 0.0, -0.1]
    assert steps[0].observation["required"] == ["order", "email"]


def test_hard_hides_the_requirements_until_classified(desk: Pack) -> None:
    start = Episode.start(make_case(desk, "h-slow", 0)).observation
    assert (start["required"], start["missing_required"], start["info_progress"]) == ([], [], 0.0)
    (premature,) = played(desk, "h-slow", RESOLVE)
    assert "order" not in premature.history[-1]["text"]
    steps = played(desk, "h-slow", as_category("repair"), as_category("praise"), as_category("delivery"))
    assert [step.observation["required"] for step in steps] == [["order", "device", "colour"], [], ["order", "email"]]
    assert steps[1].observation["info_progress"] == 1.0
    assert rewards(steps) == [-0.1, -0.1, 0.0]


def test_pointing_out_a_wrong_value_does_not_show_hidden_requirements(desk: Pack) -> None:
    steps = played(desk, "h-wrong", ASK_ORDER, RESOLVE, CLASSIFY)
    assert outcomes(steps) == ["ask_info.mistaken", "resolve.mistaken", "classify.shown"]
    assert steps[1].history[-1]["text"] == "That can't be right. Please check again: what I told you."
    assert steps[1].observation["missing_required"] == []
    assert steps[2].observation["missing_required"] == ["order"]


def test_hard_right_category_earns_before_the_first_ask_only(desk: Pack) -> None:
    assert rewards(played(desk, "h-slow", as_category("delivery"))) == [0.5]
    late = played(desk, "h-slow", ASK_ORDER, as_category("delivery"))
    assert rewards(late) == [0.0, 0.0]
    assert late[1].observation["required"] == ["order", "email"]
    after_a_mistake = played(desk, "h-slow", {"type": "ask_info"}, as_category("delivery"))
    assert rewards(after_a_mistake) == [-0.1, 0.5]


def test_hard_shown_category_earns_nothing(desk: Pack) -> None:
    steps = played(desk, "h-slow", CLASSIFY, as_category("delivery"))
    assert outcomes(steps) == ["classify.shown", "classify.needless"]
    assert rewards(steps) == [0.0, -0.1]
    assert steps[0].observation["required"] == ["order", "email"]
    assert steps[0].history[-1]["text"] == "The category is delivery. Needed: order, email."


def test_a_person_stalls_before_each_answer(desk: Pack) -> None:
    steps = played(desk, "h-slow", as_category("delivery"), ASK_EMAIL, ASK_EMAIL, ASK_ORDER, ASK_ORDER, RESOLVE)
    assert outcomes(steps)[1:5] == ["ask_info.stalled", "ask_info.answered"] * 2
    assert steps[1].history[-1]["text"] == "Hold on."
    assert steps[-1].total == 2.0
    assert steps[-1].optimal_steps == 6


def test_a_message_may_state_a_value(desk: Pack) -> None:
    by_message = {make_case(desk, "h-repair", seed).message: seed for seed in range(40)}
    assert len(by_message) > 2  # the drawn number differs from seed to seed
    seed = next(seed for message, seed in by_message.items() if message.startswith("ORD-"))
    start = Episode.start(make_case(desk, "h-repair", seed)).observation
    assert start["customer_message"] == f"{start['known_info']['order']} hums."
    assert start["known_info"]["order"][:4] == "ORD-"
    # device and colour are left: 0.25 each.
    steps = played(desk, "h-repair", as_category("repair"), ASK_DEVICE, ASK_COLOUR, RESOLVE, seed=seed)
    assert rewards(steps) == [0.5, 0.25, 0.25, 1.0]


def test_a_step_makes_a_new_episode(desk: Pack) -> None:
    start = Episode.start(make_case(desk, "e-two", 0))
    start.step(CLASSIFY)
    start.observation["history"].clear()
    assert (start.step_count, len(start.observation["history"])) == (0, 1)
