"""Small things that an attack found, each with the way it was found."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from pytest_workrail.locks.vacuity import FileReading
from workrail_lint import compile_workflow
from workrail_lint.base.regex_analysis import why_slow
from workrail_lint.cli import main
from workrail_lint.systems.team.rules import samples
from workrail_lint.systems.workrail.rules.samples import step, workflow


@pytest.mark.parametrize("number", ["1e400", "-1e400"])
def test_a_workflow_without_a_hash_does_not_compile(number: str) -> None:
    document = workflow(step("first"), step("second", runCondition={"var": "x", "equals": 12345}))
    result = compile_workflow(json.dumps(document).replace("12345", number))
    assert not result.is_ok or result.value.hash


@pytest.mark.parametrize("value", [10**400, -(10**400), 1e308 * 10], ids=["huge", "negative", "infinite"])
def test_artifacts_that_no_json_can_hold_are_the_agents_mistake(value: object) -> None:
    from pytest_workrail.engine.core.outputs import Submission
    from pytest_workrail.engine.protocol.recording import artifact_outputs

    made = artifact_outputs(Submission(None, ({"kind": "x", "value": value},)), "attempt")  # type: ignore[arg-type]
    assert made.error.code == "VALIDATION_ERROR"


@pytest.mark.parametrize("pattern", ["(a{1,30}){1,30}$", "(a?){40}a{40}", r"\s+$", r"x|\s+$", r"(\w{1,20}\s?){1,50}!"])
def test_patterns_that_take_very_long(pattern: str) -> None:
    assert why_slow(pattern) is not None


@pytest.mark.parametrize(
    "pattern",
    [r"^\s+$", r"[\s\S]+$", "(a{1,3}){1,3}$", "(a?){3}a{3}", r"(\d{1,3}\.){3}\d{1,3}$", r"\w+\b", "(ab){2,40}$"],
)
def test_patterns_that_do_not(pattern: str) -> None:
    assert why_slow(pattern) is None


def test_a_path_that_is_too_long_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.json").write_text(json.dumps(workflow(step("first"), step("second"))))
    handle = os.open(".", os.O_RDONLY)
    for _ in range(25):
        os.mkdir("d" * 200, dir_fd=handle)
        inner = os.open("d" * 200, os.O_RDONLY, dir_fd=handle)
        os.close(handle)
        handle = inner
    deep = os.open("b.json", os.O_WRONLY | os.O_CREAT, dir_fd=handle)
    os.write(deep, b"{}")
    os.close(deep)
    os.close(handle)
    try:
        assert main(["check", "--no-cache", "."]) == 1
        assert "file-not-readable" in capsys.readouterr().out
    finally:
        _remove_deep(tmp_path / ("d" * 200))


def _remove_deep(top: Path) -> None:
    """What no path can name is moved up until one can."""
    while True:
        inner = top / ("d" * 200)
        if not inner.exists():
            break
        inner.rename(top.with_name("moved"))
        for left in top.iterdir():
            left.unlink()
        top.rmdir()
        top.with_name("moved").rename(top)


def lines(source: str) -> set[int]:
    return set(FileReading(source, {}, lambda _: False).lines)


@pytest.mark.parametrize(
    "body",
    [
        "    x = 5\n    assert x",
        "    x: int = 5\n    y = x + 1\n    assert y == 6",
        "    with pytest.raises(Exception):\n        raise Exception",
        "    with pytest.raises(ValueError):\n        'text'\n        raise ValueError('x') from None",
    ],
)
def test_what_a_test_says_to_itself_enforces_no_lock(body: str) -> None:
    assert lines(f"import pytest\ndef test_it():\n{body}\n") == set()


@pytest.mark.parametrize(
    "body",
    [
        "    x = made()\n    assert x",
        "    x = 5\n    x = made()\n    assert x",
        "    x = 5\n    for x in made():\n        pass\n    assert x",
        "    x = 5\n    assert made() == x",
        "    with pytest.raises(ValueError):\n        made()",
    ],
)
def test_what_the_code_has_a_part_in_does(body: str) -> None:
    assert lines(f"import pytest\ndef test_it():\n{body}\n") != set()


def test_a_fix_never_redirects_a_reference_to_another_session() -> None:
    from workrail_lint.systems.team.rules.context import ContextFilePlace

    examples = list(ContextFilePlace().examples())
    foreign = next(example for example in examples if "2025-12-01_old-work" in json.dumps(example.bad))
    assert foreign.fixed is None
    assert samples.exchange("Coder")
