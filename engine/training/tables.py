"""Tables: the automata of a pack's tickets as arrays, so that millions of episodes are stepped by look-ups.

S states, A actions (the pack's enumerated ones, in the order of its action space), C cases, D columns. The states of a
ticket are shared by those of its cases that differ in words only. The steps aren't in the tables: whoever walks them
counts, and cuts off after `max_steps`.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TypeAlias, overload

from jsonschema import Draft202012Validator

from engine.nearest import nearest
from engine.pack import REWARD_UNIT
from engine.split import SPLITS
from engine.training.columns import MOST, Column
from engine.training.extra import np

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"

FORMAT = 1
# A file that unpacks to more is none of ours.
BYTES = 4_000_000_000
# Steps are counted in 16 bits, a reset among them.
MOST_STEPS = 2**15 - 2
# What `P` tells of one action: probability, next state, reward, whether the episode is over.
Outcome = tuple[float, int, float, bool]


class TablesError(ValueError):
    """A file holds no tables, or there is no such task, split or ticket in them."""


class TicketOf(NamedTuple):
    """A ticket that stands in tables: `task` is a number, of the pack's tasks."""

    id: str
    task: int
    split: str


@dataclass(frozen=True, eq=False)
class Tables:
    """All arrays are read-only. Rewards are exact: whole ten-thousandths (`engine.pack.REWARD_UNIT`).

    Attributes:
        pack, version, digest: of the pack that the tables were made of.
        max_steps: an episode that isn't over is cut off after so many.
        actions: each action in canonical form, as `Episode.step` takes it.
        columns: of an observation; the last one, `remaining`, is 0 in the tables.
        tasks, tickets: `tasks` by number; the tickets that have a case here.
        messages: the opening messages of the cases, each once.
        alike: for each split of the pack that has a wording of another split's, the sentence that says so.
        next_state: (S, A) int32. Where an episode is over it stays.
        reward: (S, A) int32.
        terminated: (S, A) bool, whether the episode is over after the action.
        action_mask: (S, A) int8. Every action may be taken in every state; 0 marks those that can be seen to be
            pointless: wasted, without changing anything, in all states of the whole pack that look the same.
        observation: (S, D) uint8.
        expert: (S,) int16, an action with which the best return is had soonest, with as many steps left as there can
            be in that state; -1 where it is had only by stopping, and where the episode is over.
        depth: (S,) int16, the fewest steps to a state. From a state as deep as `max_steps` nothing leads on.
        start, message, ticket, seed: (C,) int32 and int64, the first state of each case, the number of its message,
            of its ticket, and the seed that makes it (`engine.case.make_case`).
    """

    pack: str
    version: str
    digest: str
    max_steps: int
    actions: tuple[Mapping[str, Any], ...]
    columns: tuple[Column, ...]
    tasks: tuple[str, ...]
    tickets: tuple[TicketOf, ...]
    messages: tuple[str, ...]
    alike: Mapping[str, str]
    next_state: Array
    reward: Array
    terminated: Array
    action_mask: Array
    observation: Array
    expert: Array
    depth: Array
    start: Array
    message: Array
    ticket: Array
    seed: Array

    def __post_init__(self) -> None:
        for name in ARRAYS:
            getattr(self, name).setflags(write=False)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.__post_init__()

    def __deepcopy__(self, memo: Any) -> Tables:
        return self

    @property
    def states(self) -> int:
        return int(self.next_state.shape[0])

    @property
    def cases(self) -> int:
        return int(self.start.shape[0])

    @cached_property
    def action_names(self) -> tuple[str, ...]:
        """Each action as text: `ask_info(field=order_id)`."""
        return tuple(_named(action) for action in self.actions)

    @property
    def nbytes(self) -> int:
        """How much memory the arrays take."""
        return sum(int(getattr(self, name).nbytes) for name in ARRAYS)

    @property
    def P(self) -> Transitions:
        """The tables as Gymnasium's tabular environments publish theirs: `P[state][action]` is a list of one tuple,
        `(1.0, next state, reward, terminated)`, made when it is asked for."""
        return Transitions(self)

    def choose(self, task: str | None = None, split: str | None = None, ticket: str | None = None) -> Array:
        """The numbers of the cases of a task's, a split's tickets, or of one ticket; of all without any. (n,) int64.

        Raises:
            TablesError: there is no such task, split or ticket here, or no case of it; or a wording of the split's
                stands in another one too (`engine.training.wordings`).
        """
        ids, splits = [one.id for one in self.tickets], [one.split for one in self.tickets]
        for kind, given, valid in (("task", task, self.tasks), ("split", split, splits), ("ticket", ticket, ids)):
            if given is not None and given not in valid:
                near = nearest(str(given), valid)
                hint = f": did you mean '{near}'?" if near is not None else f"; there are: {_listed(valid)}"
                raise TablesError(f"the tables of pack '{self.pack}' have no {kind} '{given}'{hint}")
        if split is not None and split in self.alike:
            raise TablesError(self.alike[split])
        meant = [
            (task is None or self.tasks[one.task] == task)
            and (split is None or one.split == split)
            and (ticket is None or one.id == ticket)
            for one in self.tickets
        ]
        found = np.flatnonzero(np.array(meant, bool)[self.ticket])
        if not found.size:
            raise TablesError(f"the tables of pack '{self.pack}' have no case that is all of this at once")
        return found

    def save(self, path: str | Path) -> None:
        """Writes an .npz file that `load` reads: arrays, and the rest as JSON; nothing in it is pickled."""
        Path(path).write_bytes(self.packed())

    def packed(self) -> bytes:
        """What `save` writes."""
        about = {"format": FORMAT, **{name: getattr(self, name) for name in _ABOUT}}
        arrays = {name: getattr(self, name) for name in ARRAYS}
        file = io.BytesIO()
        np.savez_compressed(file, about=np.frombuffer(json.dumps(about).encode(), np.uint8), **arrays)
        return file.getvalue()

    @classmethod
    def load(cls, path: str | Path) -> Tables:
        """Reads what `save`, or `deskproof compile`, has written.

        Raises:
            OSError: it can't be read.
            TablesError: it holds no tables, or not those of this version.
        """
        with Path(path).open("rb") as file:
            try:
                found = cls(**_read(file))
                if _is_sound(found):
                    return found
            except TablesError as error:
                raise TablesError(f"{path} {error}") from None
            except Exception:  # a broken file makes zipfile, zlib, NumPy and json raise almost anything
                pass
        raise TablesError(f"{path} holds no tables: deskproof compile PACK -o FILE.npz writes some")


class Transitions(Sequence[Mapping[int, list[Outcome]]]):
    """`P[state][action]`, read from the arrays."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def __len__(self) -> int:
        return self._tables.states

    @overload
    def __getitem__(self, index: int) -> Mapping[int, list[Outcome]]: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Mapping[int, list[Outcome]]]: ...

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return [self[number] for number in range(*index.indices(len(self)))]
        rows = (getattr(self._tables, name)[index].tolist() for name in ("next_state", "reward", "terminated"))
        return {
            action: [(1.0, after, reward / REWARD_UNIT, over)]
            for action, (after, reward, over) in enumerate(zip(*rows, strict=True))
        }


_TEXT = {"type": "string"}
_TEXTS = {"type": "array", "items": _TEXT}
_VALUE = {"type": ["string", "integer", "boolean"]}


def _rows(*columns: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of a list of lists of these columns."""
    row = {"type": "array", "prefixItems": columns, "minItems": len(columns), "maxItems": len(columns)}
    return {"type": "array", "minItems": 1, "items": row}


# All but the arrays, as JSON Schema.
_ABOUT: Mapping[str, Any] = {
    "pack": _TEXT,
    "version": _TEXT,
    "digest": _TEXT,
    "max_steps": {"type": "integer", "minimum": 1, "maximum": MOST_STEPS},
    "actions": {
        "type": "array",
        "minItems": 1,
        "items": {
            "type": "object",
            "required": ["type"],
            "properties": {"type": _TEXT, "parameters": {"type": "object", "additionalProperties": _VALUE}},
            "additionalProperties": _VALUE,
        },
    },
    "columns": _rows(_TEXT, {"type": "integer", "minimum": 0, "maximum": MOST}),
    "tasks": _TEXTS,
    "tickets": _rows(_TEXT, {"type": "integer", "minimum": 0}, {"enum": SPLITS}),
    "messages": _TEXTS,
    "alike": {"type": "object", "propertyNames": {"enum": SPLITS}, "additionalProperties": _TEXT},
}
_WRITTEN = {"format": {"const": FORMAT}, **_ABOUT}
_VALIDATOR = Draft202012Validator({"type": "object", "required": list(_WRITTEN), "properties": _WRITTEN})
# Of each array the type and the axes.
_SHAPES = {
    "next_state": (np.int32, "SA"),
    "reward": (np.int32, "SA"),
    "terminated": (np.bool_, "SA"),
    "action_mask": (np.int8, "SA"),
    "observation": (np.uint8, "SD"),
    "expert": (np.int16, "S"),
    "depth": (np.int16, "S"),
    "start": (np.int32, "C"),
    "message": (np.int32, "C"),
    "ticket": (np.int32, "C"),
    "seed": (np.int64, "C"),
}
ARRAYS = tuple(_SHAPES)


def _read(file: BinaryIO) -> dict[str, Any]:
    """What tables are made of. Raises TablesError where a sentence says more than that there are none."""
    with zipfile.ZipFile(file) as held:
        if sum(member.file_size for member in held.infolist()) > BYTES:
            raise TablesError(f"would unpack to more than {BYTES:,} bytes")
    file.seek(0)
    with np.load(file, allow_pickle=False) as arrays:
        about = json.loads(arrays["about"].tobytes(), parse_float=_refused, parse_constant=_refused)
        if isinstance(about["format"], int) and about["format"] != FORMAT:
            raise TablesError(f"is of format {about['format']}, not {FORMAT}: compile the pack anew")
        _VALIDATOR.validate(about)
        made = {name: tuple(about[name]) if isinstance(about[name], list) else about[name] for name in _ABOUT}
        made["columns"] = tuple(Column(*one) for one in about["columns"])
        made["tickets"] = tuple(TicketOf(*one) for one in about["tickets"])
        return {**made, **{name: arrays[name] for name in ARRAYS}}


def _refused(number: str) -> Any:
    raise ValueError(f"{number} is no whole number")


def _is_sound(tables: Tables) -> bool:
    """Whether every array has its type and shape, and every number in one is one that can stand there."""
    sizes = {"S": tables.states, "A": len(tables.actions), "C": tables.cases, "D": len(tables.columns)}
    for name, (kind, axes) in _SHAPES.items():
        array = getattr(tables, name)
        if array.dtype != kind or array.shape != tuple(sizes[axis] for axis in axes) or not array.size:
            return False
    inside = (
        (tables.next_state, 0, tables.states),
        (tables.terminated.view(np.uint8), 0, 2),
        (tables.action_mask, 0, 2),
        (tables.expert, -1, len(tables.actions)),
        (tables.depth, 0, tables.max_steps + 1),
        (tables.start, 0, tables.states),
        (tables.message, 0, len(tables.messages)),
        (tables.ticket, 0, len(tables.tickets)),
        (tables.seed, 0, np.inf),
    )
    # What is left of the steps isn't known here.
    most = [*(column.most for column in tables.columns[:-1]), 0]
    return (
        all(array.min() >= least and array.max() < end for array, least, end in inside)
        and bool(tables.action_mask.any(axis=1).all())
        and bool((tables.observation <= most).all())
        and tables.columns[-1] == ("remaining", min(tables.max_steps, MOST))
        and all(one.task < len(tables.tasks) for one in tables.tickets)
    )


def _named(action: Mapping[str, Any]) -> str:
    given = {name: value for name, value in action.items() if name not in ("type", "parameters")}
    given |= action.get("parameters", {})
    return f"{action['type']}({', '.join(f'{name}={value}' for name, value in given.items())})"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(dict.fromkeys(names[:20]))
