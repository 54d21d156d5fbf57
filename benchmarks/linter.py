"""Start-up, many files, memory: what a commit hook and CI feel."""

from __future__ import annotations

import compileall
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.measure import Figure
from workrail_lint import check_text
from workrail_lint.systems.schemas import schema_path

_PROJECT = Path(__file__).resolve().parents[1]
_BIN = Path(sys.executable).parent
_COUNT = 10_000


def run() -> Iterator[Figure]:
    compileall.compile_dir(str(_PROJECT / "workrail_lint"), quiet=1)  # as an installed package would be
    with tempfile.TemporaryDirectory() as folder:
        yield from _start_up(Path(folder))
    with tempfile.TemporaryDirectory() as folder:
        yield from _many(Path(folder))


def clean_workflow(size: int) -> str:
    """A workflow of about `size` bytes about which there is nothing to say."""
    words = "Look at part {0} of the change and write down what it does, what it could break, and how you know. "
    steps: list[dict[str, object]] = []
    document = {
        "id": "demo.large",
        "name": "Large workflow",
        "description": "Goes through a change part by part.",
        "version": "1.0.0",
        "validatedAgainstSpecVersion": 3,
        "about": "As long as real workflows are.",
        "examples": ["Go through the change in this branch"],
        "steps": steps,
    }
    while len(text := json.dumps(document, indent=2) + "\n") < size:
        number = len(steps) + 1
        prompt = " ".join(words.format(f"{number}.{line}") for line in range(1, 9)).strip()
        steps.append({"id": f"part-{number:03}", "title": f"Part {number}", "prompt": prompt})
    return text


def _best(command: list[str], folder: Path, rounds: int = 15) -> float:
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        subprocess.run(command, cwd=folder, capture_output=True, check=False)
        times.append(time.perf_counter() - start)
    return min(times)


def _start_up(folder: Path) -> Iterator[Figure]:
    workflows = folder / "workflows"
    workflows.mkdir()
    text = clean_workflow(20_000)
    findings = check_text(text, "workflows/large.json").findings
    assert not findings, findings
    (workflows / "large.json").write_text(text, encoding="utf-8")
    tool = str(_BIN / "workrail-lint")
    bare = _best([sys.executable, "-c", "pass"], folder)
    cold = _best([tool, "check", "--no-cache", "workflows/large.json"], folder)
    subprocess.run([tool, "check", "workflows/large.json"], cwd=folder, capture_output=True, check=False)
    warm = _best([tool, "check", "workflows/large.json"], folder)
    peer = _best(
        [str(_BIN / "check-jsonschema"), "--schemafile", schema_path("workflow"), "workflows/large.json"], folder, 7
    )
    yield Figure("bare python", bare * 1000, "ms")
    yield Figure("check-jsonschema on one clean 20 kB workflow", peer * 1000, "ms")
    yield Figure("check on it, cold", cold * 1000, "ms")
    yield Figure("cold, as a multiple of bare python", cold / bare, "x", 7.0)
    yield Figure("cold, as a multiple of check-jsonschema", cold / peer, "x", 0.35)
    yield Figure("with a warm cache, as a multiple of bare python", warm / bare, "x", 5.0)


def _many(folder: Path) -> Iterator[Figure]:
    """Clean workflows of 4 and 20 kB with ids of their own: what is measured is the check, not the report."""
    documents = [json.loads(clean_workflow(size)) for size in (4_000, 4_000, 4_000, 20_000)]
    workflows = folder / "workflows"
    workflows.mkdir()
    for number in range(_COUNT):
        document = {**documents[number % len(documents)], "id": f"demo.copy_{number:05}"}
        text = json.dumps(document, indent=2, ensure_ascii=False) + "\n"
        (workflows / f"copy_{number:05}.json").write_text(text, encoding="utf-8")
    size = sum(path.stat().st_size for path in workflows.iterdir())
    yield Figure(f"{_COUNT} workflows, mean size", size / _COUNT / 1000, "kB")
    command = [
        str(_BIN / "workrail-lint"),
        "check",
        "--output-format",
        "concise",
        "--output-file",
        os.devnull,
        "workflows",
    ]
    yield Figure("all of them, cold", _timed(command, folder), "s", 12.0)
    yield Figure("all of them, cached", min(_timed(command, folder) for _ in range(3)), "s", 1.0)
    children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    yield Figure("largest process", children, "MiB", 400.0)
    shutil.rmtree(workflows)


def _timed(command: list[str], folder: Path) -> float:
    start = time.perf_counter()
    ran = subprocess.run(command, cwd=folder, capture_output=True, check=False)
    assert ran.returncode in (0, 1), ran.stderr
    return time.perf_counter() - start
