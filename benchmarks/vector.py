"""How fast tables are walked, beside what others take for a step, and how long a pack takes to compile.

python -m benchmarks.vector [ROUNDS]

Each round measures all of them one after the other, so that the ratios are of one time; what is shown is the median of
the rounds. All take random actions, drawn beforehand where they are handed in. Exits with 1 where a ratio isn't what is
promised. EnvPool and Gymnax come with the extra `bench`; where they aren't installed, they are left out, and said so.

`SupportVectorEnv` is made with `copy=False`: the arrays that it returns are written anew by the next step. EnvPool
plays FrozenLake. Gymnax has none: its FourRooms stands for it, a grid with four actions as well, and the fastest of its
discrete games here. It is stepped as Gymnax means it, in one compiled loop that draws the actions too.
"""

from __future__ import annotations

import os
import resource
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from statistics import median
from time import perf_counter, process_time
from typing import Any, NamedTuple

import gymnasium
import numpy as np

from benchmarks.proof import thousand
from engine.load import load_pack, pack_path
from engine.training.tables import Tables
from engine.training.tabulate import tables_of, tabulate
from engine.training.vector_env import SupportVectorEnv
from engine.training.walk import Walk

ENVIRONMENTS = 100_000
SYNC, ENVPOOL, GYMNAX = 64, 10_000, 10_000
PACK = "customer_support"
SECONDS = 0.25  # a measurement takes at least so long
COMPILING, MEMORY = 60.0, 2_000  # seconds of the processor, MB

# Takes some steps in every environment; how many all of them took.
Steps = Callable[[], int]


class Promise(NamedTuple):
    """`fast` is at least `times` as fast as `slow`, by their names."""

    fast: str
    slow: str
    times: float


VECTOR, MASKLESS = "SupportVectorEnv.step", "SupportVectorEnv.step without masks"
BLIND, BARE = "the same walk without observations", "its look-ups alone, bare"
BY_SYNC, BY_ENVPOOL, BY_GYMNAX = "Gymnasium's SyncVectorEnv of it", "EnvPool's FrozenLake", "Gymnax's FourRooms"
PROMISES = (
    Promise(VECTOR, BY_SYNC, 100),
    Promise(VECTOR, BY_ENVPOOL, 50),
    Promise(MASKLESS, BARE, 1 / 3),
    Promise(BLIND, BY_GYMNAX, 10),
)


def drawn(actions: int, number: int) -> Iterator[Any]:
    """Random actions, eight lists of them over and over."""
    chance = np.random.default_rng(1)
    lists = [chance.integers(0, actions, number) for _ in range(8)]
    while True:
        yield from lists


def vector(masks: bool) -> Steps:
    envs = SupportVectorEnv(ENVIRONMENTS, PACK, copy=False, masks=masks)
    envs.reset(seed=0)
    actions = drawn(len(envs.action_names), ENVIRONMENTS)

    def steps() -> int:
        envs.step(next(actions))
        return ENVIRONMENTS

    return steps


def blind(tables: Tables) -> Steps:
    walk = Walk(tables, ENVIRONMENTS)
    walk.begin(np.arange(ENVIRONMENTS))
    actions = drawn(len(tables.actions), ENVIRONMENTS)

    def steps() -> int:
        walk.step(next(actions))
        walk.renew()
        return ENVIRONMENTS

    return steps


def bare(tables: Tables) -> Steps:
    """State, reward, end and observation, once each, at places that a random walk is in."""
    walk = Walk(tables, ENVIRONMENTS)
    walk.begin(np.arange(ENVIRONMENTS))
    actions = drawn(len(tables.actions), ENVIRONMENTS)
    for _ in range(3 * tables.max_steps):
        walk.step(next(actions))
        walk.renew()
    rows = walk.state.astype(np.intp)
    index = rows * len(tables.actions) + next(actions)
    flat = [array.reshape(-1) for array in (tables.next_state, tables.reward / 10_000, tables.terminated)]
    outs = [np.empty(ENVIRONMENTS, array.dtype) for array in flat]
    seen = np.empty((ENVIRONMENTS, len(tables.columns)), np.uint8)

    def steps() -> int:
        for array, out in zip(flat, outs, strict=True):
            np.take(array, index, out=out, mode="clip")
        np.take(tables.observation, rows, axis=0, out=seen, mode="clip")
        return ENVIRONMENTS

    return steps


def sync() -> Steps:
    made = "deskproof:Deskproof/Support-v0"
    envs = gymnasium.make_vec(made, num_envs=SYNC, vectorization_mode="sync", pack=PACK)
    envs.reset(seed=0)
    actions = drawn(envs.get_attr("action_space")[0].n, SYNC)  # type: ignore[attr-defined]

    def steps() -> int:
        envs.step(next(actions))
        return SYNC

    return steps


def envpool() -> Steps:
    envs = import_module("envpool").make_gymnasium("FrozenLake-v1", num_envs=ENVPOOL)
    envs.reset()
    actions = drawn(4, ENVPOOL)

    def steps() -> int:
        envs.step(next(actions).astype(np.int32))
        return ENVPOOL

    return steps


def gymnax() -> Steps:
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    jax, made, length = import_module("jax"), import_module("gymnax"), 20
    env, parameters = made.make("FourRooms-misc")
    action_count = env.action_space(parameters).n

    def one(carry: Any, _: Any) -> Any:
        key, state = carry
        key, for_actions, for_steps = jax.random.split(key, 3)
        actions = jax.random.randint(for_actions, (GYMNAX,), 0, action_count)
        keys = jax.random.split(for_steps, GYMNAX)
        _, state, reward, over, _ = jax.vmap(env.step, in_axes=(0, 0, 0, None))(keys, state, actions, parameters)
        return (key, state), (reward, over)

    run = jax.jit(lambda key, state: jax.lax.scan(one, (key, state), None, length=length))
    key = jax.random.key(0)
    _, state = jax.jit(jax.vmap(env.reset, in_axes=(0, None)))(jax.random.split(key, GYMNAX), parameters)

    def steps() -> int:
        jax.block_until_ready(run(key, state))
        return GYMNAX * length

    return steps


def rate(steps: Steps) -> float:
    """Steps a second."""
    began, taken = perf_counter(), 0
    while (took := perf_counter() - began) < SECONDS:
        taken += steps()
    return taken / took


def contestants() -> dict[str, Steps]:
    tables = tables_of(load_pack(pack_path(PACK)))
    found = {VECTOR: vector(masks=True), MASKLESS: vector(masks=False), BLIND: blind(tables), BARE: bare(tables)}
    found[BY_SYNC] = sync()
    for name, module, made in ((BY_ENVPOOL, "envpool", envpool), (BY_GYMNAX, "gymnax", gymnax)):
        try:
            found[name] = made()
        except ImportError as error:
            print(f"{name} is left out: {module} can't be imported ({error}). pip install -r requirements/bench.lock")
    for steps in found.values():
        steps()  # what is compiled at the first call is compiled now
    return found


def race(rounds: int) -> bool:
    """Prints the rates and their ratios; whether all are as promised."""
    found = contestants()
    rates = [{name: rate(steps) for name, steps in found.items()} for _ in range(rounds)]
    for name in found:
        print(f"{name:<40}{median(one[name] for one in rates) / 1e6:>12,.3f} million steps a second")
    kept = True
    for fast, slow, times in PROMISES:
        if slow in found:
            ratio = median(one[fast] / one[slow] for one in rates)
            kept = kept and ratio >= times
            mark = "" if ratio >= times else "   <-- not as promised"
            print(f"{fast} / {slow}: {ratio:,.2f} of {times:,.2f}{mark}")
    return kept


def compiling() -> bool:
    """Prints what the tables of a thousand tickets take, no two alike; whether it is as promised."""
    (pack,) = thousand()
    began = process_time()
    tables = tabulate(pack)
    took, began = process_time() - began, process_time()
    packed = tables.packed()
    written = process_time() - began
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1_000
    fine = took + written <= COMPILING and memory <= MEMORY
    print(
        f"compiling {len(tables.tickets):,} tickets: {tables.states:,} states, {took:.1f} s, {written:.1f} s to pack "
        f"{tables.nbytes / 1e6:.0f} MB in {len(packed) / 1e6:.1f} MB; {memory:,.0f} MB at the most"
        f"{'' if fine else '   <-- not as promised'}"
    )
    return fine


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 7
    kept = compiling()  # first: memory is counted from the start
    sys.exit(0 if race(rounds) and kept else 1)


if __name__ == "__main__":
    main()
