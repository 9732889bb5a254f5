"""The default instructions: how an agent is told to work, made from what is public in a pack."""

from __future__ import annotations

from collections.abc import Iterable

from engine.pack import Action, Category, Field


def default_instructions(
    description: str, fields: Iterable[Field], categories: Iterable[Category], actions: Iterable[Action]
) -> str:
    """Plain text: the job, the actions, the fields, and the playbook of each category."""
    lines = [
        description.strip(),
        "",
        "Find out what the customer needs, ask for what is required and not yet known, and resolve the ticket in as"
        " few steps as you can. Each action is one step.",
        "",
        "Actions:",
    ]
    for action in actions:
        names = ", ".join(parameter.name for parameter in action.parameters)
        lines.append(f"- {action.name}({names}): {action.description}")
    lines += ["", "Fields:", *(f"- {field.name}: {field.description}" for field in fields)]
    playbook = [
        f"- {category.name} (needs {', '.join(category.requires) or 'nothing'}): {category.description}"
        for category in categories
    ]
    if playbook:
        lines += ["", "Categories, and the fields that each needs:", *playbook]
    return "\n".join(lines)
