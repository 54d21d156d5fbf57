"""The default target is the public engine: what it refuses fails a check, has no engine hash and is never pinned."""

from __future__ import annotations

import json
from typing import Any

import pytest
from cli_types import Run

from workrail_lint.systems.workrail.rules.samples import loop, step, workflow

CRITERIA = [{"type": "length", "min": 3}]
REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "version": (workflow(version=...), "LC014"),
    "agentRole": (workflow(agentRole="Careful senior engineer"), "LC014"),
    "capabilities": (workflow(capabilities={"web_browsing": "preferred"}), "LC014"),
    "message": (workflow(step(validationCriteria=CRITERIA)), "LC014"),
    "extension points": (workflow(extensionPoints={"slot": {"purpose": "p", "defaultBinding": "x"}}), "LC014"),
    "underscore": (workflow(step("plan_it")), "LC014"),
    "feature": (
        workflow(step(prompt=None, promptBlocks={"goal": "g"}), features=["wr.features.mode_guidance"]),
        "CA005",
    ),
}


@pytest.fixture(params=REFUSED, ids=lambda name: name.replace(" ", "-"))
def refused(request: pytest.FixtureRequest, write: Any) -> str:
    """A workflow that the engine refuses and the IR knows, on disk; gives the code of its error."""
    document, code = REFUSED[request.param]
    write("workflows/example.json", document)
    return code


def codes(out: str, severity: str) -> list[str]:
    return [f["code"] for f in json.loads(out)["findings"] if f["severity"] == severity]


def test_check_fails_on_what_the_engine_refuses(run: Run, refused: str) -> None:
    ran = run("check", "workflows", "--format", "json")
    assert ran.code == 1
    assert refused in codes(ran.out, "error")


def test_a_project_that_writes_for_the_ir_is_judged_for_the_ir(run: Run, write: Any, refused: str) -> None:
    write("workrail-lint.toml", 'target = "ir"\n')
    ran = run("check", "workflows", "--format", "json")
    assert (ran.code, codes(ran.out, "error")) == (0, [])


def test_the_engine_target_is_refused_with_the_reason(run: Run, refused: str) -> None:
    assert run("compile", "--emit", "hash", "workflows/example.json").code == 0
    for arguments in (["--emit", "hash"], ["--emit", "json"], ["--mode", "preview"]):
        ran = run("compile", "--target", "engine", *arguments, "workflows/example.json")
        assert (ran.code, ran.out) == (1, "")
        assert ran.err.startswith("workflows/example.json:")
        assert ": error " in ran.err


def test_a_configured_target_changes_nothing_about_the_engines_verdict(run: Run, write: Any, refused: str) -> None:
    write("workrail-lint.toml", 'target = "ir"\n')
    assert run("compile", "--target", "engine", "workflows/example.json").code == 1
    assert run("compile", "workflows/example.json").code == 0


def test_lock_pins_null_and_says_why(run: Run, refused: str, tmp_path: Any) -> None:
    ran = run("lock", "--update")
    assert ran.code == 0
    assert "workflows/example.json: engineHash is null, because the engine rejects the workflow: " in ran.err
    (entry,) = json.loads((tmp_path / "workrail.lock.json").read_text())["workflows"].values()
    assert entry["engineHash"] is None
    assert entry["hash"].startswith("sha256:")
    assert run("lock", "--check").code == 0


def test_what_the_engine_does_not_look_at_is_an_error_and_compiles(run: Run, write: Any) -> None:
    fragments = [{"id": "same", "when": {"var": "a", "equals": 1}, "text": text} for text in ("One.", "Two.")]
    write("workflows/example.json", workflow(step("first"), loop(step("inner-step", promptFragments=fragments))))
    ran = run("check", "workflows", "--format", "json")
    assert codes(ran.out, "error") == ["ID008"]
    assert run("compile", "workflows/example.json").code == 0
    assert run("compile", "--target", "engine", "workflows/example.json").code == 0
    assert run("check", "--engine-parity", "workflows").code == 0


def test_an_unknown_target_is_a_usage_error(run: Run, write: Any, plain: dict[str, Any]) -> None:
    write("workrail-lint.toml", 'target = "v2"\n')
    write("workflows/example.json", plain)
    ran = run("check")
    assert ran.code == 2
    assert "'target' must be one of ir, engine, not 'v2'" in ran.err
