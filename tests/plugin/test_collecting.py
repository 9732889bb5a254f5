"""Packs' own tests as items of pytest: which are found, what they are called, and how one runs alone."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.commands import deskproof
from tests.plugin.projects import IDS, PACK, TESTS, collected, lamps, run

pytest_plugins = ["pytester"]

MINE = "def test_mine(): pass\n"


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    lamps(pytester.path)
    return pytester


# -- Which are found


def test_a_folder_of_packs_is_played(project: pytest.Pytester) -> None:
    run(project, "--scenarios", "scenarios").assert_outcomes(passed=4)


@pytest.mark.parametrize(
    "arguments",
    [
        ("--scenarios", "scenarios"),
        ("--scenarios", "scenarios/lamps"),
        ("--scenarios", "scenarios/lamps/pack.yaml"),
        ("--scenarios", "."),
        ("--scenarios", "scenarios", "--scenarios", "scenarios/lamps"),
        ("--scenarios", "scenarios", "scenarios"),
        ("--scenarios", "scenarios", "scenarios/lamps/tests.yaml"),
        ("-o", "deskproof_packs=scenarios"),
        ("-o", "deskproof_packs=scenarios", "scenarios/lamps"),
        ("scenarios/lamps/pack.yaml",),
        ("scenarios/lamps/tests.yaml",),
    ],
    ids=" ".join,
)
def test_each_test_at_each_seed_in_each_order_is_found_once(project: pytest.Pytester, arguments: tuple[str]) -> None:
    assert collected(project, *arguments) == IDS


def test_without_a_word_nothing_is_found(project: pytest.Pytester) -> None:
    assert collected(project) == []
    assert collected(project, "scenarios") == []


def test_tests_of_all_kinds_run_together(project: pytest.Pytester) -> None:
    project.makepyfile(test_mine=MINE)
    assert collected(project, "--scenarios", "scenarios") == [*IDS, "test_mine.py::test_mine"]
    assert collected(project, "--scenarios", "scenarios", "test_mine.py") == ["test_mine.py::test_mine", *IDS]


def test_the_ini_counts_where_no_argument_is_given(project: pytest.Pytester) -> None:
    project.makepyfile(**{"tests/test_mine": MINE})
    project.makeini("[pytest]\ntestpaths = tests\ndeskproof_packs =\n    scenarios/lamps\n")
    assert collected(project) == ["tests/test_mine.py::test_mine", *IDS]
    assert collected(project, "tests") == ["tests/test_mine.py::test_mine"]
    assert collected(project, "scenarios") == IDS


def test_the_inis_paths_begin_at_the_root_and_the_options_where_pytest_starts(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.makeini("[pytest]\ndeskproof_packs = scenarios\n")
    monkeypatch.chdir(project.mkdir("deeper"))
    for arguments in ((), ("-o", "deskproof_packs=", "--scenarios", "../scenarios")):
        assert collected(project, *arguments) == IDS


# Files that have the word and aren't packs.
OTHERS = {
    "flow": "a: {pack: lamps}\n",
    "nested": "jobs:\n  pack:\n    runs-on: linux\n",
    "listed": "steps:\n- pack: lamps\n",
    "comment": "# pack: lamps\njobs: {}\n",
    "text": "say: |\n  pack: lamps\n",
    "longer": "packs: 1\npack_name: lamps\n",
}


def test_a_file_alone_is_a_pack_where_it_says_so(pytester: pytest.Pytester) -> None:
    pytester.makefile(".yaml", **{"packs/one": PACK + TESTS, ".hidden": PACK, "packs/build/late": PACK + TESTS})
    for name, text in OTHERS.items():
        (pytester.path / f"packs/{name}.yaml").write_text(text, "utf-8")
    ids = [one.replace("scenarios/lamps/tests.yaml", "packs/one.yaml") for one in IDS]
    assert collected(pytester, "--scenarios", ".") == ids
    assert collected(pytester, "packs/one.yaml") == ids


def test_a_file_of_somebody_else_is_left_alone(pytester: pytest.Pytester) -> None:
    pytester.makefile(".yaml", theirs="a: {pack: lamps}\n")
    pytester.makeconftest(
        """
        import pytest

        class Item(pytest.Item):
            def runtest(self): pass

        class File(pytest.File):
            def collect(self):
                yield Item.from_parent(self, name="theirs")

        def pytest_collect_file(file_path, parent):
            return File.from_parent(parent, path=file_path) if file_path.suffix == ".yaml" else None
        """
    )
    run(pytester, "theirs.yaml").assert_outcomes(passed=1)


def test_a_shipped_pack_goes_by_its_name(pytester: pytest.Pytester, root: Path) -> None:
    found = collected(pytester, "--scenarios", "customer-support")
    assert found
    assert all(one.startswith(f"{root}/scenarios/customer_support/tests.yaml::") for one in found)
    run(pytester, found[0]).assert_outcomes(passed=1)


@pytest.mark.parametrize("head", ["", "\ufeff", "# A pack.\n---\n", "'pack' : lamps\n", "{pack: lamps}\n"])
def test_however_it_says_so(pytester: pytest.Pytester, head: str) -> None:
    text = PACK + TESTS if "lamps" not in head else head
    pytester.makefile(".yaml", one=head + text if text != head else text)
    assert len(collected(pytester, "--scenarios=.")) == (4 if text != head else 1)


def test_a_folder_without_a_pack_hides_no_shipped_one(pytester: pytest.Pytester, root: Path) -> None:
    pytester.mkdir("customer-support")
    found = collected(pytester, "--scenarios", "customer-support")
    assert found
    assert all(one.startswith(f"{root}/scenarios/customer_support/tests.yaml::") for one in found)
    assert collected(pytester, "-o", "deskproof_packs=customer-support") == found
    lamps(pytester.path / "customer-support")
    assert collected(pytester, "--scenarios=customer-support") == [f"customer-support/{one}" for one in IDS]


IGNORING = [
    ("--ignore=scenarios", []),
    ("--ignore=scenarios/lamps", []),
    ("--ignore=scenarios/lamps/tests.yaml", []),
    ("--ignore=scenarios/lamps/pack.yaml", IDS),
    ("--ignore=other", IDS),
    ("--ignore-glob=*/lamps", []),
    ("--ignore-glob=*.yaml", []),
    ("--ignore-glob=*.yml", IDS),
]


@pytest.mark.parametrize(("option", "left"), IGNORING)
@pytest.mark.parametrize(
    "source",
    [
        ("-o", "deskproof_packs=scenarios"),
        ("-o", "deskproof_packs=scenarios", "-o", "testpaths=checks"),
        ("--scenarios=scenarios/lamps", "checks"),
    ],
)
def test_what_is_ignored_is_left_out(
    project: pytest.Pytester, source: tuple[str, ...], option: str, left: list[str]
) -> None:
    project.makepyfile(**{"checks/test_mine": MINE})
    assert sorted(collected(project, *source, option)) == sorted(["checks/test_mine.py::test_mine", *left])


@pytest.mark.parametrize("name", ["a[1]", "a::b"])
def test_a_path_that_pytest_takes_for_the_name_of_a_test(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    pytester.makepyfile(test_mine=MINE)
    folder = pytester.mkdir(name)
    file = lamps(folder) / "pack.yaml"
    run(pytester, f"--scenarios={name}").assert_outcomes(passed=1 + 4)  # the root is run as a whole
    result = run(pytester, f"--scenarios={name}", "test_mine.py")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(
        [
            f"ERROR: {str(file).replace('[', '[[]')} can't be run: in a path pytest takes '[[]' and '::' for a test's "
            "name. Rename what is called so, or start pytest in that folder."
        ]
    )
    monkeypatch.chdir(folder)
    run(pytester, "--rootdir=.", "--scenarios=scenarios", "../test_mine.py").assert_outcomes(passed=1 + 4)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--scenarios", "scenaros"), "ERROR: --scenarios: There is no file or folder 'scenaros'."),
        (
            ("--scenarios", "customer-suport"),
            "ERROR: --scenarios: There is no file or folder 'customer-suport'. Did you mean 'customer-support'?",
        ),
        (("-o", "deskproof_packs=nowhere"), "ERROR: deskproof_packs: There is no file or folder 'nowhere'."),
        (("--scenarios", ""), "ERROR: --scenarios: There is no file or folder ''."),
        (("--scenarios", "empty"), "ERROR: There is no pack in */empty: a folder with pack.yaml, or a \\*.yaml with *"),
    ],
)
def test_what_is_not_there_is_said(project: pytest.Pytester, arguments: tuple[str, ...], said: str) -> None:
    (project.path / "empty").mkdir()
    result = run(project, *arguments)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([said.replace("\\*", "[*]")])
    result.stderr.no_fnmatch_line("*Traceback*")


def test_packs_in_a_folder_that_pytest_leaves_out(pytester: pytest.Pytester) -> None:
    lamps(pytester.mkdir("build"))
    result = run(pytester, "--scenarios", "build/scenarios")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: */build/scenarios/lamps/pack.yaml is not looked at: * (norecursedirs)*"])
    pytester.makepyfile(test_mine=MINE)
    ids = [f"build/{one}" for one in IDS]
    assert collected(pytester, "--scenarios", "build/scenarios", "test_mine.py") == ["test_mine.py::test_mine", *ids]


# -- What they are called, and where they stand


def test_an_item_stands_in_its_file_at_its_line(project: pytest.Pytester) -> None:
    items, _ = project.inline_genitems("--scenarios", "scenarios")
    lines = TESTS.splitlines()
    for item in items:
        path, line, name = item.location
        assert path == "scenarios/lamps/tests.yaml"
        assert line is not None
        assert lines[line].strip() == f"- name: {name.partition('[')[0]}"


@pytest.mark.parametrize("number", range(4))
@pytest.mark.parametrize("before", [(), ("--scenarios", "scenarios"), ("-o", "deskproof_packs=scenarios")])
def test_an_id_runs_alone(project: pytest.Pytester, number: int, before: tuple[str, ...]) -> None:
    result = run(project, "-v", *before, IDS[number])
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines([f"*{IDS[number].replace('[', '[[]')} PASSED*"])


def test_a_name_without_its_seed_runs_all_of_them(project: pytest.Pytester) -> None:
    run(project, "scenarios/lamps/tests.yaml::the order needs two asks").assert_outcomes(passed=2)


NAMES = ["a::b", "a: :b", "a [b] c", "", "⚠️ 版本?", "a/b::::c", "back\\\\slash", "two\\nlines", "two\\\\nlines", "'"]


def test_any_name_makes_an_id_that_runs_alone(pytester: pytest.Pytester) -> None:
    tests = "".join(f'  - {{name: "{name}", ticket: t-1, steps: [{{do: {{type: classify}}}}]}}\n' for name in NAMES)
    lamps(pytester.path, f"tests:\n{tests}")
    found = collected(pytester, "--scenarios", "scenarios")
    assert len(set(found)) == len(NAMES)
    for one in found:
        assert collected(pytester, one) == [one]


# -- Choosing


def test_choosing_by_word_marker_and_first_failure(project: pytest.Pytester) -> None:
    project.makepyfile(test_mine=MINE)
    assert collected(project, "--scenarios", "scenarios", "-k", "two and asks") == IDS[:2]
    assert collected(project, "--scenarios", "scenarios", "-m", "scenario", "--strict-markers") == IDS
    assert collected(project, "--scenarios", "scenarios", "-m", "not scenario") == ["test_mine.py::test_mine"]
    (project.path / "scenarios/lamps/tests.yaml").write_text(TESTS.replace("reward: 0.5", "reward: 0.4"), "utf-8")
    run(project, "--scenarios", "scenarios", "-x").assert_outcomes(failed=1)
    run(project, "--scenarios", "scenarios").assert_outcomes(failed=2, passed=3)


def test_what_failed_runs_again(project: pytest.Pytester) -> None:
    tests = project.path / "scenarios/lamps/tests.yaml"
    tests.write_text(TESTS.replace("reward: 0.5", "reward: 0.4"), "utf-8")
    project.runpytest("--scenarios", "scenarios").assert_outcomes(failed=2, passed=2)
    project.runpytest("--scenarios", "scenarios", "--lf").assert_outcomes(failed=2)


def test_junit_has_names_and_places(project: pytest.Pytester) -> None:
    (project.path / "scenarios/lamps/tests.yaml").write_text(TESTS.replace("reward: 0.5", "reward: 0.4"), "utf-8")
    run(project, "--scenarios", "scenarios", "--junitxml", "report.xml")
    cases = ElementTree.parse(project.path / "report.xml").getroot().findall(".//testcase")
    assert [(case.get("classname"), case.get("name")) for case in cases] == [
        ("scenarios.lamps.tests.yaml", one.partition("::")[2]) for one in IDS
    ]
    failures = [failure for case in cases for failure in case.findall("failure")]
    assert [failure.get("message") for failure in failures] == ["step 2: reward is 0.5, expected 0.4"] * 2
    assert all("ticket t-1, seed" in (failure.text or "") for failure in failures)


# -- Packs that don't load


@pytest.fixture
def unsound(project: pytest.Pytester) -> str:
    """A pack with two slips; what `deskproof check` says of it."""
    text = PACK.replace("requires: [order, colour]", "requires: [ordr, colour]").replace("late:", "late: # ", 1)
    (project.path / "scenarios/lamps/pack.yaml").write_text(text, "utf-8")
    done = deskproof("check", "scenarios/lamps")
    assert done.exit_code == 1
    return done.stderr.strip()


def test_a_pack_that_does_not_load_is_one_failure_that_says_why(project: pytest.Pytester, unsound: str) -> None:
    project.makepyfile(test_mine=MINE)
    result = run(project, "--scenarios", "scenarios", "-v")
    result.assert_outcomes(failed=1, passed=1)
    result.stdout.fnmatch_lines(["scenarios/lamps/pack.yaml::the pack loads FAILED*"])
    said = result.stdout.str()
    assert "did you mean 'order'?" in unsound
    assert unsound in said
    assert "Traceback" not in said
    assert "engine/" not in said
    run(project, "scenarios/lamps/pack.yaml").assert_outcomes(failed=1)
    run(project, "scenarios/lamps/tests.yaml").assert_outcomes(failed=1)


def test_its_id_runs_alone_and_passes_once_it_is_mended(project: pytest.Pytester, unsound: str) -> None:
    name = "scenarios/lamps/pack.yaml::the pack loads"
    for before in ((), ("--scenarios", "scenarios"), ("-o", "deskproof_packs=scenarios")):
        result = run(project, "-v", *before, name)
        result.assert_outcomes(failed=1)
        result.stdout.fnmatch_lines([f"{name} FAILED*"])
        assert unsound in result.stdout.str()
    (project.path / "scenarios/lamps/pack.yaml").write_text(PACK, "utf-8")
    result = run(project, "-v", name)
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines([f"{name} PASSED*"])


def test_a_test_of_a_pack_that_does_not_load_says_why_as_well(project: pytest.Pytester, unsound: str) -> None:
    result = run(project, IDS[0])
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert unsound in result.stdout.str()
    result.stdout.no_fnmatch_line("*Traceback*")


def test_a_file_that_is_named_as_a_pack_and_is_none(pytester: pytest.Pytester) -> None:
    pytester.makefile(".yaml", draft="a: b\n")
    result = run(pytester, "--scenarios", "draft.yaml")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["draft.yaml:1:1: PACK014: this is no pack: *"])
