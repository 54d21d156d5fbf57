"""The texts of a workflow: every one is where its pointer says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from workrail_lint.documents.pointer import resolve
from workrail_lint.systems.workrail.author_texts import argument_groups, step_groups, texts_of, top_groups
from workrail_lint.systems.workrail.model.build import workflow_model

ROOT = Path(__file__).resolve().parents[2]
BLOCKS = {
    "goal": [{"kind": "text", "text": "a goal in parts"}, {"kind": "ref", "refId": "wr.refs.notes_first_durability"}],
    "constraints": ["a constraint", [{"kind": "text", "text": "a constraint in parts"}]],
    "procedure": ["a first thing", "a second thing"],
    "verify": ["a check"],
    "outputRequired": {"a/b": "an output", "c": "another"},
}
STEPS = [
    {"id": "blocks", "title": "a title", "agentRole": "a role", "promptBlocks": BLOCKS, "guidance": ["some guidance"]},
    {"id": "call", "title": "x", "templateCall": {"templateId": "wr.templates.x", "args": {"a~b": "an argument"}}},
    {
        "id": "rest",
        "title": "y",
        "prompt": "a prompt",
        "audit": {"prompt": "an audit", "rubric": ["a rubric"]},
        "promptFragments": [{"id": "f", "text": "a fragment", "when": {"var": "a", "equals": 1}}],
    },
]


def test_every_text_is_where_its_pointer_says() -> None:
    written = {"id": "demo.texts", "name": "T", "description": "D", "version": "1.0.0", "metaGuidance": ["a rule"]}
    seen: set[str] = set()
    shipped = [json.loads(path.read_text("utf-8")) for path in (ROOT / "fixtures" / "workflows").glob("*.json")]
    for value in ({**written, "steps": STEPS}, *shipped):
        document: dict[str, Any] = value
        workflow = workflow_model(document)
        texts = texts_of(top_groups(workflow), "")
        for step in workflow.all_steps:
            texts += texts_of([*step_groups(step), *argument_groups(step)], step.pointer)
        assert [text for text in texts if resolve(document, text.pointer) != text.text] == []
        seen |= {text.text for text in texts}
    own = ("a goal in parts", "a constraint", "a constraint in parts", "a first thing", "a second thing", "a check")
    more = ("an output", "another", "some guidance", "an argument", "a prompt", "an audit", "a rubric", "a fragment")
    assert seen.issuperset((*own, *more, "a title", "a role", "a rule"))
