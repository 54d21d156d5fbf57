"""`make quick`: the tests of a change, chosen by what it touches."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tools import quick

ROOT = Path(__file__).resolve().parents[2]


def test_whatever_is_named_exists() -> None:
    for tests in (quick.SMOKE, *quick.TESTS.values()):
        assert [path for path in tests if not (ROOT / path).exists()] == []


def test_every_slow_test_exists() -> None:
    """A test that was renamed would make every quick run slower, and nothing would say why."""
    names = quick.slow()
    assert names == sorted(set(names))
    texts = {name: ROOT / name.partition("::")[0] for name in names}
    found = {name: path.read_text(encoding="utf-8") if path.exists() else "" for name, path in texts.items()}
    gone = [name for name, text in found.items() if not re.search(rf"\b{_last(name)}\b", text)]
    assert gone == [], "correct or remove them in tools/slow_tests.txt"


def _last(name: str) -> str:
    """The function of a test, or the class where hypothesis makes the function."""
    return re.sub(r"\[.*\]$", "", name.removesuffix("::runTest")).rpartition("::")[2]


def test_every_room_has_tests() -> None:
    rooms = [
        path for package in ("workrail_lint", "pytest_workrail") for path in (ROOT / package).glob("*/__init__.py")
    ]
    without = [
        path.parent.name
        for path in rooms
        if not quick.selected_for(path.relative_to(ROOT).as_posix(), ROOT) and path.parent.name != "systems"
    ]
    assert without == []


@pytest.mark.parametrize(
    ("path", "tests"),
    [
        ("workrail_lint/report/sarif.py", ("tests/report",)),
        ("workrail_lint/systems/team/session.py", ("tests/team",)),
        ("workrail_lint/systems/workrail/rules/loops.py", ("tests/rules", "tests/workrail/rules")),
        ("workrail_lint/systems/workrail/compiler/ir.py", ("tests/workrail/compiler",)),
        ("pytest_workrail/engine/core/interpreter.py", ("tests/engine",)),
        ("pytest_workrail/engine/store/durable.py", (*quick.ENGINE_RUNS, "tests/store")),
        ("pytest_workrail/systems/blocks/block_run.py", ("tests/block_driver",)),
        ("docs/goldens.md", ("tests/docs",)),
        ("docs/rules/LP.md", ("tests/rules",)),
        ("tests/store/test_bundles.py", ("tests/store/test_bundles.py",)),
        ("tests/store/conftest.py", ("tests/store",)),
        ("tests/store/test_that_was_deleted.py", ()),
        ("tests/conftest.py", ()),
        ("LICENSE", ()),
    ],
)
def test_a_file_has_tests(path: str, tests: tuple[str, ...]) -> None:
    assert quick.selected_for(path, ROOT) == tests


def test_a_small_change_runs_its_rooms() -> None:
    paths = ["workrail_lint/report/sarif.py", "tests/report/test_report_sarif.py", "tests/cli/test_cli_fix.py"]
    assert quick.chosen(paths, ROOT) == ["tests/cli/test_cli_fix.py", "tests/report"]


def test_a_change_of_nothing_or_of_everything_gets_the_smoke_test() -> None:
    assert quick.chosen(["LICENSE"], ROOT) == sorted(quick.SMOKE)
    everything = [f"pytest_workrail/{room}/x.py" for room in ("agents", "golden", "coverage", "locks", "plugin")]
    assert set(quick.chosen([*everything, "tests/report/test_report_sarif.py"], ROOT)) == {
        *quick.SMOKE,
        "tests/report/test_report_sarif.py",
    }


def test_what_changed_itself_is_never_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    page = "tests/docs/test_docs.py::test_a_page_works_from_top_to_bottom[{}]"
    monkeypatch.setattr(
        quick, "slow", lambda: ["tests/a/test_a.py::test_x", page.format("docs/goldens.md"), page.format("docs/cli.md")]
    )
    assert quick.left_out(["tests/a/test_a.py"], ["docs/cli.md"]) == [page.format("docs/goldens.md")]
    assert len(quick.left_out(["tests/a"], ["a.py"])) == 3


def test_changes_are_those_of_the_tree_or_of_the_last_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def git(*arguments: str) -> None:
        who = ["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false"]
        subprocess.run(["git", *who, *arguments], cwd=tmp_path, check=True, capture_output=True)

    monkeypatch.chdir(tmp_path)
    git("init", "--quiet")
    for name in ("one", "two", "three"):
        (tmp_path / name).write_text(name, encoding="utf-8")
        git("add", name)
        git("commit", "--quiet", "--no-verify", "-m", name)
    assert quick.changed(None) == ["three"]
    (tmp_path / "one").write_text("changed", encoding="utf-8")
    (tmp_path / "new").write_text("new", encoding="utf-8")
    assert quick.changed(None) == ["new", "one"]
    assert quick.changed("HEAD~2") == ["new", "one", "three", "two"]
