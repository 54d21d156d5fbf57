"""What we ship: a wheel with the two packages and their data, and a source archive whose own tests can run."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tarfile
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


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel and the source archive, built by the installed backend: nothing is downloaded."""
    pytest.importorskip("hatchling")
    folder = tmp_path_factory.mktemp("built")
    done = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-t", "sdist", "-d", str(folder)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


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


def test_the_wheel_holds_the_two_packages_and_nothing_else(wheel: Path) -> None:
    shipped = names(wheel)
    assert {PurePosixPath(name).parts[0] for name in shipped} == {
        "workrail_lint",
        "pytest_workrail",
        f"workrail_lint-{VERSION}.dist-info",
    }
    modules = {name for name in shipped if name.startswith(PACKAGES) and not name.startswith(SHIPPED_GUIDE)}
    kinds = {PurePosixPath(name).suffix for name in modules}
    assert kinds <= {".css", ".js", ".json", ".mjs", ".py", ".typed", ""}
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
        timeout=120,
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
    [["rule", "LP002"], ["guide", "loops"], ["check", "--no-cache", "--output-format", "sarif", "bad.workflow.json"]],
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
