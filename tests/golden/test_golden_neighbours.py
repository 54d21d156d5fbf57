"""Side by side with other golden tools: no option, fixture or file of theirs meets one of ours."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from golden_suite import Suite

NEIGHBOURS = Path(sys.prefix, "neighbours")
ALL = """
from inline_snapshot import snapshot as inline

def test_ours(golden):
    golden("{0}")

def test_syrupy(snapshot):
    assert "{0}" == snapshot

def test_regressions(data_regression):
    data_regression.check({{"said": "{0}"}})

def test_inline():
    assert "{0}" == inline()

def test_all(golden, snapshot, data_regression):
    assert "{0}" == snapshot
    data_regression.check({{"said": "{0}"}})
    golden("{0}")
    golden("{0} again")
"""


pytestmark = pytest.mark.skipif(not NEIGHBOURS.is_dir(), reason="the other tools are not there: run `make setup`")


@pytest.fixture
def street(suite: Suite, monkeypatch: pytest.MonkeyPatch) -> Suite:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([os.environ["PYTHONPATH"], str(NEIGHBOURS)]))
    for name in [name for name in os.environ if name.startswith("PYTEST_XDIST_")]:
        monkeypatch.delenv(name)  # a worker of ours must not make a neighbour believe it is one
    return suite


def _theirs(suite: Suite) -> dict[str, bytes]:
    """Their goldens: a folder each, and the test module itself."""
    found = [*suite.path.glob("__snapshots__/*"), *suite.path.glob("test_it/*"), suite.path / "test_it.py"]
    return {path.name: path.read_bytes() for path in found}


def _settle_theirs(suite: Suite) -> None:
    """Let them write all they want; some of them let a test fail whose golden they just wrote."""
    for _ in range(2):
        suite.run_apart("--snapshot-update", "--force-regen", "--inline-snapshot=create")


def test_each_keeps_to_its_own(street: Suite) -> None:
    street.tests(test_it=ALL.format("old"))
    # Theirs first: ours is missing, and stays so.
    _settle_theirs(street)
    assert street.files() == {}
    theirs = _theirs(street)
    assert {"test_it.ambr", "test_regressions.yml", "test_all.yml"} <= set(theirs)
    assert 'inline("old")' in theirs["test_it.py"].decode().replace("'", '"')
    # Ours: theirs do not move.
    result = street.run_apart("--inline-snapshot=disable", mode="new")
    result.assert_outcomes(passed=5)
    assert street.names() == ["test_all", "test_all.2", "test_ours"]
    assert _theirs(street) == theirs
    # All plain, all fine, and nobody reports what belongs to another.
    result = street.run_apart()
    result.assert_outcomes(passed=5)
    result.stdout.no_fnmatch_line("*unused*")
    # An update of ours moves ours alone.
    ours = street.files()
    changed = theirs["test_it.py"].decode().replace('golden("old', 'golden("new')
    street.tests(test_it=changed)
    assert street.run_apart("--inline-snapshot=disable", mode="update").ret == 0
    assert street.files().keys() == ours.keys()
    assert all(street.files()[path] != data for path, data in ours.items())
    assert {**_theirs(street), "test_it.py": b""} == {**theirs, "test_it.py": b""}
    # A test of theirs that fails holds back only the golden of its own test.
    before = street.files()
    street.tests(
        test_it=changed.replace('golden("new', 'golden("last').replace('"old" == snapshot', '"odd" == snapshot')
    )
    street.run_apart("--inline-snapshot=disable", mode="update").assert_outcomes(passed=3, failed=2)
    moved = {path for path, data in street.files().items() if before[path] != data}
    assert moved == {"__goldens__/test_it/test_ours.golden.json"}
