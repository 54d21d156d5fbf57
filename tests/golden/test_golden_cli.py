"""`workrail-golden`: pending changes are listed, shown, taken and dropped, by people and by programs."""

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

from pytest_workrail.cli import golden as cli
from pytest_workrail.golden.document import golden_bytes
from pytest_workrail.golden.pending import pending_bytes, pending_of, proposal

OLD = golden_bytes(made_up("One.", "Two."))
NEW = golden_bytes(made_up("One.", "Another."))


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
        assert cli.main(["list"]) == 1
        assert capsys.readouterr().out.splitlines() == [
            "tests/__goldens__/test_it/a.golden.json: changed",
            "tests/__goldens__/test_it/b.golden.json: changed",
        ]

    def test_for_programs(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert cli.main(["list", "--json", "tests/__goldens__/test_it/b.golden.json"]) == 1
        assert _json(capsys)["pending"] == [
            {
                "golden": "tests/__goldens__/test_it/b.golden.json",
                "pending": "tests/__goldens__/test_it/b.golden.json.pending",
                "state": "changed",
                "test": "tests/test_it.py::b",
            }
        ]

    def test_by_the_test_or_scenario_that_owns_it(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        goldens = folder / "tests" / "__goldens__"
        (goldens / "test_it.golden.json").write_bytes(OLD)
        (goldens / "test_it.golden.json.pending").write_bytes(pending_bytes("t.scenario.json::it", OLD, NEW))
        for name in ("test_it.py", "test_other.py", "test_it.scenario.json"):
            (folder / "tests" / name).touch()
        assert cli.main(["list", "tests/test_it.py"]) == 1
        assert [line[-25:] for line in capsys.readouterr().out.splitlines()] == [
            "it/a.golden.json: changed",
            "it/b.golden.json: changed",
        ]
        assert cli.main(["accept", "tests/test_it.scenario.json"]) == 0
        assert capsys.readouterr().out == "accepted tests/__goldens__/test_it.golden.json\n"
        assert cli.main(["accept", "tests/test_other.py"]) == 3
        assert cli.main(["accept", "tests/nowhere.scenario.json"]) == 2

    def test_nothing_is_pending(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        for name in ("a", "b"):
            pending_of(_golden(folder, name)).unlink()
        assert cli.main(["list"]) == 0
        assert cli.main(["diff", "--json"]) == 0
        assert json.loads(capsys.readouterr().out) == {"version": 1, "pending": []}

    def test_works_inside_the_folder_of_goldens(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(_golden(folder, "a").parent)
        assert cli.main(["list"]) == 1

    def test_looks_neither_into_other_projects_nor_into_hidden_folders(self, folder: Path) -> None:
        for hidden in (".git", "node_modules", "env"):
            goldens = folder / hidden / "__goldens__"
            goldens.mkdir(parents=True)
            (goldens / "x.golden.json.pending").write_text("{}")
        (folder / "env" / "pyvenv.cfg").write_text("")
        (folder / "x.golden.json.pending").write_text("{}")
        assert len(list(cli._pending_files([Path()]))) == 2

    def test_a_golden_that_is_named_in_two_ways_is_one(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert cli.main(["list", "--json", "tests", str(folder), "tests/__goldens__/test_it/a.golden.json"]) == 1
        assert [Path(each["golden"]).name for each in _json(capsys)["pending"]] == ["a.golden.json", "b.golden.json"]

    def test_files_of_others_are_left_alone(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        for name in ("letter.txt", "letter.txt.pending"):
            (folder / name).write_text("{}")
        for name in ("letter.txt", "letter.txt.pending"):
            assert cli.main(["list", name]) == 0
            assert cli.main(["reject", name]) == 3
        assert (folder / "letter.txt.pending").exists()


class TestDiff:
    def test_shows_fields_and_then_text(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert cli.main(["diff", "tests/__goldens__/test_it/a.golden.json.pending"]) == 1
        lines = capsys.readouterr().out.splitlines()
        assert lines[:4] == [
            "golden differs: tests/__goldens__/test_it/a.golden.json",
            "  response 2 (continue_workflow to step-1): /pending/prompt",
            '      - "Two."',
            '      + "Another."',
        ]
        assert '+          "prompt": "Another."' in lines

    def test_for_programs(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert cli.main(["diff", "--json", "tests"]) == 1
        (first, _) = _json(capsys)["pending"]
        assert first["differences"] == [
            {
                "change": "changed",
                "place": "response 2 (continue_workflow to step-1)",
                "pointer": "/transcript/1/response/pending/prompt",
                "old": "Two.",
                "new": "Another.",
            }
        ]

    def test_says_what_no_longer_fits(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        _golden(folder, "a").write_bytes(NEW)
        _golden(folder, "b").write_bytes(golden_bytes(made_up("Three.", "Two.")))
        assert cli.main(["diff"]) == 1
        lines = capsys.readouterr().out.splitlines()
        assert lines[:3] == [
            "tests/__goldens__/test_it/a.golden.json: nothing would change",
            "",
            "tests/__goldens__/test_it/b.golden.json: the golden has changed since the test ran",
        ]
        assert lines[3] == "golden differs: tests/__goldens__/test_it/b.golden.json"

    def test_is_json_wherever_it_is_written_to(self, folder: Path) -> None:
        name = os.fsdecode("größe".encode() + b"\xff")
        try:
            _golden(folder, name).write_bytes(OLD)
        except OSError:
            pytest.skip("such a name is not possible here")
        pending_of(_golden(folder, name)).write_bytes(pending_bytes("tests/test_it.py::größe", OLD, NEW))
        for encoding in ("ascii", "utf-8:surrogateescape"):
            done = subprocess.run(
                [sys.executable, "-m", "pytest_workrail.cli.golden", "list", "--json"],
                capture_output=True,
                env={**os.environ, "PYTHONIOENCODING": encoding},
            )
            named = [each["golden"] for each in json.loads(done.stdout)["pending"]]
            assert f"tests/__goldens__/test_it/{name}.golden.json" in named


class TestAccept:
    def test_makes_the_golden_what_the_test_saw(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert cli.main(["accept", "tests/__goldens__/test_it/a.golden.json"]) == 0
        assert capsys.readouterr().out == "accepted tests/__goldens__/test_it/a.golden.json\n"
        assert _golden(folder, "a").read_bytes() == NEW
        assert not pending_of(_golden(folder, "a")).exists()
        assert _golden(folder, "b").read_bytes() == OLD

    def test_what_is_no_json_is_not_taken(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        pending = pending_of(_golden(folder, "a"))
        pending.write_bytes(pending.read_bytes().replace(b'"Another."', b"NaN"))
        assert cli.main(["accept", "--json", str(pending)]) == 2
        (failed,) = _json(capsys)["failed"]
        assert "NaN" in failed["problem"]
        assert _golden(folder, "a").read_bytes() == OLD

    def test_everything_at_once(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert cli.main(["accept", "--json", "."]) == 0
        answer = _json(capsys)
        assert [len(answer["accepted"]), answer["failed"]] == [2, []]
        assert not list(folder.rglob("*.pending"))
        assert _golden(folder, "b").read_bytes() == NEW

    def test_nobody_accepts_in_ci(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("CI", "true")
        assert cli.main(["accept", "."]) == 2
        assert _golden(folder, "a").read_bytes() == OLD
        assert cli.main(["accept", "--write-in-ci", "."]) == 0
        assert _golden(folder, "a").read_bytes() == NEW

    def test_a_golden_that_changed_meanwhile_is_not_overwritten(
        self, folder: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        other = golden_bytes(made_up("Somebody else's."))
        _golden(folder, "a").write_bytes(other)
        assert cli.main(["list", "tests"]) == 1
        assert "a.golden.json: stale (the golden has changed since the test ran)" in capsys.readouterr().out
        assert cli.main(["accept", "."]) == 2
        assert "a.golden.json was not accepted: the golden has changed" in capsys.readouterr().err
        assert _golden(folder, "a").read_bytes() == other
        assert _golden(folder, "b").read_bytes() == NEW

    def test_a_golden_that_is_gone_does_not_come_back(self, folder: Path) -> None:
        _golden(folder, "a").unlink()
        assert proposal(pending_of(_golden(folder, "a"))).state == "stale"
        assert cli.main(["accept", "tests"]) == 2
        assert not _golden(folder, "a").exists()

    def test_a_golden_with_other_line_ends_is_the_same_golden(self, folder: Path) -> None:
        _golden(folder, "a").write_bytes(OLD.replace(b"\n", b"\r\n"))
        assert cli.main(["accept", "."]) == 0
        assert _golden(folder, "a").read_bytes() == NEW

    def test_a_damaged_golden_can_be_replaced(self, folder: Path) -> None:
        damaged = b"<<<<<<< HEAD"
        _golden(folder, "a").write_bytes(damaged)
        pending_of(_golden(folder, "a")).write_bytes(pending_bytes("t", damaged, NEW))
        assert cli.main(["diff", "."]) == 1
        assert cli.main(["accept", "."]) == 0
        assert _golden(folder, "a").read_bytes() == NEW

    @pytest.mark.parametrize("damage", [b"", b"{", b"[]", NEW, b'{"format": "workrail.golden/1", "pending": {}}'])
    def test_a_damaged_proposal_is_not_taken(
        self, folder: Path, damage: bytes, capsys: pytest.CaptureFixture[str]
    ) -> None:
        pending_of(_golden(folder, "a")).write_bytes(damage)
        assert cli.main(["list", "--json"]) == 1
        assert _json(capsys)["pending"][0]["state"] == "damaged"
        assert cli.main(["diff", "--json"]) == 1
        assert cli.main(["diff"]) == 1
        assert cli.main(["accept", "."]) == 2
        assert _golden(folder, "a").read_bytes() == OLD
        assert cli.main(["reject", "."]) == 0

    def test_accepting_after_a_kill_finishes_it(self, folder: Path) -> None:
        _golden(folder, "a").write_bytes(NEW)
        assert proposal(pending_of(_golden(folder, "a"))).state == "settled"
        assert cli.main(["accept", "."]) == 0
        assert not list(folder.rglob("*.pending"))


class TestReject:
    def test_drops_the_change(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert cli.main(["reject", "tests/__goldens__/test_it"]) == 0
        assert capsys.readouterr().out.count("rejected ") == 2
        assert not list(folder.rglob("*.pending"))
        assert _golden(folder, "a").read_bytes() == OLD


class TestUsage:
    @pytest.mark.parametrize(
        "arguments", [[], ["nonsense"], ["accept"], ["reject"], ["list", "no-such-folder"], ["list", "--nonsense"]]
    )
    def test_a_bad_command_line_is_two(self, folder: Path, arguments: list[str]) -> None:
        assert cli.main(arguments) == 2

    def test_help_is_zero(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert cli.main(["--help"]) == 0
        text = capsys.readouterr().out
        assert all(f"    {name} " in text for name in ("list", "diff", "accept", "reject"))

    def test_nothing_there_to_decide_about_is_three(self, folder: Path) -> None:
        assert cli.main(["accept", "tests/__goldens__/test_it/c.golden.json"]) == 3
        assert cli.main(["reject", "tests/__goldens__/test_it/c.golden.json"]) == 3

    def test_as_a_program(self, folder: Path) -> None:
        command = [sys.executable, "-m", "pytest_workrail.cli.golden", "list"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, env={**os.environ})
        assert (done.returncode, done.stderr) == (1, "")
        assert done.stdout.count("changed") == 2

    def test_a_reader_that_goes_away_is_no_error(self, folder: Path) -> None:
        command = f"'{sys.executable}' -m pytest_workrail.cli.golden diff | true"
        done = subprocess.run(["sh", "-c", command], cwd=folder, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")


def test_from_a_failing_test_to_an_accepted_golden(suite: Suite, capsys: pytest.CaptureFixture[str]) -> None:
    suite.tests(test_it="def test_one(golden):\n    golden('One.')\n")
    assert suite.run(mode="new").ret == 0
    suite.tests(test_it="def test_one(golden):\n    golden('First.')\n")
    assert suite.run().ret == 1
    capsys.readouterr()
    assert cli.main(["list", "--json"]) == 1
    assert _json(capsys)["pending"][0]["test"] == "test_it.py::test_one"
    assert cli.main(["accept", "__goldens__/test_it/test_one.golden.json"]) == 0
    assert suite.run().ret == 0
    assert suite.names() == ["test_one"]
