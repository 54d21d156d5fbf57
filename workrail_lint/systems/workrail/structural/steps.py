"""Ids, prompt sources, fragments, and the configuration of virtual steps."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from workrail_lint.base import js
from workrail_lint.base.wording import listed, quoted
from workrail_lint.findings import Finding
from workrail_lint.systems.workrail.compiler.nodes import Node, Nodes, step_label
from workrail_lint.systems.workrail.structural.common import (
    Definition,
    Steps,
    finding,
    items_of,
    members_of,
    repeated,
)

_SOURCES = {"prompt", "promptBlocks", "templateCall"}
_STANDARD = (None, "standard")
_VIRTUAL = frozenset({"verification", "audit", "synthesis"})


def check_ids(nodes: Nodes) -> Iterator[Finding]:
    for ident, pointer, other in _shared(nodes):
        message = f"duplicate step id {quoted(ident)}; steps[{other}] has the same id"
        yield finding("step-id-duplicate", pointer, message)
    for loop in [node for node in nodes if node.body]:
        for ident, pointer, other in _shared(loop.body or ()):
            yield finding(
                "step-id-duplicate-body",
                pointer,
                f"loop {quoted(loop.id)}: duplicate step id {quoted(ident)}; body[{other}] has the same id",
            )


def _shared(nodes: Nodes) -> Iterator[tuple[str, str, int]]:
    """Every step with a duplicate id, since either may be the wrong one, and the index of the other step."""
    if len({node.id for node in nodes}) == len(nodes):
        return
    by_id: dict[str, list[Node]] = {}
    for node in nodes:
        if node.id:
            by_id.setdefault(node.id, []).append(node)
    for ident, sharing in by_id.items():
        for node in sharing if len(sharing) > 1 else ():
            other = sharing[0] if node is not sharing[0] else sharing[1]
            yield ident, f"{node.pointer}/id", int(other.pointer.rpartition("/")[2])


def check_references(definition: Definition) -> Iterator[Finding]:
    references = items_of(definition.get("references"))
    pairs = ((members_of(item).get("id"), f"/references/{i}/id") for i, item in enumerate(references))
    for ident, pointer, number in repeated(pairs):
        message = f"reference id {quoted(ident)} is already used by reference number {number}; rename one of them"
        yield finding("reference-id-duplicate", pointer, message)


def check_steps(steps: Steps) -> Iterator[Finding]:
    for node in steps:
        step = node.step
        kind = step.get("type")
        if kind != "parallel":
            # A step of an unknown kind was meant to be something else, which may need no prompt.
            sources = ("prompt" in step) + ("promptBlocks" in step) + ("templateCall" in step)
            if sources != 1 and kind in _STANDARD:
                yield from _prompt_source(node)
            if "promptFragments" in step:
                yield from _fragments(node)
        if not _VIRTUAL.isdisjoint(step):
            yield from _virtual_config(node)


def _prompt_source(node: Node) -> Iterator[Finding]:
    present = [name for name in node.step if name in _SOURCES]
    in_body = node.loop_id is not None
    if not present:
        yield finding(
            "prompt-source-missing",
            node.pointer,
            f"{step_label(node)} has no prompt; add `prompt`, `promptBlocks` or `templateCall`",
        )
    elif len(present) > 1 and not (in_body and "templateCall" not in present):
        # In a body the compiler rejects that one pair; the engine silently drops the rest.
        yield finding(
            "prompt-source-multiple",
            # Where the compiler reports it too, so it is reported once.
            f"{node.pointer}/{'promptBlocks' if {'prompt', 'promptBlocks'} <= set(present) else present[-1]}",
            f"{step_label(node)} has {listed(f'`{name}`' for name in present)}; keep one of them",
            engine=not in_body,
            on_name=True,
        )


def _fragments(node: Node) -> Iterator[Finding]:
    fragments = items_of(node.step.get("promptFragments"))
    base = f"{node.pointer}/promptFragments"
    engine = node.loop_id is None
    pairs = ((members_of(item).get("id"), f"{base}/{i}/id") for i, item in enumerate(fragments))
    for ident, pointer, first in repeated(pairs):
        message = f"{step_label(node)}: duplicate fragment id {quoted(ident)}; promptFragments[{first}] already uses it"
        yield finding("fragment-id-duplicate", pointer, message, engine=engine)
    for index, item in enumerate(fragments):
        text = members_of(item).get("text")
        if isinstance(text, str) and "{{" in text and "{{wr." in text.lower():
            yield finding(
                "fragment-wr-token",
                f"{base}/{index}/text",
                f"{step_label(node)}: a {{{{wr.…}}}} token in a fragment is never resolved; write the value",
                engine=engine,
            )


def _virtual_config(node: Node) -> Iterator[Finding]:
    step = node.step
    parallel = step.get("type") == "parallel"
    if not parallel and isinstance(step.get("verification"), dict):
        command = step["verification"].get("command")
        if isinstance(command, str) and js.is_blank(command):
            yield finding(
                "verification-command-blank",
                f"{node.pointer}/verification/command",
                f"{step_label(node)}: the verification command is blank; write it, or remove `verification`",
            )
    if not parallel and isinstance(step.get("audit"), dict):
        yield from _audit(node, step["audit"])
    if parallel and isinstance(step.get("synthesis"), dict):
        synthesis = step["synthesis"]
        if not _has_text(synthesis.get("prompt")) and "outputContract" not in synthesis:
            yield finding(
                "synthesis-config-empty",
                f"{node.pointer}/synthesis",
                f"{step_label(node)}: `synthesis` needs a `prompt` or an `outputContract`",
            )


def _audit(node: Node, audit: dict[str, Any]) -> Iterator[Finding]:
    rubric = items_of(audit.get("rubric"))
    if not _has_text(audit.get("prompt")) and not rubric:
        yield finding(
            "audit-config-empty",
            f"{node.pointer}/audit",
            f"{step_label(node)}: `audit` needs a `prompt` or at least one `rubric` item",
        )
    for index, item in enumerate(rubric):
        if isinstance(item, str) and js.is_blank(item):
            yield finding(
                "audit-rubric-blank",
                f"{node.pointer}/audit/rubric/{index}",
                f"{step_label(node)}: audit.rubric[{index}] is blank; fill it in or remove it",
            )


def _has_text(value: object) -> bool:
    return isinstance(value, str) and not js.is_blank(value)
