"""Digests of what is found in damaged workflows: `python -m tools.mutants [--check | --show NAME]`.

The workflows of `fixtures/` and of the rules' examples are damaged with fixed seeds, checked and compiled. One digest
for each of them is kept in `tests/workrail/mutants.json`: of every finding (code, message, pointer, span, fix) and of
both hashes. A change of the code that is not meant to change what users see leaves all digests as they are. Where one
differs, `--show NAME` prints the document and what is found in it; run it before and after the change to see the
difference, and without an option to write the digests anew once the difference is wanted.
"""

from __future__ import annotations

import argparse
import copy
import hashlib
import json
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from workrail_lint import Ok, check_text, compile_workflow
from workrail_lint.base.files import write_atomically
from workrail_lint.documents.json_edit import apply_fix, fix_edits
from workrail_lint.documents.json_reader import read_json
from workrail_lint.findings import Finding
from workrail_lint.rules.example_files import as_bytes
from workrail_lint.systems.workrail.rules import RULES

ROOT = Path(__file__).parents[1]
DIGESTS = ROOT / "tests" / "workrail" / "mutants.json"
MUTANTS_OF_FIXTURE, MUTANTS_OF_EXAMPLE = 6, 1
_NAMES = """
id type title prompt promptBlocks templateCall requireConfirmation runCondition validationCriteria outputContract
assessmentRefs assessmentConsequences functionDefinitions functionCalls functionReferences promptFragments audit
verification agentRole modelTier guidance askForFiles notesOptional loop body parallelDelegations synthesis
maxIterations count items iterationVar itemVar indexVar condition conditionSource kind contractRef loopId var equals
not_equals gt gte lt lte in contains and or not goal constraints procedure outputRequired verify when text refId
templateId args message value pattern flags min max schema steps name description version metaGuidance features
recommendedPreferences assessments references extensionPoints levels dimensions purpose required effect anyEqualsLevel
forAssessment workflowId contextMapping allowedTools unknown
"""
_MEMBERS = _NAMES.split()
_VALUES: list[Any] = [
    *(None, True, False, 0, 1, -1, 3.5, "", " ", "loop", "while", "artifact_contract", "wr.contracts.loop_control"),
    *("a-b", "{{x}}", [], [1], [None], ["a", 2], {}, {"a": 1}, {"var": "x"}, {"var": 3}, {"and": "x"}, [{}]),
    {"kind": "human_approval"},
    {"kind": "ref", "refId": "wr.refs.notes_first_durability"},
    [{"id": "x", "title": "X", "prompt": "Do it."}],
    {"not": {"var": "x", "equals": None}},
]
_Path = tuple[str | int, ...]


class Document(NamedTuple):
    """A document to check."""

    name: str
    path: str
    text: str


def documents() -> Iterator[Document]:
    """Yield every damaged document. The seed is the text, so that a new fixture changes no other mutant."""
    for path, name, text, count in sources():
        value = json.loads(text)
        for number in range(1, count + 1):
            mutant = mutate(value, random.Random(f"{number} {text}"))
            yield Document(f"{name}#{number}", path, json.dumps(mutant, indent=2, ensure_ascii=False))


def sources() -> Iterator[tuple[str, str, str, int]]:
    for file in sorted((ROOT / "fixtures").rglob("*.json")):
        path, text = file.relative_to(ROOT).as_posix(), file.read_text("utf-8", errors="replace")
        if _is_workflow(text):
            yield path, path, text, MUTANTS_OF_FIXTURE
    for rule in sorted(RULES.rules(), key=lambda rule: rule.code):
        for number, example in enumerate(rule.examples(), 1):
            for kind, content in (("bad", example.bad), ("good", example.good)):
                text = as_bytes(content).decode("utf-8", errors="replace")
                if _is_workflow(text):
                    yield example.path, f"{rule.code}-{number}-{kind}", text, MUTANTS_OF_EXAMPLE


def _is_workflow(text: str) -> bool:
    try:
        value = json.loads(text)
    except ValueError:
        return False
    return isinstance(value, dict) and isinstance(value.get("steps"), list)


def mutate(document: Any, chance: random.Random) -> Any:
    """Return a copy with one to three members of another type, removed, added, swapped, wrapped or changed."""
    root = copy.deepcopy(document)
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        places = _places(root)
        if not places:
            break
        path = chance.choice(places)
        holder, key = _value_at(root, path[:-1]), path[-1]
        match chance.choice(("replace", "replace", "remove", "add", "swap", "wrap", "change")):
            case "replace":
                holder[key] = copy.deepcopy(chance.choice(_VALUES))
            case "remove":
                del holder[key]
            case "add":
                _add(holder[key] if isinstance(holder[key], dict) else holder, root, places, chance)
            case "swap":
                other = chance.choice(places)
                if other[: len(path)] != path and path[: len(other)] != other:
                    second = _value_at(root, other[:-1])
                    holder[key], second[other[-1]] = second[other[-1]], holder[key]
            case "wrap":
                holder[key] = [holder[key]] if chance.random() < 0.5 else {chance.choice(_MEMBERS): holder[key]}
            case _:
                holder[key] = _changed(holder[key], chance)
    return root


def _add(target: Any, root: Any, places: list[_Path], chance: random.Random) -> None:
    value = copy.deepcopy(_value_at(root, chance.choice(places)) if chance.random() < 0.5 else chance.choice(_VALUES))
    if isinstance(target, dict):
        target[chance.choice(_MEMBERS)] = value
    else:
        target.insert(chance.randrange(len(target) + 1), value)


def _changed(value: Any, chance: random.Random) -> Any:
    if isinstance(value, str):
        return chance.choice((f"{value}x", value.upper(), value[: len(value) // 2], value * 40))
    if isinstance(value, list):
        return value + value[:1] if chance.random() < 0.5 else value[::-1]
    if isinstance(value, int | float):
        return chance.choice((value + 1, -value, value * 1000, str(value)))
    if isinstance(value, dict) and value:
        name = chance.choice(sorted(value))
        return {(chance.choice(_MEMBERS) if key == name else key): item for key, item in value.items()}
    return value


def _places(root: Any) -> list[_Path]:
    """Return the paths of everything below the root, in an order that depends on nothing else."""
    paths: list[_Path] = []
    stack: list[tuple[_Path, Any]] = [((), root)]
    while stack:
        path, value = stack.pop()
        items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        below = [((*path, key), item) for key, item in items]
        paths += [place for place, _ in below]
        stack += below
    return paths


def _value_at(root: Any, path: _Path) -> Any:
    for token in path:
        root = root[token]
    return root


def outcome(document: Document) -> dict[str, Any]:
    """Return all that is found in a document, and its hashes."""
    compiled = compile_workflow(document.text)
    return {
        "findings": [
            _described(finding, document.text) for finding in check_text(document.text, document.path).findings
        ],
        "hashes": [compiled.value.hash, compiled.value.engine_hash] if isinstance(compiled, Ok) else None,
    }


def _described(finding: Finding, text: str) -> list[Any]:
    span, fix = finding.span, finding.fix
    place = [span.start.line, span.start.column, span.end.line, span.end.column] if span is not None else None
    edits = fix_edits(read_json(text), fix) if fix is not None else None
    mended = hashlib.sha256(apply_fix(text, edits).encode("utf-8", "replace")).hexdigest() if edits else None
    change = [fix.title, fix.safety.value, mended] if fix is not None else None
    return [finding.code, finding.severity.value, finding.message, finding.pointer, place, change]


def digest(document: Document) -> str:
    data = json.dumps([document.text, outcome(document)])
    return hashlib.sha256(data.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def changed() -> list[str]:
    """Return the names of the documents whose digest differs from the one that is kept, or that have or had none."""
    kept = json.loads(DIGESTS.read_text("utf-8"))
    now = {document.name: digest(document) for document in documents()}
    return sorted(name for name in kept.keys() | now.keys() if kept.get(name) != now.get(name))


def main() -> int:
    parser = argparse.ArgumentParser(description="Digests of what is found in damaged workflows.")
    parser.add_argument("--check", action="store_true", help="print the documents whose digest differs; write nothing")
    parser.add_argument("--show", metavar="NAME", help="print a document and what is found in it")
    options = parser.parse_args()
    if options.show:
        for document in documents():
            if document.name == options.show:
                sys.stdout.write(f"{document.text}\n{json.dumps(outcome(document), indent=2)}\n")
        return 0
    if options.check:
        names = changed()
        sys.stdout.writelines(f"{name}\n" for name in names)
        return 1 if names else 0
    digests = {document.name: digest(document) for document in documents()}
    write_atomically(str(DIGESTS), (json.dumps(digests, indent=0, sort_keys=True) + "\n").encode(), str(DIGESTS.parent))
    return 0


if __name__ == "__main__":
    sys.exit(main())
