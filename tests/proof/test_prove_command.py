"""`deskproof prove`: its exit codes (0 fine, 1 findings, 2 usage), and what its options do."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from threading import Thread

import pytest
from click.testing import Result

from engine.output import write
from tests.commands import deskproof
from tests.lacking import cannot_run
from tests.proof.drafts import FAULTY, PAID, TINY

# What the command ends with.
HOLDS = "Everything holds.\n"


def run(*arguments: str | Path) -> Result:
    return deskproof("prove", *arguments)


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    path = tmp_path / "tiny.yaml"
    path.write_text(TINY, "utf-8")
    return path


def test_the_shipped_packs_hold_by_name() -> None:
    result = run("customer-support", "bank-disputes", "it-helpdesk-de")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.endswith(HOLDS)
    names = [line.split(" ")[0] for line in result.stdout.splitlines() if " tickets in " in line]
    assert names == ["customer-support", "bank-disputes", "it-helpdesk-de"]


def test_an_error_that_is_found() -> None:
    result = run(FAULTY / "clean.yaml", FAULTY / "p01.yaml")
    assert result.exit_code == 1
    assert "error P01 ticket 'q-1' can't be resolved in 3 steps" in result.stdout
    assert result.stdout.endswith("1 error, 1 warning\n")  # P10: nobody can resolve it, so hard's grade is 0 like none


def test_a_warning_alone_is_no_finding() -> None:
    result = run(FAULTY / "p04.yaml")
    assert result.exit_code == 0
    assert result.stdout.endswith("0 errors, 1 warning\n")


def test_a_pack_that_can_not_be_read(tmp_path: Path, tiny: Path) -> None:
    broken = tmp_path / "broken.yaml"
    broken.write_text(TINY.replace("required: [order]", "required: [ordr]"), "utf-8")
    result = run(broken, tiny)
    assert result.exit_code == 1
    assert f"{broken}:7:" in result.stderr and "did you mean 'order'?" in result.stderr
    assert "tiny 1.0.0: 1 ticket" in result.stdout  # the other one is proved all the same
    assert result.stdout.endswith("1 error, 0 warnings\n")


# -- Margins, severities, the budget


def test_another_margin() -> None:
    """The pack pays all before the end: it is 0 short of the best return, which is as much as is asked for here."""
    assert run(FAULTY / "p04.yaml", "--margin", "P04=0").stdout.endswith(HOLDS)


def test_another_severity() -> None:
    result = run(FAULTY / "p04.yaml", "--severity", "P04=error")
    assert (result.exit_code, result.stdout.splitlines()[-1]) == (1, "1 error, 0 warnings")
    assert run(FAULTY / "p04.yaml", "--severity", "P04=ignore").stdout.endswith(HOLDS)
    # What can't be resolved, say, is an error whatever anybody asks for.
    refused = run(FAULTY / "p01.yaml", "--severity", "P01=ignore")
    assert refused.exit_code == 2
    assert "P01 is an error whatever is asked for; there is: P04, P06, P07, P09, P10, P11" in refused.stderr


def test_what_is_asked_for_comes_before_what_the_pack_asks(tmp_path: Path) -> None:
    path = tmp_path / "p.yaml"
    path.write_text(PAID + "proof: {P04: {margin: 0, severity: error}}\n", "utf-8")
    assert run(path).stdout.endswith(HOLDS)  # the pack's own margin
    result = run(path, "--margin", "P04=0.25")  # and its own severity
    assert (result.exit_code, result.stdout.splitlines()[-1]) == (1, "5 errors, 0 warnings")


def test_the_budget(tiny: Path) -> None:
    """Four errors not proved: P01, P02, P03 and P05. P04, P06, P09 and P10 are warnings. Text is P08's and P11's."""
    result = run(tiny, "--budget", "2")
    assert result.exit_code == 1
    assert "ticket 't-1' isn't proved: it has more than 2 different moves" in result.stdout
    assert result.stdout.endswith("4 errors, 4 warnings\n")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--margin", "P4=0.3"], "there is no check 'P4'; did you mean 'P04'?"),
        (["--margin", "P01=0.3"], "P01 has no margin; there is: P04, P07"),
        (["--margin", "P04"], "'P04' is not of the form P04=..."),
        (["--margin", "P04=much"], "'much' is no margin: a number of reward units, such as 0.3"),
        (["--margin", "P04=-1"], "'-1' is no margin"),
        (["--margin", "P04=1e999999"], "'1e999999' is no margin"),
        (["--severity", "P07=erorr"], "there is no severity 'erorr'; did you mean 'error'?"),
        (["--severity", "P77=error"], "there is no check 'P77'; did you mean 'P07'?"),
        (["--budget", "0"], "0 is not in the range x>=1"),
        (["--ticket", "t1"], "There is no ticket 't1'. Did you mean 't-1'?"),
        (["--ticket", "zz"], "There is no ticket 'zz'. There are: t-1."),
        (["--severity", "PACK090=ignore"], "PACK090 is no check of the proof: how grave lints are, is said under "),
        (["--html", "nowhere/at/all.html"], "Directory 'nowhere/at' does not exist"),
        (["--html", "."], "'.' is a directory"),
        (["customer-suport"], "There is no file or folder 'customer-suport'. Did you mean 'customer-support'?"),
        (["bank-disputes", "--ticket", "t-1"], "--ticket is for one PACK."),
        (["--ticket", "t-1", "--ticket", "t-1"], "one ticket at a time."),
        ([""], "a pack's path is empty"),
        (["--html", ""], "the file's path is empty"),
        (["--certificate", ""], "the file's path is empty"),
    ],
)
def test_what_is_no_use(tiny: Path, options: list[str], said: str) -> None:
    result = run(tiny, *options)
    assert result.exit_code == 2
    assert said in result.stderr
    assert result.stdout == ""


def test_no_pack() -> None:
    assert run().exit_code == 2


# -- What is shown and written


def test_one_ticket_alone(tmp_path: Path) -> None:
    """What is true of a whole pack is left out: P07, P09, P11."""
    path = tmp_path / "p.yaml"
    path.write_text(PAID, "utf-8")
    result = run(path, "--ticket", "t-3")
    assert result.stdout.count("warning P04") == 1
    assert "ticket 't-3'" in result.stdout and "ticket 't-2'" not in result.stdout
    assert "A best line of play, nothing known at the start" in result.stdout
    assert not any(code in result.stdout for code in ("P07", "P09", "P11"))


def test_one_ticket_alone_is_not_everything(tiny: Path) -> None:
    said = "Everything that is about this ticket alone holds; P07, P09 and P11 are about the whole pack.\n"
    assert run(tiny, "--ticket", "t-1").stdout.endswith(said)


def test_every_failure_and_every_line(tmp_path: Path) -> None:
    path = tmp_path / "p.yaml"
    path.write_text(PAID, "utf-8")
    assert run(path).stdout.count("warning P04") == 3
    result = run(path, "--all", "--lines")
    assert result.stdout.count("warning P04") == 5
    # Asked and classified, all is earned; resolving earns nothing more, and is the goal: three steps.
    assert result.stdout.count(": 2 in 3 steps: ask_info order, classify, resolve\n") == 5


def test_as_json(tmp_path: Path, tiny: Path) -> None:
    broken = tmp_path / "broken.yaml"
    broken.write_text("pack: [", "utf-8")
    result = run("--json", tiny, FAULTY / "p04.yaml", broken)
    document = json.loads(result.stdout)
    assert result.exit_code == 1
    assert (document["errors"], document["warnings"]) == (1, 1)
    assert [pack["pack"] for pack in document["packs"]] == ["tiny", "faulty-p04"]
    (finding,) = document["findings"]
    assert (finding["file"], finding["severity"]) == (str(broken), "error")


def test_a_page_is_written(tmp_path: Path, tiny: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text("old", "utf-8")
    assert run(tiny, "--html", path).exit_code == 0
    page = path.read_text("utf-8")
    assert page.startswith("<!doctype html>") and page.rstrip().endswith("</html>")
    assert [one.name for one in tmp_path.iterdir() if one.suffix == ".html"] == ["page.html"]


def test_a_page_of_what_fails_is_written_too(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    assert run(FAULTY / "p01.yaml", "--html", path).exit_code == 1
    assert "can&#39;t be resolved in 3 steps" in path.read_text("utf-8")


# -- What is not to be written over


@pytest.mark.parametrize("option", ["--html", "--certificate"])
def test_the_pack_itself_is_not_written_over(tmp_path: Path, tiny: Path, option: str) -> None:
    link = tmp_path / "link"
    link.symlink_to(tiny)
    folder = tmp_path / "folder"
    folder.mkdir()
    text, more = TINY.split("tickets:\n")
    (folder / "pack.yaml").write_text(text, "utf-8")
    (folder / "more.yaml").write_text(f"tickets:\n{more}", "utf-8")
    for pack, file in ((tiny, tiny), (tiny, link), (folder, folder / "more.yaml")):
        before = file.read_text("utf-8")
        result = run(pack, option, file)
        assert (result.exit_code, result.stdout) == (2, "")
        assert f"{file} is a file of the pack itself; nothing was written." in result.stderr
        assert file.read_text("utf-8") == before
    assert run(folder, option, folder / "new.json").exit_code == 0


def test_two_outputs_are_two_files(tmp_path: Path, tiny: Path) -> None:
    (tmp_path / "x").symlink_to("y")
    result = run(tiny, "--html", tmp_path / "x", "--certificate", tmp_path / "y")
    assert result.exit_code == 2 and "Two outputs can't both be written to" in result.stderr
    assert not (tmp_path / "y").exists()


def test_a_pipe_is_written_to_and_stays_one(tmp_path: Path, tiny: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[str] = []
    reader = Thread(target=lambda: read.append(pipe.read_text("utf-8")), daemon=True)
    reader.start()
    assert run(tiny, "--certificate", pipe).exit_code == 0
    assert pipe.is_fifo()
    reader.join(20)
    assert json.loads(read[0])["packs"][0]["pack"] == "tiny"


def test_a_device_that_takes_nothing_stays_one(tmp_path: Path, tiny: Path) -> None:
    """A node of this test's own, with the numbers of /dev/full."""
    device = tmp_path / "full"
    try:
        os.mknod(device, 0o666 | stat.S_IFCHR, os.makedev(1, 7))
        device.open("wb").close()
    except PermissionError:
        cannot_run("only root makes devices, and not everywhere")
    result = run(tiny, "--certificate", device)
    assert (result.exit_code, f"{device} can't be written: No space left on device." in result.stderr) == (2, True)
    assert device.is_char_device()


def test_what_can_not_be_written_whole_leaves_the_old(tmp_path: Path) -> None:
    """A lone surrogate can't be written as UTF-8, however much of it was."""
    path = tmp_path / "page.html"
    path.write_text("old", "utf-8")
    path.chmod(0o640)
    with pytest.raises(UnicodeEncodeError):
        write(str(path), "x" * 100_000 + "\ud800")
    assert [one.name for one in tmp_path.iterdir()] == ["page.html"] and path.read_text("utf-8") == "old"
    write(str(path), "new")
    assert path.read_text("utf-8") == "new" and stat.S_IMODE(path.stat().st_mode) == 0o640


def test_standard_output_by_its_name_keeps_all_that_is_said(tmp_path: Path, tiny: Path) -> None:
    path = tmp_path / "out"
    with path.open("wb") as file:
        command = (sys.executable, "-m", "engine.cli", "prove", tiny, "--certificate", "/dev/stdout")
        assert subprocess.run(command, stdout=file, timeout=60).returncode == 0
    said = path.read_text("utf-8")
    assert said.startswith("tiny 1.0.0: 1 ticket") and '"pack": "tiny"' in said and said.endswith(HOLDS)
