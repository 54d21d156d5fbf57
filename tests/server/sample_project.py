"""A project with a document of every kind, for an editor to open."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from workrail_lint.systems.workrail.catalog.catalog import load_core
from workrail_lint.systems.workrail.rules.samples import controlled_loop, step

FIXTURES = Path(__file__).parents[2] / "fixtures"
SESSION = "team/.agents-work/2026-03-04_fix-footer-year"
HISTORY = "full/.agents-work/2026-03-01_add-login-form/approve-design-history.jsonl"
OUTPUT = "block-20000000-6b1e-4d57-9c0a-3f5a7e2b1c01.json"
PROMPT = "prompt-20000000-6b1e-4d57-9c0a-3f5a7e2b1c01.txt"

WORKFLOW: dict[str, Any] = {
    "id": "demo.review",
    "name": "Review",
    "description": "Reviews a change of any size.",
    "version": "1.0.0",
    "about": "For reviews.",
    "examples": ["Review a change"],
    "assessments": [
        {
            "id": "quality",
            "purpose": "How good the review is.",
            "dimensions": [{"id": "depth", "purpose": "How deep it goes.", "levels": ["low", "high"]}],
        }
    ],
    "references": [
        {
            "id": "style-guide",
            "title": "Style guide",
            "source": "docs/style.md",
            "purpose": "How we write code.",
            "authoritative": True,
        }
    ],
    "extensionPoints": [{"slotId": "last_check", "purpose": "The last check.", "default": "Run the tests."}],
    "steps": [
        step("first-look", prompt="Sei höflich 😀. Set the context variable `size` to one of `small`, `large`."),
        step(
            "small-way",
            prompt="Follow style-guide, keep {{size}} in mind, and use the result of first-look.",
            runCondition={"var": "size", "equals": "small"},
        ),
        {
            "id": "smoke",
            "title": "Smoke check",
            "templateCall": {
                "templateId": "wr.templates.routine.smoke-check",
                "args": {"program": "the tool", "attempts": "2"},
            },
        },
        step(
            "judge",
            prompt="Run {{wr.bindings.last_check}}, then submit a wr.assessment artifact for `quality`.",
            assessmentRefs=["quality"],
            assessmentConsequences=[
                {
                    "when": {"anyEqualsLevel": "low", "forAssessment": "quality"},
                    "effect": {"kind": "require_followup", "guidance": "Look again."},
                }
            ],
        ),
        controlled_loop(),
    ],
}
SCENARIO: dict[str, Any] = {
    "workflow": "../workflows/review.json",
    "description": "A small change.",
    "context": {"size": "small"},
    "agent": {"kind": "auto", "turns": [{"step": "first-look", "notes": "It is small.", "context": {"size": "small"}}]},
    "expect": {"status": "complete", "outputs": {"first-look": {"notes": "It is small."}}},
}
CONFIGURATION = """target = "ir"
routines = "routines"
ignore = ["CA007"]

[[suppress]]
place = "workflows/review.json#/steps/small-way"
codes = ["PR019"]
reason = "Meant for experts."
expires = "2999-01-01"
"""


def make_project(folder: Path) -> None:
    """Write a document of every kind."""

    def write(path: str, content: object) -> None:
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        text = content if isinstance(content, str) else json.dumps(content, indent=2, ensure_ascii=False) + "\n"
        file.write_text(text, encoding="utf-8")

    write("workrail-lint.toml", CONFIGURATION)
    write("docs/style.md", "# Style\n")
    write("workflows/review.json", WORKFLOW)
    write("scenarios/review.scenario.json", SCENARIO)
    write(".workrail/bindings.json", {"demo.review": {"last_check": "Run everything."}})
    write("catalog.json", load_core().document)
    shutil.copytree(FIXTURES / "routines", folder / "routines")
    shutil.copytree(FIXTURES / "team" / "lean", folder / "team")
    shutil.copytree(FIXTURES / "team" / "full", folder / "full")
    shutil.copytree(FIXTURES / "blocks" / "in-lanes", folder / "blocks")
