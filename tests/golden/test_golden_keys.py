"""Where goldens are kept: readable names, no two tests in one file, and the owner can be told."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_workrail.golden.files import (
    GoldenKey,
    base_of,
    function_base,
    has_no_parameters,
    owner_base,
    source_base,
    source_folder,
)


@pytest.mark.parametrize(
    ("nodeid", "name", "call", "path"),
    [
        ("t/test_a.py::test_b", None, 1, "t/__goldens__/test_a/test_b.golden.json"),
        ("t/test_a.py::test_b", None, 2, "t/__goldens__/test_a/test_b.2.golden.json"),
        ("t/test_a.py::test_b", "late", 1, "t/__goldens__/test_a/test_b.late.golden.json"),
        ("test_a.py::TestX::TestY::test_b[x-1]", None, 1, "__goldens__/test_a/TestX-TestY-test_b[x-1].golden.json"),
        ("t/test_a.py::test_b[x]@group", None, 1, "t/__goldens__/test_a/test_b[x].golden.json"),
        ("t/test_a.py::test_b@group", None, 1, "t/__goldens__/test_a/test_b.golden.json"),
        ("s/review.scenario.json::Review", None, 1, "s/__goldens__/review.golden.json"),
        ("s/review.scenario.json::Review", "locked", 1, "s/__goldens__/review.locked.golden.json"),
    ],
)
def test_names_are_those_of_the_tests(nodeid: str, name: str | None, call: int, path: str) -> None:
    key = GoldenKey.of(nodeid, name, call)
    assert (key.nodeid, key.path) == (nodeid, path)
    assert base_of(path) == owner_base(nodeid)
    assert path.startswith(source_base(nodeid.partition("::")[0]))
    assert source_folder(path) == nodeid.partition("::")[0].rpartition("/")[0]


@pytest.mark.parametrize("parameter", ["a/b", "a.b", "a b", "a:b", "ü", "x" * 300, "a\\b", "«", "a\nb", "..", "con?"])
def test_what_no_file_name_can_hold_is_replaced_and_told_apart(parameter: str) -> None:
    path = GoldenKey.of(f"test_a.py::test_b[{parameter}]").path
    name = path.rpartition("/")[2]
    assert path.count("/") == 2
    assert name.startswith("test_b[")
    assert len(name.encode()) < 200
    assert name.isascii()
    assert name.count(".") == 2
    assert GoldenKey.of(f"test_a.py::test_b[{parameter}x]").path != path


def test_a_file_name_is_never_too_long() -> None:
    path = GoldenKey.of(f"test_a.py::test_b[{'x' * 400}]", "y" * 400).path
    name = path.rpartition("/")[2]
    # The pending change beside it, and what a writer makes of that while it writes.
    assert len(f".{name}.pending.abcdefgh") <= 255


def test_a_name_that_looks_like_a_number_is_not_the_second_call() -> None:
    assert GoldenKey.of("a.py::t", "2").path != GoldenKey.of("a.py::t", None, 2).path


IDENTIFIERS = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,8}", fullmatch=True)
ITEMS = st.builds(
    lambda parts, parameters: "::".join(parts) + ("" if parameters is None else f"[{parameters}]"),
    st.lists(IDENTIFIERS, min_size=1, max_size=3),
    st.none() | st.text(max_size=12),
)
CLAIMS = st.tuples(ITEMS, st.none() | st.text(min_size=1, max_size=8), st.integers(1, 3))


@given(CLAIMS, CLAIMS)
def test_two_claims_never_share_a_file(one: tuple[str, str | None, int], other: tuple[str, str | None, int]) -> None:
    paths = [GoldenKey.of(f"t/test_a.py::{item}", name, call).path for item, name, call in (one, other)]
    meant = [(item, name, call if name is None else 0) for item, name, call in (one, other)]
    assert (paths[0] == paths[1]) == (meant[0] == meant[1])


@given(CLAIMS)
def test_the_owner_can_be_told_from_the_path(claim: tuple[str, str | None, int]) -> None:
    item, name, call = claim
    nodeid = f"t/test_a.py::{item}"
    path = GoldenKey.of(nodeid, name, call).path
    assert base_of(path) == owner_base(nodeid)
    assert function_base(base_of(path)) == function_base(owner_base(f"t/test_a.py::{item.partition('[')[0]}[x]"))


@pytest.mark.parametrize(
    ("nodeid", "expected"),
    [
        ("a.py::t[NOTSET]", True),
        ("a.py::T::t[NOTSET-1]", True),
        ("a.py::t[NOTSETTLED]", False),
        ("a.py::t[x]", False),
        ("a.py::t", False),
        ("a.scenario.json::NOTSET", False),
    ],
)
def test_an_empty_set_of_parameters_is_known(nodeid: str, expected: bool) -> None:
    assert has_no_parameters(nodeid) is expected


def test_names_are_kept_up_to_their_limits() -> None:
    """A test of 100 characters and a label of 60 fit into a file name; one more is cut and marked."""
    kept, cut = (GoldenKey.of(f"t/test_a.py::{'x' * size}").path for size in (100, 101))
    assert kept == f"t/__goldens__/test_a/{'x' * 100}.golden.json"
    assert cut.startswith(f"t/__goldens__/test_a/{'x' * 100}-")
    labelled, shortened = (GoldenKey.of("t/a.scenario.json", "y" * size).path for size in (60, 61))
    assert labelled == f"t/__goldens__/a.{'y' * 60}.golden.json"
    assert shortened.startswith(f"t/__goldens__/a.{'y' * 60}-")
