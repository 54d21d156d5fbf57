"""C2 and C6: binding tokens become the project's override or the slot's default, and no token may survive."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from workrail_lint.base import js
from workrail_lint.base.patterns import Pattern
from workrail_lint.base.suggest import nearest_id
from workrail_lint.base.wording import quoted
from workrail_lint.documents.nodes import numbered
from workrail_lint.findings import Finding
from workrail_lint.systems.workrail.compiler.nodes import (
    Node,
    Nodes,
    RawStep,
    compile_error,
    name_hint,
    step_label,
    walk,
)
from workrail_lint.systems.workrail.model.nodes import BINDING_PREFIX
from workrail_lint.systems.workrail.model.workflow import (
    ExtensionPoint,
    PromptBlocks,
    PromptValue,
    StandardStep,
    Step,
    Workflow,
)

TOKEN = Pattern(r"\{\{wr\.bindings\.([^" + js.WHITESPACE_CLASS + r"{}]+)\}\}")
RESERVED_KEY = "__proto__"


_Resolve: TypeAlias = Callable[[str, str], str]


class Bound:
    """The slots that were used, and those that the project overrides."""

    __slots__ = ("overrides", "resolved")

    def __init__(self, resolved: dict[str, str], overrides: dict[str, str]) -> None:
        self.resolved = resolved
        self.overrides = overrides


class _UnknownSlot(Exception):  # noqa: N818 - control flow inside this module
    def __init__(self, slot: str, part: str) -> None:
        self.slot = slot
        self.part = part


def resolve_bindings(
    steps: list[Node], extension_points: Sequence[ExtensionPoint], overrides: dict[str, str]
) -> tuple[Bound, list[Finding]]:
    """Replace the tokens in the fields that allow them."""
    using = [node for node in steps if _has_tokens(node.model)]
    if not using:
        return Bound({}, {}), []
    defaults = declared_slots(extension_points)
    bound = Bound({}, {})
    errors: list[Finding] = []

    def lookup(slot: str, part: str) -> str:
        if slot in overrides:
            bound.overrides[slot] = overrides[slot]
            value = overrides[slot]
        elif slot in defaults:
            value = defaults[slot]
        else:
            raise _UnknownSlot(slot, part)
        bound.resolved[slot] = value
        return value

    def resolve(text: str, part: str) -> str:
        if BINDING_PREFIX not in text:
            return text
        current = text
        for match in TOKEN.finditer(text):
            # Every occurrence in the current text, so a token inside a default may be resolved too.
            current = current.replace(match[0], lookup(match[1], part))
        return current

    for node in using:
        assert node.model.kind == "standard"
        try:
            node.revise(_resolve_step(node.model, resolve))
        except _UnknownSlot as unknown:
            errors.append(_unknown(node, unknown, defaults))
    return bound, errors


def declared_slots(extension_points: Sequence[ExtensionPoint]) -> dict[str, str]:
    """Return the default of each slot; the first declaration of a slot counts."""
    slots: dict[str, str] = {}
    for point in extension_points:
        if point.has("slotId"):
            slots.setdefault(point.slot_id, point.default)
    return slots


def _has_tokens(step: Step) -> bool:
    """Return whether the pass would change a step; most have no bindings."""
    if step.kind != "standard":
        return False
    if step.prompt_blocks is not None and RESERVED_KEY in step.prompt_blocks.output_required:
        return True
    return step.has_bindings


def _resolve_step(step: StandardStep, resolve: _Resolve) -> RawStep:
    changes: RawStep = {}
    if step.prompt is not None and (text := resolve(step.prompt, "prompt")) is not step.prompt:
        changes["prompt"] = text
    if step.prompt_blocks is not None:
        blocks = _resolve_blocks(step.prompt_blocks, resolve)
        if blocks:
            changes["promptBlocks"] = {**step.prompt_blocks.raw, **blocks}
    return {**step.raw, **changes} if changes else step.raw


def _resolve_blocks(blocks: PromptBlocks, resolve: _Resolve) -> RawStep:
    """The sections that change."""
    changes: RawStep = {}
    if isinstance(blocks.goal, str) and (text := resolve(blocks.goal, "promptBlocks/goal")) is not blocks.goal:
        changes["goal"] = text
    for section, items in blocks.sections:
        texts = {
            index: text
            for index, item in numbered(items)
            if isinstance(item, str) and (text := resolve(item, f"promptBlocks/{section}/{index}")) is not item
        }
        if texts:
            changes[section] = [texts.get(index, item) for index, item in enumerate(blocks.raw[section])]
    output = blocks.output_required
    values = {name: resolve(text, f"promptBlocks/outputRequired/{name}") for name, text in output.items()}
    # The engine rebuilds this object by assignment, which sets the prototype and drops this name.
    values.pop(RESERVED_KEY, None)
    if values != output:
        changes["outputRequired"] = {**blocks.raw["outputRequired"], **values}
        changes["outputRequired"].pop(RESERVED_KEY, None)
    return changes


def _unknown(node: Node, unknown: _UnknownSlot, declared: dict[str, str]) -> Finding:
    slot = unknown.slot
    suggestion = nearest_id(slot, declared)
    details: dict[str, object] = {} if suggestion is None else {"suggestion": suggestion}
    from_template = node.origin is not None and node.origin.source == "template"
    return compile_error(
        "UNKNOWN_BINDING_SLOT",
        "binding-slot-undeclared",
        "C2",
        node,
        f"{step_label(node)}: unknown binding slot {quoted(slot)}{name_hint(suggestion, 'declared slots', declared)}",
        node.place if from_template else f"{node.pointer}/{unknown.part}",
        details={"slot": slot, **details},
    )


# C6: no `{{wr.` token may survive in a prompt.
#
# The engine searches the rendered prompt and knows only the step. An author needs the text that contains the token, and
# the reason why it was not resolved; both are found in the step as written.


SENTINEL = "{{wr."
_UNTERMINATED = "{{wr.…"
_ENGINE_TOKEN = "{{wr.*}}"  # what the engine calls it
# What is left of this shape once the well-formed tokens are gone has white space inside.
_SPACED = Pattern(r"\{\{wr\.bindings\.[^{}]+\}\}")


class _Cause:
    """Which finding it is, its place in the source, and what to say about the token."""

    __slots__ = ("name", "on_name", "pointer", "reason")

    def __init__(self, name: str, pointer: str, reason: str, on_name: bool = False) -> None:
        self.name = name
        self.pointer = pointer
        self.reason = reason
        self.on_name = on_name


class _Authored:
    """A text that becomes part of the prompt; `kind` is string, part or name."""

    __slots__ = ("kind", "pointer", "text")

    def __init__(self, text: str, pointer: str, kind: str) -> None:
        self.text = text
        self.pointer = pointer
        self.kind = kind


def scan_tokens(nodes: Nodes, workflow: Workflow, overrides: dict[str, str]) -> list[Finding]:
    """One error for each step whose prompt still contains a token."""
    left = [
        (node, node.prompt) for node in walk(nodes) if node.prompt and "{" in node.prompt and SENTINEL in node.prompt
    ]
    if not left:
        return []
    slots = _Slots(workflow.extension_points, overrides)
    written = {step.pointer: step for step in workflow.all_steps}
    return [_unresolved(node, prompt, written.get(node.pointer), slots) for node, prompt in left]


def _unresolved(node: Node, prompt: str, written: Step | None, slots: _Slots) -> Finding:
    token = _first_token(prompt)
    cause = _cause(node, written, slots) or _Cause("token-unresolved", _whole(node), "is never resolved")
    finding = compile_error(
        "UNRESOLVED_TOKEN",
        cause.name,
        "C6",
        node,
        f"{step_label(node)}: the token {quoted(token or _UNTERMINATED)} {cause.reason}",
        cause.pointer,
        details={"token": token or _ENGINE_TOKEN, "isLoopBodyStep": node.loop_id is not None},
    )
    finding.on_name = cause.on_name
    return finding


def _first_token(text: str) -> str | None:
    """The first `{{wr.` that is closed by the next brace; linear in the length of any text."""
    start = text.find(SENTINEL)
    while start >= 0:
        end = text.find("}", start)
        if end < 0:
            return None
        if text.startswith("}}", end):
            return text[start : end + 2]
        start = text.find(SENTINEL, end)
    return None


def _from_template(node: Node) -> bool:
    return node.origin is not None and node.origin.source == "template"


def _whole(node: Node) -> str:
    return node.place if _from_template(node) else f"{node.pointer}/{node.prompt_member}"


def _cause(node: Node, written: Step | None, slots: _Slots) -> _Cause | None:
    """The first authored text whose token survives; None if only a builtin can have added it."""
    if written is None or written.kind != "standard":
        return None
    for authored in _arguments(written) if _from_template(node) else _authored(written):
        if SENTINEL in authored.text:
            cause = _judge(authored, slots)
            if cause is not None:
                return cause
    return None


def _judge(authored: _Authored, slots: _Slots) -> _Cause | None:
    text, pointer, kind = authored.text, authored.pointer, authored.kind
    if kind == "name":
        return _Cause("token-unresolved", pointer, "is in a member name, where it is never resolved", True)
    if kind == "part" and TOKEN.search(text):
        return _Cause("token-unresolved", pointer, "is in a list of parts; only plain strings can use bindings")
    # C2 handles well-formed binding tokens; nothing resolves other text that starts like a token.
    rest = TOKEN.sub("\0", text)
    if SENTINEL in rest:
        if _first_token(rest) is None:
            return _Cause("token-malformed", pointer, "is not closed; add }}")
        if _SPACED.search(rest):
            return _Cause("token-malformed", pointer, "has white space, so it is never resolved; remove it")
        return _Cause("token-unresolved", pointer, "is never resolved; only {{wr.bindings.<slot>}} is")
    if SENTINEL not in slots.resolved(text):
        return None
    return slots.cause(text) or _Cause("token-unresolved", pointer, "is never resolved")


class _Slots:
    """The values of binding tokens, and where they are declared."""

    def __init__(self, extension_points: Sequence[ExtensionPoint], overrides: dict[str, str]) -> None:
        self.overrides = overrides
        self.defaults: dict[str, str] = {}
        self.places: dict[str, str] = {}
        for point in extension_points:
            if point.has("slotId") and point.slot_id not in self.defaults:
                self.defaults[point.slot_id] = point.default
                self.places[point.slot_id] = point.pointer

    def value(self, slot: str) -> str | None:
        return self.overrides.get(slot, self.defaults.get(slot))

    def resolved(self, text: str) -> str:
        """As C2 does it: one token after the other, each in the result of the one before."""
        current = text
        for match in TOKEN.finditer(text):
            value = self.value(match[1])
            if value is not None:
                current = current.replace(match[0], value)
        return current

    def cause(self, text: str) -> _Cause | None:
        for match in TOKEN.finditer(text):
            slot = match[1]
            if SENTINEL not in (self.value(slot) or ""):
                continue
            if slot in self.overrides:
                place = self.places.get(slot)
                pointer = f"{place}/slotId" if place else ""
                return _Cause(
                    "binding-default-token",
                    pointer,
                    f"comes from the project's override of slot {quoted(slot)}, and slot values are not resolved again",
                )
            return _Cause(
                "binding-default-token",
                f"{self.places[slot]}/default",
                f"comes from the default of slot {quoted(slot)}, and slot values are not resolved again",
            )
        return None


def _arguments(step: StandardStep) -> Iterator[_Authored]:
    """The texts that a calling step adds to the prompts of its routine."""
    call = step.template_call
    for name, value in call.args.items() if call is not None else ():
        if call is not None and isinstance(value, str):
            yield _Authored(value, call.at("args", name), "string")


def _authored(step: StandardStep) -> Iterator[_Authored]:
    """The texts that make up the prompt, in rendering order."""
    if step.prompt:
        yield _Authored(step.prompt, step.at("prompt"), "string")
    blocks = step.prompt_blocks
    if blocks is None:
        return
    if blocks.goal is not None:
        yield from _value(blocks.goal, blocks.at("goal"))
    constraints, procedure, verify = blocks.sections
    yield from _items(blocks, *constraints)
    yield from _items(blocks, *procedure)
    for name in js.keys(blocks.output_required):
        place = blocks.at("outputRequired", name)
        yield _Authored(name, place, "name")
        yield _Authored(blocks.output_required[name], place, "string")
    yield from _items(blocks, *verify)


def _items(blocks: PromptBlocks, section: str, values: Sequence[PromptValue]) -> Iterator[_Authored]:
    for index, value in numbered(values):
        yield from _value(value, blocks.at(section, index))


def _value(value: PromptValue, pointer: str) -> Iterator[_Authored]:
    if isinstance(value, str):
        yield _Authored(value, pointer, "string")
        return
    for part in value:
        if part.kind == "text":
            yield _Authored(part.text, part.at("text"), "part")
