"""The mutation tool: which changes it makes to a module, what it leaves alone, which it draws, and who notices them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tools import mutation
from tools.mutation import Mutant, RecordedTest, mutants, mutated
from tools.mutation_sample import CORES, drawn


@pytest.mark.parametrize(
    ("source", "changes"),
    [
        ("x = a == b", ["comparison: a == b -> a != b"]),
        ("x = a < b", ["comparison: a < b -> a <= b", "comparison: a < b -> a >= b"]),
        ("x = a and b", ["and/or: a and b -> a or b"]),
        ("x = not a", ["not: not a -> a"]),
        ("x = a + b", ["arithmetic: a + b -> a - b"]),
        ("x = 5", ["constant: 5 -> 6", "constant: 5 -> 4"]),
        ("x = True", ["constant: True -> False"]),
        ("x = 'a'", ["constant: 'a' -> 'aXX'"]),
        ("call(a)", ["drop: call(a) -> pass"]),
        ("a.b = c", ["drop: a.b = c -> pass"]),
        ("def f():\n    return a", ["return: return a -> return None"]),
        ("x = [a for a in b if c]", ["filter: for a in b if c -> for a in b"]),
        ("x = a if b else c", ["condition: a if b else c -> a if not b else c"]),
        ("x = any(a)", ["opposite: any(a) -> all(a)"]),
        ("x = f(a, b=c)", ["argument: f(a, b=c) -> f(a)"]),
        ("x = zip(a, strict=False)", ["constant: False -> True"]),
        ("x = zip(a, strict=True)", ["argument: zip(a, strict=True) -> zip(a)", "constant: True -> False"]),
    ],
)
def test_a_change_is_made(source: str, changes: list[str]) -> None:
    assert [mutant.change for mutant in mutants(source)] == changes


@pytest.mark.parametrize(
    "source",
    [
        '"docstring"',
        "x = 'wording for people'",
        "def f(a: 'int' = None) -> 'str': ...",
        "if TYPE_CHECKING:\n    call(1)",
        "class A:\n    __slots__ = ('a',)",
        "Kind = Literal['a']",
        "def f():\n    return",
        "class A(B, frozen=True): ...",
        "T = TypeVar('T')",
        "def f():\n    __tracebackhide__ = True",
        "raise AssertionError('a')",
        "class A(Protocol):\n    def f(self, a=1): ...",
    ],
)
def test_what_is_no_behaviour_is_left_alone(source: str) -> None:
    assert [mutant.change for mutant in mutants(source)] == []


def test_a_mutant_is_the_whole_module_with_one_change() -> None:
    values = []
    source = "x = 1\ny = x + 10\n"
    for mutant in mutants(source):
        names: dict[str, int] = {}
        exec(mutated(source, mutant), names)
        values.append((mutant.line, names["x"], names["y"]))
    assert values == [(1, 2, 12), (1, 0, 10), (2, 1, -9), (2, 1, 12), (2, 1, 10)]


def test_a_mutant_knows_its_function() -> None:
    source = "x = 1\n@cache\ndef f():\n    y = 1\n    def g(z=1):\n        ...\n"
    assert [mutant.function for mutant in mutants(source)] == [0, 0, 2, 2, 5, 5]


def test_tests_that_call_the_function_come_first_and_those_that_start_processes_after_them() -> None:
    file = str(mutation.ROOT / "a.py")
    calls, starts, other = (
        RecordedTest("calls", 1, frozenset({(file, 3)}), False),
        RecordedTest("starts", 1, frozenset(), True),
        RecordedTest("other", 1, frozenset({(file, 9), ("b.py", 3)}), False),
    )
    uses = RecordedTest("uses a constant", 1, frozenset({("b.py", 3)}), False)
    tests = [calls, starts, other, uses]
    assert mutation._near("a.py", Mutant(4, "", 3, 0), tests) == [[calls], [starts]]
    assert mutation._near("a.py", Mutant(1, "", 0, 0), tests) == [[calls, other], [starts, uses]]
    assert mutation._near("c.py", Mutant(1, "", 0, 0), tests) == [[], tests]
    assert mutation._near("c.py", Mutant(4, "", 3, 0), tests) == [[], [starts]]


def test_a_process_that_is_started_has_the_mutant(tmp_path: Path) -> None:
    file, other = tmp_path / "changed.py", tmp_path / "mutant.py"
    file.write_text("x = 1\n", encoding="utf-8")
    other.write_text("x = 2, __file__\n", encoding="utf-8")
    folders = os.pathsep.join([str(mutation.ROOT / "tools" / "mutant"), str(tmp_path)])
    served = {"MUTANT_MODULE": "changed", "MUTANT_FILE": str(file), "MUTANT_SOURCE": str(other)}
    done = subprocess.run(
        [sys.executable, "-c", "import changed; print(changed.x)"],
        env={**os.environ, **served, "PYTHONPATH": folders},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == f"{(2, str(file))}\n"


def test_pytest_that_is_started_has_the_mutant_and_works(tmp_path: Path) -> None:
    """If it did not work, every test that starts pytest would seem to notice every mutant."""
    file, other, test = tmp_path / "changed.py", tmp_path / "mutant.py", tmp_path / "test_changed.py"
    file.write_text("x = 1\n", encoding="utf-8")
    other.write_text("x = 2\n", encoding="utf-8")
    test.write_text("import changed\n\n\ndef test_x():\n    assert changed.x == 2\n", encoding="utf-8")
    served = {"MUTANT_MODULE": "changed", "MUTANT_FILE": str(file), "MUTANT_SOURCE": str(other)}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(test)],
        env={**os.environ, **served, "PYTHONPATH": str(mutation.ROOT / "tools" / "mutant")},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_same_seed_draws_the_same_and_equally_many_of_every_room() -> None:
    rooms = [room for room in CORES if room.endswith(("mcp", "lint/rules"))]
    found = drawn(5, "one", rooms)
    assert found == drawn(5, "one", rooms)
    assert found != drawn(5, "two", rooms)
    counts = [sum(len(found[path]) for path in found if path.startswith(f"{room}/")) for room in rooms]
    assert sorted(counts) == [2, 3]


def test_tests_that_cannot_be_collected_are_no_judgement(tmp_path: Path) -> None:
    broken = tmp_path / "test_broken.py"
    broken.write_text("import no_such_module\n", encoding="utf-8")
    with pytest.raises(SystemExit, match=r"pytest can't run .*test_broken\.py"):
        mutation.recorded([str(broken)])
