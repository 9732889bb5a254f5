"""`SupportVectorEnv`: any number of `Deskproof/Support-v0` at once, stepped by look-ups in tables."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias

from engine.pack import Pack
from engine.training.choosing import DRAWN, whole
from engine.training.env import chosen, known, observation_space
from engine.training.extra import gymnasium, np
from engine.training.tables import Array, Tables
from engine.training.tabulate import tables_of
from engine.training.walk import Walk

AutoresetMode = gymnasium.vector.AutoresetMode

Stepped: TypeAlias = "tuple[Array, Array, Array, Array, dict[str, Any]]"


class SupportVectorEnv(gymnasium.vector.VectorEnv[Array, Array, Array]):
    """N environments; observations are (N, D) uint8, rewards (N,) float64, `terminated` and `truncated` (N,) bool.

    Actions are (N,) integers of any type. `infos` hold `action_mask`, (N, A) int8, and `message_index`, (N,) int32: the
    numbers of the opening messages in `tables.messages`, so that what a learner makes of a message is worked out once
    for each and looked up.

    As with Gymnasium's own, each call returns new arrays. With `copy=False` it returns the same ones, written anew, and
    a step allocates nothing but the list of the episodes that ended.

    Autoreset is Gymnasium's. Next-step (the default): the step after an episode's end ignores its action, gives the
    next episode's first observation, the reward 0.0 and no end. Same-step: the step that ends an episode gives the
    next one's first observation; `infos` then hold `final_obs`, an array of objects, None where nothing ended, and
    `final_info`, each with its mask `_final_obs`, `_final_info`.

    Environment i, seeded with s, plays what a `SupportEnv` seeded with s plays, in the same order: case s modulo the
    number of those chosen, then the one after (`engine.training.walk`). `reset(seed=s)` seeds environment i with s + i.
    """

    def __init__(
        self,
        num_envs: int = 1,
        pack: Pack | Path | str | None = None,
        task: str | None = None,
        split: str | None = None,
        ticket: str | None = None,
        tables: Tables | Path | str | None = None,
        autoreset_mode: str | Any = AutoresetMode.NEXT_STEP,
        copy: bool = True,
        masks: bool = True,
        render_mode: str | None = None,
    ) -> None:
        """A pack as `SupportEnv` takes it, or `tables`, or the path of those that `deskproof compile` wrote.

        Without `masks` the infos hold no `action_mask`: writing it takes time that whoever doesn't read it can save.

        Raises:
            LookupError: there is no such path, nor such a shipped pack.
            PackError: what is there is no sound pack.
            TablesError: there is no such task, split or ticket, a wording of the split's stands in another one too,
                the pack has too many states, or the file no tables.
            ValueError: `autoreset_mode` or `render_mode` is none that there is; both a pack and tables are given.
        """
        if pack is not None and tables is not None:
            raise ValueError("give either a pack or its tables, not both")
        if num_envs < 1:
            raise ValueError(f"num_envs must be 1 or more, not {num_envs}")
        if render_mode is not None:
            raise ValueError(f"many environments can't be rendered: render_mode must be None, not {render_mode!r}")
        self.tables = _tables(pack, tables)
        self.num_envs = num_envs
        self.metadata = {"render_modes": [], "autoreset_mode": _mode(autoreset_mode)}
        self.single_observation_space = observation_space(self.tables)
        self.single_action_space = gymnasium.spaces.Discrete(len(self.tables.actions))
        self.observation_space = gymnasium.vector.utils.batch_space(self.single_observation_space, num_envs)
        self.action_space = gymnasium.vector.utils.batch_space(self.single_action_space, num_envs)
        self._same_step = self.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
        self._copy = copy
        self._every = np.ones(num_envs, np.bool_)
        self._masks = np.zeros((num_envs, len(self.tables.actions)), np.int8) if masks else None
        self._chosen: dict[str, Any] = {"task": task, "split": split, "ticket": ticket}
        self._walk = self._walks(self.tables.choose(task, split, ticket))
        self._begun = False

    @property
    def action_names(self) -> tuple[str, ...]:
        """What each action is: `ask_info(field=order_id)`."""
        return self.tables.action_names

    @property
    def states(self) -> Array:
        """(N,) int64, the numbers of the states that the last observations are of. Without `copy` it is no copy, and
        not to be written to."""
        return self._own(self._walk.state)

    @property
    def cases(self) -> Array:
        """(N,) int64, the numbers of the cases that are played."""
        found: Array = self._walk.cases[self._walk.position]
        return found

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """Begins an episode in every environment; without a seed the one after, or at first a drawn one.

        Args:
            seed: of the first environment, the others' count up from it; or a sequence of one for each, None for none.
            options: `task`, `split` and `ticket` choose the cases from now on.

        Raises:
            ValueError: a seed is none, there are not as many as environments, there is no such option, task, split or
                ticket, or a wording of the split's stands in another one too. Nothing has changed then.
        """
        first, each = self._seeds(seed)
        now = chosen(self._chosen, options or {})
        cases = self.tables.choose(**now)
        super().reset(seed=first)
        self._chosen = now
        if not np.array_equal(cases, self._walk.cases):
            self._walk, self._begun = self._walks(cases), False
        walk, many = self._walk, len(cases)
        if first is not None:
            walk.begin(np.arange(self.num_envs) + first % many)
        else:
            others = walk.position + 1 if self._begun else self.np_random.integers(DRAWN, size=self.num_envs)
            pairs = zip(each, others.tolist(), strict=True)
            walk.begin(np.array([(other if one is None else one) % many for one, other in pairs]))
        self._begun = True
        walk.look()
        return self._own(walk.observation), self._info()

    def step(self, actions: Array) -> Stepped:
        """Takes an action in every environment.

        Raises:
            ValueError: an action is none, or there are more or fewer than N.
            gymnasium.error.ResetNeeded: before the first reset.
        """
        if not self._begun:
            raise gymnasium.error.ResetNeeded("nothing is played yet: reset() begins")
        walk, final = self._walk, {}
        if not self._same_step:
            walk.renew()
        walk.step(np.asarray(actions))
        if self._same_step:
            final = self._final()
            walk.renew()
        walk.look()
        own = self._own
        return (
            own(walk.observation),
            own(walk.reward),
            own(walk.terminated),
            own(walk.truncated),
            self._info() | final,
        )

    def _seeds(self, seed: Any) -> tuple[int | None, Sequence[int | None]]:
        """The first environment's seed, where the others count up from it; and the one of each, where they don't."""
        if isinstance(seed, Sequence) or (isinstance(seed, np.ndarray) and seed.ndim == 1):
            if len(seed) != self.num_envs:
                raise ValueError(f"there must be a seed for each of the {self.num_envs} environments, not {len(seed)}")
            return None, [None if one is None else whole(one) for one in seed]
        return (whole(seed) if seed is not None else None), [None] * self.num_envs

    def _walks(self, cases: Array) -> Walk:
        return Walk(self.tables, self.num_envs, cases, rest=not self._same_step)

    def _own(self, array: Array) -> Array:
        return array.copy() if self._copy else array

    def _info(self) -> dict[str, Any]:
        info = {"message_index": self._own(self._walk.message), "_message_index": self._own(self._every)}
        if self._masks is not None:
            self._walk.mask(self._masks)
            info |= {"action_mask": self._own(self._masks), "_action_mask": self._own(self._every)}
        return info

    def _final(self) -> dict[str, Any]:
        """What same-step autoreset tells of the episodes that ended, before they are renewed."""
        walk = self._walk
        ended = walk.ended.copy()
        if not ended.any():
            return {}
        walk.look()
        last = np.full(self.num_envs, None, object)
        for place in np.flatnonzero(ended).tolist():
            last[place] = walk.observation[place].copy()
        info = {name: ended if name.startswith("_") else array.copy() for name, array in self._info().items()}
        return {"final_obs": last, "_final_obs": ended, "final_info": info, "_final_info": ended}


def _tables(pack: Pack | Path | str | None, tables: Tables | Path | str | None) -> Tables:
    if isinstance(tables, Tables):
        return tables
    return Tables.load(tables) if tables is not None else tables_of(known(pack))


def _mode(given: Any) -> Any:
    mode = given if isinstance(given, AutoresetMode) else None
    if isinstance(given, str) and given in (one.value for one in AutoresetMode):
        mode = AutoresetMode(given)
    if mode not in (AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP):
        raise ValueError(f"autoreset_mode must be 'NextStep' or 'SameStep', not {given!r}")
    return mode
