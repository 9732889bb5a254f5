"""The certificate of a proof: JSON that says of packs what was proved, for programs in any language.

The same packs, contract and engine give the same bytes: there is no time, no place and no file name in it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import cache
from typing import Any, NoReturn

from engine.diagnostics import PackError, Report
from engine.encoding import decode
from engine.nodes import File, Map, placeless
from engine.pack import REWARD_UNIT, Pack, Ticket
from engine.proof.digests import pack_digest, ticket_digests
from engine.proof.prove import share
from engine.proof.result import KINDS, Check, Counterexample, Numbers, PackProof, TicketProof, Variant, margin, severity
from engine.schema import check, own_schema, validator_of
from engine.source import Budget, parse
from engine.turns import Manner

FORMAT = 2
# Beyond this a number isn't exact where all numbers are floats, as in JavaScript (RFC 8259, 6).
EXACT = 2**53

# What may come of a check, the worst first; and of one that nobody asks for.
_STATUSES = ("fails", "not proved", "holds", "no matter")
VERDICTS = (*_STATUSES, "ignored")


def certificate(proved: Iterable[tuple[Pack, PackProof]], deskproof: str) -> dict[str, Any]:
    """The certificate of packs; `deskproof` is the version of what proved them. `certificate.schema.json` describes it.

    Returns and margins are in reward units. A fraction is exact as text, and beside it stands about what it is; so does
    a whole number stand as text where it is beyond 2^53.
    """
    return {
        "certificate": FORMAT,
        "deskproof": deskproof,
        "packs": [_pack(pack, proof) for pack, proof in proved],
    }


def write(document: Mapping[str, Any]) -> str:
    """The certificate as text: indented, so that version control shows what changed."""
    return json.dumps(document, ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def read(name: str, content: bytes) -> dict[str, Any]:
    """The certificate that a file holds; `name` is the file's.

    Raises:
        PackError: it isn't one; the error says where, and what was expected.
    """
    start = File(name, "").spot(0)
    report = Report()
    try:
        document: Any = json.loads(content, parse_constant=_no_number)
    except RecursionError:
        report.add("PACK004", start, "this is no certificate: it nests too deep")
    except json.JSONDecodeError as error:
        text = File(name, error.doc)
        report.add("PACK004", text.spot(error.pos), f"this is not JSON: {error.msg}")
    except ValueError:  # not UTF-8, NaN, or a number of thousands of digits
        report.add("PACK004", start, "this is not JSON in UTF-8, or holds a number that JSON doesn't have")
    else:
        form = document.get("certificate") if isinstance(document, dict) else None
        if type(form) is not int or form != FORMAT:
            what = f'this is no certificate: it has no "certificate": {FORMAT}'
            if type(form) is int:
                what = f"this certificate is of form {form}, and form {FORMAT} is read here: prove the packs again"
            report.add("PACK013", start, what, expected="what `deskproof prove --certificate` writes")
        elif _validator().is_valid(document):
            twice = _twice(document)
            if twice is None:
                found: dict[str, Any] = document
                return found
            report.add("PACK040", start, twice)
        else:
            check(_placed(name, content, document), _validator(), report)
    raise PackError(report.findings())


def statuses(checks: Iterable[Check]) -> dict[str, str]:
    """The worst that came of the checks of each code."""
    found: dict[str, str] = {}
    for one in checks:
        found[one.code] = min(one.status, found.get(one.code, one.status), key=_STATUSES.index)
    return found


def summary(proof: PackProof) -> dict[str, Any]:
    """What there is to say of a pack in a few words: whether every check that is an error holds, what came of each
    check, and how many findings are warnings."""
    known = statuses(proof.checks)
    ignored = {code: "ignored" for code in KINDS if severity(proof.demands, code) == "ignore"}
    return {
        "sound": proof.sound,
        "checks": {code: ignored.get(code) or known.get(code, "no matter") for code in KINDS},
        "warnings": len(proof.failed("warning")),
    }


def _twice(document: Mapping[str, Any]) -> str | None:
    """What goes by one name twice: certificates are compared by the names of packs and tickets."""
    names = [pack["pack"] for pack in document["packs"]]
    if len(set(names)) < len(names):
        return "two packs of this certificate have one name"
    for pack in document["packs"]:
        tickets = [ticket["ticket"] for ticket in pack["tickets"]]
        if len(set(tickets)) < len(tickets):
            return f"two tickets of pack '{pack['pack']}' have one id"
    return None


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


@cache
def _validator() -> Any:
    return validator_of(own_schema("proof/certificate.schema.json"))


def _placed(name: str, content: bytes, document: dict[str, Any]) -> Map:
    """The document, each value with its place: JSON is YAML. One that is too large for that is without places."""
    report = Report()
    file = decode(name, content, report)
    placed = parse(file, Budget(), report) if file is not None else None
    if isinstance(placed, Map) and not report:
        return placed
    plain: Map = placeless(document, File(name, ""))
    return plain


def _pack(pack: Pack, proof: PackProof) -> dict[str, Any]:
    by_ticket: dict[str | None, list[Check]] = {}
    for one in proof.checks:
        by_ticket.setdefault(one.ticket, []).append(one)
    decided = ticket_digests(pack)
    return {
        "pack": pack.name,
        "version": pack.version,
        "digest": pack.digest,
        "decides": pack_digest(pack),
        **summary(proof),
        "demands": {code: _demand(proof, code) for code in KINDS},
        "findings": [_finding(proof, one) for one in proof.checks if one.status in ("fails", "not proved")],
        "blind": {task: _fraction(bound) for task, bound in proof.blind.items()},
        "tickets": [
            _ticket(pack, ticket, decided[ticket.ticket], by_ticket.get(ticket.ticket, ())) for ticket in proof.tickets
        ],
    }


def _demand(proof: PackProof, code: str) -> dict[str, Any]:
    asked = {"margin": _fraction(margin(proof.demands, code))} if KINDS[code].margin is not None else {}
    return {"severity": severity(proof.demands, code), **asked}


def _finding(proof: PackProof, one: Check) -> dict[str, Any]:
    return {
        "code": one.code,
        "ticket": one.ticket,
        "status": one.status,
        "severity": severity(proof.demands, one.code),
        "message": one.message,
        "counterexample": _episode(one.counterexample) if one.counterexample is not None else None,
    }


def _episode(shown: Counterexample) -> dict[str, Any]:
    return {
        "ticket": shown.ticket,
        "seed": shown.seed,
        "actions": [dict(action) for action in shown.actions],
        "paid": shown.paid,
        "rule": shown.rule.outcome if shown.rule is not None else None,
    }


def _ticket(pack: Pack, proof: TicketProof, decides: str, checks: Sequence[Check]) -> dict[str, Any]:
    return {
        "ticket": proof.ticket,
        "task": pack.tickets[proof.ticket].task,
        "decides": decides,
        "checks": statuses(checks),
        "variants": [_variant(pack, pack.tickets[proof.ticket], variant) for variant in proof.variants],
    }


def _variant(pack: Pack, ticket: Ticket, variant: Variant) -> dict[str, Any]:
    return {
        "known": [name for name in pack.fields if name in variant.known],
        **manner_of(variant.manner),
        "share": _fraction(share(pack, ticket, variant.known, variant.manner)),
        "seed": variant.seed,
        "numbers": numbers_of(variant.numbers, _fraction) if variant.numbers is not None else None,
    }


def manner_of(manner: Manner) -> dict[str, Any]:
    """What comes before each answer as JSON: what most people don't do isn't there where they don't."""
    refuses = {"refuses": manner.refuses} if manner.refuses else {}
    fields = {"fields": sorted(manner.fields)} if manner.fields is not None else {}
    return {"stalls": manner.stalls, **refuses, **fields}


def numbers_of(numbers: Numbers, shown: Callable[[Fraction], Any]) -> dict[str, Any]:
    """A variant's numbers as JSON, returns in reward units; `shown` says how a fraction is written."""
    grades = numbers.random_grades
    return {
        "states": numbers.states,
        "optimum": numbers.optimum / REWARD_UNIT,
        "worst": numbers.worst / REWARD_UNIT,
        "short": numbers.short / REWARD_UNIT,
        "fewest_steps": numbers.fewest_steps,
        "optimal_steps": numbers.optimal_steps,
        "optimal_episodes": _whole(numbers.optimal_episodes),
        "random_return": shown(numbers.random_return),
        "random_grades": {"easy": shown(grades.easy), "medium": shown(grades.medium), "hard": shown(grades.hard)},
    }


def _whole(number: int) -> int | str:
    return number if number <= EXACT else _digits(number)


def _fraction(number: Fraction) -> dict[str, Any]:
    exact = f"{_digits(number.numerator)}/{_digits(number.denominator)}"
    return {"exact": exact, "about": float(number)}


def _digits(number: int) -> str:
    """All its digits: of an int Python writes some thousands only."""
    return str(Decimal(number))
