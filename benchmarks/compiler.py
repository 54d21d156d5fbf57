"""Reading, validating, compiling and hashing in one warm process."""

from __future__ import annotations

import gc
import json
import os
import resource
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import jsonschema_rs
import rfc8785

from benchmarks.documents import routines_folder, workflow_files
from benchmarks.measure import Figure, counts_instructions, instructions, side_by_side
from workrail_lint.base.result import Ok
from workrail_lint.systems.schemas import load_schema
from workrail_lint.systems.workrail.catalog.catalog import load_core
from workrail_lint.systems.workrail.catalog.loading import with_routines
from workrail_lint.systems.workrail.compile import compile_source
from workrail_lint.systems.workrail.settings import Settings
from workrail_lint.systems.workrail.system import WorkRailSystem

# What the public engine takes to load, validate, compile and hash, as a multiple of json.loads on the same machine.
_ENGINE = 9.7


class _Works:
    """What is measured, each over all workflows that compile."""

    def __init__(self) -> None:
        self.settings = Settings(with_routines(load_core(), routines_folder()).catalog, engine=False)
        texts = [path.read_bytes() for path in workflow_files()]
        self.texts = [text for text in texts if isinstance(compile_source(text, self.settings), Ok)]
        self._judged, self._system = Settings(self.settings.catalog), WorkRailSystem()

    def loaded(self) -> None:
        for text in self.texts:
            json.loads(text)

    def compiled(self) -> None:
        for text in self.texts:
            assert compile_source(text, self.settings).value.hash

    def linted(self) -> None:
        for number, text in enumerate(self.texts):
            self._system.check(f"workflows/{number}.json", text, "workflow", self._judged)


def run(quick: bool) -> Iterator[Figure]:
    works = _Works()
    works.linted()
    rounds = 3 if quick else 10
    plain, compiled = side_by_side(works.loaded, works.compiled, rounds)
    plain, full = min(plain, (again := side_by_side(works.loaded, works.linted, rounds))[0]), again[1]
    yield Figure("compile + hash, as a multiple of json.loads", compiled / plain, "x")
    yield Figure("compile + hash, as a multiple of the engine's", compiled / plain / _ENGINE, "x", 0.9)
    yield Figure("full lint, per file", full / len(works.texts) * 1e3, "ms")
    yield Figure("full lint, as a multiple of the engine's own work", full / plain / _ENGINE, "x", 3.0)
    if counts_instructions() and not quick:
        plain, full = _counted("loaded", "linted")
        yield Figure("full lint, by instructions", full / plain / _ENGINE, "x", 3.0)
    validator = jsonschema_rs.Draft7Validator(load_schema("workflow"))

    def peers() -> None:
        for text in works.texts:
            value = json.loads(text)
            validator.is_valid(value)
            rfc8785.dumps(value)

    base, own = side_by_side(peers, works.compiled, rounds)
    yield Figure("json.loads + jsonschema-rs + rfc8785, per file", base / len(works.texts) * 1e6, "us")
    yield Figure("read + validate + compile + hash, per file", own / len(works.texts) * 1e6, "us")
    yield Figure("the second as a multiple of the first", own / base, "x", 2.0)
    if quick:
        return
    yield Figure("memory growth over 2,000 files after the first 500", _growth(works.texts, works.settings), "MiB", 8.0)


def _counted(*names: str) -> list[float]:
    """Millions of instructions of each work in a warm process: what doing it a second time adds."""
    project = Path(__file__).resolve().parents[1]
    commands = [[sys.executable, "-m", __name__, name, rounds] for name in names for rounds in ("1", "2")]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        counts = list(pool.map(lambda command: instructions(command, project), commands))
    return [twice - once for once, twice in zip(counts[::2], counts[1::2], strict=True)]


def _growth(texts: list[bytes], settings: Settings) -> float:
    for count in range(500):
        compile_source(texts[count % len(texts)], settings)
    gc.collect()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for count in range(1_500):
        compile_source(texts[count % len(texts)], settings)
    gc.collect()
    return (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024


if __name__ == "__main__":
    gc.disable()
    work = getattr(_Works(), sys.argv[1])
    for _ in range(int(sys.argv[2])):
        work()
