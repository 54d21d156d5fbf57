"""The workflows of a run seen together."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workrail_lint import check_text
from workrail_lint.findings import Finding, Phase, Severity
from workrail_lint.systems.workrail.compat import normalize
from workrail_lint.systems.workrail.identity import source_kind_of
from workrail_lint.systems.workrail.model.build import workflow_model
from workrail_lint.systems.workrail.rules.samples import loop, parallel, step, workflow
from workrail_lint.systems.workrail.system import entry_of
from workrail_lint.systems.workrail.workflow_registry import (
    Delegation,
    Entry,
    Mention,
    registry_findings,
    with_free_ids,
)


def entry(path: str, ident: str, *targets: str, kind: str = "project") -> Entry:
    return Entry(path, ident, kind, tuple(Delegation(f"/steps/{i}", target) for i, target in enumerate(targets)))


def names(found: dict[str, list[Finding]]) -> dict[str, list[str]]:
    return {path: [finding.name for finding in findings] for path, findings in found.items()}


def test_delegations_are_found_wherever_they_stand() -> None:
    fan = {"workflowId": "demo.b"}
    inner = parallel(ident="inner", parallelDelegations=[fan])
    document = workflow(
        step(),
        parallel(parallelDelegations=[{"workflowId": "demo.a"}, fan]),
        loop(step("inner-step"), inner),
        {**loop(ident="single"), "body": inner},
    )
    normalized = normalize(document)
    made = entry_of("a.json", workflow_model(normalized.document), place=normalized.pointer_map)
    assert made is not None
    assert made.delegations == (
        Delegation("/steps/1/parallelDelegations/0/workflowId", "demo.a"),
        Delegation("/steps/1/parallelDelegations/1/workflowId", "demo.b"),
        Delegation("/steps/2/body/1/parallelDelegations/0/workflowId", "demo.b"),
        Delegation("/steps/3/body/parallelDelegations/0/workflowId", "demo.b"),
    )


def test_a_record_comes_back_from_a_cache_as_it_was() -> None:
    delegations = (Delegation("/steps/0", "demo.a", ("x", "y")),)
    made = Entry("a.json", "demo.b", "project", delegations, (Mention("/steps/1", "Plan", True),), "B", ("slot",))
    record = made.as_record()
    assert json.loads(json.dumps(record)) == record
    assert Entry.from_record("a.json", record) == made


@pytest.mark.parametrize("document", [{}, {"id": 3}, {"id": None, "steps": []}])
def test_what_has_no_id_has_no_entry(document: Any) -> None:
    assert entry_of("a.json", workflow_model(document)) is None


@given(st.recursive(st.none() | st.text(max_size=3), lambda i: st.lists(i) | st.dictionaries(st.text(max_size=3), i)))
def test_any_shape_makes_an_entry(odd: Any) -> None:
    for steps in (odd, [odd], [{"type": "parallel", "parallelDelegations": odd}], [{"type": "loop", "body": odd}]):
        assert entry_of("a.json", workflow_model({"id": "x", "steps": steps})) is not None


# ---------------------------------------------------------------------------------------------------- ids


@pytest.mark.parametrize(
    ("first", "second", "clash"),
    [
        ("workflows/a.json", "workflows/b.json", True),
        ("workflows/a.json", "workflows/deep/b.json", True),
        ("workflows/a.json", "workflows/a.lean.json", False),
        ("workflows/a.v2.json", "workflows/b.v2.json", True),
        ("workflows/a.json", "workflows/internal/b.json", True),
        ("workflows/a.json", "workflows/examples/b.json", False),
        ("workflows/a.json", ".workrail/workflows/a.json", True),
        ("/repo/workflows/a.json", "/repo/.workrail/workflows/a.json", True),
        ("/repo/workflows/a.json", "/other/.workrail/workflows/a.json", False),
        ("workflows/a.json", "docs/template/workflows/a.json", False),
        ("workflows/a.json", "tests/data/a.json", False),
        ("tests/one/a.json", "tests/two/a.json", False),
        ("a.json", "b.json", True),
    ],
)
def test_duplicates(first: str, second: str, clash: bool) -> None:
    found = registry_findings([entry(first, "demo.x"), entry(second, "demo.x")], complete=True)
    expected = {path: ["duplicate-workflow-id"] for path in (first, second)} if clash else {}
    assert names(found) == expected
    for path, findings in found.items():
        (finding,) = findings
        assert (finding.pointer, finding.path, finding.phase) == ("/id", path, Phase.REGISTRY)
        assert (second if path == first else first) in finding.message


def test_many_duplicates_are_counted_not_listed() -> None:
    found = registry_findings([entry(f"{number}.json", "demo.x") for number in range(6)])
    assert (
        found["5.json"][0].message
        == "duplicate workflow id 'demo.x', also used by '0.json', '1.json', '2.json' and 2 more"
    )
    assert len(found) == 6


def test_a_reserved_id_of_a_bundled_workflow_is_shadowed_not_repeated() -> None:
    bundled = entry("workflows/a.json", "wr.x", kind="bundled")
    mine = entry(".workrail/workflows/a.json", "wr.x", kind="custom")
    found = registry_findings([bundled, mine], complete=True)
    assert names(found) == {mine.path: ["shadow-attempt-reserved"]}
    assert found[mine.path][0].severity is Severity.WARNING
    assert names(registry_findings([mine], bundled_ids=["wr.x"])) == {mine.path: ["shadow-attempt-reserved"]}
    assert registry_findings([mine]) == {}


def test_routines_that_share_a_template_id() -> None:
    entries = [
        entry("workflows/routines/a.json", "routine-a"),
        entry("workflows/routines/b.json", "wr.routine-a"),
        entry("workflows/routines/c.json", "routine-c"),
        entry("workflows/d.json", "a"),
    ]
    found = registry_findings(entries, complete=True)
    assert names(found) == {path: ["routine-template-collision"] for path in (entries[0].path, entries[1].path)}
    assert found[entries[0].path][0].details["engine"] is False


# -------------------------------------------------------------------------------------------- delegation


def test_delegation_to_itself() -> None:
    (finding,) = registry_findings([entry("a.json", "demo.a", "demo.a")])["a.json"]
    assert (finding.name, finding.severity, finding.pointer) == ("delegation-circular", Severity.ERROR, "/steps/0")
    assert finding.details["engine"] is False, "one document is no registry"
    (finding,) = registry_findings([entry("a.json", "demo.a", "demo.a")], complete=True)["a.json"]
    assert finding.details["engine"] is True


@pytest.mark.parametrize(
    ("target", "complete", "severity"),
    [
        ("demo.b", True, None),
        ("demo.c", True, Severity.ERROR),
        ("demo.c", False, Severity.INFO),
        ("wr.routine-look", True, None),  # comes with the engine
        ("wr.unheard-of", True, Severity.INFO),  # may come with the engine
    ],
)
def test_unknown_targets(target: str, complete: bool, severity: Severity | None) -> None:
    entries = [entry("a.json", "demo.a", target), entry("b.json", "demo.b")]
    found = registry_findings(entries, bundled_ids=["wr.routine-look"], complete=complete)
    assert [finding.severity for finding in found.get("a.json", [])] == ([severity] if severity else [])
    if severity:
        assert found["a.json"][0].details["engine"] is (severity is Severity.ERROR)


def test_a_reserved_target_is_judged_when_the_bundled_workflows_are_there() -> None:
    entries = [entry("a.json", "demo.a", "wr.nope"), entry("workflows/b.json", "wr.some", kind="bundled")]
    (finding,) = registry_findings(entries, complete=True)["a.json"]
    assert (finding.name, finding.severity) == ("delegation-unknown", Severity.ERROR)


def test_a_target_that_is_only_an_example_is_not_found() -> None:
    example = entry("workflows/examples/b.json", "demo.b")
    for complete, severity in ((True, Severity.ERROR), (False, Severity.INFO)):
        entries = [entry("workflows/a.json", "demo.a", "demo.b"), example]
        (finding,) = registry_findings(entries, complete=complete)["workflows/a.json"]
        assert (finding.name, finding.severity, finding.pointer) == ("delegation-unknown", severity, "/steps/0")
        assert "'demo.b' is in a folder named examples" in finding.message
        assert "suggestion" not in finding.details
    # A twin that is found is meant; what is internal is loaded; and examples may show how to delegate to one another.
    twin = entry("workflows/b.json", "demo.b")
    assert registry_findings([entry("workflows/a.json", "demo.a", "demo.b"), example, twin], complete=True) == {}
    internal = entry("workflows/internal/b.json", "demo.b")
    assert registry_findings([entry("workflows/a.json", "demo.a", "demo.b"), internal], complete=True) == {}
    assert registry_findings([entry("workflows/examples/a.json", "demo.a", "demo.b"), example], complete=True) == {}


def test_a_near_miss_is_suggested() -> None:
    (finding,) = registry_findings([entry("a.json", "demo.a", "demo.revew"), entry("b.json", "demo.review")])["a.json"]
    assert finding.details["suggestion"] == "demo.review"
    assert "did you mean 'demo.review'?" in finding.message


def test_the_workflow_itself_is_never_what_was_meant() -> None:
    (finding,) = registry_findings([entry("a.json", "demo.one", "demo.onne")])["a.json"]
    assert (finding.name, "did you mean" in finding.message) == ("delegation-unknown", False)


def test_circles_are_told_where_they_can_be_cut() -> None:
    entries = [
        entry("a.json", "demo.a", "demo.b"),
        entry("b.json", "demo.b", "demo.c", "demo.d"),
        entry("c.json", "demo.c", "demo.a"),
        entry("d.json", "demo.d"),
        entry("e.json", "demo.e", "demo.a"),  # leads into the circle and is no part of it
    ]
    found = registry_findings(entries, complete=True)
    assert names(found) == {path: ["delegation-circular"] for path in ("a.json", "b.json", "c.json")}
    assert "demo.a -> demo.b -> demo.c -> demo.a" in found["a.json"][0].message
    assert found["b.json"][0].pointer == "/steps/0"


IDS = [f"demo.w{number}" for number in range(6)]


@given(st.lists(st.tuples(st.sampled_from(IDS), st.lists(st.sampled_from(IDS), max_size=3)), max_size=8), st.randoms())
def test_findings_do_not_depend_on_the_order_of_files(graph: list[tuple[str, list[str]]], random: Any) -> None:
    entries = [entry(f"workflows/{i}.json", ident, *targets) for i, (ident, targets) in enumerate(graph)]
    shuffled = entries.copy()
    random.shuffle(shuffled)
    assert registry_findings(entries, complete=True) == registry_findings(shuffled, complete=True)


@given(st.lists(st.tuples(st.sampled_from(IDS), st.lists(st.sampled_from(IDS), max_size=3)), max_size=8))
def test_a_delegation_is_in_a_circle_exactly_when_its_target_leads_back(graph: list[tuple[str, list[str]]]) -> None:
    entries = [entry(f"workflows/{i}.json", ident, *targets) for i, (ident, targets) in enumerate(graph)]
    reach: dict[str, set[str]] = {ident: set() for ident in IDS}
    for ident, targets in graph:
        reach[ident] |= set(targets)
    for _ in IDS:
        for targets in reach.values():
            targets |= {further for target in targets.copy() for further in reach[target]}
    found = registry_findings(entries, complete=True)
    known = {ident for ident, _ in graph}
    for made in entries:
        told = [f.pointer for f in found.get(made.path, []) if f.name == "delegation-circular"]
        expected = [
            each.pointer
            for each in made.delegations
            if each.target == made.id or (each.target in known and made.id in reach[each.target])
        ]
        assert told == expected


def test_a_delegation_stays_in_its_workspace() -> None:
    """Two workspaces that use the same ids are not taken for one."""
    found = registry_findings(
        [
            entry("one/workflows/a.json", "demo.a", "demo.b"),
            entry("one/workflows/b.json", "demo.b"),
            entry("two/workflows/a.json", "demo.a"),
            entry("two/workflows/b.json", "demo.b", "demo.a"),
        ],
        complete=True,
    )
    assert found == {}


def test_both_sources_of_a_workspace_make_a_circle() -> None:
    found = registry_findings(
        [
            entry("one/workflows/a.json", "demo.a", "demo.b"),
            entry("one/.workrail/workflows/b.json", "demo.b", "demo.a"),
            entry("two/workflows/b.json", "demo.b"),
        ],
        complete=True,
    )
    assert names(found) == {
        "one/workflows/a.json": ["delegation-circular"],
        "one/.workrail/workflows/b.json": ["delegation-circular"],
    }


def test_what_a_workspace_lacks_is_looked_for_in_the_others() -> None:
    found = registry_findings(
        [entry("flows/a.json", "demo.a", "demo.b"), entry("more/b.json", "demo.b", "demo.a")], complete=True
    )
    assert names(found) == {"flows/a.json": ["delegation-circular"], "more/b.json": ["delegation-circular"]}


def test_a_large_cycle_is_shown_in_part() -> None:
    ring = [entry(f"{i:02}.json", f"demo.c{i}", f"demo.c{(i + 1) % 40}") for i in range(40)]
    (finding,) = registry_findings(ring, complete=True)["00.json"]
    assert "demo.c0 -> demo.c1 -> demo.c2 -> demo.c3 -> ... -> demo.c39 -> demo.c0" in finding.message


def test_a_long_chain_is_survived() -> None:
    chain = [entry(f"{i}.json", f"demo.c{i}", f"demo.c{i + 1}") for i in range(3000)]
    found = registry_findings([*chain, entry("end.json", "demo.c3000", "demo.c2990")], complete=True)
    assert len(found) == 11


# ------------------------------------------------------------------------------------------ source kinds


BUNDLED = [f"wr.routine-{name}" for name in ("a", "b", "c")]


def test_the_engine_s_own_folder_is_known_by_its_routines(tmp_path: Path) -> None:
    routines = tmp_path / "workflows" / "routines"
    routines.mkdir(parents=True)
    (routines / "a.json").touch()
    path = str(tmp_path / "workflows" / "x.json")
    assert source_kind_of(path, lambda: BUNDLED[:0]) == "project"
    assert source_kind_of(path, lambda: [*BUNDLED, "demo.x"]) == "project", "one of three is a coincidence"
    (routines / "b.json").touch()
    other = [*BUNDLED, "demo.y"]  # what was seen once is remembered for the run
    assert source_kind_of(path, lambda: other) == "bundled"
    assert source_kind_of(str(routines / "a.json"), lambda: other) == "bundled"


def test_other_folders(tmp_path: Path) -> None:
    assert source_kind_of(str(tmp_path / ".workrail" / "workflows" / "x.json"), lambda: BUNDLED) == "custom"
    assert source_kind_of(str(tmp_path / "workflows" / "x.json"), lambda: BUNDLED) == "project"
    assert source_kind_of(str(tmp_path / "x.json"), lambda: BUNDLED) == "project"


def test_the_home_folder_has_the_workflows_of_its_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    source = tmp_path / ".workrail" / "workflows"
    assert source_kind_of(str(source / "deep" / "x.json"), lambda: BUNDLED) == "user"
    assert source_kind_of(str(tmp_path / "workflows" / "x.json"), lambda: BUNDLED) == "project"
    assert source_kind_of(str(tmp_path / "repo" / ".workrail" / "workflows" / "x.json"), lambda: BUNDLED) == "custom"
    text = json.dumps(workflow(id="my-flow"))
    (finding,) = check_text(text, str(source / "my-flow.json"), select=["workflow-id-legacy"]).findings
    assert "rename it to 'user.my_flow'" in finding.message


# ------------------------------------------------------------------------------------------------ renames


def test_variants_of_a_workflow_are_renamed_alike_and_a_reserved_id_gives_way() -> None:
    ids = {"a.json": "my-flow", "a.v2.json": "my-flow", "b.json": "wr.my-flow", "c.json": "project.other"}
    entries = [entry(f"workflows/{name}", ident) for name, ident in ids.items()]
    found = []
    for each in entries:
        report = check_text(json.dumps(workflow(id=each.id)), each.path, select=["ID004", "ID005"])
        found += report.findings
    told = with_free_ids(found, entries)
    expected = ["project.my_flow", "project.my_flow", "project.my_flow_dfda"]
    assert [finding.message.rpartition("rename it to ")[2] for finding in told] == [f"'{ident}'" for ident in expected]
    assert [finding.fix and finding.fix.title for finding in told] == [f"rename it to {ident}" for ident in expected]
    assert "dfda" not in found[2].message, "what a cache may keep is not touched"
