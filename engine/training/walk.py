"""Many episodes at once, walked over tables: a step is a handful of look-ups, whatever the number of episodes.

Which case an episode plays is no matter of chance. The cases stand in an order (`Tables.choose`); an environment with
seed s plays case s, then s + 1, and so on, the first one coming after the last. So consecutive seeds play all cases
equally often, and an environment's k-th episode is known from its seed: number (s + k) modulo the number of cases.
"""

from __future__ import annotations

from engine.pack import REWARD_UNIT
from engine.training.columns import MOST
from engine.training.extra import np
from engine.training.tables import Array, Tables


class Walk:
    """`number` episodes, N. All arrays are kept and written anew by each call; what a step allocates is the list of
    the episodes that ended.

    Attributes:
        reward: (N,) float64, of the last step.
        terminated, truncated, ended: (N,) bool; `ended` is either.
        remaining: (N,) the steps that remain, uint8, or int16 where a column can't hold them.
        observation: (N, D) uint8, what `look` saw last, the steps that remain in the last column.
        position: (N,) int64, of each episode's case in `cases`.
        message: (N,) int32, the number of its opening message.
        state: (N,) int64, the number of the state that each episode is in.
    """

    def __init__(self, tables: Tables, number: int, cases: Array | None = None, rest: bool = False) -> None:
        """`cases` are those to play, in their order; all of them without. With `rest`, an episode that ended rests for
        one step before the next one: whatever the action, the reward is 0 and nothing ends."""
        self.tables = tables
        self.cases = np.arange(tables.cases) if cases is None else np.asarray(cases)
        self._start = tables.start[self.cases]
        self._message = tables.message[self.cases]
        self._actions = len(tables.actions)
        gates, self._enter = self._start, self._start
        next_state, reward, terminated = tables.next_state, tables.reward, tables.terminated
        if rest:
            # A state before each first one, which every action leads out of: resetting is a transition like any other.
            gates, place = np.unique(self._start, return_inverse=True)
            self._enter = place + tables.states
            rows = (len(gates), self._actions)
            next_state = np.concatenate((next_state, np.broadcast_to(gates[:, None], rows)))
            reward = np.concatenate((reward, np.zeros(rows, np.int32)))
            terminated = np.concatenate((terminated, np.zeros(rows, np.bool_)))
        self._steps = tables.max_steps + rest
        # States are kept as the integers that NumPy's look-ups take: any others it would copy first.
        self._next = next_state.reshape(-1).astype(np.intp)
        self._reward = reward.reshape(-1) / REWARD_UNIT
        self._terminated = np.ascontiguousarray(terminated.reshape(-1))
        self.state, self._index = np.zeros(number, np.intp), np.zeros(number, np.intp)
        self.position, self.message = np.zeros(number, np.int64), np.zeros(number, np.int32)
        self.remaining = np.zeros(number, np.uint8 if self._steps <= MOST else np.int16)
        self.reward = np.zeros(number)
        self.terminated, self.truncated, self.ended = (np.zeros(number, np.bool_) for _ in range(3))
        self.observation = np.zeros((number, len(tables.columns)), np.uint8)

    def begin(self, seeds: Array, where: Array | slice = slice(None)) -> None:
        """Begins an episode for each seed, in the places `where`."""
        position = np.asarray(seeds % len(self.cases), np.int64)
        self.position[where] = position
        self.message[where] = self._message[position]
        self.state[where] = self._start[position]
        self.remaining[where] = self.tables.max_steps
        self.reward[where] = 0.0
        for flags in (self.terminated, self.truncated, self.ended):
            flags[where] = False

    def step(self, actions: Array) -> None:
        """Takes an action in each episode, (N,) of any type of integers; nothing is reset.

        Raises:
            ValueError: an action isn't in [0, A), or there are more or fewer than N.
        """
        if actions.shape != self.state.shape or actions.dtype.kind not in "iu":
            raise ValueError(f"actions must be {len(self.state)} integers, not {actions.dtype} of {actions.shape}")
        if actions.size and (actions.min() < 0 or actions.max() >= self._actions):
            raise ValueError(f"actions must be from 0 up to {self._actions - 1}")
        index = self._index
        np.multiply(self.state, self._actions, out=index)
        np.add(index, actions, out=index, casting="unsafe")
        # Every index is valid; "clip" is the mode in which NumPy writes to `out` without a copy.
        np.take(self._next, index, out=self.state, mode="clip")
        np.take(self._reward, index, out=self.reward, mode="clip")
        np.take(self._terminated, index, out=self.terminated, mode="clip")
        np.subtract(self.remaining, 1, out=self.remaining)
        np.equal(self.remaining, 0, out=self.truncated)
        np.greater(self.truncated, self.terminated, out=self.truncated)
        np.logical_or(self.terminated, self.truncated, out=self.ended)

    def renew(self) -> Array:
        """Moves the episodes that ended on to their next cases; their places, (k,) int64."""
        places = np.flatnonzero(self.ended)
        position = self.position[places] + 1
        position[position == len(self.cases)] = 0
        self.position[places] = position
        self.message[places] = self._message[position]
        self.state[places] = self._enter[position]
        self.remaining[places] = self._steps
        return places

    def look(self) -> None:
        """Writes the observation of every episode."""
        np.take(self.tables.observation, self.state, axis=0, out=self.observation, mode="clip")
        np.minimum(self.remaining, MOST, out=self.observation[:, -1], casting="unsafe")

    def mask(self, out: Array) -> None:
        """Writes the action mask of every episode to `out`, (N, A) int8."""
        np.take(self.tables.action_mask, self.state, axis=0, out=out, mode="clip")
