"""`@pytest.mark.scenario`: for which tickets and seeds a test is played, and what is said where it can't be."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.plugin.projects import AGENT, PACK, collected, run
from tests.test_docs import blocks

pytest_plugins = ["pytester"]


def test_a_test_plays_each_ticket_at_each_seed(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        import pytest
        from my_agent import act

        @pytest.mark.scenario(pack="scenarios/lamps", seeds=2)
        def test_it(scenario):
            episode = scenario.play(act)
            assert (scenario.pack.name, scenario.ticket[:2]) == ("lamps", "t-")
            assert scenario.seed in (0, 1)
            assert scenario.task == {"t-1": "easy-info-collection", "t-2": "medium-complete-info"}[scenario.ticket]
            assert (episode.done, episode.total, episode.score, episode.regret) == (True, 2.0, 1.0, 0.0)
            episode.assert_resolved(max_steps=4, max_regret=0)
        """
    )
    result = run(project, "-v", "--strict-markers")
    result.assert_outcomes(passed=4)
    for one in ("t-1-seed0", "t-1-seed1", "t-2-seed0", "t-2-seed1"):
        result.stdout.fnmatch_lines([f"*::test_it[[]{one}] PASSED*"])
    run(project, "-k", "t-2-seed1").assert_outcomes(passed=1)


@pytest.mark.parametrize(
    ("asked", "ids"),
    [
        ("tickets='all'", ["t-1-seed0", "t-2-seed0"]),
        ("tickets=1", ["t-1-seed0"]),
        ("tickets='t-2'", ["t-2-seed0"]),
        ("tickets=['t-2', 't-1']", ["t-2-seed0", "t-1-seed0"]),
        ("task='medium-complete-info'", ["t-2-seed0"]),
        ("tickets=1, seeds=3", ["t-1-seed0", "t-1-seed1", "t-1-seed2"]),
        ("tickets=1, seeds=[7, 9, 7]", ["t-1-seed7", "t-1-seed9"]),
        ("tickets=1, seeds=range(5, 7)", ["t-1-seed5", "t-1-seed6"]),
        ("tickets=1, seeds=[2**63 - 1]", ["t-1-seed9223372036854775807"]),
    ],
)
def test_what_a_marker_asks_for(project: pytest.Pytester, asked: str, ids: list[str]) -> None:
    project.makepyfile(
        f"""
        import pytest

        @pytest.mark.scenario("scenarios/lamps", {asked})
        def test_it(scenario): pass
        """
    )
    found = collected(project)
    assert [one.partition("[")[2].rstrip("]") for one in found] == ids
    run(project).assert_outcomes(passed=len(ids))


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("pack='lamp'", "there is no pack 'lamp', neither in * nor in *, and none is called so"),
        ("pack='customer-suport'", "*none is called so; did you mean 'customer-support'?"),
        ("pack=7", "pack is 7: it takes a path, the name of a pack, or a list of these"),
        ("pack=[]", "pack is [[][]]: it takes a path, the name of a pack, or a list of these"),
        ("pack=['scenarios/lamps', '']", "pack is [[]'scenarios/lamps', '']: it takes a path, the name *"),
        ("pack='empty'", "there is no pack in empty"),
        ("task='easy'", "there is no task 'easy'*"),
        ("task='hard-efficient-resolution'", "the pack 'lamps' has no tickets of the task 'hard-efficient-resolution'"),
        ("tickets='t-l'", "there is no ticket 't-l': did you mean 't-1'?"),
        ("tickets=3", "tickets=3: the pack 'lamps' has 2 that can be chosen from"),
        ("tickets=[]", "tickets is [[][]]: it takes 'all', a list of ids, or how many"),
        ("tickets=0", "tickets=0: the pack 'lamps' has 2 that can be chosen from"),
        ("tickets=True", "tickets is True: *"),
        ("seeds=0", "seeds is 0: it takes how many (at least 1), or a list or range of whole numbers from 0"),
        ("seeds=-1", "seeds is -1: it takes how many *"),
        ("seeds=True", "seeds is True: *"),
        ("seeds=[]", "seeds is [[][]]: *"),
        ("seeds=[-1]", "seeds is [[]-1]: *"),
        ("seeds='7'", "seeds is '7': *"),
        ("seed=7", "it takes @pytest.mark.scenario(pack=..., task=..., tickets=..., seeds=...), not (seed=7)"),
    ],
)
def test_a_mistaken_marker_is_said_by_its_test_alone(project: pytest.Pytester, asked: str, said: str) -> None:
    (project.path / "empty").mkdir()
    pack = "" if "pack" in asked else "pack='scenarios/lamps', "
    project.makepyfile(
        test_it=f"""
        import pytest

        @pytest.mark.scenario({pack if "seed=" not in asked else ""}{asked})
        def test_it(scenario): pass

        def test_other(): pass
        """
    )
    result = run(project)
    result.assert_outcomes(errors=1, passed=1)
    result.stdout.fnmatch_lines([f"test_it.py::test_it: @pytest.mark.scenario: {said}"])
    result.stdout.no_fnmatch_line("*Traceback*")
    assert "engine/" not in result.stdout.str()


def test_a_pack_that_does_not_load_is_said_as_check_says_it(project: pytest.Pytester) -> None:
    (project.path / "scenarios/lamps/pack.yaml").write_text(WRONG, "utf-8")
    project.makepyfile(
        """
        import pytest

        @pytest.mark.scenario(pack="scenarios/lamps")
        def test_it(scenario): pass
        """
    )
    result = run(project)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        ["*this pack doesn't load:", "scenarios/lamps/pack.yaml:9:*: PACK030: unknown field 'ordr'"]
    )


WRONG = PACK.replace("requires: [order, colour]", "requires: [ordr, colour]")


@pytest.mark.parametrize("name", ["lamps", "customer-support"])
def test_a_pack_that_does_not_load_is_known_by_its_name(project: pytest.Pytester, name: str) -> None:
    """Whatever ships under that name isn't played in its place."""
    (project.path / "scenarios/lamps/pack.yaml").write_text(WRONG.replace("lamps", name, 1), "utf-8")
    project.makeini("[pytest]\ndeskproof_packs = scenarios\n")
    project.makepyfile(
        test_it=f"""
        import pytest

        @pytest.mark.scenario(pack={name!r})
        def test_it(scenario): pass
        """
    )
    result = run(project, "test_it.py")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        ["*this pack doesn't load:", "scenarios/lamps/pack.yaml:9:*: PACK030: unknown field 'ordr'*"]
    )


def test_packs_of_one_name_are_named_by_their_paths(project: pytest.Pytester) -> None:
    (project.path / "scenarios/again.yaml").write_text(PACK, "utf-8")
    project.makeini("[pytest]\ndeskproof_packs = scenarios\n")
    project.makepyfile(
        test_it="""
        import pytest

        @pytest.mark.scenario(pack="lamps")
        def test_it(scenario): pass

        @pytest.mark.scenario(pack="scenarios/again.yaml", tickets=1)
        def test_other(scenario): pass
        """
    )
    result = run(project, "test_it.py")
    result.assert_outcomes(errors=1, passed=1)
    files = f"{project.path}/scenarios/again.yaml, {project.path}/scenarios/lamps"
    result.stdout.fnmatch_lines([f"*several packs are called 'lamps': {files}; name one by its path"])


@pytest.mark.parametrize("fixture", ["scenario", "episode"])
def test_a_test_without_a_marker_is_told_what_it_lacks(project: pytest.Pytester, fixture: str) -> None:
    project.makepyfile(test_it=f"def test_it({fixture}): pass\n")
    result = run(project)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        [
            "test_it.py::test_it plays a scenario, and nothing says which: mark it with "
            "@pytest.mark.scenario(pack=..., task=..., tickets=..., seeds=...)."
        ]
    )
    result.stdout.no_fnmatch_line("*Traceback*")


# -- Which pack


def test_a_path_begins_at_the_tests_folder_or_at_the_root(project: pytest.Pytester) -> None:
    text = """
        import pytest

        @pytest.mark.scenario(pack={!r}, tickets=1)
        def test_it(scenario):
            assert scenario.pack.name == "lamps"
    """
    for number, given in enumerate(("../scenarios/lamps", "scenarios", "../scenarios/lamps/pack.yaml")):
        project.makepyfile(**{f"tests/test_{number}": text.format(given)})
    run(project).assert_outcomes(passed=3)


def test_a_pack_goes_by_its_name_where_it_is_among_the_scenarios_or_ships(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        import pytest

        @pytest.mark.scenario(pack="lamps", tickets=1)
        @pytest.mark.scenario(pack="bank-disputes", tickets=1)
        def test_it(scenario): pass
        """
    )
    assert len(collected(project, "-o", "deskproof_packs=scenarios")) == 4 + 2


@pytest.mark.parametrize("folder", ["", "tests"])
def test_a_folder_without_a_pack_hides_no_pack_of_its_name(project: pytest.Pytester, folder: str) -> None:
    for name in ("lamps", "bank-disputes"):
        (project.path / folder / name).mkdir(parents=True)
    project.makeini("[pytest]\ndeskproof_packs = scenarios\n")
    project.makepyfile(
        **{
            "tests/test_it": """
            import pytest

            @pytest.mark.scenario(pack=["lamps", "bank-disputes"], seeds=[3])
            def test_it(scenario):
                assert scenario.pack.name in ("lamps", "bank-disputes")
            """
        }
    )
    assert run(project, "tests").parseoutcomes()["passed"] > 2


def test_how_many_tickets_are_those_of_all_packs_together(project: pytest.Pytester) -> None:
    (project.path / "scenarios/shades.yaml").write_text(PACK.replace("pack: lamps", "pack: shades"), "utf-8")
    project.makepyfile(
        test_it="""
        import pytest

        @pytest.mark.scenario(pack=["scenarios/lamps", "scenarios/shades.yaml"], tickets=3)
        def test_it(scenario): pass
        """
    )
    found = [one.partition("[")[2] for one in collected(project)]
    assert found == ["lamps-t-1-seed0]", "lamps-t-2-seed0]", "shades-t-1-seed0]"]
    project.makepyfile(
        test_it="""
        import pytest

        @pytest.mark.scenario(pack=["scenarios/lamps", "scenarios/shades.yaml"], tickets=5)
        def test_it(scenario): pass
        """
    )
    run(project).stdout.fnmatch_lines(["*tickets=5: the packs have 4 that can be chosen from"])


def test_without_a_pack_those_of_the_run_are_meant_or_else_the_contracts_own(project: pytest.Pytester) -> None:
    project.makepyfile(
        test_it="""
        import pytest

        @pytest.mark.scenario(tickets=1)
        def test_it(scenario):
            assert scenario.pack.name == NAME

        NAME = "customer-support"
        """
    )
    run(project).assert_outcomes(passed=1)
    found = collected(project, "-o", "deskproof_packs=scenarios", "test_it.py")
    assert found == ["test_it.py::test_it[t-1-seed0]"]


def test_several_packs_are_told_apart(project: pytest.Pytester) -> None:
    (project.path / "scenarios/shades.yaml").write_text(PACK.replace("pack: lamps", "pack: shades"), "utf-8")
    project.makepyfile(
        test_it="""
        import pytest

        @pytest.mark.scenario(pack=["scenarios/lamps", "scenarios/shades.yaml"], tickets=["t-1"])
        def test_it(scenario): pass
        """
    )
    assert collected(project) == ["test_it.py::test_it[lamps-t-1-seed0]", "test_it.py::test_it[shades-t-1-seed0]"]


def test_a_tests_own_marker_counts_before_its_classs(project: pytest.Pytester) -> None:
    project.makepyfile(
        test_it="""
        import pytest

        pytestmark = pytest.mark.scenario(pack="scenarios/lamps", tickets=["t-1"])

        def test_modules(scenario): pass

        @pytest.mark.scenario(pack="scenarios/lamps", tickets=["t-2"], seeds=[4])
        class TestIt:
            def test_classs(self, episode): pass

            @pytest.mark.scenario(pack="scenarios/lamps", tickets=["t-2"], seeds=[5])
            @pytest.mark.scenario(pack="scenarios/lamps", tickets=["t-1"], seeds=[6])
            def test_own(self, episode): pass
        """
    )
    assert collected(project) == [
        "test_it.py::test_modules[t-1-seed0]",
        "test_it.py::TestIt::test_classs[t-2-seed4]",
        "test_it.py::TestIt::test_own[t-2-seed5]",
        "test_it.py::TestIt::test_own[t-1-seed6]",
    ]


def test_it_goes_with_other_parameters(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        import pytest

        @pytest.mark.parametrize("calm", [True, False])
        @pytest.mark.scenario(pack="scenarios/lamps")
        def test_it(episode, calm): pass
        """
    )
    run(project).assert_outcomes(passed=4)


def test_the_example_of_the_front_page_runs(pytester: pytest.Pytester, root: Path) -> None:
    (example,) = (
        block for block in blocks((root / "README.md").read_text("utf-8")) if "test_agent" in str(block.options)
    )
    pytester.makepyfile(test_agent=example.text, my_agent=AGENT)
    pytester.syspathinsert()
    result = run(pytester)
    assert result.ret == 0
    assert result.parseoutcomes()["passed"] > 10
