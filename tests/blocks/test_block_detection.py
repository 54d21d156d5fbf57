"""Which files are claimed, and which are left to others."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from workrail_lint import check, check_text
from workrail_lint.systems.blocks.documents import BlockKind, detect, id_in_name
from workrail_lint.systems.blocks.rules.samples import output, workflow
from workrail_lint.systems.blocks.system import BlockSystem
from workrail_lint.systems.workrail.rules.samples import workflow as workrail_workflow

OUTPUT = json.dumps(output()).encode()
FLOW = json.dumps(workflow()).encode()
WORKRAIL = json.dumps(workrail_workflow()).encode()


@pytest.mark.parametrize(
    ("path", "data", "kind"),
    [
        ("login.workflow.json", FLOW, BlockKind.WORKFLOW),
        ("login.workflow.json", b"{not json", BlockKind.WORKFLOW),
        ("anything.json", FLOW, BlockKind.WORKFLOW),
        ("workflows/anything.json", FLOW, BlockKind.WORKFLOW),
        (".output/block-a.json", b"{not json", BlockKind.OUTPUT),
        (".output/block-a b.json", b"{}", BlockKind.OUTPUT),
        (".output/blockA.json", OUTPUT, BlockKind.OUTPUT),
        ("elsewhere/block-a.json", OUTPUT, BlockKind.OUTPUT),
        (".run/repo-mount.json", b"{}", BlockKind.MOUNT),
        (".run/env-a.json", b"{}", BlockKind.ENVIRONMENT),
        (".run/prompt-a.txt", b"Hello.", BlockKind.PROMPT),
        (".run/fan-in-g.json", b"{}", BlockKind.FAN_IN),
        (".run/trace.json", b"{}", BlockKind.TRACE),
        ("a\\.output\\block-a.json", b"{}", BlockKind.OUTPUT),
    ],
)
def test_ours(path: str, data: bytes, kind: BlockKind) -> None:
    for named in (False, True):
        assert detect(path, data, named) is kind
        assert BlockSystem().claims(path, data, named) == kind.value


WORDS: dict[str, Any] = {"id": "x", "steps": [{"example": {"nodes": [], "transitions": []}}]}


@pytest.mark.parametrize(
    ("path", "data"),
    [
        ("workflows/a.json", WORKRAIL),
        ("workflows/a.workflow.json", WORKRAIL),
        ("workflows/a.json", json.dumps(WORDS).encode()),
        ("workflows/a.json", b'{"steps": [], "nodes" "transitions"'),
        ("a.json", b"{}"),
        ("package.json", b'{"name": "x"}'),
        ("src/block-editor.json", b'{"name": "core/block"}'),
        (".output/nitro.json", b'{"preset": "node"}'),
        ("env-a.json", b"{}"),
        ("repo-mount.json", b"{}"),
        ("prompt-a.txt", b"Hello."),
        (".run/config.json", b"{}"),
        ("trace.json", b"{}"),
        ("notes.md", FLOW),
        ("a.json", b""),
        ("a.scenario.json", b'{"workflow": "x"}'),
    ],
)
def test_not_ours(path: str, data: bytes) -> None:
    assert detect(path, data, False) is None


def test_a_file_that_is_named_is_ours_when_it_looks_like_it() -> None:
    assert detect("blockA.json", OUTPUT, False) is None
    assert detect("blockA.json", OUTPUT, True) is BlockKind.OUTPUT
    assert detect("block-a.json", b"{}", False) is None
    assert detect("block-a.json", b"{}", True) is BlockKind.OUTPUT
    assert detect("workflows/a.json", WORKRAIL, True) is None
    assert detect("anything.json", b"{}", True) is None


def test_ids_in_names() -> None:
    assert id_in_name(".output/block-a-1.json", BlockKind.OUTPUT) == "a-1"
    assert id_in_name(".run/prompt-a.txt", BlockKind.PROMPT) == "a"
    assert id_in_name("x/fan-in-g.json", BlockKind.FAN_IN) == "g"
    for name in ("block-.json", "block-a.b.json", "block-a.json.rejected", "blocka.json", "block-ä.json"):
        assert id_in_name(name, BlockKind.OUTPUT) is None


def test_names_that_are_worth_a_look() -> None:
    system = BlockSystem()
    assert system.suffixes == (".json", ".txt")
    assert system.may_claim("anything.json")
    assert system.may_claim(".run/prompt-a.txt")
    assert not system.may_claim("notes.txt")
    assert not system.may_claim(".run/notes.txt")


def test_a_definition_may_speak_of_steps_and_a_workflow_of_nodes() -> None:
    counted = workflow(variables=[{"name": "steps", "type": "number", "required": False}])
    text = json.dumps(counted)
    assert [finding.code for finding in check_text(text, "graph.json").findings] == []
    assert detect("a.workflow.json", text.encode(), False) is BlockKind.WORKFLOW
    nested = json.dumps({**json.loads(WORKRAIL), "about": {"nodes": [], "transitions": []}}).encode()
    assert detect("a.workflow.json", nested, True) is None
    assert detect("a.json", nested, True) is None


def test_a_text_on_no_disk_is_judged_as_a_file_on_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it would stand makes no difference."""
    text = json.dumps(output("dev", "dev", deliverables={"blockType": "generic", "summary": "Done."}))
    monkeypatch.chdir(tmp_path)
    for name in ("block-dev.json", ".output/block-dev.json"):
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text(text)
        for report in (check_text(text, name), check([name])):
            assert [(found.code, found.pointer) for found in report.findings] == [("BC203", "/deliverables/blockType")]
