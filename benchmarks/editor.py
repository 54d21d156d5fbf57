"""How long somebody who types waits, and whether the language server grows: `python -m benchmarks.editor WORKFLOW`.

Times are processor time of the server from an edit to its answer, which does not depend on what else a machine does;
the time by the clock is printed beside it. Memory is that of the server after each tenth of the edits.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "server"))

from editor import Editor


def processor_milliseconds(pid: int) -> float:
    """What a process has used so far, over all of its threads."""
    total = 0
    for thread in os.listdir(f"/proc/{pid}/task"):
        total += int(Path(f"/proc/{pid}/task/{thread}/schedstat").read_text().split()[0])
    return total / 1e6


def memory_megabytes(pid: int) -> float:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmRSS")).split()[1]) / 1024


def measured(
    editor: Editor, times: int, work: Callable[[int], object], settle: Callable[[], object] = lambda: None
) -> str:
    used, waited = [], []
    for number in range(times):
        before, began = processor_milliseconds(editor.pid), time.perf_counter()
        work(number)
        used.append(processor_milliseconds(editor.pid) - before)
        waited.append(1000 * (time.perf_counter() - began))
        settle()
    middle, late = (sorted(used)[int(times * share)] for share in (0.5, 0.95))
    clock = [sorted(waited)[int(times * share)] for share in (0.5, 0.95)]
    return f"median {middle:.1f} ms, p95 {late:.1f} ms (by the clock {clock[0]:.1f} and {clock[1]:.1f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("workflow", type=Path)
    parser.add_argument("--edits", type=int, default=10_000, help="for the memory (default: 10000)")
    args = parser.parse_args()
    folder = Path(tempfile.mkdtemp())
    path = f"workflows/{args.workflow.name}"
    (folder / "workflows").mkdir()
    shutil.copy(args.workflow, folder / path)
    editor = Editor(folder)
    try:
        text = editor.open(path)
        editor.diagnostics(path)
        print(f"{len(text.encode())} bytes; start and first diagnostics: {processor_milliseconds(editor.pid):.0f} ms")
        time.sleep(1)

        def edited(number: int) -> str:
            return text.replace('"description": "', f'"description": "{number} ', 1)

        print("edit to diagnostics:", measured(editor, 200, lambda number: editor.type(path, edited(number))))
        needle = '"prompt": "' if '"prompt": "' in text else '"text": "'

        def complete(number: int) -> None:
            editor.change(path, edited(number).replace(needle, needle + "{{", 1))
            editor.complete(path, needle + "{{", len(needle) + 2)

        print("completion in a prompt:", measured(editor, 200, complete, lambda: editor.diagnostics(path)))
        print("completion of a member:", measured(editor, 200, lambda _: editor.complete(path, '"version"', 1)))
        chance = random.Random(1)
        sizes = []
        for number in range(args.edits):
            at = chance.randrange(len(text))
            editor.change(path, text[:at] + chance.choice('x{}"😀 ') + text[at:])
            if number % 10 == 9:
                editor.diagnostics(path)
            if number % max(1, args.edits // 10) == 0:
                sizes.append(f"{memory_megabytes(editor.pid):.0f}")
        editor.type(path, text)
        print(f"memory in MB over {args.edits} edits:", *sizes, f"{memory_megabytes(editor.pid):.0f}")
    finally:
        editor.stop()
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
