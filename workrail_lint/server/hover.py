"""Hover texts for the thing under a cursor, in Markdown."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from workrail_lint.base.terminal import printable
from workrail_lint.findings import Finding
from workrail_lint.server import configuration
from workrail_lint.server.document import CONFIGURATION, OpenDocument
from workrail_lint.server.names import STEP, VARIABLE, name_at, related
from workrail_lint.server.place import Place
from workrail_lint.systems.workrail.analysis.definitions_and_uses import SET
from workrail_lint.systems.workrail.compiler.nodes import walk as walk_nodes
from workrail_lint.systems.workrail.provenance import pieces

_LONG = 4_000
_OF_THE_PROMPT = ("id", "title", "prompt", "promptBlocks", "templateCall", "templateId")
_SPECIAL = re.compile(r"[\\\[\]`*_~|#]")


class Hover(NamedTuple):
    """A text about the part between two offsets."""

    text: str
    start: int
    end: int


def hover(
    document: OpenDocument, offset: int, read: Callable[[str], OpenDocument | None] = lambda path: None
) -> Hover | None:
    """Return findings first, then the variable, the builtin, the step, the hash, or what the schema says."""
    checked = document.checked
    parts = [_rule_text(document, each) for each in (*checked.findings, *checked.stale) if _covers(each, offset)]
    place = document.place(offset)
    start, end = place.start, place.end
    if document.kind == CONFIGURATION:
        meant = configuration.meaning(document.path, document.text, offset, document.project)
        if meant is not None:
            parts.append(meant[0])
            start, end = meant[1:]
    else:
        text = _variable(document, place, offset) or _builtin(document, place) or _identity(document, place)
        text = text or _step(document, place) or _other_step(document, place, offset, read) or _schema(document, place)
        parts += [text] if text else []
    return Hover("\n\n---\n\n".join(parts), start, end) if parts else None


def _covers(finding: Finding, offset: int) -> bool:
    return finding.span is not None and finding.span.start.offset <= offset <= finding.span.end.offset


def _rule_text(document: OpenDocument, finding: Finding) -> str:
    rule = document.project.plan.selection.known.get(finding.code, finding.name)
    why = "" if rule is None else f"\n\n{_plain(rule.why)}"
    return f"**{finding.code} {finding.name}**: {_plain(finding.message)}{why}"


def _variable(document: OpenDocument, place: Place, offset: int) -> str | None:
    name = name_at(document, place, offset) if document.is_workflow else None
    return _variable_text(document, name.text) if name is not None and name.kind == VARIABLE else None


def _variable_text(document: OpenDocument, name: str) -> str | None:
    analysis = document.analysis
    if analysis is None:
        return None
    steps = analysis.steps
    setters = [
        steps[each.step].id for each in analysis.definitions(name) if each.step is not None and each.confidence in SET
    ]
    read = [steps[use.step].id for use in analysis.by_name.get(name, ())]
    giver = analysis.giver(name)
    lines = [
        f"**{_plain(name)}**, {'an input of the workflow' if name in analysis.inputs else 'a context variable'}",
        f"- set in: {', '.join(filter(None, (giver, _listed(setters)))) or 'nothing'}",
        f"- read in: {_listed(read) or 'nothing'}",
    ]
    domain = analysis.domain(name)
    if domain is not None:
        lines.append(f"- values: {_listed(map(json.dumps, domain.values))}")
    return "\n".join(lines)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{printable(name).replace('`', '')}`" for name in dict.fromkeys(names))


def _builtin(document: OpenDocument, place: Place) -> str | None:
    value, last = document.string_at(place.tokens), place.tokens[-1] if place.tokens else ""
    if place.is_name or value is None or not document.is_workflow:
        return None
    catalog = document.project.settings.catalog
    if last == "contractRef" and value in catalog.contracts:
        pack = catalog.contracts[value]
        shape = "\n".join(_fields(pack.schema))
        example = json.dumps(pack.example, indent=2)
        return f"{_about(pack.id, pack.title, pack.summary)}\n\n{shape}\n\n```json\n{example}\n```"
    if last == "refId" and value in catalog.refs:
        ref = catalog.refs[value]
        return f"{_about(ref.id, ref.title, ref.summary)}\n\n> {_quote(ref.text[:_LONG])}"
    if value in catalog.features and "features" in place.tokens:
        feature = catalog.features[value]
        return _about(feature.id, feature.title, feature.summary)
    if last == "templateId" and value in catalog.templates:
        routine = catalog.templates[value]
        return _about(value, str(routine.definition.get("name", "")), str(routine.definition.get("description", "")))
    return None


def _fields(schema: dict[str, Any]) -> Iterator[str]:
    """Yield the members of an artifact, one on each line."""
    required = schema.get("required", ())
    for name, member in schema.get("properties", {}).items():
        values = member.get("enum") or ([member["const"]] if "const" in member else [])
        kind = " or ".join(map(json.dumps, values)) or member.get("type", "value")
        yield f"- `{name}`: {_plain(str(kind))}{'' if name in required else ', optional'}"


def _identity(document: OpenDocument, place: Place) -> str | None:
    """Return the hashes of a workflow, on its own id and version."""
    if not document.is_workflow or place.tokens not in (("id",), ("version",)):
        return None
    compiled = document.compiled.compiled
    if compiled is None:
        return "This workflow does not compile, so it has no hash."
    engine = compiled.engine_hash or "none: the public engine refuses this workflow"
    return f"**{_plain(compiled.workflow_id)}**\n\n- hash: `{compiled.hash}`\n- engine hash: `{engine}`"


def _other_step(
    document: OpenDocument, place: Place, offset: int, read: Callable[[str], OpenDocument | None]
) -> str | None:
    """Return the step that a scenario names, from its workflow."""
    name = name_at(document, place, offset) if document.kind == "scenario" else None
    if name is None or name.kind not in (STEP, VARIABLE):
        return None
    for other in related(document, read):
        if not other.is_workflow:
            continue
        if name.kind == VARIABLE:
            return _variable_text(other, name.text)
        for node in walk_nodes(other.compiled.compiled.nodes if other.compiled.compiled is not None else ()):
            if node.id == name.text:
                return f"**{_plain(node.id)}**: {_plain(node.model.title)}\n\n> {_quote(node.prompt or '')}"[:_LONG]
    return None


def _about(ident: str, title: str, summary: str) -> str:
    return f"**{_plain(ident)}**: {_plain(title)}\n\n{_plain(summary)}"


def _step(document: OpenDocument, place: Place) -> str | None:
    """Return the compiled prompt of the step, with who wrote each part."""
    tokens = place.tokens
    if not document.is_workflow or len(tokens) < 3 or tokens[0] != "steps" or tokens[-1] not in _OF_THE_PROMPT:
        return None
    compiled = document.compiled.compiled
    if compiled is None:
        return None
    pointer = f"/steps/{tokens[1]}" + (f"/body/{tokens[3]}" if len(tokens) > 4 and tokens[2] == "body" else "")
    prompts = [(node, node.prompt) for node in walk_nodes(compiled.nodes) if node.pointer == pointer and node.prompt]
    texts = []
    for node, prompt in prompts[:4]:
        size = len(prompt.encode("utf-8", "surrogatepass"))
        texts.append(f"**{_plain(node.id)}**: the compiled prompt, {size} bytes")
        for piece in pieces(node):
            writer = f"{piece.kind} {piece.id}" if piece.id else piece.kind
            texts.append(f"*{_plain(writer)}*\n\n> {_quote(prompt[piece.start : piece.end])}")
    return "\n\n".join(texts)[:_LONG] or None


def _schema(document: OpenDocument, place: Place) -> str | None:
    walk = document.known.walk
    if walk is None:
        return None
    tokens = place.tokens
    if place.is_name:
        members = {member.name: member for member in walk.members(walk.at(tokens))}
        name = document.text[place.start : place.end]
        return walk.description(members[name].schemas) or None if name in members else None
    return walk.description(walk.at(tokens)) or None


def _quote(text: str) -> str:
    return _plain(text.strip("\n")).replace("\n", "\n> ")


def _plain(text: str) -> str:
    """Return text that Markdown leaves alone: editors render what a document says."""
    return _SPECIAL.sub(r"\\\g<0>", text).replace("<", "&lt;")
