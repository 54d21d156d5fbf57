"""What a step asks for beyond its prompt, in a few words each."""

from __future__ import annotations

from typing import Any, NamedTuple

from workrail_lint.systems.workrail.graph.conditions import condition_text


class Note(NamedTuple):
    """One thing about a step. `kind`: gate, contract, assessment, fragments, delegation."""

    kind: str
    text: str


def notes(step: dict[str, Any]) -> list[Note]:
    """The notes of a step, its condition left out: drawings show it as a branch."""
    found = []
    confirmation = step["confirmation"]
    if confirmation["kind"] != "never":
        who = "a person" if needs_person(confirmation) else "the coordinator"
        when = f" if {condition_text(confirmation['condition'])}" if "condition" in confirmation else ""
        found.append(Note("gate", f"confirmed by {who}{when}"))
    output = step.get("output", {})
    if "contract" in output:
        found.append(Note("contract", f"submits {output['contract']['ref']}"))
    if "assessments" in output:
        found.append(Note("assessment", f"assessed: {', '.join(output['assessments']['refs'])}"))
    if step.get("fragments"):
        count = len(step["fragments"])
        found.append(Note("fragments", f"{count} conditional {'text' if count == 1 else 'texts'}"))
    return found


def needs_person(confirmation: dict[str, Any]) -> bool:
    """Whether a person confirms: always, unless the author named the coordinator for it."""
    return confirmation["gate"] == "human_approval" or not confirmation.get("explicit", False)


def step_kind(step: dict[str, Any]) -> str:
    """Who wrote a step: authored, template, virtual (made by the compiler) or normalized (the design form)."""
    source: str = step["provenance"]["source"]
    return source
