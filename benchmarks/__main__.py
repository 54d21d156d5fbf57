"""`make bench`: run all benchmarks, print the figures, fail when a promise is not kept."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

from benchmarks.measure import Figure


def main(names: list[str]) -> int:
    here = Path(__file__).parent
    modules = names or sorted(
        path.stem for path in here.glob("*.py") if path.stem not in ("__init__", "__main__", "measure", "documents")
    )
    kept = True
    for name in modules:
        print(f"\n{name}")
        for figure in importlib.import_module(f"benchmarks.{name}").run():
            shown = figure if isinstance(figure, Figure) else Figure(*figure)
            print(shown.line(), flush=True)
            kept = kept and shown.kept
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
