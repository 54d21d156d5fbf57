"""Routines: admission, template ids, placeholders, and catalogs that are extended with them."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workrail_lint.base import js
from workrail_lint.base.canonical import canonical_hash
from workrail_lint.base.result import Err, Ok
from workrail_lint.findings import Severity
from workrail_lint.systems.workrail.catalog import Routine, engine_digests, load_core
from workrail_lint.systems.workrail.catalog.catalog import digest_of, template_id_of
from workrail_lint.systems.workrail.catalog.checks import admit, check_document
from workrail_lint.systems.workrail.catalog.loading import collect_routines, with_routines

STEP = {"id": "one", "title": "One", "prompt": "Do it."}


def routine(routine_id: str = "routine-x", *steps: Any, **changes: Any) -> dict[str, Any]:
    return {
        "id": routine_id,
        "name": "X",
        "description": "A routine.",
        "version": "1.0.0",
        "steps": list(steps) or [STEP],
        **changes,
    }


def write(folder: Path, name: str, content: object) -> None:
    folder.joinpath(name).write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")


@pytest.mark.parametrize(
    ("routine_id", "template_id"),
    [
        ("wr.routine-a", "wr.templates.routine.a"),
        ("routine-b", "wr.templates.routine.b"),
        ("c", "wr.templates.routine.c"),
        ("wr.c", "wr.templates.routine.wr.c"),
        ("wr.routine-routine-d", "wr.templates.routine.routine-d"),
    ],
)
def test_template_ids(routine_id: str, template_id: str) -> None:
    assert template_id_of(routine_id) == template_id


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("{name}", ("name",)),
        ("{ name }", (" name ",)),
        ("{{ctx}} {{{x}}} {x}} {{x}", ()),
        ('{"kind":"x"}', ('"kind":"x"',)),
        ("{b} {a} {b}", ("b", "a")),
        ("{a\nb}", ("a\nb",)),
        ("{}", ()),
    ],
)
def test_placeholders(text: str, names: tuple[str, ...]) -> None:
    assert Routine({"phase": "shipped", "definition": routine("r", {**STEP, "prompt": text})}).required_args == names


def test_arguments_come_from_prompts_and_titles_only() -> None:
    first = {"id": "a", "title": "T {t}", "prompt": "P {p}", "guidance": ["{g}"], "agentRole": "Role {r}"}
    second = {"id": "b", "title": "U", "prompt": "{q} {p}", "runCondition": {"var": "x"}}
    entry = Routine({"phase": "shipped", "definition": routine("r", first, second)})
    assert entry.required_args == ("p", "t", "q")
    assert entry.step_ids == ("a", "b")
    assert entry.conditional_step_ids == ("b",)
    assert entry.callable


@pytest.mark.parametrize("member", ["id", "title", "prompt"])
@pytest.mark.parametrize("value", [None, "", 3, ["x"]])
def test_a_step_without_its_texts_makes_a_routine_uncallable(member: str, value: object) -> None:
    entry = Routine({"phase": "shipped", "definition": routine("r", STEP, {**STEP, member: value})})
    assert not entry.callable
    assert isinstance(entry.required_args, tuple)
    assert len(entry.step_ids) == 2


ANY = st.one_of(st.none(), st.booleans(), st.integers(-1, 1), st.text(max_size=2), st.builds(list), st.builds(dict))
STEPS = st.one_of(
    st.just(STEP), st.builds(lambda call: {**STEP, "templateCall": call}, ANY), st.none(), st.text(max_size=1)
)
DOCUMENTS = st.one_of(
    ANY,
    st.fixed_dictionaries(
        {},
        optional={
            "id": st.one_of(st.text(max_size=3), st.none()),
            "name": st.one_of(st.text(max_size=3), st.integers()),
            "description": st.text(max_size=3),
            "version": st.text(max_size=3),
            "steps": st.one_of(st.lists(STEPS, max_size=3), st.none()),
        },
    ),
)


@given(DOCUMENTS)
def test_the_admission_rule(definition: Any) -> None:
    shaped = (
        isinstance(definition, dict)
        and all(isinstance(definition.get(m), str) for m in ("id", "name", "description", "version"))
        and isinstance(definition.get("steps"), list)
        and len(definition["steps"]) > 0
        and all(isinstance(step, dict) for step in definition["steps"])
    )
    recursive = shaped and any(js.truthy(step.get("templateCall")) for step in definition["steps"])
    match admit(definition):
        case Ok(value):
            assert shaped
            assert not recursive
            assert value is definition
        case Err(refusal):
            assert not shaped or recursive
            assert refusal.recursive is recursive
            assert refusal.message


@given(st.lists(DOCUMENTS, max_size=5))
@settings(deadline=None)
def test_any_list_of_documents_extends_the_catalog_soundly(documents: list[Any]) -> None:
    catalog, findings = with_routines(load_core(), documents)
    renamed = {**catalog.document, "catalogId": "mine"}
    assert check_document({**renamed, "digest": digest_of(renamed)}) == []
    assert set(load_core().templates) <= set(catalog.templates)
    admitted = {template_id_of(d["id"]) for d in documents if admit(d).is_ok}
    assert admitted <= set(catalog.templates)
    assert len(findings) == len(documents) - len(admitted)


def test_files_are_taken_by_name_without_recursion(tmp_path: Path) -> None:
    write(tmp_path, "b.json", routine("routine-b"))
    write(tmp_path, "a.json", routine("routine-a"))
    write(tmp_path, "notes.txt", "no json")
    (tmp_path / "deep").mkdir()
    write(tmp_path / "deep", "c.json", routine("routine-c"))
    (tmp_path / "folder.json").mkdir()
    found = collect_routines(tmp_path)
    assert list(found.definitions) == ["wr.templates.routine.a", "wr.templates.routine.b"]
    assert found.findings == []
    assert list(collect_routines(str(tmp_path / "b.json")).definitions) == ["wr.templates.routine.b"]


def test_what_is_left_out_is_said(tmp_path: Path) -> None:
    write(tmp_path, "1-syntax.json", '{"id": }')
    write(tmp_path, "2-list.json", [])
    write(tmp_path, "3-no-name.json", {k: v for k, v in routine().items() if k != "name"})
    write(tmp_path, "4-version.json", routine(version=1))
    write(tmp_path, "5-no-steps.json", routine(steps=[]))
    write(tmp_path, "6-step.json", routine("routine-y", STEP, "two"))
    write(tmp_path, "7-recursive.json", routine("routine-z", STEP, {"id": "call", "templateCall": {"templateId": "t"}}))
    write(tmp_path, "8-infinite.json", json.dumps(routine("routine-i")).replace('"1.0.0"', '"1.0.0", "n": 1e400'))
    catalog, findings = with_routines(load_core(), tmp_path)
    assert catalog.digest == load_core().digest
    assert catalog.recursive_templates == {"wr.templates.routine.z": ("routine-z", "call")}
    assert [(f.code, f.severity, os.path.basename(f.path), f.pointer) for f in findings] == [
        ("routine-skipped", Severity.WARNING, "1-syntax.json", findings[0].pointer),
        ("routine-skipped", Severity.WARNING, "2-list.json", ""),
        ("routine-skipped", Severity.WARNING, "3-no-name.json", ""),
        ("routine-skipped", Severity.WARNING, "4-version.json", "/version"),
        ("routine-skipped", Severity.WARNING, "5-no-steps.json", "/steps"),
        ("routine-skipped", Severity.WARNING, "6-step.json", "/steps/1"),
        ("RECURSIVE_ROUTINE", Severity.WARNING, "7-recursive.json", "/steps/1/templateCall"),
        ("routine-skipped", Severity.WARNING, "8-infinite.json", ""),
    ]
    assert findings[0].span is not None
    assert "routine-z" in findings[6].message
    assert "'call'" in findings[6].message


def test_a_repeated_member_is_read_as_the_engine_reads_it(tmp_path: Path) -> None:
    write(tmp_path, "a.json", json.dumps(routine("routine-a")).replace('"X"', '"W", "name": "Y"'))
    (definition,) = collect_routines(tmp_path).definitions.values()
    assert definition["name"] == "Y"


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    for folder in (tmp_path / "none", "a\0b"):
        catalog, findings = with_routines(load_core(), folder)
        assert catalog is load_core()
        assert [(f.name, f.severity) for f in findings] == [("routines-not-readable", Severity.ERROR)]


def test_the_later_of_two_wins(tmp_path: Path) -> None:
    write(tmp_path, "1.json", routine("wr.routine-x", name="first"))
    write(tmp_path, "2.json", routine("routine-x", name="second"))
    catalog, findings = with_routines(load_core(), tmp_path)
    assert catalog.templates["wr.templates.routine.x"].definition["name"] == "second"
    assert [(f.name, f.severity) for f in findings] == [("routine-template-collision", Severity.WARNING)]
    assert all(text in findings[0].message for text in ("wr.routine-x", "'routine-x'", "wr.templates.routine.x"))
    assert findings[0].path.endswith("2.json")


def test_own_routines_override_the_catalog_s() -> None:
    core = load_core()
    mine = routine("routine-ideation", {**STEP, "prompt": "Think of {count}."})
    catalog, findings = with_routines(core, [mine])
    assert findings == []
    assert catalog.templates["wr.templates.routine.ideation"].definition is mine
    assert len(catalog.templates) == len(core.templates)
    assert core.templates["wr.templates.routine.ideation"].definition is not mine


def test_an_extended_catalog_keeps_its_name_and_changes_its_digest() -> None:
    core = load_core()
    catalog, _ = with_routines(core, [routine("routine-new")])
    assert (catalog.catalog_id, catalog.version) == (core.catalog_id, core.version)
    assert catalog.digest == digest_of(catalog.document) != core.digest
    ids = [entry["definition"]["id"] for entry in catalog.document["routines"]]
    assert ids == js.u16_sorted(ids)
    again, _ = with_routines(catalog, [routine("routine-new")])
    assert again.digest == catalog.digest


@pytest.mark.parametrize(
    "routines",
    [routine("routine-a"), [routine("routine-a")], (routine("routine-a"),), {"any": routine("routine-a")}],
)
def test_forms_of_loaded_routines(routines: Any) -> None:
    assert list(collect_routines(routines).definitions) == ["wr.templates.routine.a"]


def test_named_routines_load_in_the_order_of_their_names() -> None:
    found = collect_routines({"b": routine("routine-x", name="from b"), "a": routine("routine-x", name="from a")})
    assert found.definitions["wr.templates.routine.x"]["name"] == "from b"


def _corpus() -> Path | None:
    named = os.environ.get("WORKRAIL_CORPUS")
    folder = Path(named) if named else Path(__file__).resolve().parents[3].parent / "shared"
    routines = folder / "corpus" / "workflows" / "routines"
    return routines if routines.is_dir() else None


@pytest.mark.skipif(_corpus() is None, reason="no corpus: name its folder in WORKRAIL_CORPUS")
def test_the_published_routines_have_the_published_digests_and_arguments() -> None:
    folder = _corpus()
    assert folder is not None
    catalog, findings = with_routines(load_core(), folder)
    assert findings == []
    published = {r.routine_id: r for r in catalog.templates.values() if r.routine_id in engine_digests.ROUTINES}
    digests = {name: canonical_hash(entry.definition) for name, entry in published.items()}
    assert digests == {name: f"sha256:{value}" for name, value in engine_digests.ROUTINES.items()}
    for template_id, ours in load_core().templates.items():
        theirs = catalog.templates[template_id]
        assert set(ours.required_args) == set(theirs.required_args)
        assert ours.step_ids == theirs.step_ids
        assert ours.conditional_step_ids == theirs.conditional_step_ids
        assert ours.callable
        assert theirs.callable


def _runs(value: Any, length: int = 7) -> set[tuple[str, ...]]:
    """Every run of that many words in the texts of a value; ids and conditions are interface, not text."""
    if isinstance(value, dict):
        interface = ("id", "version", "runCondition")
        return {run for name, item in value.items() if name not in interface for run in _runs(item, length)}
    if isinstance(value, list):
        return {run for item in value for run in _runs(item, length)}
    words = re.findall(r"[a-z0-9']+", value.lower()) if isinstance(value, str) else []
    return {tuple(words[at : at + length]) for at in range(len(words) - length + 1)}


def test_shared_wording_is_noticed() -> None:
    theirs = {"prompt": "Trace every path, one at a time, and write it down."}
    ours = {"prompt": "First: trace every path one at a time. Then rest."}
    assert _runs(theirs) & _runs(ours)


@pytest.mark.skipif(_corpus() is None, reason="no corpus: name its folder in WORKRAIL_CORPUS")
def test_the_words_are_our_own() -> None:
    """Same interface as the published workflows and routines, no sentence of theirs."""
    folder = _corpus()
    assert folder is not None
    published: set[tuple[str, ...]] = set()
    for path in folder.parent.rglob("*.json"):
        published |= _runs(json.loads(path.read_text(encoding="utf-8")))
    document = load_core().document
    ours = _runs([document["features"], document["refs"], document["routines"]])
    assert len(published) > 1000
    assert len(ours) > 1000
    assert ours & published == set()


def test_a_link_out_of_the_project_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = tmp_path / "project"
    (project / "routines").mkdir(parents=True)
    (project / ".git").mkdir()
    definition = json.dumps(routine("routine-mine"))
    (tmp_path / "secret.json").write_text(definition)
    (project / "shared.json").write_text(definition)
    (project / "routines" / "leak.json").symlink_to(tmp_path / "secret.json")
    monkeypatch.chdir(project)
    outside = collect_routines("routines")
    assert outside.definitions == {}
    assert [finding.message for finding in outside.findings] == [
        "skipped, because it is a symbolic link that leads out of the project"
    ]
    (project / "routines" / "leak.json").unlink()
    (project / "routines" / "linked.json").symlink_to(project / "shared.json")
    inside = collect_routines("routines")
    assert len(inside.definitions) == 1
    assert inside.findings == []
