"""Ids, kinds, variants, sources and listings."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.models.workrail.workflow import WORKFLOW_ID
from workrail_lint.documents.schema.dialect import python_pattern
from workrail_lint.systems.workrail import identity, listing
from workrail_lint.systems.workrail.identity import IdStatus, IdVerdict, Variant, WorkflowId
from workrail_lint.systems.workrail.listing import ResolutionKind, SourceKind, Staleness

KINDS = [kind.value for kind in SourceKind]
OTHERS = [kind for kind in KINDS if kind != "bundled"]
LEGACY = st.text("abcxyz019_-", min_size=1, max_size=80)


@pytest.mark.parametrize(
    ("ident", "parsed"),
    [
        ("demo.flow", WorkflowId("demo", "flow")),
        ("a.b", WorkflowId("a", "b")),
        ("my-flow", WorkflowId("", "my-flow")),
        ("1st", WorkflowId("", "1st")),
        ("1a.bc", None),
        ("a.b.c", None),
        (".ab", None),
        ("ab.", None),
        ("Demo.Flow", None),
        ("", None),
        ("a.b\n", None),
    ],
)
def test_ids_are_taken_apart(ident: str, parsed: WorkflowId | None) -> None:
    assert identity.parse(ident) == parsed


@pytest.mark.parametrize(
    ("ident", "valid"),
    [
        ("aa.bb", True),
        ("a.bb", False),
        ("abc", True),
        ("ab", False),
        ("a" * 64, True),
        ("a" * 65, False),
        ("a.b.c", False),
    ],
)
def test_the_schema_is_stricter_than_the_policy(ident: str, valid: bool) -> None:
    assert identity.is_valid(ident) is valid


@given(st.text("abz09_-.A\n ", max_size=8) | st.from_regex(r"[a-z][a-z0-9_-]{0,70}(\.[a-z][a-z0-9_-]{0,9})?"))
def test_an_id_is_valid_exactly_when_the_schema_says_so(ident: str) -> None:
    fits = 3 <= len(ident) <= 64
    assert identity.is_valid(ident) == (fits and re.search(python_pattern(WORKFLOW_ID), ident) is not None)


def test_only_bundled_sources_may_use_the_reserved_namespace() -> None:
    assert identity.judge("wr.mine", "bundled") is IdVerdict.OK
    assert {identity.judge("wr.mine", kind) for kind in OTHERS} == {IdVerdict.RESERVED}
    assert identity.judge("team.mine", "project") is IdVerdict.OK
    assert identity.judge("mine", "project") is IdVerdict.LEGACY
    assert identity.judge("No.No", "project") is IdVerdict.INVALID


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("demo.flow", "demo.flow"),
        ("Demo_1", "Demo_1"),
        ("a\x00b", None),
        ("a b", None),
        ("", None),
        ("caf\u0065\u0301", None),
    ],
)
def test_lookups_are_sanitized(text: str, found: str | None) -> None:
    assert identity.lookup_form(text) == found


@pytest.mark.parametrize(
    ("ident", "kind", "suggestion"),
    [
        ("my-flow", "project", "project.my_flow"),
        ("my-flow", "custom", "project.my_flow"),
        ("my-flow", "user", "user.my_flow"),
        ("my-flow", "git", "repo.my_flow"),
        ("my-flow", "remote", "repo.my_flow"),
        ("my-flow", "plugin", "repo.my_flow"),
        ("my-flow", "bundled", None),
        ("1st", "project", "project.w_1st"),
        ("-x", "user", "user.w__x"),
        ("a", "user", "user.a_"),
    ],
)
def test_rename_suggestions(ident: str, kind: str, suggestion: str | None) -> None:
    assert identity.suggest(ident, kind) == suggestion


def test_a_taken_suggestion_gets_a_suffix_that_depends_on_source_and_id_only() -> None:
    first = identity.suggest("my-flow", "project", {"project.my_flow"})
    assert first == identity.suggest("my-flow", "project", {"project.my_flow", "x.y"})
    assert first is not None
    assert re.fullmatch(r"project\.my_flow_[0-9a-f]{4}", first)
    assert identity.suggest("my_flow", "project", {"project.my_flow"}) != first
    assert identity.suggest("my-flow", "custom", {"project.my_flow"}) != first
    assert identity.suggest("my-flow", SourceKind.PROJECT, {"project.my_flow"}) == first


def test_a_namespace_can_be_configured() -> None:
    assert identity.suggest("my-flow", "git", namespace="team") == "team.my_flow"


@given(LEGACY, st.sampled_from(OTHERS), st.booleans())
def test_suggestions_are_valid_ids(ident: str, kind: str, clash: bool) -> None:
    plain = identity.suggest(ident, kind)
    assert plain is not None
    made = identity.suggest(ident, kind, {plain}) if clash else plain
    assert made is not None
    assert identity.is_valid(made)
    assert identity.judge(made, kind) is IdVerdict.OK
    assert (made == plain) != clash


@pytest.mark.parametrize(
    ("path", "variant", "stem"),
    [
        ("workflows/a.json", Variant.STANDARD, "a"),
        ("workflows/a.lean.json", Variant.LEAN, "a"),
        ("workflows/a.v2.json", Variant.V2, "a"),
        ("workflows/a.agentic.json", Variant.AGENTIC, "a"),
        ("workflows/a.agentic.v2.json", Variant.V2, "a"),
        ("workflows/a.lean.v2.json", Variant.LEAN, "a"),
        ("workflows/wr.discovery.json", Variant.STANDARD, "wr.discovery"),
        ("lean.json", Variant.STANDARD, "lean"),
        ("v2.flow.json", Variant.STANDARD, "v2.flow"),
        ("a.workflow", Variant.STANDARD, "a.workflow"),
    ],
)
def test_variants_and_stems(path: str, variant: Variant, stem: str) -> None:
    assert identity.variant_of(path) is variant
    assert identity.plain_stem(path) == stem


@pytest.mark.parametrize(
    ("path", "root", "inside"),
    [
        ("workflows/a.json", "workflows", "a.json"),
        ("repo/workflows/routines/a.json", "repo/workflows", "routines/a.json"),
        ("workflows/x/workflows/a.json", "workflows/x/workflows", "a.json"),
        (".workrail/workflows/a.json", ".workrail/workflows", "a.json"),
        ("spec/examples/a.json", "", "spec/examples/a.json"),
        ("/home/examples/a.json", "", "a.json"),
        ("C:\\examples\\workflows\\a.json", "C:/examples/workflows", "a.json"),
        ("a.json", "", "a.json"),
    ],
)
def test_sources(path: str, root: str, inside: str) -> None:
    assert identity.source_root(path) == root
    assert identity.inside_source(path) == inside


@pytest.mark.parametrize(
    ("path", "word"),
    [
        ("workflows/a.json", None),
        ("workflows/a.agentic.json", None),
        ("examples/workflows/a.json", None),
        ("workflows/examples/deep/a.json", "examples"),
        ("workflows/internal/a.json", "internal"),
        ("workflows/routines/a.json", "agenticRoutines"),
        ("workflows/routine-a.json", "agenticRoutines"),
        ("workflows/a.v2.json", "v2Tools"),
        ("workflows/a.lean.json", "leanWorkflows"),
    ],
)
def test_hidden_files(path: str, word: str | None) -> None:
    reason = identity.hidden_because(path)
    assert (reason is None) == (word is None)
    assert word is None or word in str(reason)


@pytest.mark.parametrize(
    ("paths", "flags", "chosen"),
    [
        (["a.json", "a.v2.json"], [], "a.json"),
        (["a.json", "a.v2.json"], ["v2Tools"], "a.v2.json"),
        (["a.json", "a.v2.json", "a.lean.json"], ["v2Tools", "leanWorkflows"], "a.lean.json"),
        (["a.v2.json", "a.agentic.json"], [], "a.v2.json"),
        (["a.agentic.json", "a.json"], ["agenticRoutines"], "a.agentic.json"),
        (["b.json", "a.json"], [], "a.json"),
    ],
)
def test_variant_selection(paths: list[str], flags: list[str], chosen: str) -> None:
    assert identity.select_variant(paths, flags) == chosen


def test_source_precedence() -> None:
    assert listing.resolve("demo.x", ["user"]).kind is ResolutionKind.UNIQUE
    won = listing.resolve("demo.x", ["project", "bundled", "git"])
    assert (won.kind, won.winner) == (ResolutionKind.SOURCE_PRIORITY, SourceKind.PROJECT)
    assert won.others == (SourceKind.BUNDLED, SourceKind.GIT)
    kept = listing.resolve("wr.x", ["project", "bundled"])
    assert (kept.kind, kept.winner) == (ResolutionKind.BUNDLED_PROTECTED, SourceKind.BUNDLED)
    assert kept.others == (SourceKind.PROJECT,)


def test_every_source_kind_has_a_rank_and_a_durable_form() -> None:
    assert set(listing.PRECEDENCE) == set(SourceKind)
    assert {listing.durable_source(kind).value for kind in KINDS} == {"bundled", "user", "project", "remote", "plugin"}


@pytest.mark.parametrize(
    ("ident", "validated", "staleness"),
    [
        ("demo.x", 3, Staleness.NONE),
        ("demo.x", 2, Staleness.LIKELY),
        ("demo.x", 4, Staleness.LIKELY),
        ("demo.x", None, Staleness.POSSIBLE),
        ("test-x", None, None),
    ],
)
def test_staleness(ident: str, validated: int | None, staleness: Staleness | None) -> None:
    assert listing.staleness(ident, validated, 3) is staleness


def record(ident: str, path: str = "workflows/a.json") -> listing.Record:
    return listing.record_of({"id": ident, "name": "N", "description": "D", "version": "1.0.0"}, path, "project", 3)


def test_records() -> None:
    made = record("my-flow")
    assert made.id_status is IdStatus.LEGACY
    assert made.as_json() == {
        "id": "my-flow",
        "kind": "workflow",
        "idStatus": "legacy",
        "suggestedId": "project.my_flow",
        "sourceKind": "project",
        "name": "N",
        "description": "D",
        "version": "1.0.0",
        "staleness": "possible",
    }
    assert "suggestedId" not in record("demo.x").as_json()
    assert record("wr.routine-a").kind == record("demo.x", "workflows/routines/a.json").kind == "routine"


def test_listings_are_sorted_by_namespace_kind_and_id() -> None:
    records = [record(ident) for ident in ("wr.routine-a", "wr.z", "zz", "demo.b", "demo.a", "aa")]
    assert [r.id for r in sorted(records, key=listing.listing_key)] == [
        *("aa", "zz", "demo.a", "demo.b", "wr.z", "wr.routine-a")
    ]
    by_id = sorted(records, key=lambda r: listing.listing_key(r, engine=True))
    assert [r.id for r in by_id] == sorted(r.id for r in records)
