"""The set-up works where nothing is set up: from a clean copy, out of a wheel, and in a container's shape.

The clean copy holds what git would: tracked files and new ones, nothing ignored. Installing reaches the package index.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.request import urlopen

import pytest
import yaml
from packaging.requirements import Requirement

from tests.serving import as_user, free_port, fresh_environment, serving
from tests.test_docs import blocks, commands, same_text

LOCKS = ("build.lock", "base.lock", "test.lock", "bench.lock")


# -- What every set-up test needs


def project_files(root: Path) -> list[Path]:
    """The files that a clone of this working tree would hold, relative to `root`."""
    listing = run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"], cwd=root)
    return [Path(name) for name in listing.split("\0") if name and (root / name).is_file()]


def copy_files(root: Path, files: Sequence[Path], target: Path) -> None:
    for file in files:
        (target / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(root / file, target / file)


def run(
    command: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str] | None = None,
    user: int | None = None,
) -> str:
    """What `command` prints. Fails the test with all of it where the command fails."""
    done = subprocess.run(
        command, cwd=cwd, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **as_user(user)
    )
    assert done.returncode == 0, f"{shlex.join(command)}\n{done.stdout}"
    return str(done.stdout)


def shipped(address: str) -> str:
    """The packs that the server at `address` says it serves, as it says it."""
    with urlopen(f"{address}/packs", timeout=10) as answer:
        return str(answer.read().decode())


def shipped_names(root: Path) -> list[str]:
    names = [yaml.safe_load(file.read_text("utf-8"))["pack"] for file in sorted(root.glob("scenarios/*/pack.yaml"))]
    assert len(names) >= 3
    return names


# -- The locks


def pins(text: str) -> dict[str, str]:
    return dict(re.findall(r"^([a-z0-9-]+)==(\S+)", text, flags=re.MULTILINE))


@pytest.mark.parametrize("name", LOCKS)
def test_a_lock_pins_everything_by_hash_and_names_no_host(root: Path, name: str) -> None:
    text = (root / "requirements" / name).read_text("utf-8")
    entries = [entry for entry in re.split(r"\n(?=[a-z0-9])", re.sub(r"(?m)^ *#.*\n", "", text)) if entry.strip()]
    assert entries
    for entry in entries:
        assert re.fullmatch(r"[a-z0-9-]+==\S+( \\\n    --hash=sha256:[0-9a-f]{64})+\n?", entry), entry
    assert "://" not in text
    assert "--index-url" not in text
    assert "--find-links" not in text


def test_the_locks_hold_what_the_project_asks_for_and_agree(root: Path) -> None:
    project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))
    wanted = {
        "build.lock": project["build-system"]["requires"],
        "base.lock": project["project"]["dependencies"],
        "test.lock": project["project"]["dependencies"] + project["project"]["optional-dependencies"]["dev"],
        "bench.lock": project["project"]["optional-dependencies"]["bench"],
    }
    locked = {name: pins((root / "requirements" / name).read_text("utf-8")) for name in LOCKS}
    for name, requirements in wanted.items():
        for requirement in map(Requirement, requirements):
            version = locked[name].get(requirement.name)
            assert version is not None, f"{name} lacks {requirement}: run `make lock`"
            assert requirement.specifier.contains(version), f"{name} has {version}, not {requirement}"
    assert locked["base.lock"].items() <= locked["test.lock"].items()
    for other in ("build.lock", "bench.lock"):
        shared = locked[other].keys() & locked["test.lock"].keys()
        assert {name: locked[other][name] for name in shared} == {name: locked["test.lock"][name] for name in shared}


# -- make, on a clean copy


@pytest.mark.slow
def test_make_serve_works_on_a_clean_copy(root: Path, tmp_path: Path) -> None:
    copy_files(root, project_files(root), tmp_path)
    env = fresh_environment()
    said = run(["make", "-n", "serve"], cwd=tmp_path, env=env)
    assert "Setting up: creating .venv" in said
    port = free_port()
    with serving(["make", "serve", f"PORT={port}"], port, cwd=tmp_path, env=env, seconds=240) as address:
        packs = shipped(address)
    assert all(name in packs for name in shipped_names(root))
    assert (tmp_path / ".venv/bin/deskproof").exists()
    # Nothing is left to set up: the next start is quick.
    run(["make", "--question", ".venv/base.stamp"], cwd=tmp_path, env=env)


def test_make_alone_says_what_there_is(root: Path) -> None:
    said = run(["make"], cwd=root, env=fresh_environment())
    for target in ("serve", "test", "lint", "bench", "soak"):
        assert f"make {target} " in said


# -- A wheel, from a source distribution, in an environment of its own


@pytest.fixture(scope="module")
def wheel(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel built from the source distribution of a clean copy."""
    copy, built = tmp_path_factory.mktemp("copy"), tmp_path_factory.mktemp("built")
    copy_files(root, project_files(root), copy)
    build = [sys.executable, "-m", "hatchling", "build", "-d", str(built)]
    run([*build, "-t", "sdist"], cwd=copy, env=fresh_environment())
    with tarfile.open(next(built.glob("*.tar.gz"))) as archive:
        archive.extractall(built, filter="data")
    run([*build, "-t", "wheel"], cwd=next(path for path in built.iterdir() if path.is_dir()), env=fresh_environment())
    return next(built.glob("*.whl"))


def test_the_wheel_holds_the_product_and_nothing_else(root: Path, wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
    expected = {"deskproof.py", "graders.py", "engine/openenv.yaml"}
    for file in project_files(root):
        if file.parts[0] in ("engine", "server", "deskproof_pytest"):
            expected.add(file.as_posix())
        elif file.parts[0] == "scenarios":
            expected.add(f"engine/{file.as_posix()}")
    assert held == expected


@pytest.mark.slow
def test_the_wheel_serves_from_anywhere(root: Path, wheel: Path, tmp_path: Path) -> None:
    venv, elsewhere = tmp_path / "venv", tmp_path / "elsewhere"
    elsewhere.mkdir()
    env = fresh_environment()
    run([sys.executable, "-m", "venv", "--without-pip", str(venv)], cwd=elsewhere, env=env)
    pip = [sys.executable, "-m", "pip", "--python", str(venv / "bin/python")]
    install = [*pip, "install", "--quiet", "--no-compile"]
    run([*install, "--require-hashes", "-r", str(root / "requirements/base.lock")], cwd=elsewhere, env=env)
    run([*install, "--no-deps", str(wheel)], cwd=elsewhere, env=env)
    run([*pip, "check"], cwd=elsewhere, env=env)

    assert "check" in run([str(venv / "bin/deskproof"), "--help"], cwd=elsewhere, env=env)
    port = free_port()
    env["PORT"] = str(port)
    with serving([str(venv / "bin/server")], port, cwd=elsewhere, env=env) as address:
        packs = shipped(address)
    assert all(name in packs for name in shipped_names(root))


PYTEST = ("iniconfig", "packaging", "pluggy", "pygments", "pytest")  # what `pip install deskproof[pytest]` adds


@pytest.mark.slow
def test_the_project_of_the_pytest_page_runs_in_an_environment_of_its_own(
    root: Path, wheel: Path, tmp_path: Path
) -> None:
    """The page's own files, in an empty folder, and the page's own commands."""
    venv, shop = tmp_path / "venv", tmp_path / "shop"
    env = fresh_environment()
    run([sys.executable, "-m", "venv", "--without-pip", str(venv)], cwd=tmp_path, env=env)
    lock = (root / "requirements" / "test.lock").read_text("utf-8")
    entries = re.findall(r"(?m)^[a-z0-9-]+==.*(?:\n .*)*", lock)
    names = [entry for entry in entries if entry.partition("==")[0] in PYTEST]
    assert len(names) == len(PYTEST)
    (tmp_path / "pytest.lock").write_text("\n".join(names) + "\n", "utf-8")
    pip = [sys.executable, "-m", "pip", "--python", str(venv / "bin/python")]
    locked = ["-r", str(root / "requirements/base.lock"), "-r", str(tmp_path / "pytest.lock")]
    run([*pip, "install", "--quiet", "--no-compile", "--require-hashes", *locked], cwd=tmp_path, env=env)
    run([*pip, "install", "--quiet", "--no-deps", f"{wheel}[pytest]"], cwd=tmp_path, env=env)
    run([*pip, "check"], cwd=tmp_path, env=env)

    inside, written = env | {"PATH": f"{venv / 'bin'}:{env['PATH']}", "COLUMNS": "100"}, []
    for block in blocks((root / "docs" / "pytest.md").read_text("utf-8")):
        if "file" in block.options:
            written.append(tmp_path / block.options["file"])
            written[-1].parent.mkdir(parents=True, exist_ok=True)
            written[-1].write_text(block.text, "utf-8")
        elif block.kind == "console":
            for command, shown in commands(block.text)[1:]:  # the first goes into the folder
                done = subprocess.run(["bash", "-c", command], cwd=shop, env=inside, capture_output=True, text=True)
                assert done.returncode == int(block.options.get("exit", 0)), done.stdout + done.stderr
                assert same_text(shown, done.stdout), done.stdout
    # A program that has our modules already, and then runs pytest, isn't warned of them.
    program = "import engine, server, graders, pytest; raise SystemExit(pytest.main(['-W', 'error', *{}]))"
    given = ["-o", "pythonpath=", "scenarios/lamps/pack.yaml"]
    run([str(venv / "bin/python"), "-P", "-c", program.format(given)], cwd=shop, env=env)
    assert {"server", "tests", "scenarios"} <= {path.relative_to(shop).parts[0] for path in written}


# -- The Dockerfile, line by line, without Docker


@dataclass
class Image:
    """What the Dockerfile says, read as Docker would: which lines run as whom, with which environment."""

    env: dict[str, str] = field(default_factory=dict)
    user: str | None = None
    workdir: str = "/"
    port: str = ""
    health: str = ""
    command: list[str] = field(default_factory=list)
    as_root: list[str] = field(default_factory=list)
    steps: list[tuple[str, str, str]] = field(default_factory=list)  # (RUN or COPY, its text, the folder it runs in)


def read_dockerfile(text: str) -> Image:
    """Knows the instructions that our Dockerfile uses, and refuses any other."""
    image = Image()
    joined = re.sub(r"\\\n\s*", "", re.sub(r"(?m)^\s*#.*\n", "", text))
    for line in filter(None, map(str.strip, joined.splitlines())):
        name, rest = line.split(maxsplit=1)
        match name:
            case "FROM":
                assert rest == "python:3.11-slim"
            case "ENV":
                image.env.update(
                    {name: value for name, _, value in (pair.partition("=") for pair in shlex.split(rest))}
                )
            case "USER":
                image.user = rest
            case "WORKDIR":
                image.workdir = rest
            case "RUN" if image.user is None:
                image.as_root.append(rest)
            case "RUN" | "COPY":
                image.steps.append((name, rest, image.workdir))
            case "EXPOSE":
                image.port = rest
            case "HEALTHCHECK":
                image.health = rest.split("CMD ", 1)[1]
            case "CMD":
                image.command = json.loads(rest)
            case _:
                raise AssertionError(f"the test doesn't know {name}")
    return image


@pytest.fixture
def outside() -> Iterator[Path]:
    """A temporary folder that every user may enter."""
    with TemporaryDirectory(prefix="image-") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def python_for(user: int | None) -> str:
    """A Python 3.11 or newer that `user` may run: another user may be kept out of the one that runs the tests."""
    check = "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))"
    others = ("/usr/local/bin/python3", "/usr/bin/python3.11", "/usr/bin/python3")
    for candidate in (os.path.realpath(sys.executable), *others):
        try:
            if subprocess.run([candidate, "-c", check], cwd="/", capture_output=True, **as_user(user)).returncode == 0:
                return candidate
        except OSError:
            continue
    raise AssertionError(f"no Python that user {user} may run")


def test_the_image_is_ready_for_a_space(root: Path) -> None:
    image = read_dockerfile((root / "Dockerfile").read_text("utf-8"))
    port = str(yaml.safe_load((root / "openenv.yaml").read_text("utf-8"))["port"])
    assert image.as_root == [f"useradd --create-home --uid 1000 {image.user}"]
    assert (image.port, image.env["PORT"]) == (port, port)


def test_the_readme_is_the_front_page_of_a_space(root: Path) -> None:
    _, front, _ = (root / "README.md").read_text("utf-8").split("---\n", 2)
    assert yaml.safe_load(front) == {
        "title": "Customer Support OpenEnv Environment",
        "emoji": "🤖",
        "colorFrom": "blue",
        "colorTo": "green",
        "sdk": "docker",
        "app_port": 7860,
        "tags": ["openenv", "reinforcement-learning", "llm", "customer-support"],
    }


@pytest.mark.slow
def test_the_image_builds_starts_and_is_healthy_as_another_user(root: Path, outside: Path) -> None:
    image = read_dockerfile((root / "Dockerfile").read_text("utf-8"))
    user = 1000 if os.geteuid() == 0 else None
    python, home, port = python_for(user), outside / "home", free_port()
    bin_ = outside / "bin"  # stands for the image's /usr/local/bin
    home.mkdir()
    bin_.mkdir()
    (bin_ / "python").write_text(f'#!/bin/sh\nexec {python} "$@"\n', "utf-8")
    (bin_ / "python").chmod(0o755)

    def here(text: str) -> str:
        return text.replace(f"/home/{image.user}", str(home)).replace("/usr/local/bin", f"{bin_}:/usr/local/bin")

    env = fresh_environment() | {name: here(value) for name, value in image.env.items()} | {"PORT": str(port)}
    workdir = Path(here(image.workdir))
    workdir.mkdir(parents=True)
    give(user, home)
    for name, text, folder in image.steps:
        if name == "RUN":
            run(["sh", "-c", here(text)], cwd=Path(here(folder)), env=env, user=user)
        else:
            copy_into_image(root, text, Path(here(folder)))
            give(user, home)
    with serving(image.command, port, cwd=workdir, env=env, user=user) as address:
        run(["sh", "-c", here(image.health)], cwd=workdir, env=env, user=user)
        packs = shipped(address)
    assert all(name in packs for name in shipped_names(root))
    dead = subprocess.run(["sh", "-c", here(image.health)], cwd=workdir, env=env, capture_output=True, **as_user(user))
    assert dead.returncode == 1  # Docker's word for unhealthy


def copy_into_image(root: Path, text: str, folder: Path) -> None:
    """COPY of one folder of the project; .dockerignore's patterns are all about the root's own entries."""
    ignored = [line for line in (root / ".dockerignore").read_text("utf-8").splitlines() if line and line[0] != "#"]
    _, source, target = text.split()
    for file in project_files(root):
        if Path(source) in (*file.parents, file) and not any(fnmatch(file.parts[0], pattern) for pattern in ignored):
            copy_files(root / source, [file.relative_to(source)], folder / target)


def give(user: int | None, folder: Path) -> None:
    if user is not None:
        for path in (folder, *folder.rglob("*")):
            os.chown(path, user, user, follow_symlinks=False)
