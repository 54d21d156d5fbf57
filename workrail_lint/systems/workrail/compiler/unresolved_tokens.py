"""C6: no `{{wr.` token may survive in a prompt.

The engine searches the rendered prompt and knows only the step. An author needs the text that contains the token, and
the reason why it was not resolved; both are found in the step as written.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from workrail_lint.base import js
from workrail_lint.base.patterns import Pattern
from workrail_lint.base.wording import quoted
from workrail_lint.documents import pointer as pointers
from workrail_lint.findings import Finding
from workrail_lint.systems.workrail.compiler.bindings import TOKEN
from workrail_lint.systems.workrail.compiler.nodes import Node, Nodes, compile_error, step_label, walk

SENTINEL = "{{wr."
_UNTERMINATED = "{{wr.…"
_ENGINE_TOKEN = "{{wr.*}}"  # what the engine calls it
# What is left of this shape once the well-formed tokens are gone has white space inside.
_SPACED = Pattern(r"\{\{wr\.bindings\.[^{}]+\}\}")


class _Cause(NamedTuple):
    """Which finding it is, its place in the source, and what to say about the token."""

    name: str
    pointer: str
    reason: str
    on_name: bool = False


class _Authored(NamedTuple):
    """A text that becomes part of the prompt; `kind` is string, part or name."""

    text: str
    pointer: str
    kind: str


def scan_tokens(nodes: Nodes, definition: dict[str, Any], overrides: dict[str, str]) -> list[Finding]:
    """One error for each step whose prompt still contains a token."""
    left = [
        (node, prompt)
        for node in walk(nodes)
        if isinstance(prompt := node.step.get("prompt"), str) and "{" in prompt and SENTINEL in prompt
    ]
    if not left:
        return []
    slots = _Slots(definition.get("extensionPoints"), overrides)
    return [_unresolved(node, prompt, definition, slots) for node, prompt in left]


def _unresolved(node: Node, prompt: str, definition: dict[str, Any], slots: _Slots) -> Finding:
    token = _first_token(prompt)
    cause = _cause(node, definition, slots) or _Cause("token-unresolved", _whole(node), "is never resolved")
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


def _cause(node: Node, definition: dict[str, Any], slots: _Slots) -> _Cause | None:
    """The first authored text whose token survives; None if only a builtin can have added it."""
    try:
        step = pointers.resolve(definition, node.pointer)
    except KeyError:
        return None
    if not isinstance(step, dict):
        return None
    texts = _arguments(step, node.pointer) if _from_template(node) else _authored(step, node.pointer)
    for authored in texts:
        if SENTINEL in authored.text:
            cause = _judge(authored, slots)
            if cause is not None:
                return cause
    return None


def _judge(authored: _Authored, slots: _Slots) -> _Cause | None:
    text, pointer, kind = authored
    if kind == "name":
        return _Cause("token-unresolved", pointer, "is in a member name, where it is never resolved", True)
    if kind == "part" and TOKEN.search(text):
        return _Cause("token-in-part", pointer, "is in a list of parts; only plain strings can use bindings")
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

    def __init__(self, extension_points: object, overrides: dict[str, str]) -> None:
        self.overrides = overrides
        self.defaults: dict[str, str] = {}
        self.places: dict[str, str] = {}
        for index, point in enumerate(extension_points if isinstance(extension_points, list) else ()):
            slot = point.get("slotId") if isinstance(point, dict) else None
            if isinstance(slot, str) and slot not in self.defaults:
                default = point.get("default")
                self.defaults[slot] = default if isinstance(default, str) else ""
                self.places[slot] = f"/extensionPoints/{index}"

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


def _arguments(step: dict[str, Any], pointer: str) -> Iterator[_Authored]:
    """The texts that a calling step adds to the prompts of its routine."""
    call = step.get("templateCall")
    args = call.get("args") if isinstance(call, dict) else None
    for name, value in args.items() if isinstance(args, dict) else ():
        if isinstance(value, str):
            yield _Authored(value, pointers.child(f"{pointer}/templateCall/args", name), "string")


def _authored(step: dict[str, Any], pointer: str) -> Iterator[_Authored]:
    """The texts that make up the prompt, in rendering order."""
    prompt, blocks = step.get("prompt"), step.get("promptBlocks")
    if isinstance(prompt, str) and prompt:
        yield _Authored(prompt, f"{pointer}/prompt", "string")
    if not isinstance(blocks, dict):
        return
    base = f"{pointer}/promptBlocks"
    yield from _value(blocks.get("goal"), f"{base}/goal")
    yield from _items(blocks, "constraints", base)
    yield from _items(blocks, "procedure", base)
    required = blocks.get("outputRequired")
    output: dict[str, Any] = required if isinstance(required, dict) else {}
    for name in js.keys(output):
        place = pointers.child(f"{base}/outputRequired", name)
        yield _Authored(name, place, "name")
        yield from _value(output[name], place)
    yield from _items(blocks, "verify", base)


def _items(blocks: dict[str, Any], section: str, base: str) -> Iterator[_Authored]:
    items = blocks.get(section)
    for index, item in enumerate(items if isinstance(items, list) else ()):
        yield from _value(item, f"{base}/{section}/{index}")


def _value(value: object, pointer: str) -> Iterator[_Authored]:
    if isinstance(value, str):
        yield _Authored(value, pointer, "string")
    for index, part in enumerate(value if isinstance(value, list) else ()):
        if isinstance(part, dict) and isinstance(part.get("text"), str):
            yield _Authored(part["text"], f"{pointer}/{index}/text", "part")
