"""Reading, validating, compiling and hashing in one warm process."""

from __future__ import annotations

import gc
import json
import resource
from collections.abc import Iterator

import jsonschema_rs
import rfc8785

from benchmarks.documents import routines_folder, workflow_files
from benchmarks.measure import Figure, side_by_side
from workrail_lint.base.result import Ok
from workrail_lint.systems.schemas import load_schema
from workrail_lint.systems.workrail.catalog.catalog import load_core
from workrail_lint.systems.workrail.catalog.extend import with_routines
from workrail_lint.systems.workrail.compile import compile_source
from workrail_lint.systems.workrail.settings import Settings
from workrail_lint.systems.workrail.system import WorkRailSystem

# What the public engine takes to load, validate, compile and hash, as a multiple of json.loads on the same machine.
_ENGINE = 9.7


def run(quick: bool) -> Iterator[Figure]:
    settings = Settings(with_routines(load_core(), routines_folder()).catalog, engine=False)
    texts = [path.read_bytes() for path in workflow_files()]
    valid = [text for text in texts if isinstance(compile_source(text, settings), Ok)]
    validator = jsonschema_rs.Draft7Validator(load_schema("workflow"))

    def peers() -> None:
        for text in valid:
            value = json.loads(text)
            validator.is_valid(value)
            rfc8785.dumps(value)

    def ours() -> None:
        for text in valid:
            result = compile_source(text, settings)
            assert result.value.hash

    checked = [(f"workflows/{number}.json", text) for number, text in enumerate(valid)]
    system, judged = WorkRailSystem(), Settings(settings.catalog)

    def linted() -> None:
        for path, text in checked:
            system.check(path, text, "workflow", judged)

    def parsed() -> None:
        for text in valid:
            json.loads(text)

    linted()
    rounds = 3 if quick else 10
    plain, compiled = side_by_side(parsed, ours, rounds)
    plain, full = min(plain, (again := side_by_side(parsed, linted, rounds))[0]), again[1]
    yield Figure("compile + hash, as a multiple of json.loads", compiled / plain, "x")
    yield Figure("compile + hash, as a multiple of the engine's", compiled / plain / _ENGINE, "x", 0.9)
    yield Figure("full lint, per file", full / len(valid) * 1e3, "ms")
    yield Figure("full lint, as a multiple of the engine's own work", full / plain / _ENGINE, "x", 3.0)
    base, own = side_by_side(peers, ours, rounds)
    yield Figure("json.loads + jsonschema-rs + rfc8785, per file", base / len(valid) * 1e6, "us")
    yield Figure("read + validate + compile + hash, per file", own / len(valid) * 1e6, "us")
    yield Figure("the second as a multiple of the first", own / base, "x", 2.0)
    if quick:
        return
    yield Figure("memory growth over 2,000 files after the first 500", _growth(valid, settings), "MiB", 8.0)


def _growth(texts: list[bytes], settings: Settings) -> float:
    for count in range(500):
        compile_source(texts[count % len(texts)], settings)
    gc.collect()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for count in range(1_500):
        compile_source(texts[count % len(texts)], settings)
    gc.collect()
    return (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
