"""The mutation tool: which changes it makes to a module, what it leaves alone, and which modules it draws."""

from __future__ import annotations

import pytest

from tools.mutation import mutants
from tools.mutation_sample import CORES, drawn_modules


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
    ],
)
def test_what_is_no_behaviour_is_left_alone(source: str) -> None:
    assert [mutant.change for mutant in mutants(source)] == []


def test_a_mutant_is_the_whole_module_with_one_change() -> None:
    values = []
    for mutant in mutants("x = 1\ny = x + 10\n"):
        names: dict[str, int] = {}
        exec(mutant.code, names)
        values.append((mutant.line, names["x"], names["y"]))
    assert values == [(1, 2, 12), (1, 0, 10), (2, 1, -9), (2, 1, 12), (2, 1, 10)]


def test_the_same_seed_draws_the_same_modules_of_the_cores() -> None:
    drawn = drawn_modules(20, "one")
    assert drawn == drawn_modules(20, "one")
    assert len(set(drawn)) == 20
    assert all(module.startswith(tuple(f"{room}/" for room in CORES)) for module in drawn)
    assert drawn != drawn_modules(20, "two")
