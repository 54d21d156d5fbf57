"""The golden session by itself: claims, repeated tests, and what workers tell."""

from __future__ import annotations

import json
import types
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

import pytest
from golden_made_up import made_up

from pytest_workrail.golden.files import GoldenKey
from pytest_workrail.golden.golden_records import BUILD_MACHINE, GoldenStatus, Mode, Policy, add_options, policy
from pytest_workrail.golden.session import GoldenMismatch, GoldenSession

OK, FAILED = 0, 1


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


def _session(folder: Path, mode: str = "update") -> GoldenSession:
    """A session as pytest would start it."""
    options = {"workrail_golden": mode, "workrail_write_in_ci": False, "verbose": 0}
    config: Any = types.SimpleNamespace(
        rootpath=folder,
        args=[str(folder)],
        invocation_params=types.SimpleNamespace(dir=folder),
        getoption=options.__getitem__,
        getini=lambda _: [".*"],
    )
    session = GoldenSession()
    session.start(config)
    return session


def _goldens(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.rglob("*.golden.json")}


def test_a_test_that_is_run_again_counts_by_its_last_run(folder: Path) -> None:
    for passes, written in (((True, False), 0), ((False, True), 1)):
        session = _session(folder)
        for number, passed in enumerate(passes):
            session.match("test_a.py::test_b", made_up(f"Run {number}."))
            session.test_finished("test_a.py::test_b", passed, False)
        assert session.finish(OK, True)
        assert len(_goldens(folder)) == written
    assert "Run 1." in _goldens(folder)["test_b.golden.json"]


def test_a_test_that_never_ended_updates_nothing(folder: Path) -> None:
    session = _session(folder)
    session.match("test_a.py::test_b", made_up("One."))
    session.finish(OK, True)
    assert _goldens(folder) == {}


def test_what_a_worker_tells_survives_the_journey(folder: Path) -> None:
    worker, controller = _session(folder), _session(folder)
    worker.match("test_a.py::test_b", made_up("Zwölf «Dinge»\n\U0001f600."))
    worker.match("test_a.py::test_b", made_up("Two."), "two")
    worker.test_finished("test_a.py::test_b", True, False)
    # The controller hears of the end of every test, but it never saw what they claimed.
    controller.test_finished("test_a.py::test_b", True, False)
    controller.merge(json.loads(json.dumps(worker.worker_state())))
    assert "2 written:" in controller.finish(OK, True)
    assert controller.errors == ()
    assert set(_goldens(folder)) == {"test_b.golden.json", "test_b.two.golden.json"}
    checker = _session(folder, "check")
    checker.match("test_a.py::test_b", made_up("Zwölf «Dinge»\n\U0001f600."))


def test_a_test_that_the_controller_saw_fail_is_not_written(folder: Path) -> None:
    worker, controller = _session(folder), _session(folder)
    worker.match("test_a.py::test_b", made_up("One."))
    worker.test_finished("test_a.py::test_b", True, False)
    controller.merge(worker.worker_state())
    controller.test_finished("test_a.py::test_b", False, False)
    controller.finish(FAILED, True)
    assert _goldens(folder) == {}


def test_the_same_test_on_two_workers_must_say_the_same(folder: Path) -> None:
    for prompts, written in ((("One.", "One."), 1), (("One.", "Two."), 0)):
        for golden in folder.rglob("*.golden.json"):
            golden.unlink()
        controller = _session(folder)
        for prompt in prompts:
            worker = _session(folder)
            worker.match("test_a.py::test_b", made_up(prompt))
            worker.test_finished("test_a.py::test_b", True, False)
            controller.merge(worker.worker_state())
        controller.finish(OK, True)
        assert len(_goldens(folder)) == written


def test_two_tests_that_claim_one_file_on_two_workers_are_an_error(folder: Path) -> None:
    controller = _session(folder)
    for nodeid in ("test_a.py::test_b", "test_a.py::test_B"):
        worker = _session(folder)
        worker.match(nodeid, made_up(nodeid))
        worker.test_finished(nodeid, True, False)
        controller.merge(worker.worker_state())
    controller.finish(OK, True)
    (error,) = controller.errors
    assert "claimed by more than one test: test_a.py::test_B and test_a.py::test_b" in error
    assert _goldens(folder) == {}


@pytest.mark.parametrize("mode", ["check", "update"])
def test_two_tests_whose_goldens_differ_by_letter_case_only_are_told_apart_at_once(folder: Path, mode: str) -> None:
    """On a file system that knows no case they would overwrite each other."""
    for nodeid in ("test_a.py::test_b", "test_a.py::test_c"):
        written = _session(folder)
        written.match(nodeid, made_up("One."))
        written.test_finished(nodeid, True, False)
        written.finish(OK, False)
    session = _session(folder, mode)
    session.match("test_a.py::test_b", made_up("One."))
    session.match("test_a.py::test_c", made_up("One."))
    with pytest.raises(GoldenMismatch) as refused:
        session.match("test_a.py::test_B", made_up("One."))
    message = str(refused.value)
    assert message.startswith("golden claimed twice: __goldens__/test_a/test_B.golden.json")
    assert "test_a.py::test_b as __goldens__/test_a/test_b.golden.json" in message


def test_names_that_differ_by_letter_case_only_are_two_claims_to_one_golden(folder: Path) -> None:
    session = _session(folder)
    session.match("test_a.py::test_b", made_up("One."), "late")
    with pytest.raises(GoldenMismatch, match="claimed twice"):
        session.match("test_a.py::test_b", made_up("One."), "Late")


def test_goldens_of_two_workers_that_differ_by_letter_case_only_are_nobodys(folder: Path) -> None:
    """Both tests passed and neither is written, in whatever order the workers tell; the others are."""
    told = []
    for nodeid in ("t/test_a.py::test_b[x]", "T/test_a.py::test_b[X]", "t/test_a.py::test_c"):
        worker = _session(folder)
        worker.match(nodeid, made_up(nodeid))
        worker.test_finished(nodeid, True, False)
        told.append(worker.worker_state())
    for states in (told, told[::-1]):
        controller = _session(folder)
        for state in states:
            controller.merge(json.loads(json.dumps(state)))
        controller.finish(OK, False)
        (error,) = controller.errors
        assert "T/test_a.py::test_b[X] and t/test_a.py::test_b[x]" in error
        assert set(_goldens(folder)) == {"test_c.golden.json"}


def test_a_folder_in_the_way_is_told(folder: Path) -> None:
    (folder / "__goldens__" / "test_a" / "test_b.golden.json").mkdir(parents=True)
    with pytest.raises(GoldenMismatch, match=r"golden can't be read: .*test_b\.golden\.json: "):
        _session(folder).match("test_a.py::test_b", made_up("One."))


def test_a_file_in_the_way_of_the_folder_is_told(folder: Path) -> None:
    (folder / "__goldens__").write_text("")
    with pytest.raises(GoldenMismatch, match=r"golden can't be (read|written): "):
        _session(folder).match("test_a.py::test_b", made_up("One."))


def test_what_can_not_be_written_at_the_end_is_an_error(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session = _session(folder)
    session.match("test_a.py::test_b", made_up("One."))
    session.test_finished("test_a.py::test_b", True, False)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    session.finish(OK, True)
    assert session.errors == ("__goldens__/test_a/test_b.golden.json can't be written: no space left on device",)
    assert list(folder.rglob("*golden.json*")) == []


def test_a_key_can_be_checked_directly(folder: Path) -> None:
    session = _session(folder, "check")
    with pytest.raises(GoldenMismatch, match=r"no golden yet: s/__goldens__/review\.locked\.golden\.json"):
        session.check(GoldenKey.of("s/review.scenario.json::review", "locked"), made_up("One."))


def test_nothing_to_do_nothing_to_say(folder: Path) -> None:
    session = _session(folder, "check")
    assert session.finish(OK, True) == []
    session.test_finished("test_a.py::test_b", True, False)
    assert session.finish(OK, True) == []


def test_a_golden_keeps_its_permissions(folder: Path) -> None:
    golden = folder / "__goldens__" / "test_a" / "test_b.golden.json"
    golden.parent.mkdir(parents=True)
    golden.write_text("{}")
    golden.chmod(0o640)
    session = _session(folder)
    session.match("test_a.py::test_b", made_up("One."))
    session.test_finished("test_a.py::test_b", True, False)
    session.finish(OK, True)
    assert golden.stat().st_mode & 0o777 == 0o640


def test_one_of_many_goldens_is_told_from_the_others(folder: Path) -> None:
    names = [f"test_a.py::test_{number}" for number in range(100)]
    writer = _session(folder)
    for name in names:
        writer.match(name, made_up("One.", count=1))
        writer.test_finished(name, True, False)
    writer.finish(OK, True)
    path = next(folder.rglob("test_99.golden.json"))
    path.write_text(path.read_text().replace('"count": 1', '"count": true'))
    reader = _session(folder, "check")
    for name in names[:-1]:
        reader.match(name, made_up("One.", count=1))
    with pytest.raises(GoldenMismatch, match="count"):
        reader.match(names[-1], made_up("One.", count=1))


def test_each_mode_writes_what_it_says() -> None:
    written = {mode.value: [status.value for status in GoldenStatus if Policy(mode).writes(status)] for mode in Mode}
    assert written == {
        "check": [],
        "new": ["missing"],
        "update": ["same", "differs", "missing"],
        "prune": [],
    }
    assert not any(Policy(mode, may_write=False).writes(status) for mode in Mode for status in GoldenStatus)


@pytest.mark.parametrize(
    ("options", "mode"),
    [
        ((), Mode.CHECK),
        *((("--workrail-golden", mode.value), mode) for mode in Mode),
        (("--workrail-update-goldens",), Mode.UPDATE),
    ],
)
@pytest.mark.parametrize("in_ci", [False, True])
@pytest.mark.parametrize("may_write", [False, True])
def test_options_say_what_a_run_may_do_with_goldens(
    monkeypatch: pytest.MonkeyPatch,
    options: tuple[str, ...],
    mode: Mode,
    in_ci: bool,
    may_write: bool,
) -> None:
    for variable in BUILD_MACHINE:
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("CI", str(in_ci).lower())
    parser = ArgumentParser()
    group: Any = types.SimpleNamespace(addoption=parser.add_argument)
    add_options(group)
    given = parser.parse_args([*options, *["--workrail-write-in-ci"] * may_write])
    config: Any = types.SimpleNamespace(getoption=lambda name: getattr(given, name))
    assert policy(config) == Policy(mode, may_write=may_write or not in_ci)
    assert policy(config).mode is (mode if may_write or not in_ci else Mode.CHECK)


@pytest.mark.parametrize("count", [20, 21])
def test_twenty_of_a_kind_are_named(folder: Path, count: int) -> None:
    more = count - 20
    writer, goldens = _session(folder), folder / "__goldens__" / "test_a"
    for number in range(count):
        writer.match(f"test_a.py::test_{number:02}", made_up(f"This is golden number {number}."))
        writer.test_finished(f"test_a.py::test_{number:02}", True, False)
    names = [f"  __goldens__/test_a/test_{number:02}.golden.json" for number in range(count)]
    rest = ["  ... and 1 more"] * more
    assert writer.finish(OK, True) == [f"{count} written:", *names[:20], *rest]

    reader = _session(folder, "check")
    for number in range(count):
        with pytest.raises(GoldenMismatch, match="golden differs"):
            reader.match(f"test_a.py::test_{number:02}", made_up(f"This is golden number {number}, changed {number}."))
        reader.test_finished(f"test_a.py::test_{number:02}", False, False)
    first, *lines = reader.finish(FAILED, False)
    assert first == f"{count} different; decide with: workrail-test golden review"
    assert len([line for line in lines if line.startswith("[")]) == 20
    assert [line for line in lines if line.startswith("...")] == ["... and 1 more change"] * more
    assert len(list(goldens.glob("*.pending"))) == count

    for path in goldens.glob("*.pending"):
        path.unlink()
    assert _session(folder, "prune").finish(OK, True) == [f"{count} removed:", *names[:20], *rest]
    assert not goldens.exists()
