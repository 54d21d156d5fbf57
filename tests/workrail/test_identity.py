"""Ids, kinds, variants and sources."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.models.workrail.workflow import WORKFLOW_ID
from workrail_lint.documents.schema.dialect import python_pattern
from workrail_lint.systems.workrail import identity
from workrail_lint.systems.workrail.identity import IdVerdict, Variant, WorkflowId

KINDS = ["bundled", "user", "project", "custom", "git", "remote", "plugin"]
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
    assert identity.verdict_of_id("wr.mine", "bundled") is IdVerdict.OK
    assert {identity.verdict_of_id("wr.mine", kind) for kind in OTHERS} == {IdVerdict.RESERVED}
    assert identity.verdict_of_id("team.mine", "project") is IdVerdict.OK
    assert identity.verdict_of_id("mine", "project") is IdVerdict.LEGACY
    assert identity.verdict_of_id("No.No", "project") is IdVerdict.INVALID


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
    assert identity.suggest("my-flow", "project", {"project.my_flow"}) == first


@given(LEGACY, st.sampled_from(OTHERS), st.booleans())
def test_suggestions_are_valid_ids(ident: str, kind: str, clash: bool) -> None:
    plain = identity.suggest(ident, kind)
    assert plain is not None
    made = identity.suggest(ident, kind, {plain}) if clash else plain
    assert made is not None
    assert identity.is_valid(made)
    assert identity.verdict_of_id(made, kind) is IdVerdict.OK
    assert (made == plain) != clash


@pytest.mark.parametrize(
    ("path", "variant"),
    [
        ("workflows/a.json", Variant.STANDARD),
        ("workflows/a.lean.json", Variant.LEAN),
        ("workflows/a.v2.json", Variant.V2),
        ("workflows/a.agentic.json", Variant.AGENTIC),
        ("workflows/a.agentic.v2.json", Variant.V2),
        ("workflows/a.lean.v2.json", Variant.LEAN),
        ("workflows/wr.discovery.json", Variant.STANDARD),
        ("lean.json", Variant.STANDARD),
        ("v2.flow.json", Variant.STANDARD),
        ("a.workflow", Variant.STANDARD),
    ],
)
def test_variants(path: str, variant: Variant) -> None:
    assert identity.variant_of(path) is variant


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
