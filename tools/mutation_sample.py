"""How many small changes to our own code the tests near it notice, on a sample.

    python -m tools.mutation_sample --mutants 40 --seed 2026-11-18 [--most-rooms 4] [--fail-under 60] [ROOM…]

Every drawn room gives equally many mutants, from all of its modules; the same seed draws the same.
Survivors are listed; what was decided about those that were looked at is in `docs/development/mutation.md`.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Sequence
from datetime import date

from tools.mutation import ROOT, Mutant, mutants
from tools.mutation_judge import judged
from tools.quick import selected_for

# The rooms that decide something: a wrong answer there is a wrong verdict, hash, run or golden.
CORES = (
    *(f"workrail_lint/{room}" for room in ("base", "documents", "rules", "systems", "project")),
    *(f"pytest_workrail/{room}" for room in ("engine", "agents", "run", "scenarios", "golden", "coverage", "locks")),
    *(f"pytest_workrail/{room}" for room in ("explore", "sessions", "mcp", "systems")),
)
# The findings in many workflows: too slow for `make quick`, tried on what the other near tests of the linter miss.
BROAD = "tests/workrail/test_mutants.py::test_findings_and_hashes_are_unchanged"


def drawn(count: int, seed: str, rooms: Sequence[str] = CORES) -> dict[str, list[Mutant]]:
    """Draw mutants of modules that have tests near them, by module; each room gives the same number, or one more."""
    draw = random.Random(seed)
    order = draw.sample(rooms, len(rooms))
    by_path: dict[str, list[Mutant]] = {}
    for at, room in enumerate(order):
        paths = [path.relative_to(ROOT).as_posix() for path in sorted((ROOT / room).rglob("*.py"))]
        sources = {path: (ROOT / path).read_text(encoding="utf-8") for path in paths if selected_for(path, ROOT)}
        known = [(path, mutant) for path, source in sources.items() for mutant in mutants(source)]
        for path, mutant in draw.sample(known, count // len(rooms) + (at < count % len(rooms))):
            by_path.setdefault(path, []).append(mutant)
    return {path: sorted(by_path[path]) for path in sorted(by_path)}


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.mutation_sample", description=__doc__.partition("\n")[0])
    parser.add_argument("rooms", nargs="*", default=CORES, help="folders to draw from (default: the cores)")
    parser.add_argument("--most-rooms", type=int, default=len(CORES), help="how many of them to draw (default: all)")
    parser.add_argument("--mutants", type=int, default=40, help="how many mutants to draw (default: 40)")
    parser.add_argument("--seed", default=date.today().isoformat(), help="what is drawn by (default: the date)")
    parser.add_argument("--fail-under", type=int, default=0, help="fail when fewer percent are killed")
    args = parser.parse_args(arguments)
    rooms = random.Random(args.seed).sample(args.rooms, min(args.most_rooms, len(args.rooms)))
    chosen = drawn(args.mutants, args.seed, rooms)
    near = {
        module: [*selected_for(module, ROOT), *([BROAD] if module.startswith("workrail_lint/") else [])]
        for module in chosen
    }
    verdicts = judged(chosen, near)
    total, survived = len(verdicts), sum(not verdict.killer for verdict in verdicts)
    share = 100 * (total - survived) // total
    sys.stdout.write(f"seed {args.seed}: {total} mutants, {total - survived} killed ({share} %)\n")
    return int(share < args.fail_under)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
