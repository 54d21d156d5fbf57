"""How long a person who types waits for the language server, and whether the server grows.

Times are processor time of the server from an edit to its answer: what else the machine does hardly matters.
"""

from __future__ import annotations

import os
import random
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.measure import Figure
from benchmarks.real import Author
from tests.server.editor import Editor

_STEPS = 57  # about 90 kB, as large as the largest public workflows
_PATH = "workflows/large.json"


def run(quick: bool) -> Iterator[Figure]:
    times, edits = (20, 50) if quick else (100, 1_000)
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        (folder / "workflows").mkdir()
        (folder / _PATH).write_text(Author().text("demo.large", _STEPS), encoding="utf-8")
        editor = Editor(folder)
        try:
            yield from _figures(editor, times, edits)
        finally:
            editor.stop()


def _figures(editor: Editor, times: int, edits: int) -> Iterator[Figure]:
    text = editor.open(_PATH)
    editor.diagnostics(_PATH)
    yield Figure("size of the open workflow", len(text.encode()) / 1000, "kB")
    yield Figure("start and first diagnostics", _processor_milliseconds(editor.pid), "ms")

    def edited(number: int) -> str:
        return text.replace('"description": "', f'"description": "{number} ', 1)

    def complete(number: int) -> None:
        needle = '"prompt": "'
        editor.change(_PATH, edited(number).replace(needle, needle + "{{", 1))
        editor.complete(_PATH, needle + "{{", len(needle) + 2)

    diagnosed = _late(editor, times, lambda number: editor.type(_PATH, edited(number)))
    yield Figure("an edit to its diagnostics, 95 of 100", diagnosed, "ms")
    completed = _late(editor, times, complete, lambda: editor.diagnostics(_PATH))
    yield Figure("completion in a prompt, 95 of 100", completed, "ms")
    yield Figure(f"memory added by {edits:,} random edits", _growth(editor, text, edits), "MiB")


def _late(
    editor: Editor, times: int, work: Callable[[int], object], settle: Callable[[], object] = lambda: None
) -> float:
    """What 95 of 100 take at most."""
    used = []
    for number in range(times):
        before = _processor_milliseconds(editor.pid)
        work(number)
        used.append(_processor_milliseconds(editor.pid) - before)
        settle()
    return sorted(used)[int(times * 0.95)]


def _growth(editor: Editor, text: str, edits: int) -> float:
    """The memory of the server after random edits, over that after the first fifth of them."""
    chance = random.Random(1)
    early = 0.0
    for number in range(edits):
        at = chance.randrange(len(text))
        editor.change(_PATH, text[:at] + chance.choice('x{}"😀 ') + text[at:])
        if number % 10 == 9:
            editor.diagnostics(_PATH)
        if number == edits // 5:
            early = _memory(editor.pid)
    return _memory(editor.pid) - early


def _processor_milliseconds(pid: int) -> float:
    """What a process has used so far, over all of its threads."""
    total = 0
    for thread in os.listdir(f"/proc/{pid}/task"):
        total += int(Path(f"/proc/{pid}/task/{thread}/schedstat").read_text().split()[0])
    return total / 1e6


def _memory(pid: int) -> float:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmRSS")).split()[1]) / 1024
