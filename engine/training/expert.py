"""What tables tell of each state: an action of the best line, and the actions that can be seen to be pointless."""

from __future__ import annotations

from engine.training.extra import np
from engine.training.tables import Array


def best_actions(next_state: Array, reward: Array, depth: Array, over: Array, max_steps: int) -> Array:
    """For each state the action that `engine.dynamics.regret.best_action` names, with as many steps left as there can
    be, which is `max_steps` less the state's depth; -1 where there is none, or the episode is `over`. (S,) int16.

    Dynamic programming backwards from the last step (Bellman 1957). Return and steps are one number, `unit` times the
    return less the steps in which it is had: the greatest is the greatest return, and of these the one had soonest.
    """
    states, unit = len(depth), max_steps + 1
    best = np.full(states, -1, np.int16)
    worth = np.zeros(states, np.int64)
    for remaining in range(1, max_steps + 1):
        offered = np.take(worth, next_state)
        offered += reward.astype(np.int64) * unit
        first = offered.argmax(axis=1)
        most = np.take_along_axis(offered, first[:, None], axis=1)[:, 0]
        # To stop is worth 0. An action that is worth no less costs nothing, however many steps come after it.
        here = ~over & (depth == max_steps - remaining) & (most > -unit)
        best[here] = first[here]
        worth = np.maximum(most - 1, 0)
    return best


def pointless(observation: Array, next_state: Array, reward: Array, over: Array) -> Array:
    """(S, A) bool: in every state that looks the same, and isn't over, the action changes nothing and costs something.

    What looks the same is decided by the observation alone, so this tells nothing that the observation doesn't.
    Where all actions are like that, none is marked.
    """
    stays = next_state == np.arange(len(next_state), dtype=next_state.dtype)[:, None]
    idle = over[:, None] | (stays & (reward < 0))
    order = np.lexsort(observation.T)
    ordered = observation[order]
    begins = np.flatnonzero(np.concatenate(([True], np.any(ordered[1:] != ordered[:-1], axis=1))))
    marked = np.logical_and.reduceat(idle[order], begins, axis=0)
    marked &= ~marked.all(axis=1, keepdims=True)
    found: Array = np.empty_like(idle)
    found[order] = np.repeat(marked, np.diff(np.append(begins, len(order))), axis=0)
    return found
