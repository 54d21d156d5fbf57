"""Paths and patterns: text in, verdict out."""

from __future__ import annotations

import re

import pytest
from effort import patience
from hypothesis import example, given
from hypothesis import strategies as st

from workrail_lint.documents.schema.dialect import python_pattern
from workrail_lint.systems.blocks.paths import (
    HARMLESS_PATH,
    glob_matches,
    is_allowed,
    is_rel_path,
    is_safe_id,
    lane_folder,
    normalized,
)


@pytest.mark.parametrize(
    ("pattern", "path", "matches"),
    [
        ("*.md", "README.md", True),
        ("*.md", "src/README.md", False),
        ("src/**/*.ts", "src/a.ts", True),
        ("src/**/*.ts", "src/x/y.ts", True),
        ("docker/**", "src/docker.ts", False),
        ("docker/**", "docker/a/b", True),
        ("**", "a/b/c", True),
        ("**/c", "c", True),
        ("a/**/b/**/c", "a/b/b/x/c", True),
        ("a?c", "abc", True),
        ("a?c", "a/c", False),
        ("[a-c]x", "bx", True),
        ("[!a-c]x", "bx", False),
        ("[^a-c]x", "dx", True),
        ("[]]x", "]x", True),
        ("[ab", "[ab", True),
        ("a[*]b", "a*b", True),
        ("a[*]b", "axb", False),
        ("a**b", "axyb", True),
        ("a**b", "ax/yb", False),
        ("./src/*", "src/a", True),
        ("/src/*", "src/a", True),
        ("src", "src/a", False),
        ("", "a", False),
    ],
)
def test_globs(pattern: str, path: str, matches: bool) -> None:
    assert glob_matches(pattern, path) is matches


def reference(pattern: str, path: str) -> bool:
    """The same language by way of a regular expression, for small patterns."""
    parts = []
    for segment in pattern.split("/"):
        body = "".join({"*": "[^/]*", "?": "[^/]"}.get(char, re.escape(char)) for char in segment)
        parts.append("(?:[^/]+/)*" if segment == "**" else f"{body}/")
    return re.fullmatch("".join(parts), f"{path}/") is not None


@given(
    pattern=st.lists(st.sampled_from(["a", "*", "?", "ab", "a*", "**", "*b"]), min_size=1, max_size=4).map("/".join),
    path=st.lists(st.sampled_from(["a", "b", "ab", "aab"]), min_size=1, max_size=4).map("/".join),
)
@example("**/a", "a")
@example("a/**", "a")
def test_globs_agree_with_a_regular_expression(pattern: str, path: str) -> None:
    assert glob_matches(pattern, path) == reference(pattern, path)


def test_a_hostile_pattern_is_not_slow() -> None:
    with patience():
        assert not glob_matches("**/" * 84 + "x", "/".join(["a"] * 2000))
        assert not glob_matches("*a" * 120 + "b", "a" * 2000)


@pytest.mark.parametrize(
    "path", ["/a", "C:/a", "c:a", "a\\b", "..", "../a", "a/../b", "a/..", "", ".", "a//b", "a/", "./a", "/workspace/a"]
)
def test_what_is_no_path_below_the_workspace(path: str) -> None:
    assert not is_rel_path(path)


@pytest.mark.parametrize("path", ["a", "a/b", ".a", "...", "a..b/c", ".output/x", "a b", "ä/ö"])
def test_paths_below_the_workspace(path: str) -> None:
    assert is_rel_path(path)
    assert normalized(path) == path


@pytest.mark.parametrize(
    ("written", "path"),
    [
        ("/workspace/src/a", "src/a"),
        ("./src/a", "src/a"),
        ("././a", "a"),
        ("/workspace/./a", "a"),
        ("/workspace//a", "a"),
        ("/workspaces/a", "/workspaces/a"),
        ("/workspace", ""),
    ],
)
def test_normalizing(written: str, path: str) -> None:
    assert normalized(written) == path


@given(st.text(alphabet="ab./\\:C", max_size=8))
def test_a_path_below_the_workspace_is_harmless(path: str) -> None:
    harmless = re.search(python_pattern(HARMLESS_PATH), path, re.ASCII) is not None
    assert harmless or not is_rel_path(path)
    escapes = path == "" or re.search(r"^/|^[A-Za-z]:|\\|(^|/)\.\.(/|$)", path) is not None
    assert harmless != escapes


@given(st.text(alphabet="ab./", max_size=8))
def test_normalizing_twice_changes_nothing(path: str) -> None:
    assert normalized(normalized(path)) == normalized(path)


def test_restrictions() -> None:
    assert is_allowed("docs/a", [])
    assert is_allowed("docs/a", ["", " "])
    assert not is_allowed("docs/a", ["src/**"])
    assert is_allowed("src/a", ["docs/**", "src/**"])
    assert is_allowed(".output/block-a.json", ["src/**"])


def test_ids_and_lanes() -> None:
    assert is_safe_id("a-B_9")
    assert is_safe_id("x" * 128)
    for ident in ("", "x" * 129, "a.b", "a/b", "a b", "ä", "a\n", 7, None):
        assert not is_safe_id(ident)
    assert lane_folder("git-worktree", 0) == "/workspace-lane-0"
    assert lane_folder("temp-copy", 3) == "/tmp/workspace-lane-3"
