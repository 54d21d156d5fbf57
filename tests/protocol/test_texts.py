"""What an agent reads: scaffolding line by line, in the full and in the clean format."""

from __future__ import annotations

import json
from typing import Any

import pytest
from protocol_bench import Bench, compiled, quiet, step, workflow

from pytest_workrail.engine.core.prompts import PromptStyle
from pytest_workrail.engine.protocol.engine import Options
from pytest_workrail.engine.protocol.library import NoWorkspace
from pytest_workrail.engine.protocol.text import error_text, heading, step_hash

USER = "---------\nUSER\n---------\n\n"
SYSTEM = "---------\nSYSTEM\n---------\n\n"
TWO = workflow("two-steps", quiet("one"), quiet("two"))


def text_of(bench: Bench) -> str:
    assert bench.reply is not None
    return bench.reply.text[-1]


def token_block(bench: Bench, name: str, step_id: str) -> str:
    token = json.dumps({"continueToken": bench.actual(name)}, separators=(",", ":"))
    return f"**Token for step `{step_id}`:**\n\n```json\n{token}\n```\n\n"


def test_success() -> None:
    bench = Bench(TWO)
    bench.start()
    text = text_of(bench)
    top = f"{USER}# One\n<!-- stepId: one -->\n\nDo one.\n\n{SYSTEM}{token_block(bench, 'CT1', 'one')}"
    assert text.startswith(top)
    parts = text.removeprefix(top).split("\n\n")
    assert len(parts) == 4
    assert parts[-1] == "Preferences: guided mode, conservative risk."
    assert bench.actual("CK1") not in text


@pytest.mark.parametrize(
    ("preferences", "line"),
    [
        (
            {"autonomy": "full_auto_stop_on_user_deps", "riskPolicy": "balanced"},
            "Preferences: full autonomy (stop on user deps), balanced risk.",
        ),
        (
            {"autonomy": "full_auto_never_stop", "riskPolicy": "aggressive"},
            "Preferences: full autonomy (never stop), aggressive risk.",
        ),
    ],
)
def test_preferences_in_words(preferences: Any, line: str) -> None:
    bench = Bench(TWO)
    bench.start(preferences=preferences)
    assert text_of(bench).endswith(line)


def test_rehydrate() -> None:
    bench = Bench(TWO)
    bench.start()
    bench.look("CT1")
    top = f"{USER}# One (resumed)\n<!-- stepId: one -->\n\nDo one.\n\n{SYSTEM}{token_block(bench, 'CT2', 'one')}"
    assert text_of(bench).startswith(top)
    assert "Preferences:" not in text_of(bench)


def test_complete() -> None:
    bench = Bench(workflow("one-step", quiet("one")))
    bench.start()
    bench.advance("CT1")
    text = text_of(bench)
    assert text.startswith(f"{SYSTEM}# Workflow Complete\n\n")
    assert text.count("\n\n") == 2


VERDICT = workflow(
    "verdict",
    step("judge", "Judge", "Judge.", outputContract={"contractRef": "wr.contracts.gate_verdict"}),
    quiet("rest"),
)


def test_blocked() -> None:
    bench = Bench(VERDICT)
    bench.start()
    odd = {"kind": "wr.gate_verdict", "version": 1, "verdict": "maybe", "confidence": "high", "rationale": "x" * 20}
    answer = bench.engine.continue_workflow({"continueToken": bench.actual("CT1"), "artifacts": [odd]})
    shown = bench.shown(answer)
    fix = answer.value.to_json()["blockers"]["blockers"][0]["suggestedFix"]  # type: ignore[index, call-overload]
    issue, suggestion = shown["validation"]["issues"][0], shown["validation"]["suggestions"][0]
    head = (
        f"{SYSTEM}# Blocked: Invalid Output\n<!-- stepId: judge -->\n\n"
        "Invalid output for contractRef=wr.contracts.gate_verdict.\n\n"
        f"**What to do:** {fix}\n\n**Issues:**\n- {issue}\n\n**Suggestions:**\n- {suggestion}\n\n"
    )
    text = text_of(bench)
    assert text.startswith(head)
    instruction, rest = text.removeprefix(head).split("\n\n", 1)
    assert "\n" not in instruction
    assert rest + "\n\n" == token_block(bench, "CT3", "judge")


def test_a_followup_block() -> None:
    consequence = {"when": {"anyEqualsLevel": "low"}, "effect": {"kind": "require_followup", "guidance": "Look again."}}
    bench = Bench(
        workflow(
            "assess",
            quiet("rate", assessmentRefs=["ready"], assessmentConsequences=[consequence]),
            assessments=[
                {
                    "id": "ready",
                    "purpose": "Ready?",
                    "dimensions": [{"id": "sure", "purpose": "How sure", "levels": ["low", "high"]}],
                }
            ],
        )
    )
    bench.start()
    bench.go("CT1", artifacts=[{"kind": "wr.assessment", "dimensions": {"sure": "low"}}])
    title = "Assessment follow-up matched ready.sure == low"
    # A code without a heading of its own shows itself.
    assert "# Blocked: ASSESSMENT_FOLLOWUP_REQUIRED\n" in text_of(bench)
    assert f"\n- {title}\n- Look again.\n\n" in text_of(bench)


def test_a_terminal_block_involves_the_user() -> None:
    bench = Bench(workflow("risky", quiet("one", requireConfirmation=True), quiet("two")), profile="locked")
    bench.start(preferences={"autonomy": "full_auto_stop_on_user_deps"})
    bench.advance("CT1")
    text = text_of(bench)
    assert "# Blocked: User Input Required" in text
    assert "Tell the user" in text
    assert "**Issues:**" not in text


def test_headings() -> None:
    headings = {
        "USER_ONLY_DEPENDENCY": "User Input Required",
        "MISSING_REQUIRED_OUTPUT": "Missing Required Output",
        "INVALID_REQUIRED_OUTPUT": "Invalid Output",
        "MISSING_REQUIRED_NOTES": "Missing Required Notes",
        "ASSESSMENT_FOLLOWUP_REQUIRED": "ASSESSMENT_FOLLOWUP_REQUIRED",
        "MISSING_CONTEXT_KEY": "Missing Context",
        "CONTEXT_BUDGET_EXCEEDED": "Context Budget Exceeded",
        "REQUIRED_CAPABILITY_UNKNOWN": "Unknown Capability Required",
        "REQUIRED_CAPABILITY_UNAVAILABLE": "Capability Unavailable",
        "INVARIANT_VIOLATION": "Invariant Violation",
        "STORAGE_CORRUPTION_DETECTED": "Storage Error",
    }
    assert {code: heading(code) for code in headings} == headings


def test_everything_else_is_json() -> None:
    bench = Bench(TWO)
    bench.start()
    bench.checkpoint("CK1")
    assert bench.reply is not None
    assert json.loads(text_of(bench)) == bench.reply.to_json()
    error = bench.engine.continue_workflow({"continueToken": "x"}).error
    assert json.loads(error_text(error)) == error.to_json()
    gated = Bench(workflow("gated", quiet("one", requireConfirmation=True), quiet("two")))
    gated.start(initialContext={"is_autonomous": "true"})
    gated.advance("CT1")
    assert json.loads(text_of(gated))["kind"] == "gate_checkpoint"


class WithGuide(NoWorkspace):
    def resolve(self, reference: Any, workspace_path: str | None) -> str | None:
        return "/w/docs/guide.md" if reference["id"] == "guide" else None


def referring() -> dict[str, Any]:
    ir = compiled(TWO)
    guide = {"id": "guide", "title": "Guide", "source": "docs/guide.md", "purpose": "How to", "authoritative": True}
    lost = guide | {"id": "lost", "title": "Lost", "source": "gone.md", "authoritative": False}
    ir["references"] = [guide, lost | {"resolveFrom": "package"}]
    return ir


def test_references() -> None:
    bench = Bench(referring(), workspace=WithGuide())
    started = bench.start()
    assert started["references"] == [
        {
            "id": "guide",
            "title": "Guide",
            "source": "docs/guide.md",
            "purpose": "How to",
            "authoritative": True,
            "resolveFrom": "workspace",
            "status": "resolved",
            "resolvedPath": "/w/docs/guide.md",
        },
        {
            "id": "lost",
            "title": "Lost",
            "source": "gone.md",
            "purpose": "How to",
            "authoritative": False,
            "resolveFrom": "package",
            "status": "unresolved",
        },
    ]
    assert text_of(bench).split("\n")[2:] == [
        "- **Guide** (authoritative)",
        "  - Path: `/w/docs/guide.md`",
        "  - Purpose: How to",
        "- **Lost** [unresolved] [package]",
        "  - Path: `gone.md`",
        "  - Purpose: How to",
    ]
    assert bench.look("CT1")["references"] == started["references"]
    assert text_of(bench).split("\n")[2:] == [
        "- **Guide** (authoritative): `/w/docs/guide.md`",
        "- **Lost** [unresolved] [package]: `gone.md`",
    ]
    assert "references" not in bench.advance("CT1")
    assert bench.reply is not None
    assert len(bench.reply.text) == 1


def clean(*authored: dict[str, Any], **options: Any) -> Bench:
    return Bench(*authored, options=Options(style=PromptStyle.CLEAN), **options)


def test_the_clean_format() -> None:
    bench = clean(workflow("clean", step("one", "One", "Do one."), step("two", "Two", "Do two.")))
    bench.start()
    assert bench.reply is not None
    assert len(bench.reply.text) == 5
    prompt, _, footer = bench.reply.text[-1].partition("\n\n---\n")
    assert prompt == "Do one."
    assert footer.endswith(f" {bench.actual('CT1')}\n---")
    bench.look("CT1")
    assert len(bench.reply.text) == 4
    bench.go("CT1", notes="n1")
    assert len(bench.reply.text) == 1
    token = bench.look(f"CT{bench._counts['CT']}")["continueToken"].strip("«»")
    assert "\n\nYour previous work:\n\n### Ancestry Recap\nn1" in bench.reply.text[-1]
    blocked = bench.advance(token)
    assert "\n\n" not in bench.reply.text[-1]
    assert bench.reply.text[-1].endswith(bench.actual(blocked["retryContinueToken"].strip("«»")))
    bench.go(blocked["retryContinueToken"].strip("«»"), notes="n2")
    assert "\n" not in bench.reply.text[-1]


def test_footers_are_chosen_by_the_step() -> None:
    """The hash is the one of the reference: 31·h plus the code unit, in 32 bits with a sign."""
    assert [step_hash(text) for text in ("", "a", "ab", "gather", "wr-system-onboarding")] == [
        0,
        97,
        3105,
        _java_hash("gather"),
        _java_hash("wr-system-onboarding"),
    ]
    assert step_hash("😀") == _java_hash("\ud83d\ude00")
    ids = [f"step-{number}" for number in range(40)]
    assert {abs(step_hash(each)) % 4 for each in ids} == {0, 1, 2, 3}
    assert {abs(step_hash(each)) % 3 for each in ids} == {0, 1, 2}


def _java_hash(units: str) -> int:
    value = 0
    for unit in units:
        value = (value * 31 + ord(unit)) % 2**32
    return value - 2**32 if value >= 2**31 else value


def test_a_terminal_block_in_the_clean_format() -> None:
    bench = Bench(
        workflow("risky", quiet("one", requireConfirmation=True), quiet("two")),
        options=Options(profile="locked", style=PromptStyle.CLEAN),
    )
    bench.start(preferences={"autonomy": "full_auto_stop_on_user_deps"})
    bench.advance("CT1")
    assert text_of(bench).endswith("Tell the user and wait.")
