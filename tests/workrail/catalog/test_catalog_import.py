"""Importing an engine: real Node on a package of our own that is laid out like the engine's."""

from __future__ import annotations

import copy
import json
import os
import shutil
import stat
import sys
from pathlib import Path
from typing import Any

import pytest
from effort import times
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from workrail_lint import check_text
from workrail_lint.base.canonical import canonical_hash, digest
from workrail_lint.base.result import Err, Ok
from workrail_lint.cli import main
from workrail_lint.findings import Finding, Severity
from workrail_lint.systems.workrail.catalog import engine_digests, importer, load_core
from workrail_lint.systems.workrail.catalog.importer import Imported, import_engine
from workrail_lint.systems.workrail.catalog.loading import load_catalog
from workrail_lint.systems.workrail.catalog.render import export_text

needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="Node.js is not installed")

COMPILER = "dist/application/services/compiler"
ARTIFACTS = "dist/v2/durable-core/schemas/artifacts/index.js"
FEATURES: dict[str, Any] = {
    "wr.features.zeal": {
        "id": "wr.features.zeal",
        "verify": ["Zealous — even so?"],
        "constraints": [[{"kind": "ref", "refId": "wr.refs.zeal"}], "Be zealous."],
    },
    "wr.features.calm": {"id": "wr.features.calm", "procedure": ["Breathe."], "verify": []},
}
REFS = {"wr.refs.zeal": "Zeal:\n- a lot of it \U0001f600", "wr.refs.calm": "Calm:\n- \u2028"}
CONTRACTS = ["wr.contracts.loop_control", "wr.contracts.assessment", "wr.contracts.brand_new"]
ROUTINE = {
    "id": "wr.routine-stroll",
    "name": "Stroll",
    "description": "A stroll.",
    "version": "1.0.0",
    "steps": [{"id": "walk", "title": "Walk", "prompt": "Walk to {place}."}],
}
REGISTRY = """
const DATA = new Map(Object.entries(%s));
%s
  return {
    knownIds() { return [...DATA.keys()]; },
    has(id) { return DATA.has(id); },
    resolve(id) { return { value: DATA.get(id), isOk() { return true; } }; },
  };
}
"""


def registry(style: str, factory: str, data: Any) -> str:
    head = f"{'export ' if style == 'module' else ''}function {factory}() {{"
    tail = "" if style == "module" else f"\nmodule.exports = {{ {factory} }};"
    return REGISTRY % (json.dumps(data), head) + tail


def refs_module(style: str, refs: list[str]) -> str:
    text = f"const ARTIFACT_CONTRACT_REFS = Object.freeze({json.dumps(refs)});\n"
    return f"export {text}" if style == "module" else f"{text}module.exports = {{ ARTIFACT_CONTRACT_REFS }};\n"


def package(root: Path, style: str = "commonjs", version: str = "3.120.0", **changes: Any) -> Path:
    """A package with the engine's layout. `changes` replace or, with None, remove files by path."""
    files: dict[str, Any] = {
        "package.json": {"name": "engine", "version": version, "type": style},
        "spec/authoring-spec.json": {"version": 4, "rules": []},
        "workflows/routines/stroll.json": ROUTINE,
        f"{COMPILER}/feature-registry.js": registry(style, "createFeatureRegistry", FEATURES),
        f"{COMPILER}/ref-registry.js": registry(style, "createRefRegistry", REFS),
        ARTIFACTS: refs_module(style, CONTRACTS),
        **changes.get("files", {}),
    }
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if content is not None:
            path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return root


def imported(root: Path, **options: Any) -> Imported:
    result = import_engine(root, **options)
    assert isinstance(result, Ok), result
    return result.value


def refused(root: Path, **options: Any) -> list[Finding]:
    result = import_engine(root, **options)
    assert isinstance(result, Err), "this import should fail"
    assert all(finding.message and finding.severity is Severity.ERROR for finding in result.error)
    return result.error


def names(findings: list[Finding]) -> list[str]:
    return [finding.name for finding in findings]


@needs_node
@pytest.mark.parametrize("style", ["commonjs", "module"])
def test_an_import_holds_what_the_package_holds(style: str, tmp_path: Path) -> None:
    catalog, notes = imported(package(tmp_path, style))
    assert (catalog.catalog_id, catalog.version, catalog.engine_version) == ("engine", "3.120.0", "3.120.0")
    assert catalog.authoring_spec_version == 4
    assert list(catalog.features) == ["wr.features.calm", "wr.features.zeal"]
    zeal = catalog.features["wr.features.zeal"]
    assert list(zeal.constraints) == FEATURES["wr.features.zeal"]["constraints"]
    assert list(zeal.verify) == FEATURES["wr.features.zeal"]["verify"]
    assert {name: ref.text for name, ref in catalog.refs.items()} == REFS
    assert catalog.templates["wr.templates.routine.stroll"].definition == ROUTINE
    assert list(catalog.contracts) == sorted(CONTRACTS)
    assert catalog.capabilities == {}
    assert names(notes) == ["catalog-import-contract-unknown"]


@needs_node
def test_the_command_names_the_routine_that_was_skipped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = package(tmp_path, files={"workflows/routines/torn.json": "{"})
    assert main(["catalog", "import", str(root)]) == 0
    captured = capsys.readouterr()
    assert f"{os.path.join('workflows', 'routines', 'torn.json')}: skipped, because" in captured.err
    assert json.loads(captured.out)["catalogId"] == "engine"


def test_the_command_says_what_to_do_without_node(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importer, "find_program", lambda _: None)
    assert main(["catalog", "import", str(package(tmp_path))]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "install Node.js" in captured.err
    assert captured.err.count("\n") == 1


@needs_node
def test_contract_schemas_are_ours_where_we_know_the_pack(tmp_path: Path) -> None:
    contracts = imported(package(tmp_path)).catalog.contracts
    ours = load_core().contracts
    for name in ("wr.contracts.loop_control", "wr.contracts.assessment"):
        for member in ("title", "summary", "phase", "artifact_kind", "runtime_validated", "schema", "example"):
            assert getattr(contracts[name], member) == getattr(ours[name], member)
    unknown = contracts["wr.contracts.brand_new"]
    assert (unknown.artifact_kind, unknown.runtime_validated, unknown.mode) == ("wr.brand_new", False, "open")
    assert unknown.schema == {"type": "object", "x-objectMode": "open"}


@needs_node
def test_nothing_of_our_own_text_gets_in(tmp_path: Path) -> None:
    """An engine that shares our ids keeps its own words, down to the titles."""
    features = {"wr.features.memory_context": {"id": "wr.features.memory_context", "constraints": ["Theirs."]}}
    files = {f"{COMPILER}/feature-registry.js": registry("commonjs", "createFeatureRegistry", features)}
    catalog = imported(package(tmp_path, files=files)).catalog
    (feature,) = catalog.features.values()
    assert feature.constraints == ("Theirs.",)
    assert feature.summary != load_core().features[feature.id].summary
    assert "wr.refs.memory_usage" not in catalog.refs


@needs_node
def test_two_imports_give_the_same_bytes(tmp_path: Path) -> None:
    shuffled = {
        f"{COMPILER}/ref-registry.js": registry("module", "createRefRegistry", dict(reversed(REFS.items()))),
        ARTIFACTS: refs_module("module", CONTRACTS[::-1]),
    }
    first = export_text(imported(package(tmp_path / "a")).catalog)
    second = export_text(imported(package(tmp_path / "b", "module", files=shuffled)).catalog)
    assert first == second
    path = tmp_path / "engine.json"
    path.write_text(first, encoding="utf-8")
    reloaded = load_catalog(path)
    assert isinstance(reloaded, Ok), reloaded
    assert export_text(reloaded.value) == first
    assert str(tmp_path) not in first


@needs_node
def test_output_of_the_package_does_not_disturb(tmp_path: Path) -> None:
    noisy = 'console.log("{ not json");\nprocess.stdout.write("more");\n'
    files = {ARTIFACTS: noisy + refs_module("commonjs", CONTRACTS)}
    assert list(imported(package(tmp_path, files=files)).catalog.contracts) == sorted(CONTRACTS)


@needs_node
def test_exports_that_only_show_when_the_module_has_run(tmp_path: Path) -> None:
    computed = (
        "module.exports = Object.fromEntries([['ARTIFACT_CONTRACT_REFS', new Set(['wr.contracts.assessment'])]]);"
    )
    catalog = imported(package(tmp_path, files={ARTIFACTS: computed})).catalog
    assert list(catalog.contracts) == ["wr.contracts.assessment"]


@needs_node
def test_a_relative_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package(tmp_path / "engine")
    monkeypatch.chdir(tmp_path)
    assert imported(Path("engine")).catalog.version == "3.120.0"


@needs_node
def test_routines_that_are_left_out_become_warnings(tmp_path: Path) -> None:
    files = {
        "workflows/routines/a-broken.json": "{",
        "workflows/routines/b-nameless.json": {"id": "x"},
        "workflows/routines/c-call.json": {**ROUTINE, "id": "r", "steps": [{"templateCall": {"templateId": "x"}}]},
        "workflows/routines/deep/d.json": {**ROUTINE, "id": "deep"},
        "workflows/routines/z-again.json": {**ROUTINE, "id": "routine-stroll", "name": "Again"},
        ARTIFACTS: refs_module("commonjs", []),
    }
    catalog, notes = imported(package(tmp_path, files=files))
    assert list(catalog.templates) == ["wr.templates.routine.stroll"]
    assert catalog.templates["wr.templates.routine.stroll"].definition["name"] == "Again"
    assert names(notes) == [
        "routine-skipped",
        "routine-skipped",
        "routine-not-expandable",
        "routine-template-collision",
    ]


@needs_node
def test_a_member_we_do_not_know_is_mentioned(tmp_path: Path) -> None:
    features = {"wr.features.calm": {**FEATURES["wr.features.calm"], "goal": "Peace"}}
    files = {
        f"{COMPILER}/feature-registry.js": registry("commonjs", "createFeatureRegistry", features),
        ARTIFACTS: refs_module("commonjs", []),
    }
    (note,) = imported(package(tmp_path, files=files)).findings
    assert (note.name, note.severity) == ("catalog-import-member-ignored", Severity.WARNING)
    assert "goal" in note.message


@needs_node
def test_the_known_engine_is_verified(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {ARTIFACTS: refs_module("commonjs", [])}
    root = package(tmp_path, version=engine_digests.ENGINE_VERSION, files=files)
    notes = imported(root).findings
    assert set(names(notes)) == {"catalog-import-differs"}
    assert all(note.severity is Severity.WARNING for note in notes)
    everything = len(engine_digests.FEATURES) + len(engine_digests.REFS) + len(engine_digests.ROUTINES)
    assert len(notes) == everything + len(FEATURES) + len(REFS) + 1

    def bare(value: str) -> str:
        return value.removeprefix("sha256:")

    monkeypatch.setattr(engine_digests, "FEATURES", {k: bare(canonical_hash(v)) for k, v in FEATURES.items()})
    monkeypatch.setattr(engine_digests, "REFS", {k: bare(digest(v.encode())) for k, v in REFS.items()})
    monkeypatch.setattr(engine_digests, "ROUTINES", {ROUTINE["id"]: bare(canonical_hash(ROUTINE))})
    assert imported(root).findings == []
    monkeypatch.setattr(engine_digests, "REFS", {**engine_digests.REFS, "wr.refs.zeal": "0" * 64})
    (note,) = imported(root).findings
    assert "'wr.refs.zeal' differs" in note.message


@needs_node
def test_an_engine_that_is_not_known_is_named_and_its_schema_derived(tmp_path: Path) -> None:
    newer = imported(package(tmp_path / "a", version="99.0.0", files={importer.SCHEMA_FILE: {"type": "object"}}))
    [note] = [each for each in newer.findings if each.name == "catalog-import-engine-unknown"]
    assert note.message.startswith("engine 99.0.0 is not known to this version of workrail-lint; workflows are judged")
    assert newer.catalog.engine_schema is not None
    assert newer.catalog.engine_schema["Workflow/properties/about"] == {"is": None}
    path = tmp_path / "engine.json"
    path.write_text(export_text(newer.catalog), encoding="utf-8")
    assert isinstance(load_catalog(path), Ok)
    document = json.dumps(
        {"id": "demo.a", "name": "A", "description": "B.", "version": "1.0.0", "about": "C.", "steps": []}
    )
    said = [each.message for each in check_text(document, catalog=path).errors]
    assert "engine 99.0, which this project targets, refuses 'about' here" in said
    without = imported(package(tmp_path / "b", version="99.0.0"))
    assert without.catalog.engine_schema is None
    assert "can't be read" in next(each for each in without.findings if "engine-unknown" in each.name).message
    older = imported(package(tmp_path / "c", version="0.8.6"))
    assert "--engine-version" in next(each for each in older.findings if "engine-unknown" in each.name).message


@pytest.mark.parametrize("schema", [{"Workflow/properties/a": {}}, {"Step": {"is": {"if": 3}}}, {"Step": {"is": 3}}])
def test_a_damaged_schema_of_an_engine_makes_no_catalog(schema: Any) -> None:
    document = {**load_core().document, "catalogId": "mine", "engineVersion": "99.0.0", "engineSchema": schema}
    del document["digest"]
    loaded = load_catalog(document)
    assert isinstance(loaded, Err)
    assert "the engine's schema can't be used" in loaded.error[0].message


@needs_node
def test_another_version_is_not_compared(tmp_path: Path) -> None:
    root = package(tmp_path, files={ARTIFACTS: refs_module("commonjs", [])})
    assert imported(root).findings == []


def test_a_folder_that_is_none(tmp_path: Path) -> None:
    assert names(refused(tmp_path / "none")) == ["catalog-import-not-a-directory"]
    file = tmp_path / "file"
    file.write_text("")
    assert names(refused(file)) == ["catalog-import-not-a-directory"]


@pytest.mark.parametrize("part", [*importer._PARTS, "workflows/routines"])
def test_a_missing_part_is_named(part: str, tmp_path: Path) -> None:
    package(tmp_path)
    path = tmp_path / part
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    (finding,) = refused(tmp_path)
    assert finding.name == "catalog-import-package-incomplete"
    assert part in finding.message


@pytest.mark.parametrize(
    ("part", "content", "name"),
    [
        ("package.json", "{", "json-syntax"),
        ("package.json", [], "catalog-import-package-incomplete"),
        ("package.json", {"name": "engine"}, "catalog-import-package-incomplete"),
        ("spec/authoring-spec.json", {"version": "4"}, "catalog-import-package-incomplete"),
        ("spec/authoring-spec.json", "", "json-syntax"),
    ],
)
def test_version_files(part: str, content: Any, name: str, tmp_path: Path) -> None:
    assert name in names(refused(package(tmp_path, files={part: content})))


def test_without_node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "nowhere"))
    (finding,) = refused(package(tmp_path / "engine"))
    assert finding.name == "catalog-import-node-missing"
    assert finding.help is not None
    assert "Node" in finding.help
    assert names(refused(tmp_path / "engine", node=str(tmp_path / "no-node"))) == ["catalog-import-node-missing"]


@needs_node
@pytest.mark.parametrize(
    ("part", "text", "name", "said"),
    [
        (ARTIFACTS, 'throw new Error("boom on load");', "module-failed", "boom on load"),
        (ARTIFACTS, 'require("a-package-that-is-not-there");', "module-failed", "a-package-that-is-not-there"),
        (ARTIFACTS, "this is no script", "module-failed", "artifacts/index.js"),
        (ARTIFACTS, "process.exit(7);", "module-failed", "code 7: no reason given"),
        (
            ARTIFACTS,
            "console.error('a\\nTypeError: boom\\nNode');process.exit(1);",
            "module-failed",
            ": TypeError: boom",
        ),
        (ARTIFACTS, "exports.ARTIFACT_CONTRACT_REFS = [1n];", "registry-shape", "BigInt"),
        (ARTIFACTS, "process.exit(0);", "bad-output", "JSON"),
        (ARTIFACTS, "module.exports = {};", "registry-shape", "ARTIFACT_CONTRACT_REFS"),
        (ARTIFACTS, "exports.ARTIFACT_CONTRACT_REFS = 'abc';", "registry-shape", "not a list"),
        (ARTIFACTS, "exports.ARTIFACT_CONTRACT_REFS = [1];", "registry-shape", "registries"),
        (f"{COMPILER}/ref-registry.js", "exports.createRefRegistry = 3;", "registry-shape", "ref-registry.js"),
        (f"{COMPILER}/ref-registry.js", "exports.createRefRegistry = () => ({});", "registry-shape", "knownIds"),
        (
            f"{COMPILER}/ref-registry.js",
            "exports.createRefRegistry = () => ({ knownIds: () => ['x'], resolve: () => ({}) });",
            "registry-shape",
            "no value",
        ),
        (
            f"{COMPILER}/ref-registry.js",
            "exports.createRefRegistry = () => ({ knownIds: () => ['x'], resolve: () => ({ value: 1 }) });",
            "registry-shape",
            "registries",
        ),
        (
            f"{COMPILER}/feature-registry.js",
            "exports.createFeatureRegistry = () => ({ knownIds: () => ['x'], resolve: () => ({ value: {} }) });",
            "registry-shape",
            "feature x has the id None",
        ),
        (
            f"{COMPILER}/feature-registry.js",
            "exports.createFeatureRegistry = () => ({ knownIds: () => [1], resolve: () => ({ value() {} }) });",
            "registry-shape",
            "features.0.id: Expected string, received number",
        ),
    ],
)
def test_a_package_that_can_not_be_read(part: str, text: str, name: str, said: str, tmp_path: Path) -> None:
    (finding,) = refused(package(tmp_path, files={part: text}))
    assert finding.name == f"catalog-import-{name}"
    assert said in finding.message
    assert finding.path == str(tmp_path)


@needs_node
def test_values_that_make_no_catalog(tmp_path: Path) -> None:
    features = {"wr.features.Odd": {"id": "wr.features.Odd", "verify": ["x"]}}
    files = {f"{COMPILER}/feature-registry.js": registry("commonjs", "createFeatureRegistry", features)}
    (finding,) = refused(package(tmp_path, files=files))
    assert (finding.name, finding.pointer) == ("schema-pattern", "/features/0/id")


@needs_node
def test_a_package_that_never_loads(tmp_path: Path) -> None:
    root = package(tmp_path, files={ARTIFACTS: "for (;;) {}"})
    assert names(refused(root, seconds=0.5)) == ["catalog-import-timeout"]


@pytest.mark.skipif(sys.platform == "win32", reason="needs an executable script")
@pytest.mark.parametrize("output", ["", "nothing", "[]", '{"features": 3}', '{"a": 1} {"b": 2}', '{"failure": 1}'])
def test_a_program_that_is_no_node(output: str, tmp_path: Path) -> None:
    program = tmp_path / "node"
    program.write_text(f"#!/bin/sh\nprintf '%s' '{output}'\n")
    program.chmod(program.stat().st_mode | stat.S_IEXEC)
    (finding,) = refused(package(tmp_path / "engine"), node=str(program))
    assert finding.name in ("catalog-import-bad-output", "catalog-import-registry-shape")


NAMES = st.text(alphabet="abcdefghij_", min_size=1, max_size=6).map(lambda tail: "n" + tail)
TEXTS = st.text(max_size=12)


@given(
    st.dictionaries(NAMES, st.lists(TEXTS, max_size=2), max_size=4),
    st.dictionaries(NAMES, TEXTS, max_size=4),
    st.lists(NAMES, max_size=3),
    st.randoms(use_true_random=False),
)
@settings(deadline=None, max_examples=times(25, deep=160), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_order_in_which_an_engine_lists_things_leaves_no_trace(
    tmp_path: Path, features: dict[str, list[str]], refs: dict[str, str], contracts: list[str], chance: Any
) -> None:
    """Without Node: the same exported values in any order make the same file."""
    root = package(tmp_path)
    made = []
    for _ in range(2):
        values = {f"wr.features.{n}": {"id": f"wr.features.{n}", "verify": v} for n, v in _shuffled(features, chance)}
        texts = {f"wr.refs.{name}": text for name, text in _shuffled(refs, chance)}
        listed = [f"wr.contracts.{name}" for name in chance.sample(contracts, len(contracts))]
        exported = importer._Exported(copy.deepcopy(values), texts, listed)
        result = importer._assemble(os.fspath(root), importer._Versions("1.0.0", 1), exported)
        assert isinstance(result, Ok), result
        made.append((export_text(result.value.catalog), [note.message for note in result.value.findings]))
    assert made[0] == made[1]


def _shuffled(table: dict[str, Any], chance: Any) -> list[tuple[str, Any]]:
    items = list(table.items())
    chance.shuffle(items)
    return items
