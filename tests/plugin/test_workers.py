"""Under pytest-xdist: workers find, play and show the same as a run without them. All of it is one run."""

from __future__ import annotations

import pytest

from tests.plugin.projects import AGENT, FAILING, IDS, SHOWN, TESTS, lamps, outside
from tests.serving import free_port

SCENARIOS = """
import pytest
from my_agent import act

@pytest.mark.scenario(pack="scenarios/lamps", seeds=4)
def test_play(scenario):
    scenario.play(act).assert_resolved(max_regret=0)

@pytest.mark.scenario(pack="scenarios/lamps", tickets=1, seeds=[7])
def test_costly(scenario):
    episode = scenario.start()
    episode.step("resolve")
    episode.play(act)
    episode.assert_resolved(max_regret=0)

@pytest.mark.scenario(pack="scenarios/lamps", tickets=1)
def test_unheard(scenario, agent):
    scenario.play(agent)

@pytest.mark.scenario(pack="scenarios/lamps", tickets=3)
def test_mistaken(): pass
"""


class Run:
    def __init__(self, url: str, code: int, said: str) -> None:
        self.url, self.code, self.said = url, code, said
        self.lines = pytest.LineMatcher(said.splitlines())


@pytest.fixture(scope="module")
def workers(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Two workers: all kinds of tests, some of which fail."""
    folder = tmp_path_factory.mktemp("workers")
    pack = lamps(folder, FAILING)
    (pack / "more.yaml").write_text(TESTS, "utf-8")
    (folder / "test_it.py").write_text(SCENARIOS, "utf-8")
    (folder / "my_agent.py").write_text(AGENT, "utf-8")
    url = f"http://127.0.0.1:{free_port()}/"
    code, said = outside(folder, "-n", "2", "-v", "--scenarios=scenarios", "--agent-url", url, PYTHONPATH=str(folder))
    return Run(url, code, said)


def test_they_find_the_same(workers: Run) -> None:
    assert workers.code == pytest.ExitCode.TESTS_FAILED
    for one in IDS:
        assert f" PASSED {one.replace('tests.yaml', 'more.yaml')} " in workers.said
    assert workers.said.count(" PASSED test_it.py::test_play[") == 2 * 4
    workers.lines.fnmatch_lines(["=* 3 failed, 12 passed, 1 error in *"])


def test_they_show_the_same(workers: Run) -> None:
    workers.lines.fnmatch_lines(SHOWN, consecutive=True)
    mistaken = "tickets=3: the pack 'lamps' has 2 that can be chosen from"
    assert f"test_it.py::test_mistaken: @pytest.mark.scenario: {mistaken}" in workers.lines.lines
    assert f"The agent {workers.url} can't be asked: Connection refused." in workers.lines.lines
    assert "Traceback" not in workers.said
    assert "engine/" not in workers.said


# Of ten episodes eight are without regret, and one stays open. The tenth wastes a step, which costs 0.1, and then its
# agent doesn't classify, which would have paid 0.5: 0.6 / 9 is 0.0667.
SUMMARY = [
    "*= scenarios =*",
    "lamps: 10 episodes, 2 in failing tests, mean regret 0.0667",
    "  t-1, seed *: test_it.py::test_*",
    "  t-1, seed *: test_it.py::test_*",
]


def test_the_end_says_the_same(workers: Run) -> None:
    workers.lines.fnmatch_lines(SUMMARY, consecutive=True)
    costly = "  t-1, seed 7: resolved, regret 0.6000, return 1.4000, score 1.0000: test_it.py::test_costly[[]t-1-seed7]"
    workers.lines.fnmatch_lines([costly])
