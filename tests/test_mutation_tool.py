"""The mutation tool: which changes it makes to a module, what it leaves alone, which it draws, and who notices them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tools import mutation, mutation_judge
from tools.mutation import Mutant, mutants, mutated
from tools.mutation_judge import RecordedTest, Verdict, groups, judged
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
    assert groups("a.py", Mutant(4, "", 3, 0), tests) == [[calls], [starts, other]]
    assert groups("a.py", Mutant(1, "", 0, 0), tests) == [[calls, other], [starts, uses]]
    assert groups("c.py", Mutant(1, "", 0, 0), tests) == [[], tests]
    assert groups("c.py", Mutant(4, "", 3, 0), tests) == [[], [starts]]


SOURCE = """
limit = 1
def plain(a=2):
    return a + 10
class Kind:
    size = 3
    def method(self):
        return [each + 20 for each in (self.size,)]
def outer(b):
    def inner():
        return b + 30
    return inner
made = outer(4)
table = [each for each in (1, 2) if each]
"""


def test_a_loaded_function_gets_its_new_code_and_a_constant_needs_an_import(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "changed.py"
    path.write_text(SOURCE, encoding="utf-8")
    monkeypatch.setattr(mutation_judge, "ROOT", tmp_path)
    monkeypatch.setattr(mutation_judge, "_serve", lambda *_: None)

    def names_of(source: str) -> dict[str, Any]:
        names: dict[str, Any] = {}
        exec(compile(source, str(path), "exec"), names)
        return names

    def values(names: dict[str, Any]) -> list[Any]:
        inner = names["outer"](4)
        return [names["plain"](), names["Kind"]().method(), inner and inner(), names["made"] and names["made"]()]

    in_place, imported = 0, []
    for mutant in mutants(SOURCE):
        names = names_of(SOURCE)
        functions = [names["plain"], names["Kind"].method, names["outer"], names["made"]]
        codes = mutation_judge._new_codes("changed.py", mutant)
        mutation_judge._change("changed.py", mutant, functions, codes, tmp_path)
        if mutant.line == 12:
            continue  # what it returns is called before the first test: `made` is from before the change
        if codes and mutation_judge._fit(functions, codes):
            assert values(names) == values(names_of(mutated(SOURCE, mutant))) != values(names_of(SOURCE)), mutant
            in_place += 1
        else:
            imported.append(mutant.line)
    assert (in_place, imported) == (11, [2, 2, 3, 3, 6, 6, 11, 13, 13, *[14] * 5])


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


def test_what_a_test_is_the_first_to_import_is_the_mutant(tmp_path: Path) -> None:
    """Also where pytest rewrites the assertions of the module, as it does for those of a plugin."""
    (tmp_path / "changed.py").write_text("x = 1\n", encoding="utf-8")
    (tmp_path / "mutant.py").write_text("x = 2\n", encoding="utf-8")
    site = mutation.ROOT / "tools" / "mutant" / "sitecustomize.py"
    (tmp_path / "test_changed.py").write_text(
        f"""
import os, runpy, pytest
pytest.register_assert_rewrite("changed")

def test_x():
    os.environ.update(MUTANT_MODULE="changed", MUTANT_FILE="changed.py", MUTANT_SOURCE="mutant.py")
    runpy.run_path({str(site)!r})
    import changed
    assert changed.x == 2
""",
        encoding="utf-8",
    )
    run = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_changed.py"]
    done = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, check=False)
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
    module = "workrail_lint/base/version.py"
    with pytest.raises(SystemExit, match=r"pytest can't run .*test_broken\.py"):
        judged({module: []}, {module: [str(broken)]})


@pytest.mark.deep
def test_a_mutant_is_judged_in_place_or_imported_anew() -> None:
    module, near = "workrail_lint/base/wording.py", ["tests/test_suggest.py"]
    source = (mutation.ROOT / module).read_text(encoding="utf-8")
    every = mutants(source)
    chosen = [every[0], *[mutant for mutant in every if mutant.change.startswith("return: return f")][:1]]
    found = judged({module: chosen}, {module: near})
    assert found == [Verdict(module, mutant, verdict.killer) for mutant, verdict in zip(chosen, found, strict=True)]
