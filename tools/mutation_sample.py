"""How many small changes to our own code the tests near it notice, on a sample.

    python -m tools.mutation_sample --modules 4 --mutants 10 --seed 2026-11-18 [--fail-under 60]

Modules are drawn from the cores of both packages, then mutants of each; the same seed draws the same. Survivors are
listed; what was decided about those that were looked at is in `docs/development/mutation.md`.
"""

from __future__ import annotations

import argparse
import random
import re
import subprocess
import sys
from datetime import date
from pathlib import Path

from tools.quick import selected_for

ROOT = Path(__file__).parent.parent
# The rooms that decide something: a wrong answer there is a wrong verdict, hash, run or golden.
CORES = (
    *(f"workrail_lint/{room}" for room in ("base", "documents", "rules", "systems", "project")),
    *(f"pytest_workrail/{room}" for room in ("engine", "agents", "run", "scenarios", "golden", "coverage", "locks")),
)


def drawn_modules(count: int, seed: str) -> list[str]:
    """Draw modules of the cores that have tests near them; the more there is to change, the likelier."""
    paths = [path for room in CORES for path in sorted((ROOT / room).rglob("*.py"))]
    sizes = {path.relative_to(ROOT).as_posix(): path.stat().st_size for path in paths}
    known = [module for module in sizes if selected_for(module, ROOT)]
    draw = random.Random(seed)
    return sorted(sorted(known, key=lambda module: draw.random() ** (1 / (1 + sizes[module])))[-count:])


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.mutation_sample", description=__doc__.partition("\n")[0])
    parser.add_argument("--modules", type=int, default=4, help="how many modules to draw (default: 4)")
    parser.add_argument("--mutants", type=int, default=10, help="how many mutants of each (default: 10)")
    parser.add_argument("--seed", default=date.today().isoformat(), help="what is drawn by (default: the date)")
    parser.add_argument("--fail-under", type=int, default=0, help="fail when fewer percent are killed")
    args = parser.parse_args(arguments)
    drawn = killed = 0
    for module in drawn_modules(args.modules, args.seed):
        # Each in a process of its own: what was imported for one is in the way of the next.
        command = [sys.executable, "-m", "tools.mutation", module, *selected_for(module, ROOT)]
        command += ["--mutants", str(args.mutants), "--seed", args.seed]
        done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
        sys.stdout.write(done.stdout)
        sys.stdout.flush()
        counts = re.search(r"(\d+) mutants, (\d+) killed", done.stdout)
        if counts is None:
            return 2  # the tests fail without any change
        drawn += int(counts[1])
        killed += int(counts[2])
    share = 100 * killed // drawn if drawn else 100
    sys.stdout.write(f"seed {args.seed}: {drawn} mutants, {killed} killed ({share} %)\n")
    return int(share < args.fail_under)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
