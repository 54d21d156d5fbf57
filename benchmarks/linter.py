"""What a commit hook and CI feel: starting cold, starting with a warm cache, ten thousand files, memory."""

from __future__ import annotations

import compileall
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from benchmarks.documents import workflow_files
from benchmarks.measure import Figure, Spent, counts_instructions, instructions, spent
from benchmarks.real import Author, rich_workflow
from workrail_lint import check_text
from workrail_lint.systems.schemas import schema_path

_PROJECT = Path(__file__).resolve().parents[1]
_BIN = Path(sys.executable).parent
_COUNT, _FEW, _SAMPLE = 10_000, 300, 1_500
_CLEAN, _INFO = "clean, 20 kB", "the same with an info"
_RICH, _FLAWED = "rich, 20 kB, clean", "the same with findings"
_START = "import re, sys; from workrail_lint.cli import main; sys.exit(main())"  # as the installed script does


def run(quick: bool) -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        installed = folder / "site-packages"
        shutil.copytree(_PROJECT / "workrail_lint", installed / "workrail_lint")
        compileall.compile_dir(str(installed), quiet=2)
        os.environ["PYTHONPATH"] = str(installed)
        os.environ["XDG_CACHE_HOME"] = str(folder / "cache")
        try:
            if counts_instructions():
                yield from _start_up(folder, quick)
            yield from _many(folder, _FEW if quick else _COUNT)
        finally:
            del os.environ["PYTHONPATH"], os.environ["XDG_CACHE_HOME"]


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


def _start_up(folder: Path, quick: bool) -> Iterator[Figure]:
    """Instructions of whole processes, as multiples of a Python that does nothing."""
    workflows = folder / "workflows"
    workflows.mkdir()
    document = json.loads(clean_workflow(20_000))
    document["metaGuidance"] = ["Stay calm."]
    texts = {
        _CLEAN: clean_workflow(20_000),
        _INFO: json.dumps(document, indent=2) + "\n",
    }
    if not quick:
        texts |= {_RICH: rich_workflow(20_000), _FLAWED: rich_workflow(20_000, flawed=True)}
    names = {label: f"{number}.json" for number, label in enumerate(texts)}
    for label, text in texts.items():
        findings = check_text(text, "workflows/large.json").findings
        assert bool(findings) == (label in (_INFO, _FLAWED)), findings
        (workflows / names[label]).write_text(text, encoding="utf-8")
    public: dict[int, str] = {}  # labels by size
    if not quick:
        by_size = sorted(workflow_files(), key=lambda path: path.stat().st_size)
        real = [path for path in by_size if b'"steps"' in path.read_bytes()]
        for path in (real[len(real) // 10], min(real, key=_far_from_20_kb), real[-1]):
            shutil.copy(path, workflows / path.name)
            label = f"public, {path.stat().st_size / 1000:.0f} kB"
            names[label] = path.name
            public[_far_from_20_kb(path)] = label
    bare = instructions([sys.executable, "-c", "pass"], folder)
    yield Figure("bare python", bare, "M instructions")
    command = [sys.executable, "-c", _START, "check", "--isolated"]
    paths = {label: f"workflows/{name}" for label, name in names.items()}
    for path in paths.values():
        subprocess.run([*command, path], cwd=folder, capture_output=True, check=False)
    # Instructions are the same however many processes count them at a time.
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        cold = {
            label: pool.submit(instructions, [*command, "--no-cache", path], folder) for label, path in paths.items()
        }
        cached = {label: pool.submit(instructions, [*command, path], folder) for label, path in paths.items()}
    counted = {label: future.result() for label, future in cold.items()}
    for label in names:
        limit = 7.1 if label == _CLEAN else None
        yield Figure(f"cold, {label}", counted[label], "M instructions")
        yield Figure(f"cold, {label}: as a multiple of bare python", counted[label] / bare, "x", limit)
        yield Figure(f"cached, {label}: as a multiple of bare python", cached[label].result() / bare, "x", 4.8)
    yield Figure("an info, as a multiple of the clean file", counted[_INFO] / counted[_CLEAN], "x", 1.25)
    if public:
        yield Figure("findings, as a multiple of the rich file without", counted[_FLAWED] / counted[_RICH], "x", 1.25)
        nearest = counted[public[min(public)]]
        yield Figure("a public 20 kB file, as a multiple of the rich one", nearest / counted[_RICH], "x", 1.25)


def _far_from_20_kb(path: Path) -> int:
    return abs(path.stat().st_size - 20_000)


def _many(folder: Path, count: int) -> Iterator[Figure]:
    """Workflows as people write them, each with its own id; the report goes nowhere."""
    project = folder / "many"
    project.mkdir()
    author = Author()
    size = 0
    for number in range(count):
        text = author.text(f"demo.copy_{number:05}")
        size += len(text)
        (project / f"copy_{number:05}.json").write_text(text, encoding="utf-8")
    yield Figure(f"{count:,} workflows, mean size", size / count / 1000, "kB")
    command = [sys.executable, "-c", _START, "check", "--isolated", "--format", "concise", "--output"]
    command += [os.devnull, "--jobs"]
    peer_command = [str(_BIN / "check-jsonschema"), "--schemafile", schema_path("workflow")]
    names = sorted(path.name for path in project.iterdir())
    # Two halves at a time, because ours has both cores busy, too.
    with ThreadPoolExecutor(2) as pool:
        halves = pool.map(lambda half: spent([*peer_command, *half], project), (names[::2], names[1::2]))
    peer = sum(half.processor for half in halves)
    sample = names[:_SAMPLE]
    one, both = (spent([*command, jobs, "--no-cache", *sample], project) for jobs in ("1", "2"))
    memory = Memory()
    two = memory.watched([*command, "2", "."], project)
    cold_memory, memory.most = memory.most, 0.0
    cached = memory.watched([*command, "2", "."], project)
    yield Figure("check-jsonschema, processor time for each", peer / count * 1000, "ms")
    yield Figure("all of them, cold, processor time for each", two.processor / count * 1000, "ms")
    yield Figure("cold, as a multiple of check-jsonschema", two.processor / peer, "x", 1.0)
    yield Figure("cached, as a multiple of check-jsonschema", cached.processor / peer, "x", 0.1)
    yield Figure("--jobs 2 is faster than --jobs 1, on the clock", one.clock / both.clock, "x", 1.7, at_least=True)
    yield Figure("memory of all processes together, cold", cold_memory, "MiB", 300)
    yield Figure("memory of all processes together, cached", memory.most, "MiB", 300)


class Memory:
    """Watches how much memory a command and its children have together; what they share counts once."""

    def __init__(self) -> None:
        self.most = 0.0
        self._done = threading.Event()

    def watched(self, command: list[str], folder: Path) -> Spent:
        self._done.clear()
        watcher = threading.Thread(target=self._watch, daemon=True)
        watcher.start()
        try:
            return spent(command, folder)
        finally:
            self._done.set()
            watcher.join()

    def _watch(self) -> None:
        while not self._done.is_set():
            self.most = max(self.most, sum(map(_proportional, _below(os.getpid()))) / 1024)
            time.sleep(0.1)


def _below(parent: int) -> Iterator[int]:
    """All processes that a process started, and those that they started."""
    try:
        children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
        children += [
            child
            for task in Path(f"/proc/{parent}/task").iterdir()
            if task.name != str(parent)
            for child in (task / "children").read_text().split()
        ]
    except OSError:
        return
    for child in map(int, children):
        yield child
        yield from _below(child)


def _proportional(process: int) -> int:
    """The memory of a process in KiB, its share of what it shares."""
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0)
