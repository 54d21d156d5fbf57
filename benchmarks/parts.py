"""Where the instructions of a check go: `python -m benchmarks.parts FILE [--warm]`.

A cold check starts a process; with `--warm` the second lint in one process is counted. Valgrind writes down what was
counted whenever the process calls `getppid`, and that is what happens at the beginning and at the end of each part: an
import, the compiling of a pattern, a rule. A part does not count what is counted for the parts in it.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.machinery
import io
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

_PROJECT = Path(__file__).resolve().parents[1]
_KINDS = ("import", "pattern", "rule")
_SHOWN = 90  # characters of a name

# The names of parts that begin, and None for each that ends.
_marks: list[tuple[str, str] | None] = []


@contextlib.contextmanager
def _part(kind: str, name: str) -> Iterator[None]:
    os.getppid()
    _marks.append((kind, name))
    try:
        yield
    finally:
        os.getppid()
        _marks.append(None)


def _counting(kind: str, name: Callable[..., str], original: Callable[..., Any]) -> Callable[..., Any]:
    def counted(*args: Any, **options: Any) -> Any:
        with _part(kind, name(*args)):
            return original(*args, **options)

    return counted


def _watch_imports_and_patterns() -> None:
    loader: Any = importlib.machinery.SourceFileLoader
    loader.exec_module = _counting("import", lambda _, module: module.__name__, loader.exec_module)
    compiler: Any = importlib.import_module("re._compiler")
    compiler.compile = _counting("pattern", lambda pattern, *_: repr(pattern), compiler.compile)


def _watch_rules() -> None:
    ruleset: Any = importlib.import_module("workrail_lint.rules.ruleset")
    calls_of = ruleset.RuleSet._calls_of

    def watched(self: Any, rules: Any) -> dict[str, list[tuple[Callable[..., Any], Any]]]:
        return {
            hook: [(_counting("rule", lambda *_, r=report: str(r.rule.code), check), report) for check, report in calls]
            for hook, calls in calls_of(self, rules).items()
        }

    ruleset.RuleSet._calls_of = watched


def _run(path: Path, marks: Path, *, is_warm: bool) -> None:
    """Check a file in this process, and write what was marked."""
    if is_warm:
        from workrail_lint import check_text

        text = path.read_text("utf-8")
        check_text(text, path.name)
        _watch_rules()
        with _part("rest", ""):
            check_text(text, path.name)
    else:
        _watch_imports_and_patterns()
        with _part("rest", ""), contextlib.redirect_stdout(io.StringIO()):
            from workrail_lint.cli import main

            _watch_rules()
            main(["check", "--no-cache", "--isolated", str(path)])
    os.getppid()
    marks.write_text(json.dumps(_marks), encoding="utf-8")


def _count(path: Path, *, is_warm: bool) -> tuple[Counter[tuple[str, str]], Counter[tuple[str, str]]]:
    """Return the instructions of each part without and with the parts in it."""
    own: Counter[tuple[str, str]] = Counter()
    whole: Counter[tuple[str, str]] = Counter()
    with tempfile.TemporaryDirectory() as made:
        marks = Path(made) / "marks"
        command = [sys.executable, "-m", "benchmarks.parts", str(path.resolve()), "--marks", str(marks)]
        tool = ["valgrind", "--tool=callgrind", "--dump-before=getppid", f"--callgrind-out-file={made}/counted"]
        options = ["--warm"] if is_warm else []
        env = {**os.environ, "PYTHONHASHSEED": "0"}
        subprocess.run([*tool, *command, *options], cwd=_PROJECT, env=env, capture_output=True, check=True)
        dumps = sorted(Path(made).glob("counted.*"), key=lambda dump: int(dump.suffix[1:]))
        inside: list[tuple[str, str]] = []
        # The first dump is what was before the first mark.
        for mark, dump in zip(json.loads(marks.read_text("utf-8")), dumps[1:], strict=False):
            if mark is None:
                inside.pop()
            else:
                inside.append(tuple(mark))
            if inside:
                spent = _instructions(dump)
                own[inside[-1]] += spent
                whole.update(dict.fromkeys(inside, spent))
    return own, whole


def _instructions(dump: Path) -> int:
    lines = dump.read_text("utf-8", "replace").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(("summary:", "totals:")))


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.parts", description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--warm", action="store_true", help="count the second lint in one process")
    parser.add_argument("--top", type=int, default=20, metavar="N", help="how many parts of each kind are shown")
    parser.add_argument("--marks", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args(arguments)
    if args.marks is not None:
        _run(args.file, args.marks, is_warm=args.warm)
        return 0
    own, whole = _count(args.file, is_warm=args.warm)
    print(f"{sum(own.values()) / 1e6:.1f} M instructions")
    for kind in _KINDS:
        parts = [(part, spent) for part, spent in own.most_common() if part[0] == kind]
        print(f"\n{kind}: {sum(spent for _, spent in parts) / 1e6:.1f} M")
        for part, spent in parts[: args.top]:
            print(f"  {spent / 1e6:8.2f}  with what is in it {whole[part] / 1e6:8.2f}  {part[1][:_SHOWN]}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
