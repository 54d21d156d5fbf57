"""Workflows with one mistake each: what the rules on variables and values are there to find."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from workrail_lint.documents.json_reader import read_json
from workrail_lint.documents.pointer import resolve
from workrail_lint.systems.workrail.analysis.definitions_and_uses import AUTHORED, Use
from workrail_lint.systems.workrail.catalog.catalog import load_core
from workrail_lint.systems.workrail.compat import normalize
from workrail_lint.systems.workrail.model.build import workflow_model
from workrail_lint.systems.workrail.rules.base import WorkflowContext
from workrail_lint.systems.workrail.rules.condition_verdicts import verdicts

Json = Any


class Mutant(NamedTuple):
    operator: str
    place: str
    document: Json
    meant: str  # the name or value that was there


def view(document: Json, path: str) -> WorkflowContext:
    normalized = normalize(document)
    definition: dict[str, Any] = normalized.document
    read = read_json(json.dumps(document))
    return WorkflowContext(read, workflow_model(definition), load_core(), path, normalized=normalized)


def findings(document: Json, path: str) -> dict[tuple[str, str], str]:
    """The messages of all rules that rest on the analysis, by rule and place."""
    found = verdicts(view(document, path))
    return {
        (rule, verdict.pointer): verdict.message
        for rule, reported in found.items()
        for verdict in reported
        if rule != "gate-condition-self"
    }


def misspelt(name: str) -> str:
    """Two neighbouring letters exchanged."""
    for at in range(len(name) // 2, len(name) - 1):
        if name[at] != name[at + 1]:
            return name[:at] + name[at + 1] + name[at] + name[at + 2 :]
    return f"{name}x"


def snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def exchanged(value: str) -> str:
    return value.replace("-", "_") if "-" in value else value.replace("_", "-")


def mutants(document: Json, path: str) -> Iterator[Mutant]:
    analysis = view(document, path).analysis
    uses = [use for name in analysis.by_name for use in analysis.by_name[name] if use.origin.via == AUTHORED]
    known = [use for use in uses if analysis.setters(use.name)]
    for use in known:
        if use.leaf is not None:
            yield from _condition_mutants(document, use)
        elif use.kind == "token":
            token, wrong = "{{" + use.name, "{{" + misspelt(use.name)
            yield _changed(
                "misspelt token", document, use.pointer, lambda text, t=token, w=wrong: text.replace(t, w), use
            )
        elif use.kind in ("items", "count"):
            yield _changed("misspelt items", document, use.pointer, misspelt, use)
    yield from _structural_mutants(document, analysis, known)


def _condition_mutants(document: Json, use: Use) -> Iterator[Mutant]:
    assert use.leaf is not None
    base = use.pointer.removesuffix("/var")
    yield _changed("misspelt variable", document, use.pointer, misspelt, use)
    if use.name.lower() != use.name:
        yield _changed("other case", document, use.pointer, str.lower, use)
        yield _changed("snake case", document, use.pointer, snake, use)
    value = use.leaf.equals
    if isinstance(value, str):
        if len(value) >= 4:
            place = f"{base}/equals"
            yield _changed("misspelt value", document, place, misspelt, use, value)
            yield _changed("value outside domain", document, place, lambda _: "quartered", use, value)
        if "-" in value or "_" in value:
            yield _changed("other separator", document, f"{base}/equals", exchanged, use, value)
        yield _changed("gt on text", document, base, lambda _: {"var": use.name, "gt": 2}, use)
    elif isinstance(value, bool):
        yield _changed("text against boolean", document, f"{base}/equals", lambda _: "always", use)
    if base == use.root and isinstance(value, str):
        both = {"and": [use.leaf.raw, {"var": use.name, "equals": f"{value}-not"}]}
        yield _changed("contradiction", document, base, lambda _: both, use)


def _structural_mutants(document: Json, analysis: Any, known: list[Use]) -> Iterator[Mutant]:
    done: set[str] = set()
    for use in known:
        if use.name in done or use.leaf is None:
            continue
        done.add(use.name)
        setters = analysis.setters(use.name)
        if any(made.origin.via != AUTHORED for made in setters):
            continue
        text = json.dumps(document)
        changed = copy.deepcopy(document)
        for made in setters:
            if made.step is not None and made.kind != "key":
                _put(changed, made.pointer, _without(resolve(changed, made.pointer), use.name))
        if json.dumps(changed) != text and not any(made.kind == "key" for made in setters):
            yield Mutant("definition deleted", use.pointer, changed, use.name)
        steps = analysis.steps
        first = min((steps[made.step].position for made in setters if made.step is not None), default=None)
        here = steps[use.step]
        if first is not None and here.loop is None and use.kind == "runCondition" and first < here.position:
            moved = copy.deepcopy(document)
            index = int(here.pointer.rsplit("/", 1)[1])
            if here.pointer.count("/") == 2 and first[0] < index:
                moved["steps"].insert(0, moved["steps"].pop(index))
                yield Mutant("moved before definition", use.pointer, moved, use.name)


def _without(text: str, name: str) -> str:
    lines = [line for line in text.split("\n") if not re.search(rf"(?<!\{{\{{)\b{name}\b", line)]
    return "\n".join(lines)


def _changed(
    operator: str, document: Json, pointer: str, change: Callable[[Any], Any], use: Use, meant: str | None = None
) -> Mutant:
    made = copy.deepcopy(document)
    _put(made, pointer, change(resolve(made, pointer)))
    return Mutant(operator, pointer, made, use.name if meant is None else meant)


def _put(document: Json, pointer: str, value: Any) -> None:
    parent, _, token = pointer.rpartition("/")
    holder = resolve(document, parent)
    token = token.replace("~1", "/").replace("~0", "~")
    holder[int(token) if isinstance(holder, list) else token] = value
