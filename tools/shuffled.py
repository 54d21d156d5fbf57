"""A plugin of pytest that runs the tests in another order: `make unit ARGS='-p tools.shuffled --shuffle SEED'`.

Files come in an order drawn by the seed, and so do the tests of each file. What fails in one order only leaves
something behind, or relies on what another test left. All workers draw the same order from the same seed.
"""

from __future__ import annotations

import random
from itertools import groupby

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--shuffle", metavar="SEED", help="draw the order of the tests by this seed")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Shuffle the files, and the tests of each file."""
    seed = config.getoption("shuffle")
    if seed is None:
        return
    draw = random.Random(seed)
    files = [list(tests) for _, tests in groupby(items, key=lambda item: item.path)]
    draw.shuffle(files)
    for tests in files:
        draw.shuffle(tests)
    items[:] = [item for tests in files for item in tests]
