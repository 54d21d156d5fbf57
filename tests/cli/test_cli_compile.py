"""compile and canonical."""

from __future__ import annotations

import io
import json
import os
import sys
from typing import Any

import pytest
from cli_types import Run

from workrail_lint import compile_workflow
from workrail_lint.base.canonical import canonical_bytes, digest
from workrail_lint.systems.workrail.rules.samples import step, workflow


def test_one_path_prints_the_ir(run: Run, write: Any, plain: dict[str, Any]) -> None:
    write("a.json", plain)
    ran = run("compile", "a.json")
    assert ran.code == 0
    assert json.loads(ran.out) == compile_workflow(plain).value.ir


def test_emit_hash_and_canonical_agree(run: Run, write: Any, plain: dict[str, Any]) -> None:
    write("a.json", plain)
    canonical = run("compile", "a.json", "--emit", "canonical").out
    assert run("compile", "a.json", "--emit", "hash").out == digest(canonical.encode()) + "\n"
    assert digest(canonical.encode()) == compile_workflow(plain).value.hash


def test_engine_target_and_modes(run: Run, write: Any, plain: dict[str, Any]) -> None:
    write("a.json", plain)
    pinned = run("compile", "a.json", "--target", "engine", "--emit", "hash").out.strip()
    assert pinned == compile_workflow(plain).value.engine_hash
    digests = {
        run("compile", "a.json", "--target", "engine", "--emit", "hash", "--mode", mode).out
        for mode in ("pinned", "pinned+onboarding", "preview")
    }
    assert len(digests) == 3
    assert run("compile", "a.json", "--mode", "preview").code == 2


def test_references_are_resolved_below_the_workspace(run: Run, write: Any, tmp_path: Any) -> None:
    reference = {"id": "doc", "title": "Doc", "source": "docs/a.md", "purpose": "p", "authoritative": True}
    write("a.json", workflow(references=[reference]))
    arguments = ("compile", "a.json", "--target", "engine", "--mode", "pinned+refs", "--workspace", str(tmp_path))
    before = json.loads(run(*arguments).out)
    assert before["resolvedReferences"][0]["status"] == "unresolved"
    write("docs/a.md", "text")
    after = json.loads(run(*arguments).out)
    assert after["resolvedReferences"][0]["resolvedPath"] == str(tmp_path / "docs" / "a.md")


def test_many_paths_print_a_line_each(run: Run, write: Any, plain: dict[str, Any]) -> None:
    write("w/b.json", {**plain, "id": "demo.bb"})
    write("w/a.json", {**plain, "id": "demo.aa"})
    write("w/package.json", {"name": "other tool"})
    ran = run("compile", "w")
    assert ran.code == 0
    lines = [json.loads(line) for line in ran.out.splitlines()]
    assert [(line["path"], line["workflowId"], line["target"]) for line in lines] == [
        (os.path.join("w", "a.json"), "demo.aa", "ir"),
        (os.path.join("w", "b.json"), "demo.bb", "ir"),
    ]
    assert all(line["hash"].startswith("sha256:") for line in lines)


def test_a_bad_one_among_many_does_not_stop_the_rest(run: Run, write: Any, plain: dict[str, Any]) -> None:
    write("w/a.json", plain)
    write("w/b.json", {**plain, "steps": []})
    ran = run("compile", "w")
    assert ran.code == 1
    assert len(ran.out.splitlines()) == 1
    assert "b.json:" in ran.err
    assert "error" in ran.err


def test_explain_tells_where_text_came_from(run: Run, write: Any) -> None:
    document = workflow(
        step("plan", None, promptBlocks={"goal": [{"kind": "ref", "refId": "wr.refs.memory_query"}]}),
        step("build", verification={"command": "make"}),
        features=["wr.features.capabilities"],
    )
    write("a.json", document)
    ran = run("compile", "a.json", "--explain")
    assert ran.code == 0
    assert "ref wr.refs.memory_query" in ran.out
    assert "feature wr.features.capabilities" in ran.out
    assert "build__verification: generated from /steps/1/verification" in ran.out


def test_stdin(run: Run, plain: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(json.dumps(plain).encode())))
    ran = run("compile", "-", "--emit", "hash")
    assert ran.out.strip() == compile_workflow(plain).value.hash


def test_routines_and_bindings(run: Run, write: Any) -> None:
    write(
        "routines/routine-own.json",
        {
            "id": "routine-own",
            "name": "n",
            "description": "d",
            "version": "1.0.0",
            "steps": [{"id": "s", "title": "T", "prompt": "{x}"}],
        },
    )
    call = {"templateId": "wr.templates.routine.own", "args": {"x": "{{wr.bindings.slot}}"}}
    write(
        "a.json",
        workflow(
            step(),
            step("call", None, templateCall=call),
            extensionPoints=[{"slotId": "slot", "purpose": "p", "default": "d"}],
        ),
    )
    assert run("compile", "a.json").code == 1
    plain_hash = run("compile", "a.json", "--routines", "routines", "--emit", "hash").out
    write(".workrail/bindings.json", {"slot": "mine"})
    bound_hash = run("compile", "a.json", "--routines", "routines", "--emit", "hash").out
    assert plain_hash != bound_hash
    write("other/.workrail/bindings.json", {"slot": "mine"})
    assert (
        run("compile", "a.json", "--routines", "routines", "--emit", "hash", "--bindings-dir", "other").out
        == bound_hash
    )
    missing = run("compile", "a.json", "--routines", "routines", "--emit", "hash", "--bindings-dir", "nowhere")
    assert (missing.code, missing.out) == (2, "")
    assert "--bindings-dir: nowhere is not a folder" in missing.err


@pytest.mark.parametrize(
    ("content", "code", "part"),
    [
        (b"", 1, "contains no JSON value"),
        (b"\x00\x01\x02", 1, "expected a value"),
        (b"\xff\xfe{\x00}\x00", 1, "not UTF-8"),
        (b"[]", 1, "must be a JSON object"),
        (b'{"name": "package"}', 1, "error"),
        (b'{"catalogFormat": 1}', 2, "is a catalog, not a workflow"),
        (b'{"id": "demo.x",}', 1, "comma before '}'"),
    ],
)
def test_bad_files(run: Run, write: Any, content: bytes, code: int, part: str) -> None:
    write("bad.json", content)
    ran = run("compile", "bad.json")
    assert ran.code == code
    assert part in ran.err
    assert ran.out == ""


def test_missing_folder_and_nothing_found(run: Run, write: Any, tmp_path: Any) -> None:
    assert run("compile", "nope.json").code == 2
    assert "does not exist" in run("compile", "nope.json").err
    (tmp_path / "empty").mkdir()
    assert run("compile", "empty").code == 3
    assert "no workflow found" in run("compile", "empty").err


@pytest.mark.skipif(os.geteuid() == 0, reason="root can read everything: run the tests as another user")
def test_unreadable_file(run: Run, write: Any, plain: dict[str, Any]) -> None:
    write("a.json", plain).chmod(0)
    assert run("compile", "a.json").code == 2


def test_unknown_catalog_and_routines(run: Run, write: Any, plain: dict[str, Any]) -> None:
    write("a.json", plain)
    for option in ("--catalog", "--routines"):
        ran = run("compile", "a.json", option, "nope")
        assert ran.code == 2, option
        assert f"{option}: " in ran.err
        assert "nope" in ran.err
        write("workrail-lint.toml", f'{option[2:]} = "gone"\n')
        assert f"workrail-lint: {option[2:]}: " in run("compile", "a.json").err, "the setting is named"
        write("workrail-lint.toml", "")
    write("cat.json", '{"catalogFormat": 99}')
    assert run("compile", "a.json", "--catalog", "cat.json").code == 2


def test_a_workflow_without_hash_says_so(run: Run, write: Any, plain: dict[str, Any]) -> None:
    text = json.dumps({**plain, "steps": [step(runCondition={"var": "a", "equals": 0})]}).replace(
        '"equals": 0', '"equals": 1e400'
    )
    write("a.json", text)
    ran = run("compile", "a.json", "--emit", "hash")
    assert ran.code == 1
    assert "no hash" in ran.err
    explained = run("compile", "a.json", "--explain")
    assert (explained.code, explained.err) == (1, ran.err)


def test_configuration_names_the_inputs(run: Run, write: Any) -> None:
    write(
        "shared/routine-own.json",
        {
            "id": "routine-own",
            "name": "n",
            "description": "d",
            "version": "1.0.0",
            "steps": [{"id": "s", "title": "T", "prompt": "x"}],
        },
    )
    write("a.json", workflow(step(), step("call", None, templateCall={"templateId": "wr.templates.routine.own"})))
    write("workrail-lint.toml", 'routines = "shared"\n')
    assert run("compile", "a.json").code == 0
    assert run("compile", "a.json", "--isolated").code == 1
    write("workrail-lint.toml", 'routine = "shared"\n')
    ran = run("compile", "a.json")
    assert ran.code == 2
    assert "did you mean 'routines'?" in ran.err


def test_canonical(run: Run, write: Any) -> None:
    write("a.json", '{ "b": 1.0, "a": [] }')
    assert run("canonical", "a.json").out == '{"a":[],"b":1}'
    assert run("canonical", "a.json", "--hash").out == digest(canonical_bytes({"a": [], "b": 1})) + "\n"
    write("bad.json", '{"a": 1e400}')
    ran = run("canonical", "bad.json")
    assert (ran.code, ran.out) == (1, "")
    assert "CANONICAL_JSON_NON_FINITE_NUMBER" in ran.err
    write("bad.json", "{,}")
    assert run("canonical", "bad.json").code == 1
    assert run("canonical", "missing.json").code == 2
    assert run("canonical").code == 2
