"""What we ship: a wheel with the two packages and their data, and a source archive whose own tests can run."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import zipfile
from pathlib import Path, PurePosixPath

import pytest

from workrail_lint.base.version import VERSION

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("workrail_lint/", "pytest_workrail/")
# Shipped under another name: in the repository it is among the documentation.
GUIDE, SHIPPED_GUIDE = "docs/authoring/", "workrail_lint/guide/"
# Run in front of a program: whatever is outside the wheel is out of reach.
ALONE = "import sys; sys.modules['tools'] = sys.modules['tests'] = None; sys.path.insert(0, sys.argv.pop(1)); "


def build(folder: Path, source: Path = ROOT, *, umask: int = -1, **environment: str) -> Path:
    """Write the wheel and the source archive into a folder with the installed backend: nothing is downloaded."""
    inherited = {name: value for name, value in os.environ.items() if name != "SOURCE_DATE_EPOCH"}
    done = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-t", "sdist", "-d", str(folder)],
        cwd=source,
        env={**inherited, **environment},
        umask=umask,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel and the source archive."""
    pytest.importorskip("hatchling", reason="hatchling is not installed: make setup")
    return build(tmp_path_factory.mktemp("built"))


@pytest.fixture(scope="module")
def wheel(built: Path) -> Path:
    (path,) = built.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def unpacked(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("installed")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


def names(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return {name for name in archive.namelist() if not name.endswith("/")}


def tracked() -> set[str]:
    """The files of the repository, as they are in the working tree."""
    if not (ROOT / ".git").exists():
        pytest.skip("this is not a git checkout, so nothing says which files belong to it")
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    return {name for name in listed.split("\0") if name and (ROOT / name).is_file()}


def test_both_have_the_version_of_the_code(built: Path) -> None:
    stem = f"workrail_lint-{VERSION}"
    assert sorted(path.name for path in built.iterdir()) == [f"{stem}-py3-none-any.whl", f"{stem}.tar.gz"]


def test_the_extension_and_the_changelogs_have_the_same_version() -> None:
    extension = ROOT / "editors" / "vscode"
    package, lock = (json.loads((extension / name).read_text()) for name in ("package.json", "package-lock.json"))
    assert {package["version"], lock["version"], lock["packages"][""]["version"]} == {VERSION}
    for path in (ROOT / "CHANGELOG.md", extension / "CHANGELOG.md"):
        assert f"\n## {VERSION}\n" in path.read_text(encoding="utf-8"), path


def test_what_hashes_or_plays_does_not_know_the_version() -> None:
    """A release changes no hash, golden or verdict: only caches and what names the producer import the version."""
    rooms = [ROOT / "workrail_lint" / name for name in ("documents", "findings", "rules", "systems")]
    others = {"cli", "explore", "mcp", "sessions"}
    rooms += [path for path in (ROOT / "pytest_workrail").iterdir() if path.is_dir() and path.name not in others]
    knows = re.compile(r"base\.version|base import version|importlib\.metadata")
    modules = [path for room in rooms for path in room.rglob("*.py")]
    assert len(modules) > 200
    assert [str(path) for path in modules if knows.search(path.read_text(encoding="utf-8"))] == []


def test_the_supported_versions_of_python_are_those_of_the_metadata() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    declared = re.findall(r":: (3\.\d+)$", "\n".join(project["classifiers"]), re.M)
    page = (ROOT / "docs" / "stability.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| (3\.\d+) \|", page, re.M) == declared
    assert project["requires-python"] == f">={declared[0]}", (
        "no upper bound: it would shut out everybody on a newer one"
    )


def test_the_wheel_holds_the_two_packages_and_nothing_else(wheel: Path) -> None:
    shipped = names(wheel)
    assert {PurePosixPath(name).parts[0] for name in shipped} == {
        "workrail_lint",
        "pytest_workrail",
        f"workrail_lint-{VERSION}.dist-info",
    }
    modules = {name for name in shipped if name.startswith(PACKAGES) and not name.startswith(SHIPPED_GUIDE)}
    kinds = {PurePosixPath(name).suffix for name in modules}
    assert kinds <= {".css", ".html", ".js", ".json", ".mjs", ".py", ".typed", ""}
    # What only generates shipped data stays in `tools`; `workrail-test generate` is a command.
    generators = {name for name in shipped if PurePosixPath(name).stem == "generate"}
    assert generators == {"pytest_workrail/cli/generate.py"}
    assert not [name for name in shipped if name.endswith(".record.json")]


def test_the_wheel_holds_all_of_the_packages(wheel: Path) -> None:
    guide = {name.replace(GUIDE, SHIPPED_GUIDE) for name in tracked() if name.startswith(GUIDE)}
    ours = {name for name in tracked() if name.startswith(PACKAGES)} | guide
    assert {name for name in names(wheel) if name.startswith(PACKAGES)} == ours


def test_no_shipped_module_needs_what_is_not_shipped(unpacked: Path) -> None:
    statement = re.compile(r"^\s*(?:from|import) (?:tools|tests|benchmarks)\b.*", re.MULTILINE)
    for path in unpacked.rglob("*.py"):
        assert statement.search(path.read_text(encoding="utf-8")) is None, path


def _dotted(path: PurePosixPath) -> str:
    return ".".join(path.with_suffix("").parts).removesuffix(".__init__")


def alone(unpacked: Path, program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", ALONE + program, str(unpacked), *arguments],
        cwd=unpacked,
        env={**os.environ, "WORKRAIL_LINT_DEBUG": "1", "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )


@pytest.mark.deep  # every module is compiled anew; that all of them are shipped is shown above
def test_every_shipped_module_can_be_imported(unpacked: Path) -> None:
    modules = [
        _dotted(PurePosixPath(path.relative_to(unpacked).as_posix()))
        for path in sorted(unpacked.rglob("*.py"))
        if path.name != "__main__.py"
    ]
    program = "import importlib; print([importlib.import_module(name).__file__ for name in sys.argv[1:]][-1])"
    done = alone(unpacked, program, *modules)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(str(unpacked))


@pytest.mark.parametrize(
    "arguments",
    [["rule", "LP002"], ["guide", "loops"], ["check", "--no-cache", "--format", "sarif", "bad.workflow.json"]],
)
def test_the_command_works_without_the_repository(unpacked: Path, arguments: list[str]) -> None:
    (unpacked / "bad.workflow.json").write_text('{"nodes": []}', encoding="utf-8")
    done = alone(unpacked, "from workrail_lint.cli import main; sys.exit(main(sys.argv[1:]))", *arguments)
    assert "Traceback" not in done.stderr
    if arguments[0] == "rule":
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.startswith("LP002 loop-member-missing")
    elif arguments[0] == "guide":
        page = (ROOT / GUIDE / "loops.md").read_text(encoding="utf-8")
        assert (done.returncode, done.stdout) == (0, re.sub(r"(?m)^(```\w+).*$", r"\1", page))
    else:
        assert done.returncode == 1, done.stderr
        rules = json.loads(done.stdout)["runs"][0]["tool"]["driver"]["rules"]
        assert all(rule["help"]["markdown"] for rule in rules)


def test_the_source_archive_holds_every_file_of_the_repository(built: Path) -> None:
    (path,) = built.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        packed = {name.partition("/")[2] for name in archive.getnames()}
    assert packed - tracked() == {"PKG-INFO"}
    assert tracked() - packed == set()


@pytest.mark.parametrize("epoch", [None, pytest.param("1700000000", marks=pytest.mark.deep)], ids=["no-epoch", "epoch"])
def test_two_builds_have_the_same_bytes(built: Path, epoch: str | None, tmp_path: Path) -> None:
    """Neither the folder, its times and modes, the time zone, the language nor the umask gets into an archive."""
    elsewhere = tmp_path / "with a space"
    for name in tracked():
        target = elsewhere / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes((ROOT / name).read_bytes())
        target.chmod(0o700 if os.access(ROOT / name, os.X_OK) else 0o600)
        os.utime(target, (86_400, 86_400))
    when = {} if epoch is None else {"SOURCE_DATE_EPOCH": epoch}
    first = built if epoch is None else build(tmp_path / "first", **when)
    second = build(tmp_path / "second", elsewhere, umask=0o077, TZ="Pacific/Kiritimati", LC_ALL="C", **when)
    assert {path.name for path in second.iterdir()} == {path.name for path in first.iterdir()}
    for path in first.iterdir():
        assert (second / path.name).read_bytes() == path.read_bytes(), path.name


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of a new virtual environment with the wheel in it; what it depends on is that of this one."""
    folder = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    programs = folder / "bin"
    pip = [sys.executable, "-m", "pip", "--isolated", "--python", str(programs / "python")]
    subprocess.run([*pip, "install", "--quiet", "--no-index", "--no-deps", str(wheel)], check=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    # A folder that is named like this is searched last, and its own `.pth` files are not read: no editable install.
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    return programs


def ran(folder: Path, *command: str) -> str:
    """Run a program as a user would, with nothing of this process, and return what it prints."""
    done = subprocess.run(
        command,
        cwd=folder,
        env={"PATH": os.defpath, "HOME": str(folder), "NO_COLOR": "1", "WORKRAIL_LINT_DEBUG": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_new_environment_runs_both_programs_and_the_plugin(environment: Path, tmp_path: Path) -> None:
    program = "import workrail_lint, pytest_workrail; print(workrail_lint.__file__, pytest_workrail.__file__)"
    for path in ran(tmp_path, str(environment / "python"), "-c", program).split():
        assert Path(path).is_relative_to(environment.parent), path
    for name in ("workrail-lint", "workrail-test"):
        assert ran(tmp_path, str(environment / name), "--version") == f"{name} {VERSION}\n"
    ran(tmp_path, str(environment / "workrail-lint"), "init", "project")
    project = tmp_path / "project"
    report = json.loads(ran(project, str(environment / "workrail-lint"), "check", "--json"))
    assert (report["summary"]["files"], report["findings"]) == (2, [])
    assert "complete" in ran(project, str(environment / "workrail-test"), "run", "workflows/first_workflow.json")
    assert "1 passed" in ran(project, str(environment / "python"), "-m", "pytest", "-p", "no:cacheprovider")


def stand_ins(folder: Path) -> Path:
    """Write an empty wheel for each dependency, for a runner that resolves them without a network."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    folder.mkdir()
    for requirement in project["dependencies"]:
        name = re.split("[<>=]", requirement)[0].lower()
        about = f"{name}-9999.dist-info"
        files = {
            "METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 9999\n",
            "WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
            "RECORD": "".join(f"{about}/{each},,\n" for each in ("METADATA", "WHEEL", "RECORD")),
        }
        with zipfile.ZipFile(folder / f"{name}-9999-py3-none-any.whl", "w") as archive:
            for file, text in files.items():
                archive.writestr(f"{about}/{file}", text)
    return folder


@pytest.mark.parametrize("runner", ["pipx", "uvx"])
def test_a_runner_of_programs_runs_the_wheel(runner: str, wheel: Path, tmp_path: Path) -> None:
    """The version needs no dependency, so that empty ones will do."""
    program = shutil.which(runner)
    if program is None:
        pytest.skip(f"{runner} is not installed")
    links, this = stand_ins(tmp_path / "links"), ["--python", sys.executable]
    options = {
        "pipx": ["run", *this, f"--pip-args=--no-index --find-links={links}", "--spec", str(wheel)],
        "uvx": ["--no-config", "--no-index", "--find-links", str(links), *this, "--from", str(wheel)],
    }
    assert ran(tmp_path, program, *options[runner], "workrail-lint", "--version") == f"workrail-lint {VERSION}\n"
