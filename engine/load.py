"""Loads packs from disk: reads, merges, validates, builds, and proves that every ticket can be played."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from engine.build import build, default_rules, pack_schema, pack_validator
from engine.contract import Contract, load_contract
from engine.diagnostics import Finding, PackError, Report, excerpt
from engine.nearest import nearest
from engine.nodes import File, Map, Seq, Spot, placeless
from engine.openings import opening_findings
from engine.pack import Pack
from engine.schema import check
from engine.scripted import check_tests
from engine.solve import Verdicts, ticket_findings
from engine.source import Budget, open_file, parse
from engine.unfinished import sections

_HERE = Path(__file__).parent
# The most files of a pack.
MAX_FILES = 500


def shipped_packs() -> tuple[Path, ...]:
    """The packs in `scenarios/`: at the repository's root, else inside the package. Sorted by name."""
    at_root = _HERE.parent / "scenarios"
    folder = at_root if at_root.is_dir() else _HERE / "scenarios"
    return tuple(sorted(path for path in folder.iterdir() if (path / "pack.yaml").is_file())) if folder.is_dir() else ()


def pack_path(name: str) -> Path:
    """The path itself, or that of the shipped pack of this name.

    Raises:
        LookupError: there is neither; it says what is near.
    """
    path = Path(name)
    try:
        if name and path.exists():
            return path
    except (OSError, ValueError):  # no path at all: too long, or forbidden
        pass
    shipped = {known: folder for folder in shipped_packs() for known in (folder.name, folder.name.replace("_", "-"))}
    if name in shipped:
        return shipped[name]
    close = nearest(name, shipped)
    raise LookupError(f"There is no file or folder '{name}'." + (f" Did you mean '{close}'?" if close else ""))


def load_pack(path: Path | str, contract: Contract | None = None) -> Pack:
    """The pack in a folder or a file.

    Raises:
        PackError: something in it is wrong; the error holds everything that is.
    """
    pack, findings = check_pack(path, contract)
    if pack is None:
        raise PackError(finding for finding in findings if finding.severity == "error")
    return pack


def check_pack(path: Path | str, contract: Contract | None = None) -> tuple[Pack | None, tuple[Finding, ...]]:
    """The pack, or None where it has errors, and everything that was found, warnings too."""
    try:
        contract = contract or load_contract()
    except PackError as error:
        return None, error.findings
    pack, findings = check_draft(path, contract)
    if pack is None:
        return None, findings
    more = playable(pack, contract)
    return None if any(finding.severity == "error" for finding in more) else pack, (*findings, *more)


def check_draft(path: Path | str, contract: Contract) -> tuple[Pack | None, tuple[Finding, ...]]:
    """The same, but for what is true of a pack's tickets: whether each can be resolved, and at its best."""
    draft = read_draft(path, contract)
    return draft.pack, draft.findings


class Draft(NamedTuple):
    """A pack, whether or not its tickets can be resolved, and the document that it was built of; None where it has
    errors."""

    pack: Pack | None
    document: Map | None
    findings: tuple[Finding, ...]


def read_draft(path: Path | str, contract: Contract) -> Draft:
    """What is written at a path, and everything that was found in it."""
    report = Report()
    try:
        default_rules()
    except PackError as error:
        return Draft(None, None, error.findings)
    document, whole = read_pack(Path(path), report)
    if document is None:
        return Draft(None, None, report.findings())
    refused = check(document, pack_validator(), report, whole)
    if not whole:
        # What any section declares may stand in a file that couldn't be read.
        refused.paths |= {(section,) for section in pack_schema()["properties"]}
    pack = build(document, contract, report, refused)
    if pack is not None:
        check_tests(pack, document, report)
    if pack is None or report:
        return Draft(None, None, report.findings())
    return Draft(pack, document, with_lines(report.findings()))


def playable(pack: Pack, contract: Contract, verdicts: Verdicts | None = None) -> tuple[Finding, ...]:
    """What is wrong with the tickets of a draft; `verdicts` are as `ticket_findings` takes them."""
    report = Report()
    for finding in (*ticket_findings(pack, verdicts), *opening_findings(pack, contract.observation_space)):
        report.take(finding)
    return with_lines(report.findings())


def rebuild(source: str, contract: Contract | None = None) -> Pack:
    """The pack whose `source` this is. It was proved when it was loaded first, and isn't again.

    Raises:
        PackError: it isn't the source of a pack, or this version of the contract or of the engine doesn't take it.
    """
    report, file = Report(), File("a kept pack", "")
    try:
        document = placeless(json.loads(source), file)
    except (ValueError, RecursionError):
        document = None
    if isinstance(document, Map):
        refused = check(document, pack_validator(), report)
        pack = build(document, contract or load_contract(), report, refused)
        if pack is not None:
            return pack
    else:
        report.add("PACK001", file.spot(0), "this is not the source of a pack")
    raise PackError(report.findings())


def with_lines(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """The findings, each with the line that it is about; where it has none yet, its file is read again."""
    read: dict[str, File | None] = {}
    found = []
    for finding in findings:
        name = finding.place.file
        if finding.source is None and name not in read:
            read[name] = open_file(Path(name), Budget(), Report())
        file = read.get(name)
        if finding.source is None and file is not None:
            source, caret = excerpt(*file.find(finding.place).line)
            finding = replace(finding, source=source, caret=caret)
        found.append(finding)
    return tuple(found)


def read_pack(path: Path, report: Report) -> tuple[Map | None, bool]:
    """A pack's document, merged from all its files, and whether all of them could be read."""
    budget = Budget()
    if not _is_folder(path):
        file = open_file(path, budget, report)
        document = parse(file, budget, report) if file is not None else None
        return document, document is not None
    merged: Map | None = None
    each_file = files(path, report)
    whole = path / "pack.yaml" in each_file
    for each in each_file:
        file = open_file(each, budget, report)
        document = parse(file, budget, report) if file is not None else None
        if document is None:
            whole = False
        elif merged is None:
            merged = document
        else:
            merge(merged, document, report)
    return merged, whole


def read_unfinished(path: Path, report: Report) -> tuple[Map | None, frozenset[str]]:
    """As `read_pack`, but of a file that can't be read to its end all that can be, None only where there is none; and
    the sections in which there may be more."""
    document, whole = read_pack(path, report)
    if whole:
        return document, frozenset()
    budget, nobody, every = Budget(), Report(), frozenset(pack_schema()["properties"])
    each_file = files(path, nobody) if _is_folder(path) else [path]
    opened = [open_file(each, budget, nobody) for each in each_file]
    read = [part for file in opened if file is not None for part in sections(file, budget)]
    merged = next((Map(file, 0) for file in opened if file is not None), None)
    for _, part, _ in read:
        if part is not None and merged is not None:
            merge(merged, part, nobody)
    unread = {name for name, _, complete in read if not complete}
    if not read or None in opened or not unread <= every or (_is_folder(path) and path / "pack.yaml" not in each_file):
        return merged, every  # whatever else there is may declare anything
    return merged, frozenset(unread)


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False  # opening it says why


def files(folder: Path, report: Report) -> list[Path]:
    """pack.yaml, then the other *.yaml files of a pack by name; hidden ones are left out."""
    here = File(str(folder), "").spot(0)
    try:
        names = sorted(each.name for each in folder.iterdir() if not each.name.startswith("."))
    except OSError as error:
        report.add("PACK001", here, f"the folder can't be read: {error.strerror}")
        return []
    for name in names:
        if name.endswith(".yml"):
            report.add("PACK001", File(str(folder / name), "").spot(0), "a pack's files end in .yaml; rename this one")
        elif (folder / name).is_dir() and not _leads_back(folder / name) and any((folder / name).glob("*.yaml")):
            where = File(str(folder / name), "").spot(0)
            report.warn("PACK086", where, "a pack's files stand beside pack.yaml; what is in this folder isn't read")
    others = [name for name in names if name.endswith(".yaml") and name != "pack.yaml"]
    if len(others) >= MAX_FILES:
        report.add("PACK012", here, f"a pack has {MAX_FILES} files at the most")
    if "pack.yaml" not in names:
        report.add("PACK001", here, "a pack's folder holds a file pack.yaml", meant=("pack.yaml", names))
        return [folder / name for name in others[:MAX_FILES]]
    return [folder / name for name in ("pack.yaml", *others)[:MAX_FILES]]


def _leads_back(link: Path) -> bool:
    """Whether a folder is the one that it stands in, or one further out: what is in it is read, or isn't the pack's."""
    return link.is_symlink() and link.parent.resolve().is_relative_to(link.resolve())


def merge(into: Map, other: Map, report: Report) -> None:
    """Adds a file's document to another's: mappings entry by entry, lists one behind the other."""
    into.again.update(other.again)
    for key, value in other.items():
        spots = (other.key_spot(key), other.value_spot(key))
        if key not in into:
            into.add(key, value, *spots)
        elif isinstance(value, Map) and isinstance(into[key], Map):
            into[key].again.update(value.again)
            for name, inner in value.items():
                if name in into[key]:
                    into[key].again.add(name)
                    _twice(name, into[key].key_spot(name), value.key_spot(name), report)
                else:
                    into[key].add(name, inner, value.key_spot(name), value.value_spot(name))
        elif isinstance(value, Seq) and isinstance(into[key], Seq):
            for index, inner in enumerate(value):
                into[key].add(inner, value.item_spot(index))
        else:
            _twice(key, into.key_spot(key), spots[0], report)


def _twice(name: str, first: Spot, again: Spot, report: Report) -> None:
    report.add("PACK005", again, f"'{name}' is given twice (first at {first.place})")
