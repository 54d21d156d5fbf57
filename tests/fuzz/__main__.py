"""`python -m tests.fuzz [--seconds N] [TARGET...]`: look for inputs that break a target, with atheris.

Each target runs in a process of its own, so that a crash ends only that one. Inputs that break a target are kept in
`tests/fuzz/found/`, where the tests run them from then on.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from workrail_lint.base.progress import tracked
from workrail_lint.base.terminal import out

FOUND = Path(__file__).with_name("found")
SECONDS_PER_INPUT = 5
MEGABYTES = 500


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help="only these (default: all)")
    parser.add_argument("--seconds", type=int, default=60, help="for all targets together")
    parser.add_argument("--blind", action="store_true", help="without coverage: starts at once, finds less")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    args, rest = parser.parse_known_args()
    if args.one:
        _fuzz(args.one, [*rest, *args.targets], blind=args.blind)  # here what is no option is the folder of seeds
        return 0
    try:
        import atheris  # noqa: F401
    except ImportError:
        print("atheris is not installed here, so nothing is fuzzed (pip install atheris)", file=sys.stderr)
        return 0
    from tests.fuzz.targets import TARGETS

    names = args.targets or list(TARGETS)
    each = max(1, args.seconds // len(names))
    broken = [name for name in tracked(names, "target") if not _run(name, each, blind=args.blind)]
    print(f"{len(names)} targets, {each} s each: {'broken: ' + ', '.join(broken) if broken else 'nothing found'}")
    return 1 if broken else 0


def _run(name: str, seconds: int, *, blind: bool) -> bool:
    """Fuzz one target; False when an input broke it."""
    from tests.fuzz.targets import TARGETS

    with tempfile.TemporaryDirectory() as folder:
        corpus, broken = Path(folder, "corpus"), Path(folder, "broken")
        corpus.mkdir()
        broken.mkdir()
        for seed in TARGETS[name].seeds:
            (corpus / hashlib.sha256(seed).hexdigest()[:16]).write_bytes(seed)
        limits = [f"-max_total_time={seconds}", f"-timeout={SECONDS_PER_INPUT}", f"-rss_limit_mb={MEGABYTES}"]
        command = [sys.executable, "-m", "tests.fuzz", "--one", name, *limits, "-max_len=32768", "-print_final_stats=1"]
        command += [f"-artifact_prefix={broken}/", str(corpus), *(["--blind"] if blind else [])]
        ran = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
        figures = dict(re.findall(r"stat::(\w+):\s+(\d+)", ran.stderr))
        done, peak = figures.get("number_of_executed_units"), figures.get("peak_rss_mb")
        kept = [path for path in sorted(broken.iterdir()) if not path.name.startswith("slow-unit")]
        # Without figures it did not come to its end; without its seeds it looks at nothing but the first byte.
        is_sound = not kept and ran.returncode == 0 and done is not None and "INFO: seed corpus: files" in ran.stderr
        out(f"{name}: {done} inputs, {peak} MB, {'ok' if is_sound else 'BROKEN'}")
        for path in kept:
            FOUND.mkdir(exist_ok=True)
            (FOUND / f"{name}-{hashlib.sha256(path.read_bytes()).hexdigest()[:12]}").write_bytes(path.read_bytes())
        if not is_sound:
            print(ran.stderr[-3000:], file=sys.stderr)
        return is_sound


def _fuzz(name: str, options: list[str], *, blind: bool) -> None:
    import random
    from contextlib import nullcontext

    import atheris

    from tests.fuzz.damage import damaged_json

    with nullcontext() if blind else atheris.instrument_imports(include=["workrail_lint", "pytest_workrail"]):
        from tests.fuzz.targets import TARGETS
    target = TARGETS[name].run
    for seed in (b"", *TARGETS[name].seeds):
        target(seed)  # what it imports is not the time of an input

    def mutated(data: bytes, max_size: int, seed: int) -> bytes:
        """Half of the time damage that keeps the JSON readable, which random bytes seldom do."""
        drawn = random.Random(seed)
        made = damaged_json(data, drawn) if drawn.random() < 0.5 else None
        return made if made is not None and len(made) <= max_size else atheris.Mutate(data, max_size)

    atheris.Setup([sys.argv[0], *options], lambda data: target(data) and None, custom_mutator=mutated)
    atheris.Fuzz()


if __name__ == "__main__":
    sys.exit(main())
