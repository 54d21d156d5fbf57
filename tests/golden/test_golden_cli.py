"""`workrail-test golden`: pending changes are listed, shown, taken and dropped, by people and by programs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from golden_made_up import made_up
from golden_suite import Suite

from pytest_workrail.cli import main
from pytest_workrail.golden.diff import Causes
from pytest_workrail.golden.document import golden_bytes
from pytest_workrail.golden.encoding import loads
from pytest_workrail.golden.pending import PendingChanges, golden_files, pending_bytes, pending_of, proposal

OLD = golden_bytes(made_up("One.", "Two."))
NEW = golden_bytes(made_up("One.", "Another."))
BOTH = golden_bytes(made_up("First.", "Another."))
(ID,) = (cause.key.id for cause in Causes(loads(OLD).value, loads(NEW).value))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with two pending changes."""
    monkeypatch.chdir(tmp_path)
    goldens = tmp_path / "tests" / "__goldens__" / "test_it"
    goldens.mkdir(parents=True)
    for name in ("a", "b"):
        (goldens / f"{name}.golden.json").write_bytes(OLD)
        (goldens / f"{name}.golden.json.pending").write_bytes(pending_bytes(f"tests/test_it.py::{name}", OLD, NEW))
    (goldens / "c.golden.json").write_bytes(OLD)
    return tmp_path


def _golden(folder: Path, name: str) -> Path:
    return folder / "tests" / "__goldens__" / "test_it" / f"{name}.golden.json"


def _json(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert answer["version"] == 1
    return answer


class TestList:
    def test_names_what_is_pending(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["golden", "list"]) == 1
        assert capsys.readouterr().out.splitlines() == [
            f"tests/__goldens__/test_it/a.golden.json: changed [{ID}]",
            f"tests/__goldens__/test_it/b.golden.json: changed [{ID}]",
        ]

    def test_for_programs(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["golden", "list", "--json", "tests/__goldens__/test_it/b.golden.json"]) == 1
        assert _json(capsys)["pending"] == [
            {
                "golden": "tests/__goldens__/test_it/b.golden.json",
                "pending": "tests/__goldens__/test_it/b.golden.json.pending",
                "state": "changed",
                "test": "tests/test_it.py::b",
                "groups": [ID],
            }
        ]

    def test_by_the_test_or_scenario_that_owns_it(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        goldens = folder / "tests" / "__goldens__"
        (goldens / "test_it.golden.json").write_bytes(OLD)
        (goldens / "test_it.golden.json.pending").write_bytes(pending_bytes("t.scenario.json::it", OLD, NEW))
        for name in ("test_it.py", "test_other.py", "test_it.scenario.json"):
            (folder / "tests" / name).touch()
        assert main(["golden", "list", "tests/test_it.py"]) == 1
        assert [Path(line.partition(":")[0]).stem for line in capsys.readouterr().out.splitlines()] == [
            "a.golden",
            "b.golden",
        ]
        assert main(["golden", "accept", "tests/test_it.scenario.json"]) == 0
        assert capsys.readouterr().out == f"accepted [{ID}] prompt of 'step-1': one word, in 1 run\n"
        assert main(["golden", "accept", "tests/test_other.py"]) == 3
        assert main(["golden", "accept", "tests/nowhere.scenario.json"]) == 2

    def test_nothing_is_pending(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        for name in ("a", "b"):
            pending_of(_golden(folder, name)).unlink()
        assert main(["golden", "list"]) == 0
        assert main(["golden", "diff", "--json"]) == 0
        empty = {"groups": [], "pending": [], "base": None, "edits": [], "unexplained": []}
        assert json.loads(capsys.readouterr().out) == {"version": 1, **empty}

    def test_works_inside_the_folder_of_goldens(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(_golden(folder, "a").parent)
        assert main(["golden", "list"]) == 1

    def test_looks_neither_into_other_projects_nor_into_hidden_folders(self, folder: Path) -> None:
        for hidden in (".git", "node_modules", "env"):
            goldens = folder / hidden / "__goldens__"
            goldens.mkdir(parents=True)
            (goldens / "x.golden.json.pending").write_text("{}")
        (folder / "env" / "pyvenv.cfg").write_text("")
        (folder / "x.golden.json.pending").write_text("{}")
        assert len(golden_files([Path()], ".golden.json.pending")) == 2

    def test_a_golden_that_is_named_in_two_ways_is_one(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["golden", "list", "--json", "tests", str(folder), "tests/__goldens__/test_it/a.golden.json"]) == 1
        assert [Path(each["golden"]).name for each in _json(capsys)["pending"]] == ["a.golden.json", "b.golden.json"]

    def test_files_of_others_are_left_alone(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        for name in ("letter.txt", "letter.txt.pending"):
            (folder / name).write_text("{}")
        for name in ("letter.txt", "letter.txt.pending"):
            assert main(["golden", "list", name]) == 0
            assert main(["golden", "reject", name]) == 3
        assert (folder / "letter.txt.pending").exists()


class TestDiff:
    def test_shows_a_change_once_and_where_it_is(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["golden", "diff"]) == 1
        assert capsys.readouterr().out.splitlines() == [
            "made-up · step-1",
            f"[{ID}] prompt of 'step-1': one word, in 2 runs",
            "    - Two.",
            "    + Another.",
            "    tests/test_it/a, b",
            "",
            "1 change in 2 goldens; accept with: workrail-test golden accept --group ID (or --all)",
        ]

    def test_for_programs(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["golden", "diff", "--json", "tests"]) == 1
        answer = _json(capsys)
        change = {
            "change": "changed",
            "step": "step-1",
            "field": "prompt",
            "pointer": "/transcript/1/response/pending/prompt",
            "old": "Two.",
            "new": "Another.",
        }
        goldens = [f"tests/__goldens__/test_it/{name}.golden.json" for name in "ab"]
        title = "prompt of 'step-1': one word"
        assert answer["groups"] == [
            {"id": ID, "title": title, "workflow": "made-up", "runs": 2, "goldens": goldens, **change}
        ]
        assert [each["differences"] for each in answer["pending"]] == [[change], [change]]

    def test_by_step_and_by_the_beginning_of_an_id(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["golden", "diff", "--step", "step-1"]) == 1
        assert ID in capsys.readouterr().out
        assert main(["golden", "diff", "--step", "step-7"]) == 1
        assert ID not in capsys.readouterr().out
        assert main(["golden", "diff", "--group", ID[:3]]) == 1
        assert ID in capsys.readouterr().out
        assert main(["golden", "diff", "--group", "nothing"]) == 2
        assert "the change 'nothing' does not exist" in capsys.readouterr().err

    def test_all_of_it(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["golden", "diff", "--full"]) == 1
        assert "    tests/__goldens__/test_it/b.golden.json" in capsys.readouterr().out.splitlines()

    def test_says_what_no_longer_fits(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        _golden(folder, "a").write_bytes(NEW)
        _golden(folder, "b").write_bytes(golden_bytes(made_up("Three.", "Two.")))
        assert main(["golden", "diff"]) == 1
        lines = capsys.readouterr().out.splitlines()
        assert "tests/__goldens__/test_it/a.golden.json: nothing would change" in lines
        assert "tests/__goldens__/test_it/b.golden.json: the golden has changed since the test ran" in lines

    def test_is_json_wherever_it_is_written_to(self, folder: Path) -> None:
        name = os.fsdecode("größe".encode() + b"\xff")
        try:
            _golden(folder, name).write_bytes(OLD)
        except OSError:
            pytest.skip("such a name is not possible here")
        pending_of(_golden(folder, name)).write_bytes(pending_bytes("tests/test_it.py::größe", OLD, NEW))
        for encoding in ("ascii", "utf-8:surrogateescape"):
            done = subprocess.run(
                [sys.executable, "-m", "pytest_workrail.cli", "golden", "list", "--json"],
                capture_output=True,
                env={**os.environ, "PYTHONIOENCODING": encoding},
            )
            named = [each["golden"] for each in json.loads(done.stdout)["pending"]]
            assert f"tests/__goldens__/test_it/{name}.golden.json" in named


class TestAccept:
    def test_makes_the_golden_what_the_test_saw(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["golden", "accept", "tests/__goldens__/test_it/a.golden.json"]) == 0
        assert capsys.readouterr().out == f"accepted [{ID}] prompt of 'step-1': one word, in 1 run\n"
        assert _golden(folder, "a").read_bytes() == NEW
        assert not pending_of(_golden(folder, "a")).exists()
        assert _golden(folder, "b").read_bytes() == OLD

    def test_what_is_no_json_is_not_taken(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        pending = pending_of(_golden(folder, "a"))
        pending.write_bytes(pending.read_bytes().replace(b'"Another."', b"NaN"))
        assert main(["golden", "accept", "--json", str(pending)]) == 2
        (failed,) = _json(capsys)["failed"]
        assert "NaN" in failed["problem"]
        assert _golden(folder, "a").read_bytes() == OLD

    def test_everything_at_once(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["golden", "accept", "--json", "."]) == 0
        answer = _json(capsys)
        assert [len(answer["accepted"]), answer["failed"]] == [2, []]
        assert not list(folder.rglob("*.pending"))
        assert _golden(folder, "b").read_bytes() == NEW

    def test_nobody_accepts_in_ci(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("CI", "true")
        assert main(["golden", "accept", "."]) == 2
        assert _golden(folder, "a").read_bytes() == OLD
        assert main(["golden", "accept", "--write-in-ci", "."]) == 0
        assert _golden(folder, "a").read_bytes() == NEW

    def test_a_golden_that_changed_meanwhile_is_not_overwritten(
        self, folder: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        other = golden_bytes(made_up("Somebody else's."))
        _golden(folder, "a").write_bytes(other)
        assert main(["golden", "list", "tests"]) == 1
        assert "a.golden.json: stale (the golden has changed since the test ran)" in capsys.readouterr().out
        assert main(["golden", "accept", "."]) == 2
        assert "a.golden.json was not accepted: the golden has changed" in capsys.readouterr().err
        assert _golden(folder, "a").read_bytes() == other

    def test_a_golden_that_is_gone_does_not_come_back(self, folder: Path) -> None:
        _golden(folder, "a").unlink()
        assert proposal(pending_of(_golden(folder, "a"))).state == "stale"
        assert main(["golden", "accept", "tests"]) == 2
        assert not _golden(folder, "a").exists()

    def test_a_golden_with_other_line_ends_is_the_same_golden(self, folder: Path) -> None:
        _golden(folder, "a").write_bytes(OLD.replace(b"\n", b"\r\n"))
        assert main(["golden", "accept", "."]) == 0
        assert _golden(folder, "a").read_bytes() == NEW

    def test_a_damaged_golden_can_be_replaced(self, folder: Path) -> None:
        damaged = b"<<<<<<< HEAD"
        _golden(folder, "a").write_bytes(damaged)
        pending_of(_golden(folder, "a")).write_bytes(pending_bytes("t", damaged, NEW))
        assert main(["golden", "diff", "."]) == 1
        assert main(["golden", "accept", "."]) == 0
        assert _golden(folder, "a").read_bytes() == NEW

    @pytest.mark.parametrize("damage", [b"", b"{", b"[]", NEW, b'{"format": "workrail.golden/2", "pending": {}}'])
    def test_a_damaged_proposal_is_not_taken(
        self, folder: Path, damage: bytes, capsys: pytest.CaptureFixture[str]
    ) -> None:
        pending_of(_golden(folder, "a")).write_bytes(damage)
        assert main(["golden", "list", "--json"]) == 1
        assert _json(capsys)["pending"][0]["state"] == "damaged"
        assert main(["golden", "diff", "--json"]) == 1
        assert main(["golden", "diff"]) == 1
        assert main(["golden", "accept", "."]) == 2
        assert _golden(folder, "a").read_bytes() == OLD
        assert main(["golden", "reject", "."]) == 0

    def test_accepting_after_a_kill_finishes_it(self, folder: Path) -> None:
        _golden(folder, "a").write_bytes(NEW)
        assert proposal(pending_of(_golden(folder, "a"))).state == "settled"
        assert main(["golden", "accept", "."]) == 0
        assert not list(folder.rglob("*.pending"))


class TestGroups:
    """Golden a has two changes, golden b only one of them."""

    @pytest.fixture(autouse=True)
    def _two_changes(self, folder: Path) -> None:
        pending_of(_golden(folder, "a")).write_bytes(pending_bytes("tests/test_it.py::a", OLD, BOTH))

    def test_one_is_accepted_wherever_it_is_and_the_other_waits(self, folder: Path) -> None:
        assert main(["golden", "accept", "--group", ID]) == 0
        assert _golden(folder, "a").read_bytes() == NEW
        assert _golden(folder, "b").read_bytes() == NEW
        assert proposal(pending_of(_golden(folder, "a"))).state == "changed"
        assert not pending_of(_golden(folder, "b")).exists()
        assert main(["golden", "accept", "--step", "step-0"]) == 0
        assert _golden(folder, "a").read_bytes() == BOTH
        assert not list(folder.rglob("*.pending"))

    def test_one_is_rejected_and_the_other_waits(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["golden", "reject", "--group", ID]) == 0
        assert _golden(folder, "a").read_bytes() == OLD
        assert not pending_of(_golden(folder, "b")).exists()
        capsys.readouterr()
        assert main(["golden", "diff", "--json"]) == 1
        assert [each["step"] for each in _json(capsys)["groups"]] == ["step-0"]
        assert main(["golden", "accept", "--all"]) == 0
        assert _golden(folder, "a").read_bytes() == golden_bytes(made_up("First.", "Two."))

    def test_all_goldens_of_a_change_or_none(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        _golden(folder, "b").write_bytes(golden_bytes(made_up("One.", "Two.", "Three.")))
        pending = pending_of(_golden(folder, "b"))
        pending.write_bytes(pending_bytes("t", OLD, golden_bytes(made_up("One.", "Another.", "Three."))))
        assert proposal(pending).state == "stale"
        assert main(["golden", "accept", "--group", ID]) == 2
        assert "b.golden.json was not accepted: the golden has changed" in capsys.readouterr().err
        assert _golden(folder, "a").read_bytes() == OLD

    def test_a_folder_that_can_not_be_written_changes_nothing(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        put, count = os.replace, 0

        def replace(source: str, target: str, **folders: int | None) -> None:
            nonlocal count
            count += str(target).endswith("b.golden.json")
            if count == 1 and str(target).endswith("b.golden.json"):
                raise OSError(28, "No space left on device")
            put(source, target, **folders)

        monkeypatch.setattr(os, "replace", replace)
        assert main(["golden", "accept", "--group", ID]) == 2
        assert "no space left on device" in capsys.readouterr().err
        assert (_golden(folder, "a").read_bytes(), _golden(folder, "b").read_bytes()) == (OLD, OLD)

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="needs a process to kill")
    @pytest.mark.parametrize("at", range(1, 5))
    def test_an_accept_that_is_killed_is_finished_by_the_next_one(self, folder: Path, at: int) -> None:
        killer = (
            "import os, signal, sys\nput, count = os.replace, 0\n"
            "def replace(source, target, **folders):\n    global count\n    count += 1\n"
            f"    if count == {at}: os.kill(os.getpid(), signal.SIGKILL)\n    put(source, target, **folders)\n"
            "os.replace = replace\nfrom pytest_workrail.cli import main\nsys.exit(main(sys.argv[1:]))\n"
        )
        done = subprocess.run([sys.executable, "-B", "-c", killer, "golden", "accept", "--group", ID], cwd=folder)
        assert done.returncode == (0 if at == 4 else -9)
        for name in "ab":
            assert _golden(folder, name).read_bytes() in (OLD, NEW)
        assert main(["golden", "accept", "--all"]) in (0, 3)
        assert (_golden(folder, "a").read_bytes(), _golden(folder, "b").read_bytes()) == (BOTH, NEW)

    def test_a_golden_that_changes_while_somebody_decides_is_not_overwritten(self, folder: Path) -> None:
        changes = PendingChanges([pending_of(_golden(folder, name)) for name in "ab"])
        _golden(folder, "b").write_bytes(BOTH)
        outcome = changes.accept({ID})
        assert outcome.done == []
        assert "changed meanwhile" in outcome.refused[0][1]
        assert _golden(folder, "a").read_bytes() == OLD


PLAN = {"stepId": "plan", "title": "Plan", "prompt": ["Plan.\n", "Well.⟪NOTES_FULL⟫"]}


class TestMigrate:
    EARLIER = json.dumps(
        {
            "format": "workrail.golden/1",
            "workflow": "made-up",
            "workflowHash": "sha256:1",
            "profile": "reference",
            "mode": "guided",
            "transcript": [
                {"tool": "start_workflow", "request": {}, "response": {"kind": "ok", "pending": PLAN}},
            ],
            "final": {"status": "complete"},
        }
    ).encode()

    def test_shows_what_it_does_and_does_it_once(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        _golden(folder, "c").write_bytes(self.EARLIER)
        assert main(["golden", "migrate", "--dry-run"]) == 0
        name = "tests/__goldens__/test_it/c.golden.json"
        assert capsys.readouterr().out == f"would migrate {name} to workrail.golden/2: 0 lines before, 27 now\n"
        assert _golden(folder, "c").read_bytes() == self.EARLIER
        assert main(["golden", "migrate"]) == 0
        assert capsys.readouterr().out.startswith(f"migrated {name}")
        value = json.loads(_golden(folder, "c").read_bytes())
        assert value["metadata"] == {"workflowHash": "sha256:1"}
        assert value["prompts"] == [{"step": "plan", "text": ["Plan.\n", "Well."]}]
        assert value["transcript"][0]["response"]["pending"]["prompt"] == "⟪PROMPT⟫⟪NOTES_FULL⟫"
        assert main(["golden", "migrate"]) == 0
        assert "all goldens there are of format" in capsys.readouterr().err

    def test_what_can_not_be_read_is_told(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        _golden(folder, "c").write_bytes(b"{")
        assert main(["golden", "migrate"]) == 2
        assert "c.golden.json is not readable as JSON" in capsys.readouterr().err


class TestReject:
    def test_drops_the_change(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["golden", "reject", "tests/__goldens__/test_it"]) == 0
        assert capsys.readouterr().out == f"rejected [{ID}] prompt of 'step-1': one word, in 2 runs\n"
        assert not list(folder.rglob("*.pending"))
        assert _golden(folder, "a").read_bytes() == OLD


class TestUsage:
    @pytest.mark.parametrize(
        "arguments", [[], ["nonsense"], ["accept"], ["reject"], ["list", "no-such-folder"], ["list", "--nonsense"]]
    )
    def test_a_bad_command_line_is_two(self, folder: Path, arguments: list[str]) -> None:
        assert main(["golden", *arguments]) == 2

    def test_help_is_zero(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["golden", "--help"]) == 0
        text = capsys.readouterr().out
        assert all(f"    {name} " in text for name in ("list", "diff", "accept", "reject", "review", "migrate"))

    def test_nothing_there_to_decide_about_is_three(self, folder: Path) -> None:
        assert main(["golden", "accept", "tests/__goldens__/test_it/c.golden.json"]) == 3
        assert main(["golden", "reject", "tests/__goldens__/test_it/c.golden.json"]) == 3

    def test_as_a_program(self, folder: Path) -> None:
        command = [sys.executable, "-m", "pytest_workrail.cli", "golden", "list"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, env={**os.environ})
        assert (done.returncode, done.stderr) == (1, "")
        assert done.stdout.count("changed") == 2

    def test_a_reader_that_goes_away_is_no_error(self, folder: Path) -> None:
        command = f"'{sys.executable}' -m pytest_workrail.cli golden diff | true"
        done = subprocess.run(["sh", "-c", command], cwd=folder, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")


def test_from_a_failing_test_to_an_accepted_golden(suite: Suite, capsys: pytest.CaptureFixture[str]) -> None:
    suite.tests(test_it="def test_one(golden):\n    golden('One.')\n")
    assert suite.run(mode="new").ret == 0
    suite.tests(test_it="def test_one(golden):\n    golden('First.')\n")
    assert suite.run().ret == 1
    capsys.readouterr()
    assert main(["golden", "list", "--json"]) == 1
    assert _json(capsys)["pending"][0]["test"] == "test_it.py::test_one"
    assert main(["golden", "accept", "__goldens__/test_it/test_one.golden.json"]) == 0
    assert suite.run().ret == 0
    assert suite.names() == ["test_one"]
