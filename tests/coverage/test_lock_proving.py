"""Sabotages: how they are applied, what they prove, and when a proof no longer holds."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from lock_project import LockProject, lock, project

from pytest_workrail.locks.sabotage import breaks, load_sabotages

__all__ = ["project"]

PRODUCT = """
LIMIT = 3

def double(number):
    return 2 * number

def bounded(number):
    return min(number, LIMIT)

class Counter:
    def __init__(self):
        self.count = 0

    def add(self):
        self.count += 1
        return self.count

    @staticmethod
    def zero():
        return 0
"""
TESTS = """
from product import Counter, bounded, double

@pytest.mark.enforces("first")
def test_double():
    assert double(2) == 4

@pytest.mark.enforces("second")
def test_counter():
    assert Counter().add() == 1

@pytest.mark.enforces("second")
def test_nothing_of_the_kind():
    assert double(0) == 0
"""
SABOTAGES = """
@breaks("first", at="product:double")
def nothing_is_doubled(original):
    "A number comes back as it went in."
    return lambda number: number

@breaks("second", at="product:Counter.add")
def counters_start_late(original):
    "The first call counts as the second."
    def add(self):
        original(self)
        return original(self)
    return add
"""


@pytest.fixture
def doubling(project: LockProject) -> LockProject:
    (project.pytester.path / "product.py").write_text(PRODUCT, encoding="utf-8")
    project.tests(TESTS)
    project.sabotages(SABOTAGES)
    return project


def prove(project: LockProject, *options: str) -> pytest.RunResult:
    # In a process of its own, because it is copied for every sabotage.
    return project.run_apart("--workrail-sabotages=sabotages.py", "--workrail-locks-prove", *options)


def test_a_sabotage_that_is_noticed_proves_its_lock(doubling: LockProject) -> None:
    doubling.tests("def test_no_claim(request):\n    assert request.node\n", "test_more")
    result = prove(doubling, "--workrail-locks-proven-fail-under=100")
    assert result.ret == pytest.ExitCode.OK
    result.assert_outcomes(passed=3, deselected=1)
    result.stdout.fnmatch_lines(
        ["2 of 2 locks enforced (100%), 2 proven (100%), 0 suspect", "2 of 2 sabotages noticed"]
    )
    assert doubling.report["covered"] == [
        {
            "lockId": "first",
            "tests": ["test_locks.py"],
            "proofs": [{"sabotage": "nothing-is-doubled", "test": "test_locks.py::test_double"}],
        },
        {
            "lockId": "second",
            "tests": ["test_locks.py"],
            "proofs": [{"sabotage": "counters-start-late", "test": "test_locks.py::test_counter"}],
        },
    ]
    first = doubling.pytester.path.joinpath("locks.record.json").read_bytes()
    # A run of another day counts on what is recorded.
    assert doubling.run("--workrail-sabotages=sabotages.py").ret == pytest.ExitCode.OK
    assert doubling.proven == ["first", "second"]
    prove(doubling)
    assert doubling.pytester.path.joinpath("locks.record.json").read_bytes() == first


UNNOTICED = """
import os

@breaks("first", at="product:Counter.add")
def another_thing(original):
    "Breaks what the test does not look at."
    return lambda self: 7

@breaks("first", at="product:double")
def nonsense(original):
    "Breaks everything."
    return lambda: None

@breaks("first", at="product:triple")
def missing(original):
    "Breaks what is no longer there."
    return original

@breaks("first", at="product:double")
def sudden_end(original):
    "Ends the process."
    return lambda number: os._exit(1)

@breaks("first", at="product:double")
def tattling(original):
    "The sabotage does the asserting."
    def double(number):
        assert number != number
    return double
"""


def test_a_sabotage_that_nothing_notices_proves_nothing(doubling: LockProject) -> None:
    doubling.sabotages(UNNOTICED)
    result = prove(doubling)
    result.stdout.fnmatch_lines(
        [
            "0 of 5 sabotages noticed",
            "  another-thing (first) is not noticed: every test still passes",
            "  nonsense (first) is not noticed: *test_double fails with TypeError, not with an assertion",
            "  missing (first) is not noticed: product:triple does not exist, so it can't be sabotaged*",
            "  sudden-end (first) is not noticed: the tests did not finish",
            "  tattling (first) is not noticed: the sabotage itself fails in *test_double",
        ]
    )
    assert doubling.proven == []


CHANGES = {
    "the test": ("test_locks.py", "assert double(2) == 4", "assert double(2) != 5"),
    "the sabotage": ("sabotages.py", "lambda number: number", "lambda number: -number"),
    "the name of the sabotage": ("sabotages.py", "nothing_is_doubled", "nothing_doubles"),
    "the lock": ("locks.json", "first holds.", "first holds everywhere."),
}


def test_a_proof_holds_as_long_as_what_it_was_made_with(doubling: LockProject) -> None:
    prove(doubling)
    for file, old, new in CHANGES.values():
        path = doubling.pytester.path / file
        text = path.read_text("utf-8")
        path.write_text(text.replace(old, new), encoding="utf-8")
        doubling.run("--workrail-sabotages=sabotages.py")
        assert doubling.proven == ["second"], file
        path.write_text(text, encoding="utf-8")
        doubling.run("--workrail-sabotages=sabotages.py")
        assert doubling.proven == ["first", "second"]
    plan = (doubling.pytester.path / "out" / "lock-closure-plan.md").read_text("utf-8")
    assert "| to prove | 0 |" in plan


def test_one_more_claim_on_a_test_does_not_undo_its_proof(doubling: LockProject) -> None:
    prove(doubling)
    doubling.registry(lock("first"), lock("second"), lock("third"))
    doubling.tests(TESTS.replace('@pytest.mark.enforces("first")', '@pytest.mark.enforces("first", "third")'))
    doubling.run("--workrail-sabotages=sabotages.py")
    assert doubling.proven == ["first", "second"]


def test_what_was_not_tried_keeps_its_proof(doubling: LockProject) -> None:
    prove(doubling)
    prove(doubling, "-k", "test_double")
    doubling.run("--workrail-sabotages=sabotages.py")
    assert doubling.proven == ["first", "second"]
    doubling.sabotages(SABOTAGES.partition('@breaks("second"')[0])
    prove(doubling)
    record = json.loads((doubling.pytester.path / "locks.record.json").read_text("utf-8"))
    assert record["locks"]["second"]["proofs"] == [], "its sabotage is gone"


def test_a_sabotage_of_no_known_lock_is_an_error(doubling: LockProject) -> None:
    doubling.sabotages(SABOTAGES.replace('"second"', '"third"'))
    result = doubling.run("--workrail-sabotages=sabotages.py")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert doubling.report["warnings"] == ['Unknown lock ID "third" in sabotage counters-start-late']


def test_a_failing_test_stops_the_proving(doubling: LockProject) -> None:
    doubling.tests('@pytest.mark.enforces("first")\ndef test_no(request):\n    assert not request\n', "test_more")
    result = prove(doubling)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert not (doubling.pytester.path / "locks.record.json").exists()


def test_a_whole_run_can_be_sabotaged(doubling: LockProject) -> None:
    options = ("--workrail-sabotages=sabotages.py", "--workrail-sabotage=nothing-is-doubled")
    doubling.run_apart("-n", "2", *options).assert_outcomes(passed=2, failed=1)
    result = doubling.run("--workrail-sabotages=sabotages.py", "--workrail-sabotage=nothing")
    result.stderr.fnmatch_lines(["*unknown sabotage nothing (known: counters-start-late, nothing-is-doubled)"])


@pytest.fixture
def product(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> object:
    (tmp_path / "some_product.py").write_text(PRODUCT, encoding="utf-8")
    (tmp_path / "some_user.py").write_text(
        "from some_product import LIMIT, Counter, double as twice\nOTHER = 3\n", encoding="utf-8"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    import some_product
    import some_user

    yield some_product
    for name in ("some_product", "some_user"):
        del sys.modules[name]
    del some_user


def test_a_switch_reaches_every_copy_and_is_undone(product: object) -> None:
    @breaks("any", at=("some_product:double", "some_product:Counter.zero"))
    def everything_is_one(original: object) -> object:
        """Everything is one."""
        return staticmethod(lambda *_: 1) if isinstance(original, staticmethod) else lambda *_: 1

    import some_user

    with everything_is_one.applied():
        assert (some_user.twice(4), some_user.Counter.zero(), some_user.Counter().zero()) == (1, 1, 1)
    assert (some_user.twice(4), some_user.Counter.zero()) == (8, 0)


def test_a_constant_is_replaced_under_its_name_only(product: object) -> None:
    @breaks("any", at="some_product:LIMIT")
    def no_limit(original: int) -> int:
        """There is no limit."""
        return original * 1000

    import some_user

    with no_limit.applied():
        assert (some_user.LIMIT, some_user.OTHER) == (3000, 3)
    assert some_user.LIMIT == 3


def test_a_switch_is_undone_when_another_place_is_missing(product: object) -> None:
    @breaks("any", at=("some_product:double", "some_product:Counter.none"))
    def half(original: object) -> object:
        """Half of it is there."""
        return lambda number: number

    import some_user

    with pytest.raises(LookupError, match=r"some_product:Counter\.none does not exist"), half.applied():
        pass
    assert some_user.twice(4) == 8


def test_a_sabotage_says_what_it_breaks() -> None:
    with pytest.raises(ValueError, match="says what it breaks"):

        @breaks("any", at="some_product:double")
        def silent(original: object) -> object:
            return original


def test_sabotages_come_from_files_folders_and_modules(tmp_path: Path) -> None:
    source = "from pytest_workrail.locks.sabotage import breaks\n"
    for name in ("b_second", "a_first"):
        text = f'{source}\n@breaks("x", at="m:f")\ndef {name}(original):\n    "Breaks."\n'
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
    assert [each.name for each in load_sabotages(["."], tmp_path)] == ["a-first", "b-second"]
    assert [each.name for each in load_sabotages(["b_second.py"], tmp_path)] == ["b-second"]
    assert load_sabotages(["json"], tmp_path) == []
    (tmp_path / "c.py").write_text((tmp_path / "a_first.py").read_text("utf-8"), encoding="utf-8")
    with pytest.raises(LookupError, match="two sabotages have the name a-first"):
        load_sabotages(["."], tmp_path)


BROKEN_SABOTAGES = {
    "syntax": ("def broken(:\n", "SyntaxError: invalid syntax (sabotages.py, line 2)"),
    "import": (
        "import nowhere_at_all\n",
        "ModuleNotFoundError: No module named 'nowhere_at_all' (sabotages.py, line 2)",
    ),
    "raises": ("\n\n{}['x']\n", "KeyError: 'x' (sabotages.py, line 4)"),
    "placeless": (
        "@breaks('first', at='somewhere')\ndef anywhere(original):\n    '''Words.'''\n    return original\n",
        "ValueError: the sabotage anywhere needs a place like module:name or module:Class.name (sabotages.py, line 2)",
    ),
    "silent": (
        "@breaks('first', at='a:b')\ndef untold(original):\n    return original\n",
        "ValueError: the sabotage untold needs a lock, and a docstring that says what it breaks (sabotages.py, line 2)",
    ),
}


@pytest.mark.parametrize("kind", BROKEN_SABOTAGES)
def test_sabotages_that_can_not_be_loaded_are_a_usage_error(project: LockProject, kind: str) -> None:
    source, message = BROKEN_SABOTAGES[kind]
    project.tests("def test_nothing():\n    pass\n")
    project.sabotages(source)
    for options in ([], ["--workrail-sabotage=any"]):
        result = project.run("--workrail-sabotages=sabotages.py", *options)
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        assert f"ERROR: --workrail-sabotages: sabotages.py can't be loaded: {message}" in result.errlines
        assert "Traceback" not in result.stderr.str() + result.stdout.str()


@pytest.mark.parametrize("source", ["nowhere.py", "./nowhere.py", "no/where", "nowhere_at_all"])
def test_sabotages_that_are_not_there_are_a_usage_error(project: LockProject, source: str) -> None:
    result = project.run(f"--workrail-sabotages={source}")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    said = f"ERROR: --workrail-sabotages: {source} is not a file, folder or module"
    assert said in result.errlines


def test_a_sabotage_that_fails_when_it_is_switched_on_is_a_usage_error(project: LockProject) -> None:
    project.sabotages("@breaks('first', at='json:dumps')\ndef fails(original):\n    'Words.'\n    return {}['x']\n")
    result = project.run("--workrail-sabotages=sabotages.py", "--workrail-sabotage=fails")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "Traceback" not in result.stderr.str()
    project.sabotages("@breaks('first', at='json:dumps')\ndef fails(original):\n    'Words.'\n    return 1 / 0\n")
    result = project.run("--workrail-sabotages=sabotages.py", "--workrail-sabotage=fails")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    said = "ERROR: --workrail-sabotage: fails can't be turned on: ZeroDivisionError: division by zero"
    assert said in result.errlines
