"""Formatting and renaming in real workflows change what they say, and nothing else."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path

import pytest
from oracle import requires_oracle, shared_folder

from workrail_lint import Ok, canonical_bytes, compile_workflow
from workrail_lint.documents.json_format import restyled
from workrail_lint.systems.schemas import schema_walk

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "server"))
from opened import arguments

pytestmark = requires_oracle


def _corpus(folder: str = "") -> list[Path]:
    shared = shared_folder()
    assert shared is not None
    return sorted((shared / "corpus" / folder).rglob("*.json"))


def test_formatting_keeps_the_canonical_bytes_and_is_done_once() -> None:
    count = 0
    for path in _corpus():
        text = path.read_text(encoding="utf-8")
        made = restyled(text, schema_walk("workflow"))
        if made is None:
            continue  # not sound JSON, or not an object
        assert canonical_bytes(json.loads(made)) == canonical_bytes(json.loads(text)), path.name
        assert restyled(made, schema_walk("workflow")) == made, path.name
        count += 1
    assert count > 100


def test_formatting_keeps_the_hash() -> None:
    count = 0
    for path in _corpus("workflows"):
        made = restyled(path.read_text(encoding="utf-8"), schema_walk("workflow"))
        before, after = compile_workflow(path), compile_workflow(made or "")
        if isinstance(before, Ok) and isinstance(after, Ok):
            assert after.value.hash == before.value.hash, path.name
            count += 1
    assert count > 8


def test_a_renamed_workflow_says_the_same_and_can_be_renamed_back() -> None:
    """As many findings, at the same places; whatever compiled still does; and the way back leads to the same bytes."""
    pytest.importorskip("pygls", reason="pygls is not installed")
    from workrail_lint.cli.server import open_project
    from workrail_lint.server.document import OpenDocument
    from workrail_lint.server.names import STEP, VARIABLE, CannotRename, Name, check_rename, mentions, steps_by_id

    project = open_project(arguments(), "workflows/a.json")

    def renamed(document: OpenDocument, name: Name, new: str) -> OpenDocument:
        text = document.text
        for each in reversed(mentions(document, name)):
            text = text[: each.start] + new + text[each.end :]
        return OpenDocument(document.path, text, project)

    def facts(document: OpenDocument) -> Counter[tuple[str, str]]:
        # Some rules read phases out of ids and prose; what an id suggests is not what it means.
        found = project.findings(document.path, document.text) or []
        return Counter((each.code, each.pointer) for each in found if each.code != "PR038")

    count = 0
    for path in _corpus("workflows"):
        document = OpenDocument(f"workflows/{path.name}", path.read_text(encoding="utf-8"), project)
        assert document.analysis is not None
        names = [Name(STEP, ident) for ident in list(steps_by_id(document))[::8]]
        names += [Name(VARIABLE, name) for name in sorted(document.analysis.by_name)[::5]]
        before = facts(document)
        for name in names:
            new = "zzRenamedThing" if name.kind == VARIABLE else "zz-renamed-thing"
            try:
                check_rename(document, name, new)
            except CannotRename:
                continue
            made = renamed(document, name, new)
            assert facts(made) == before, (path.name, name)
            assert (made.compiled.compiled is None) == (document.compiled.compiled is None), (path.name, name)
            assert renamed(made, Name(name.kind, new), name.text).text == document.text, (path.name, name)
            count += 1
    assert count > 25
