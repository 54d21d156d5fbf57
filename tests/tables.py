"""One test for a table: every row is looked at, and the test fails once, naming each row that is wrong."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any


def for_each(
    names: str, rows: Iterable[Any], key: Callable[[Any], object] = str, least: int = 1
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that runs a test for each row of a table, as one test. It is read like `parametrize`.

    Fixtures are made once for all rows, but each row has a folder of its own in `tmp_path`. With several names, each
    row is a tuple. `key` names a row in the message. A table with fewer than `least` rows is an error: a test of
    nothing passes.
    """
    table = list(rows)
    parameters = names.replace(" ", "").split(",")
    if len(table) < least:
        raise ValueError(f"the table of {names} has {len(table)} rows; at least {least} are expected")

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(test)
        def whole(**fixtures: Any) -> None:
            wrong: list[str] = []
            first: Exception | None = None
            folder = fixtures.get("tmp_path")
            for number, row in enumerate(table):
                values = row if len(parameters) > 1 else (row,)
                if "tmp_path" in fixtures:
                    fixtures["tmp_path"] = folder / str(number)
                    fixtures["tmp_path"].mkdir()
                try:
                    test(**dict(zip(parameters, values, strict=True)), **fixtures)
                except Exception as error:
                    first = first or error
                    kind = "" if isinstance(error, AssertionError) else f"{type(error).__name__}: "
                    wrong.append(f"{key(row)}: {kind}{error}")
            if wrong:
                raise AssertionError("\n".join([f"{len(wrong)} of {len(table)} rows", *wrong])) from first

        signature = inspect.signature(test)
        rest = [parameter for name, parameter in signature.parameters.items() if name not in parameters]
        whole.__signature__ = signature.replace(parameters=rest)  # type: ignore[attr-defined]
        return whole

    return decorate


def compare_with_file(lines: Iterable[str], file: Path) -> None:
    """Assert that the lines are those of a file, whatever their order, and name those that are not."""
    expected, shown = file.read_text(encoding="utf-8").splitlines(), list(lines)
    assert [line for line in shown if line not in expected] == []
    assert len(shown) == len(expected)
