"""The deep ring: `python -m tools.deep [--minutes 60] [--seed DATE]`, or `make test-deep`.

Its parts run one after the other. A part does not start when less than half of its usual time is left, one that is not
done in time is stopped, and both are listed at the end: what was left out never reads as passed. Each part that ran is
listed with the time it took, and the processor time of all its processes.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import date
from typing import NamedTuple

# Planted bugs, long searches, torture; property tests draw many examples, and others than the last time.
SEARCHES = ("-q", "-m", "deep or search or hypothesis", "--hypothesis-profile=deep", "--dist", "worksteal")


class Part(NamedTuple):
    """A command, and the minutes it usually takes on two cores."""

    name: str
    minutes: float
    command: list[str]


def parts(seed: str) -> Iterator[Part]:
    """Yield the parts, those that find most in their time first."""
    python = sys.executable
    workers = os.environ.get("WORKERS", "2")
    searches = [python, "-m", "pytest", *SEARCHES, "-n", workers]
    yield Part("crash states, kills, torture, pages", 8, [*searches, *_tests("store", "security", "golden", "docs")])
    sample = ["--mutants", "24", "--most-rooms", "3", "--seed", seed, "--fail-under", "75"]
    yield Part("mutation of our own code", 8, [python, "-m", "tools.mutation_sample", *sample])
    yield Part("fuzzing", 5, [python, "-m", "tests.fuzz", "--seconds", "240"])
    yield Part("planted bugs", 5, [*searches, *_tests("explore")])
    others = [f"--ignore=tests/{room}" for room in ("store", "security", "golden", "docs", "explore")]
    yield Part("property tests, hooks, browsers", 12, [*searches, "tests", *others])
    # `make test` has run on this one.
    here = ".".join(map(str, sys.version_info[:2]))
    yield Part("every other supported Python", 18, ["make", "--no-print-directory", "test-all", f"WITHOUT={here}"])


def _tests(*rooms: str) -> list[str]:
    return [f"tests/{room}" for room in rooms]


def run(part: Part, seconds: float) -> str:
    """Run a part and return how it ended: passed, failed or stopped."""
    process = subprocess.Popen(part.command, start_new_session=True)
    try:
        return "passed" if process.wait(max(1, seconds)) == 0 else "failed"
    except subprocess.TimeoutExpired:
        return "stopped"
    finally:
        if process.poll() is None:
            os.killpg(process.pid, 15)
            process.wait()


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.deep", description="Run the long searches.")
    parser.add_argument("--minutes", type=float, default=60, help="how long all parts together may take (default: 60)")
    parser.add_argument("--seed", default=date.today().isoformat(), help="draws the mutants (default: the date)")
    parser.add_argument("--list", action="store_true", help="print the parts and how long they usually take")
    args = parser.parse_args(arguments)
    end = time.monotonic() + 60 * args.minutes
    outcomes: dict[str, str] = {}
    for part in parts(args.seed):
        if args.list:
            _say(f"{part.name}: {part.minutes:g} minutes: {' '.join(part.command)}")
            continue
        left = end - time.monotonic()
        if 60 * part.minutes > 2 * left:
            outcomes[part.name] = "left out"
            continue
        _say(f"== {part.name} (seed {args.seed})")
        started, used = time.monotonic(), _processor_seconds()
        outcome = run(part, left)
        minutes, seconds = (time.monotonic() - started) / 60, _processor_seconds() - used
        outcomes[part.name] = f"{outcome}, {minutes:.1f} minutes, {seconds:.0f} s of processor time"
    for name, outcome in outcomes.items():
        _say(f"{name}: {outcome}")
    return int(any(outcome.startswith("failed") for outcome in outcomes.values()))


def _processor_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
