"""The gate: tokens, rates and origins, and what goes with an answer."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from engine.pack import Pack
from server.app import create_app
from server.gate import FRAMED, SECURITY_HEADERS, Gate, headers_for
from server.limits import Limiter
from server.problems import Problem
from server.settings import Settings
from server.tokens import Tokens, digest
from tests.server.clock import Clock

HOST = {"host": "localhost:7860"}
ELSEWHERE = "https://evil.example"


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def tokens(tmp_path: Path) -> Tokens:
    path = tmp_path / "tokens"
    path.write_text(f"kim {digest('token-of-kim')}\nsam {digest('token-of-sam')}\n")
    return Tokens(path)


@pytest.fixture
def open_gate() -> Gate:
    return Gate(None, None, ())


def refused(gate: Gate, headers: Mapping[str, str], path: str = "/step", address: str | None = "10.0.0.1") -> Problem:
    with pytest.raises(Problem) as caught:
        gate.admit(path, headers, address)
    return caught.value


# -- Tokens


def test_without_tokens_everybody_comes_in_and_nobody_is_anybody(open_gate: Gate) -> None:
    assert open_gate.admit("/step", HOST, "10.0.0.1") == ""
    assert open_gate.admit("/step", HOST | {"authorization": "Bearer whatever"}, None) == ""


@pytest.mark.parametrize(
    "headers",
    [
        {"authorization": "Bearer token-of-kim"},
        {"authorization": "bearer   token-of-kim "},  # a scheme's case doesn't matter (RFC 9110, 11.1)
        {"x-api-key": "token-of-kim"},
        {"authorization": "Basic a2ltOng=", "x-api-key": "token-of-kim"},
        {"authorization": "Bearer somebody-elses-proxy", "x-api-key": "token-of-kim"},
    ],
)
def test_a_token_says_who_comes(headers: dict[str, str], tokens: Tokens) -> None:
    gate = Gate(tokens, None, ())
    assert gate.admit("/step", HOST | headers, None) == "kim"
    assert gate.admit("/step", {"authorization": "Bearer token-of-sam"}, None) == "sam"


@pytest.mark.parametrize(
    ("headers", "says"),
    [
        ({}, "A token is needed: send it in the header Authorization: Bearer TOKEN"),
        ({"authorization": ""}, "A token is needed"),
        ({"authorization": "Bearer"}, "A token is needed"),
        ({"authorization": "Basic a2ltOng="}, "A token is needed"),
        ({"authorization": "token-of-kim"}, "A token is needed"),
        ({"cookie": "authorization=token-of-kim"}, "A token is needed"),
        ({"authorization": "Bearer token-of-kin"}, "This token is not known here"),
        ({"x-api-key": digest("token-of-kim")}, "This token is not known here"),
    ],
)
def test_without_a_token_nobody_comes_in(headers: dict[str, str], says: str, tokens: Tokens) -> None:
    problem = refused(Gate(tokens, None, ()), HOST | headers)
    assert problem.status == 401
    assert says in problem.detail
    assert headers_for(problem) == (("WWW-Authenticate", "Bearer"),)
    assert "token-of-kin" not in str(problem.document())


def test_a_revoked_token_is_refused_without_a_restart(tmp_path: Path, clock: Clock) -> None:
    path = tmp_path / "tokens"
    path.write_text(f"kim {digest('token-of-kim')}\n")
    gate = Gate(Tokens(path, clock), None, ())
    kim = {"authorization": "Bearer token-of-kim"}
    assert gate.admit("/step", kim, None) == "kim"
    path.write_text("# nobody\n")
    clock.now += 1
    assert refused(gate, kim).status == 401


@pytest.mark.parametrize("path", ["/health", "/ready"])
def test_probes_need_no_token_and_have_no_rate(path: str, tokens: Tokens, clock: Clock) -> None:
    gate = Gate(tokens, Limiter(1.0, 1, clock), ())
    assert [gate.admit(path, HOST, "10.0.0.1") for _ in range(3)] == [""] * 3


@pytest.mark.parametrize("path", ["/", "/health/", "/Health", "//health", "/health/../step", "/metrics", "/docs"])
def test_every_other_path_needs_one(path: str, tokens: Tokens) -> None:
    assert refused(Gate(tokens, None, ()), HOST, path).status == 401


# -- Rates


def test_the_rate_goes_by_token_wherever_it_comes_from(tokens: Tokens, clock: Clock) -> None:
    gate = Gate(tokens, Limiter(0.4, 2, clock), ())
    kim, sam = ({"x-api-key": f"token-of-{name}"} for name in ("kim", "sam"))
    gate.admit("/step", kim, "10.0.0.1")
    gate.admit("/step", kim, "10.0.0.2")
    problem = refused(gate, kim, address="10.0.0.3")
    assert problem.status == 429
    assert problem.detail == "Too many requests: try again after 3 seconds."
    assert problem.document()["retry_after"] == 3
    assert headers_for(problem) == (("Retry-After", "3"),)  # 2.5, in whole seconds
    assert gate.admit("/step", sam, "10.0.0.1") == "sam"
    clock.now += 3
    assert gate.admit("/step", kim, "10.0.0.1") == "kim"


def test_who_has_no_token_takes_nothing_from_those_who_have(tokens: Tokens, clock: Clock) -> None:
    limiter = Limiter(1.0, 1, clock)
    gate = Gate(tokens, limiter, ())
    for number in range(100):
        assert refused(gate, {"x-api-key": "a guess"}, address=f"10.0.0.{number}").status == 401
    assert len(limiter) == 0
    assert gate.admit("/step", {"x-api-key": "token-of-kim"}, "10.0.0.1") == "kim"


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        ("10.0.0.1", "10.0.0.1", True),
        ("10.0.0.1", "10.0.0.2", False),
        (None, None, True),
        ("2001:db8:0:7::1", "2001:db8:0:7:ffff::2", True),  # one subscriber has a whole /64 (RFC 6177)
        ("2001:db8:0:7::1", "2001:db8:0:8::1", False),
        ("::ffff:10.0.0.1", "::ffff:10.0.0.2", False),  # IPv4 on a socket for both
        ("::ffff:10.0.0.1", "10.0.0.1", True),
        ("fe80::1%eth0", "fe80::2%eth0", True),
        ("un:usual", "un:usual", True),
    ],
)
def test_without_tokens_it_goes_by_address(first: str | None, second: str | None, same: bool, clock: Clock) -> None:
    gate = Gate(None, Limiter(1.0, 1, clock), ())
    gate.admit("/step", HOST, first)
    if same:
        assert refused(gate, HOST, address=second).detail == "Too many requests: try again after 1 second."
    else:
        assert gate.admit("/step", HOST, second) == ""


def test_a_batch_counts_as_many(clock: Clock) -> None:
    gate = Gate(None, Limiter(1.0, 10, clock), ())
    gate.admit("/batch/step", HOST, "10.0.0.1", 8)
    gate.spend("", "10.0.0.1", 2)
    with pytest.raises(Problem) as caught:
        gate.spend("", "10.0.0.1")
    assert caught.value.status == 429
    with pytest.raises(Problem) as caught:
        gate.spend("", "10.0.0.1", 11)
    assert caught.value.status == 429
    assert caught.value.detail == "11 at once are too many: send 10 at the most."
    assert headers_for(caught.value) == ()


def test_without_tokens_each_address_has_its_rate(lamps: Pack) -> None:
    http = create_app([lamps], configured=Settings(rate=1, burst=3)).test_client()

    def get(path: str, address: str) -> int:
        return http.get(path, environ_base={"REMOTE_ADDR": address}).status_code

    assert [get("/packs", "10.0.0.1") for _ in range(5)][:3] == [200] * 3
    assert 429 in [get("/packs", "10.0.0.1") for _ in range(100)]  # sooner than as many seconds
    assert (get("/packs", "10.0.0.2"), get("/health", "10.0.0.1")) == (200, 200)


# -- Origins


@pytest.mark.parametrize(
    ("origin", "host"),
    [
        ("http://localhost:7860", "localhost:7860"),
        ("http://LOCALHOST:7860", "localhost:7860"),
        ("https://name.example", "name.example"),
        ("https://name.example:443", "name.example"),
        ("https://name.example", "name.example:443"),
        ("http://name.example", "name.example:80"),
        ("http://[::1]:7860", "[::1]:7860"),
        ("http://[::1]", "[::1]:80"),
    ],
)
def test_the_servers_own_pages_may_call(origin: str, host: str, open_gate: Gate) -> None:
    assert open_gate.admit("/step", {"origin": origin, "host": host}, None) == ""


@pytest.mark.parametrize("path", ["/step", "/ws", "/mcp", "/", "/health"])
@pytest.mark.parametrize(
    ("origin", "host"),
    [
        (ELSEWHERE, "localhost:7860"),
        ("http://localhost", "localhost:7860"),  # another port is another origin
        ("http://localhost:8000", "localhost:7860"),
        ("http://127.0.0.1:7860", "localhost:7860"),
        ("http://localhost:7860.evil.example", "localhost:7860"),
        ("http://evil.localhost:7860", "localhost:7860"),
        ("https://name.example:80", "name.example"),
        ("http://name.example", "name.example:443"),
        ("null", "localhost:7860"),
        ("null", "null"),
        ("", ""),
        ("http://", ""),
        ("localhost:7860", "localhost:7860"),
        ("file://localhost:7860", "localhost:7860"),
    ],
)
def test_any_other_page_is_refused(origin: str, host: str, path: str, open_gate: Gate) -> None:
    problem = refused(open_gate, {"origin": origin, "host": host}, path)
    assert problem.status == 403
    assert "may not call this server" in problem.detail
    assert open_gate.cors(origin) == ()


def test_a_page_is_refused_where_nobody_says_which_host_was_asked(open_gate: Gate) -> None:
    assert refused(open_gate, {"origin": "http://localhost:7860"}).status == 403


def test_a_page_with_a_token_is_a_foreign_page_all_the_same(tokens: Tokens) -> None:
    headers = HOST | {"origin": ELSEWHERE, "authorization": "Bearer token-of-kim"}
    assert refused(Gate(tokens, None, ()), headers).status == 403


def test_a_long_origin_makes_a_short_answer(open_gate: Gate) -> None:
    assert len(refused(open_gate, {"origin": "x" * 8_000}).detail) < 300


# -- CORS


def test_nothing_is_said_unless_it_is_configured(open_gate: Gate) -> None:
    assert open_gate.cors("http://localhost:7860") == ()
    assert open_gate.preflight("OPTIONS", {"origin": ELSEWHERE, "access-control-request-method": "POST"}) is None


def test_an_origin_that_is_listed() -> None:
    gate = Gate(None, None, ("https://One.example:443", "http://two.example:8080"))
    for origin in ("https://one.example", "http://two.example:8080"):
        assert gate.admit("/step", HOST | {"origin": origin}, None) == ""
        said = dict(gate.cors(origin))
        assert said["Access-Control-Allow-Origin"] == origin
        assert said["Access-Control-Allow-Credentials"] == "true"
        assert said["Vary"] == "Origin"
        assert "Mcp-Session-Id" in said["Access-Control-Expose-Headers"]
    for origin in ("https://two.example:8080", "http://two.example", ELSEWHERE, "null", "*"):
        assert gate.cors(origin) == ()
        assert refused(gate, HOST | {"origin": origin}).status == 403
    assert gate.cors(None) == ()


@pytest.mark.parametrize("origin", [ELSEWHERE, "null", "*"])
def test_any_origin_and_never_with_credentials(origin: str) -> None:
    gate = Gate(None, None, ("*",))
    assert gate.admit("/step", HOST | {"origin": origin}, None) == ""
    said = dict(gate.cors(origin))
    assert said["Access-Control-Allow-Origin"] == "*"
    assert said["Vary"] == "Origin"
    assert "Access-Control-Allow-Credentials" not in said


def test_a_preflight() -> None:
    gate = Gate(None, None, ("https://one.example",))
    asks = {
        "origin": "https://one.example",
        "access-control-request-method": "POST",
        "access-control-request-headers": "authorization,content-type",
    }
    answered = gate.preflight("OPTIONS", asks)
    assert answered is not None
    said = dict(answered)
    assert len(said) == len(answered)
    assert said["Access-Control-Allow-Origin"] == "https://one.example"
    assert said["Access-Control-Allow-Methods"] == "GET, POST, DELETE"
    assert said["Access-Control-Allow-Headers"] == "authorization,content-type"
    assert said["Access-Control-Max-Age"] == "600"
    assert gate.preflight("POST", asks) is None
    assert gate.preflight("OPTIONS", {"origin": "https://one.example"}) is None
    assert gate.preflight("OPTIONS", asks | {"origin": ELSEWHERE}) is None


def test_a_preflight_is_answered_without_a_token(tokens: Tokens) -> None:
    gate = Gate(tokens, None, ("*",))
    answered = gate.preflight("OPTIONS", {"origin": ELSEWHERE, "access-control-request-method": "GET"})
    assert answered is not None
    assert ("Access-Control-Allow-Origin", "*") in answered


# -- What every answer has


def test_security_headers() -> None:
    said = dict(SECURITY_HEADERS)
    assert said == {
        "X-Content-Type-Options": "nosniff",
        "Cache-Control": "no-store",
        "Referrer-Policy": "no-referrer",
        "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    }
    assert "X-Frame-Options" not in said  # it can't be taken back for the pages that a Space frames
    assert "frame-ancestors" not in dict(FRAMED)["Content-Security-Policy"]


def test_a_problem_of_another_kind_has_no_headers() -> None:
    assert headers_for(Problem(404, "There is nothing here.")) == ()
