"""`make bench`: run all benchmarks, print the figures, fail when a promise is not kept."""

from __future__ import annotations

import argparse
import compileall
import importlib
import sys
import time
from pathlib import Path

from benchmarks.measure import Growth
from benchmarks.results import Results, write_json, write_results

# Not benchmarks themselves.
_HELPERS = ("__init__", "__main__", "measure", "documents", "parts", "real", "results")
MODULES = sorted(path.stem for path in Path(__file__).parent.glob("*.py") if path.stem not in _HELPERS)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="the modules to run (default: all)")
    parser.add_argument("--quick", action="store_true", help="fewer rounds and smaller inputs; writes no results")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures to this file")
    args = parser.parse_args(arguments)
    for package in ("workrail_lint", "pytest_workrail"):  # as where they are installed
        compileall.compile_dir(str(Path(__file__).parents[1] / package), quiet=2)
    results: Results = {}
    kept = True
    for name in args.names or MODULES:
        print(f"\n{name}", flush=True)
        began = time.perf_counter()
        results[name] = []
        for found in importlib.import_module(f"benchmarks.{name}").run(args.quick):
            results[name].append(found)
            shown = found.figure if isinstance(found, Growth) else found
            print(shown.line(), flush=True)
            kept = kept and shown.kept
        print(f"     ({time.perf_counter() - began:.0f} s)", flush=True)
    if args.json is not None:
        write_json(args.json, results)
    if not args.quick:
        write_results(results)
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
