"""OpenEnv's own validation: its runtime graders on a running server, and `openenv validate` on a server and a package.

The package is what a clone holds: the files of the working tree that git would keep. Where there is no Docker, the
official run needs something else that starts the package: here a process takes the container's place, and everything
else, from the plan to the verdict, is OpenEnv's own.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from openenv.cli.__main__ import app
from openenv.validation import Level, Verdict, run_validation
from openenv.validation.graders import Subject
from openenv.validation.parsers.openenv_yaml import OpenEnvYamlParser
from openenv.validation.policy import load_policy
from openenv.validation.runner import default_grader_registry
from openenv.validation.runtime.collector import collect_runtime_evidence
from openenv.validation.runtime.contracts import load_runtime_plan
from openenv.validation.types import CheckStatus, ProviderCapability
from typer.testing import CliRunner

from tests.server.wire import shipped

CONTRACT = ("runtime.observation_schema", "runtime.reward_well_formed", "runtime.state_contract")

# OpenEnv connects without a context manager, which newer websockets ask for.
quietly = pytest.mark.filterwarnings("ignore:connect:DeprecationWarning")

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("server-process")]


@pytest.fixture(scope="module")
def package(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clean copy of the project: OpenEnv refuses a folder with links in it, as virtual environments have them."""
    copy = tmp_path_factory.mktemp("clone") / "package"
    listing = ("git", "ls-files", "--cached", "--others", "--exclude-standard", "-z")
    names = subprocess.run(listing, cwd=root, capture_output=True, text=True, check=True).stdout.split("\0")
    for name in names:
        if name and (root / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(root / name, copy / name)
    return copy


@pytest.fixture(scope="module")
def address(package: Path) -> Iterator[str]:
    """A server that was started from the package, and from nothing else."""
    with shipped(package, package) as url:
        yield url


@dataclass
class Running:
    """A server as OpenEnv's validation handles it."""

    base_url: str

    def inspect(self) -> dict[str, Any]:
        return {}

    def stop(self) -> None:
        """The fixture does that."""


class Processes:
    """What starts a package without containers: it runs already."""

    name = "processes"
    capabilities = frozenset({ProviderCapability.IMAGE_BUILD})
    supported_network_modes = frozenset({"no-network"})

    def __init__(self, address: str) -> None:
        self._address = address

    def build(self, root: Path, execution: Any) -> str:
        return "sha256:" + "0" * 64

    def start(self, spec: Any) -> Running:
        return Running(self._address)


def openenv(*arguments: str) -> tuple[int, Any]:
    """The exit code and the report of `openenv ... --json`."""
    done = CliRunner().invoke(app, [*arguments, "--json"])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.output
    return done.exit_code, json.loads(done.stdout)


@quietly
def test_the_runtime_graders_twice(address: str, package: Path) -> None:
    manifest = OpenEnvYamlParser().parse(package)
    plan = load_runtime_plan(package, manifest.execution)
    graders = default_grader_registry(load_policy("v2")).select(manifest, Level.RUNTIME)
    transcripts = []
    for _ in range(2):
        evidence = collect_runtime_evidence(address, plan, episode_timeout_s=manifest.resources.episode_timeout_s)
        assert evidence.failure_reason is None
        subject = Subject(package, manifest, None, None, package / "outputs", runtime_evidence=evidence)
        results = {grader.check_id: grader.run(subject) for grader in graders if grader.check_id in CONTRACT}
        assert results.keys() == set(CONTRACT)
        assert {result.status for result in results.values()} == {CheckStatus.PASS}, results
        transcripts.append([(one.operation, one.request_json, one.response_json) for one in evidence.exchanges])
    assert transcripts[0] == transcripts[1]
    # reset, state, then for each action a step and a state; and the last step ends the episode with all there is.
    assert [exchange[0] for exchange in transcripts[0]] == ["reset", "state"] + ["step", "state"] * len(plan.actions)
    steps = [json.loads(response)["data"] for operation, _, response in transcripts[0] if operation == "step"]
    assert [step["done"] for step in steps] == [False] * (len(plan.actions) - 1) + [True]
    assert sum(step["reward"] for step in steps) == 2.0


@quietly
def test_the_official_run(address: str, package: Path) -> None:
    report = run_validation(package, max_level=Level.RUNTIME, provider=Processes(address))
    found = {result.check_id: result for result in report.results}
    for check in ("static.manifest", "runtime.startup", *CONTRACT):
        assert found.pop(check).status is CheckStatus.PASS, check
    # The rest OpenEnv doesn't grade yet, or it takes a network of its own.
    for result in found.values():
        assert result.status is CheckStatus.SKIP, result
        assert "not implemented" in result.evidence[0] or "network_policy" in result.evidence[0], result
    assert report.verdict is Verdict.WARN


def test_openenv_validate_a_url(address: str) -> None:
    code, report = openenv("validate", "--url", address)
    assert (code, report["passed"], report["mode"]) == (0, True, "simulation")
    assert (report["standard_version"], report["standard_profile"]) == ("1.0", "openenv-http/1.x")
    passed = {criterion["id"]: criterion["passed"] for criterion in report["criteria"]}
    assert passed.keys() >= {"openapi_version_available", "health_endpoint", "metadata_endpoint", "schema_endpoint"}
    assert passed.keys() >= {"mcp_endpoint", "mode_endpoint_consistency"} and all(passed.values())


def test_openenv_validate_the_package(package: Path) -> None:
    code, report = openenv("validate", str(package), "--level", "static", "--skip-build")
    assert (code, report["verdict"]) == (0, "pass")
    assert [(result["check_id"], result["status"]) for result in report["results"]] == [("static.manifest", "pass")]


@pytest.mark.parametrize(
    ("at", "value"),
    [
        (("reward", "floor_margin"), 0.05),
        (("reward", "more"), 1),
        (("resources", "cpu"), None),
        (("capabilities", "verifier", "kind"), "guess"),
        (("execution", "kind"), "gym"),
    ],
    ids=lambda value: ".".join(value) if isinstance(value, tuple) else "",
)
def test_it_would_not_pass_with_another_block(package: Path, tmp_path: Path, at: tuple[str, ...], value: Any) -> None:
    """What the block says is read: so the values that stand there are those that pass."""
    contract = yaml.safe_load((package / "openenv.yaml").read_text("utf-8"))
    part = contract["validation"]
    for name in at[:-1]:
        part = part[name]
    if value is None:
        del part[at[-1]]
    else:
        part[at[-1]] = value
    (tmp_path / "openenv.yaml").write_text(yaml.safe_dump(contract), "utf-8")
    code, report = openenv("validate", str(tmp_path), "--level", "static", "--skip-build")
    assert (code, report["verdict"]) == (1, "fail")


def test_the_block_agrees_with_the_contract(package: Path) -> None:
    contract = yaml.safe_load((package / "openenv.yaml").read_text("utf-8"))
    block = contract["validation"]
    assert block["reward"]["range"] == [contract["reward_range"]["min"], contract["reward_range"]["max"]]
    assert block["reward"]["floor_margin"] >= 0.1 and block["types"]["tags"] == contract["tags"]
    for path in (block["execution"]["dockerfile"], block["execution"]["probe_path"]):
        assert (package / path).is_file()
