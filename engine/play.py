"""A person plays a ticket in the terminal."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.markup import escape

from engine.action import Choice, action_space
from engine.dynamics.regret import blame
from engine.episode import Episode
from engine.nearest import nearest
from engine.terminal import printable

QUIT = ("quit", "exit", "q")


def _shown(text: str) -> str:
    """Text of a pack's, for a terminal: no markup of rich's, and what would steer the terminal comes as an escape."""
    return escape("\n".join(map(printable, text.split("\n"))))


def play(episode: Episode, console: Console, ask: Callable[[str], str]) -> Episode:
    """Plays to the end, or until the input ends. Returns the episode as it then stands."""
    pack, case = episode.case.pack, episode.case
    console.print(
        f"[bold]{_shown(pack.name)}[/] {_shown(pack.version)}, ticket {_shown(case.ticket.id)}, seed {case.seed}"
    )
    console.print(f"{_shown(case.automaton.task.description)}. {pack.max_steps} steps at the most.\n")
    console.print(f"[cyan]customer:[/] {_shown(case.message)}\n")
    _show_state(episode, console)
    choices = action_space(pack).choices
    _show_choices(choices, console)
    while not episode.done:
        try:
            line = ask(f"[{episode.step_count + 1}/{pack.max_steps}] action> ").strip()
        except (EOFError, KeyboardInterrupt, RuntimeError):  # the last where standard input is closed
            console.print("\nStopped.")
            return episode
        if line in QUIT:
            console.print("Stopped.")
            return episode
        action = _action(line, choices, console)
        if action is not None:
            episode = episode.step(action)
            _show_step(episode, console)
    console.print(
        f"\n[bold]{'Resolved' if episode.terminated else 'Out of steps'}[/] after {episode.step_count} steps"
        f" (optimal: {episode.optimal_steps}). Return {episode.total:.4f}, score {episode.score():.4f}."
    )
    _show_regret(episode, console)
    return episode


def _action(line: str, choices: Sequence[Choice], console: Console) -> Mapping[str, Any] | None:
    """The action that a line means: its number in the list, or its words."""
    if line.isdecimal() and 1 <= int(line) <= len(choices):
        return choices[int(line) - 1].canonical()
    by_words = {words: choice for choice in choices for words in (_words(choice), _named_words(choice))}
    if line in by_words:
        return by_words[line].canonical()
    if line == "?":
        _show_choices(choices, console)
    elif line:
        close = nearest(line, list(by_words))
        hint = f" Did you mean '{close}'?" if close else ""
        console.print(f"'{_shown(line)}' is no action.{_shown(hint)} '?' lists them, 'quit' stops.")
    return None


def _words(choice: Choice) -> str:
    return " ".join((choice.type, *(str(value) for _, value in choice.parameters)))


def _named_words(choice: Choice) -> str:
    return " ".join((choice.type, *(f"{name}={value}" for name, value in choice.parameters)))


def _show_choices(choices: Sequence[Choice], console: Console) -> None:
    console.print("Actions, by number or in words ('?' lists them again, 'quit' stops):")
    by_type: dict[str, list[str]] = {}
    for number, choice in enumerate(choices, 1):
        words = " ".join(str(value) for _, value in choice.parameters)
        by_type.setdefault(choice.type, []).append(f"[bold]{number}[/] {_shown(words) or '(alone)'}")
    for name, options in by_type.items():
        console.print(f"  {_shown(name)}: {', '.join(options)}")
    console.print()


def _show_state(episode: Episode, console: Console) -> None:
    seen = episode.observation
    known = ", ".join(f"{name} = {value}" for name, value in seen["known_info"].items())
    missing = ", ".join(seen["missing_required"])
    console.print(
        f"  [dim]known: {_shown(known) or 'nothing'}; missing: {_shown(missing) or 'nothing that shows'}[/]\n"
    )


def _show_step(episode: Episode, console: Console) -> None:
    said = episode.history[-1]
    console.print(f"[cyan]{said['role']}:[/] {_shown(said['text'])}")
    console.print(f"  {_shown(episode.outcome or '')}, reward {episode.reward:+.4f}, return {episode.total:.4f}")
    _show_state(episode, console)


def _show_regret(episode: Episode, console: Console) -> None:
    """What each step cost that cost something, and what they cost together: V* less the return."""
    found = episode.regrets
    if found is None:
        console.print("Regret is not known: the ticket has too many states.")
        return
    for sentence in blame(found):
        console.print(f"  {_shown(sentence)}")
    console.print(f"Regret {episode.regret:.4f}.")
