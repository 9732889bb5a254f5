"""`Deskproof/Support-v0`: one episode at a time, as a `gymnasium.Env`.

Importing this module, or `deskproof`, registers it:

    gymnasium.make("deskproof:Deskproof/Support-v0", pack="customer_support")

It walks the tables of the whole pack, made once in a process, so that it and `SupportVectorEnv` can't differ.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias

from engine.case import make_case
from engine.episode import Episode, replay
from engine.load import load_pack
from engine.nearest import nearest
from engine.pack import REWARD_UNIT, Pack
from engine.terminal import printable
from engine.training.choosing import DRAWN, path_of, whole
from engine.training.columns import MOST
from engine.training.extra import gymnasium, np
from engine.training.tables import Array, Tables
from engine.training.tabulate import tables_of
from engine.watch import Stamp, stamp

Observation: TypeAlias = "np.ndarray[Any, np.dtype[np.uint8]]"

ID = "Deskproof/Support-v0"
OPTIONS = ("task", "split", "ticket")


class SupportEnv(gymnasium.Env[Observation, "np.integer[Any] | int"]):
    """Plays the tickets of a pack.

    Action space: `Discrete(A)`, the pack's enumerated actions; `action_names` says which is which.

    Observation space: `Box(0, most, (D,), uint8)`, one number for each of `tables.columns` (`engine.training.columns`).

    Reward: the engine's, in the contract's range. `terminated` where the ticket is resolved, `truncated` where the
    pack's `max_steps` are spent. Nothing else than the action decides what happens.

    `info` holds `action_mask`, (A,) int8: 0 for actions that can be seen to be pointless; and `message_index`, which of
    `tables.messages` opened the episode. After `reset` it also holds `message`, `ticket_id` and `seed`, with which
    `engine.case.make_case` makes the same case, and `action_names`.

    A seed decides the case: `reset(seed=s)` plays number s of those chosen, modulo how many there are, and each `reset`
    without a seed the one after (`engine.training.walk`); the first one, and the first after others were chosen, is
    drawn.
    """

    metadata: dict[str, Any] = {"render_modes": ["ansi"], "render_fps": 4}  # noqa: RUF012 - so Gymnasium declares it

    def __init__(
        self,
        pack: Pack | Path | str | None = None,
        task: str | None = None,
        split: str | None = None,
        ticket: str | None = None,
        render_mode: str | None = None,
    ) -> None:
        """A pack, its path, or the name of a shipped one (none: the default pack), and which of its tickets to play.

        Raises:
            LookupError: there is no such path, nor such a shipped pack.
            PackError: what is there is no sound pack.
            TablesError: the pack has no such task, split or ticket, a wording of the split's stands in another one
                too, or there are too many states.
        """
        if render_mode not in (None, *self.metadata["render_modes"]):
            raise ValueError(f"render_mode can be 'ansi' or None, not {render_mode!r}")
        self.render_mode = render_mode
        self._pack = known(pack)
        self.tables = tables_of(self._pack)
        self.observation_space = observation_space(self.tables)
        self.action_space = gymnasium.spaces.Discrete(len(self.tables.actions))
        self._cases = self.tables.choose(task, split, ticket)
        self._chosen: dict[str, Any] = {"task": task, "split": split, "ticket": ticket}
        self._position: int | None = None
        self._state = 0
        self._taken: list[int] = []
        self._over = True

    @property
    def action_names(self) -> tuple[str, ...]:
        """What each action is: `ask_info(field=order_id)`."""
        return self.tables.action_names

    @property
    def case(self) -> int:
        """The number of the case that is played, in the tables.

        Raises:
            gymnasium.error.ResetNeeded: none is yet.
        """
        if self._position is None:
            raise gymnasium.error.ResetNeeded("no episode is played yet: reset() begins one")
        return int(self._cases[self._position])

    @property
    def state(self) -> int:
        """The number of the state that the episode is in, in the tables."""
        return self._state

    @property
    def episode(self) -> Episode:
        """The episode as the engine plays it, with all that is said, and with everything that is hidden."""
        ticket, seed = self._ticket_and_seed()
        return replay(make_case(self._pack, ticket, seed), (self.tables.actions[action] for action in self._taken))

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begins an episode. The options `task`, `split` and `ticket` choose the cases from now on.

        Raises:
            ValueError: the seed is none, there is no such option, task, split or ticket, or a wording of the split's
                stands in another one too. Nothing has changed then.
        """
        seed = whole(seed) if seed is not None else None
        now = chosen(self._chosen, options or {})
        cases = self.tables.choose(**now)
        super().reset(seed=seed)
        if not np.array_equal(cases, self._cases):
            self._cases, self._position = cases, None
        self._chosen = now
        if seed is None and self._position is None:
            seed = int(self.np_random.integers(DRAWN))
        position = seed if seed is not None else (self._position or 0) + 1
        self._position = position % len(self._cases)
        self._state, self._taken, self._over = int(self.tables.start[self.case]), [], False
        ticket_id, case_seed = self._ticket_and_seed()
        info = self._info()
        message = self.tables.messages[info["message_index"]]
        told = {"message": message, "ticket_id": ticket_id, "seed": case_seed, "action_names": self.action_names}
        return self._observation(), info | told

    def step(self, action: np.integer[Any] | int) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Takes an action, by its number.

        Raises:
            ValueError: there is no such action.
            gymnasium.error.ResetNeeded: the episode is over, or there is none yet.
        """
        if self._over:
            raise gymnasium.error.ResetNeeded("the episode is over, or hasn't begun: reset() begins one")
        if not self.action_space.contains(action):
            raise ValueError(f"actions are whole numbers from 0 up to {len(self.tables.actions) - 1}, not {action!r}")
        tables, number = self.tables, int(action)
        reward = int(tables.reward[self._state, number]) / REWARD_UNIT
        terminated = bool(tables.terminated[self._state, number])
        self._state = int(tables.next_state[self._state, number])
        self._taken.append(number)
        truncated = not terminated and len(self._taken) >= tables.max_steps
        self._over = terminated or truncated
        return self._observation(), reward, terminated, truncated, self._info()

    def action_masks(self) -> Array:
        """The same as `info["action_mask"]`, in the form that sb3-contrib's `MaskablePPO` asks for: (A,) bool.

        Raises:
            gymnasium.error.ResetNeeded: there is no episode yet.
        """
        found: Array = self._info()["action_mask"].astype(np.bool_)
        return found

    def render(self) -> str | None:
        """With `render_mode="ansi"` the conversation so far, as text; else None."""
        if self.render_mode is None:
            return None
        episode = self.episode
        said = [_line(item, self._taken, self.action_names) for item in episode.history]
        missing = ", ".join(map(printable, episode.standing["missing_required"])) or "nothing that shows"
        left = episode.standing["remaining_steps"]
        return "\n".join((*said, f"[{episode.end_reason or 'open'}; missing: {missing}; steps left: {left}]"))

    def _observation(self) -> Observation:
        observation: Observation = self.tables.observation[self._state].copy()
        observation[-1] = min(self.tables.max_steps - len(self._taken), MOST)
        return observation

    def _info(self) -> dict[str, Any]:
        return {
            "action_mask": self.tables.action_mask[self._state].copy(),
            "message_index": int(self.tables.message[self.case]),
        }

    def _ticket_and_seed(self) -> tuple[str, int]:
        case = self.case
        return self.tables.tickets[self.tables.ticket[case]].id, int(self.tables.seed[case])


def _line(item: Mapping[str, Any], taken: Sequence[int], names: Sequence[str]) -> str:
    """An item of a history as one line that is safe to print."""
    text = names[taken[item["step"] - 1]] if item["role"] == "agent" else item["text"]
    return f"{item['role']}: {printable(text)}"


def known(pack: Pack | Path | str | None) -> Pack:
    """A pack, as `engine.training.choosing.load` gives it, but read once in a process until its files change."""
    if isinstance(pack, Pack):
        return pack
    path = path_of(pack)
    return _read(path, stamp([path.absolute()]))


@lru_cache(maxsize=16)
def _read(path: Path, seen: Stamp) -> Pack:
    return load_pack(path)


def observation_space(tables: Tables) -> gymnasium.Space[Observation]:
    """The space of one encoded observation, a `Box`."""
    most = np.array([column.most for column in tables.columns], np.uint8)
    space: gymnasium.Space[Any] = gymnasium.spaces.Box(np.zeros_like(most), most, dtype=np.uint8)
    return space


def chosen(before: Mapping[str, Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """Which cases to play from now on: what was chosen before, and what `reset` is told.

    Raises:
        ValueError: there is no such option.
    """
    for name in options:
        if name not in OPTIONS:
            near = nearest(str(name), OPTIONS)
            hint = f"did you mean '{near}'?" if near is not None else f"there are: {', '.join(OPTIONS)}"
            raise ValueError(f"reset has no option '{name}'; {hint}")
    return {**before, **options}


gymnasium.register(
    ID,
    entry_point=f"{__name__}:SupportEnv",
    vector_entry_point="engine.training.vector_env:SupportVectorEnv",
)
