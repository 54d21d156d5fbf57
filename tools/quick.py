"""The tests of a change: `python -m tools.quick [--since REVISION] [--list]`, or `make quick`.

What changed since the last commit (in a clean tree: by the last commit) decides which folders of tests run. Tests that
are slow by nature (`slow_tests.txt`) are left out; `make test` runs them. A change of many rooms, or of none that has
tests, gets the smoke test only, together with the test files that were changed.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from workrail_lint.base.wording import counted

# A little of everything: JSON in, findings out, a run, a golden, what is shipped by name.
SMOKE = (
    "tests/cli/test_startup.py",
    "tests/documents/test_json_reader.py",
    "tests/engine/test_interpreter.py",
    "tests/project/test_own_project.py",
    "tests/scenarios/test_shipped_scenarios.py",
    "tests/test_suggest.py",
    "tests/workrail/compiler",
)
# Runs of the whole engine, and its limits.
ENGINE_RUNS = ("tests/engine/test_engine_outputs.py", "tests/engine/test_limits.py")
# Where the tests of a folder are called otherwise than the folder. The longest match counts.
TESTS = {
    ".github": ("tests/docs",),
    ".pre-commit-hooks.yaml": ("tests/hooks",),
    "README.md": ("tests/docs",),
    "docs/rules": ("tests/rules",),
    "fixtures": ("tests/project", "tests/scenarios"),
    "pyproject.toml": ("tests/project",),
    "pytest_workrail/agents": ("fixtures/scenarios", "tests/agents"),
    "pytest_workrail/cli": ("tests/golden",),
    "pytest_workrail/cli/explore.py": ("tests/explore",),
    "pytest_workrail/cli/generate.py": ("tests/explore",),
    "pytest_workrail/cli/mutate.py": ("tests/explore",),
    "pytest_workrail/cli/run.py": ("tests/run",),
    "pytest_workrail/cli/searches.py": ("tests/explore",),
    "pytest_workrail/cli/serve.py": ("tests/mcp",),
    "pytest_workrail/cli/sessions.py": ("tests/sessions",),
    "pytest_workrail/cli/sessions_replay.py": ("tests/sessions",),
    "pytest_workrail/cli/sessions_show.py": ("tests/sessions",),
    "pytest_workrail/engine/core": ("tests/engine",),
    "pytest_workrail/engine/model": (
        *ENGINE_RUNS,
        "tests/events",
        "tests/model",
        "tests/projections",
        "tests/protocol",
    ),
    "pytest_workrail/engine/projections": (*ENGINE_RUNS, "tests/projections"),
    "pytest_workrail/engine/protocol": (*ENGINE_RUNS, "tests/protocol"),
    "pytest_workrail/engine/store": (*ENGINE_RUNS, "tests/store"),
    "pytest_workrail/engine/store/plan.py": (*ENGINE_RUNS, "tests/events", "tests/protocol", "tests/store"),
    "pytest_workrail/engine/tokens": (*ENGINE_RUNS, "tests/tokens"),
    "pytest_workrail/locks": (
        "tests/coverage/test_lock_honesty.py",
        "tests/coverage/test_lock_proving.py",
        "tests/coverage/test_lock_reports.py",
        "tests/coverage/test_lock_workers.py",
    ),
    "pytest_workrail/run": ("fixtures/scenarios", "tests/agents", "tests/run"),
    "pytest_workrail/scenarios": ("fixtures/scenarios", "tests/plugin/test_plugin_scenarios.py", "tests/scenarios"),
    "pytest_workrail/sessions/recording.py": ("tests/mcp/test_serve_record.py", "tests/sessions"),
    "pytest_workrail/systems/blocks": ("tests/block_driver",),
    "pytest_workrail/systems/kernel": ("tests/block_driver", "tests/driver_kernel", "tests/team_driver"),
    "pytest_workrail/systems/team": ("tests/team_driver",),
    "scripts": ("tests/plugin",),
    "tests/sabotages": ("tests/locks",),
    "tools": ("tests/rules", "tests/workrail/model"),
    "tools/catalog": ("tests/workrail/catalog",),
    "workrail_lint/base": ("tests/documents", "tests/test_js.py", "tests/test_suggest.py"),
    "workrail_lint/base/canonical.py": ("tests/test_js.py", "tests/workrail/test_canonical.py"),
    "workrail_lint/base/ecma_regex": ("tests/engine/test_ecma_regex.py",),
    "workrail_lint/base/html.py": ("tests/security/test_pages.py",),
    "workrail_lint/base/regex_analysis": ("tests/test_regex_analysis.py",),
    "workrail_lint/documents/pointer.py": ("tests/documents", "tests/project/test_config_and_discovery.py"),
    "workrail_lint/findings": ("tests/report",),
    "workrail_lint/systems": ("tests/project", "tests/rules"),
    "workrail_lint/systems/blocks/rules": ("tests/blocks", "tests/rules"),
    "workrail_lint/systems/scenario": ("tests/scenarios",),
    "workrail_lint/systems/team/rules": ("tests/rules", "tests/team"),
    "workrail_lint/systems/workrail/analysis": ("tests/workrail/analysis", "tests/workrail/rules"),
    "workrail_lint/systems/workrail/graph": ("tests/cli/test_cli_graph.py", "tests/workrail/graph"),
    "workrail_lint/systems/workrail/rules": ("tests/rules", "tests/workrail/rules"),
    "workrail_lint/systems/workrail/schema_findings.py": ("tests/workrail/test_schema_findings.py",),
}
# More rooms than this take more than a minute.
MOST_ROOMS = 4


def changed(since: str | None) -> list[str]:
    """Return the files that differ from a revision: by default HEAD, and in a clean tree the commit before it."""

    def names(*arguments: str) -> list[str]:
        done = subprocess.run(["git", *arguments, "-z"], capture_output=True, text=True, check=True)
        return [name for name in done.stdout.split("\0") if name]

    new = names("ls-files", "--others", "--exclude-standard")
    return sorted({*new, *names("diff", "--name-only", since or "HEAD")}) or names("diff", "--name-only", "HEAD~1")


def selected_for(path: str, root: Path = Path()) -> tuple[str, ...]:
    """Return the tests of a file: those the table names, else the nearest folder of tests that is called like one above
    it.
    """
    parts = PurePosixPath(path).parts
    if parts[0] == "tests" and parts[-1].startswith("test_"):
        return (path,) if (root / path).exists() else ()
    for length in range(len(parts), 0, -1):
        above = "/".join(parts[:length])
        if above in TESTS:
            return TESTS[above]
        name = parts[length - 1]
        named = [f"tests/{name}", f"tests/workrail/{name}"] if parts[0] != "tests" else [above] * (length > 1)
        for folder in named:
            if (root / folder).is_dir():
                return (folder,)
    return ()


def chosen(paths: Iterable[str], root: Path = Path()) -> list[str]:
    """Return the tests to run for a change, without those inside another that is run."""
    paths = list(paths)
    tests = {test for path in paths for test in selected_for(path, root)}
    rooms = {test for test in tests if test not in paths}
    if not tests or len(rooms) > MOST_ROOMS:
        tests = {*SMOKE, *(tests - rooms)}
    return sorted(test for test in tests if not tests & {str(above) for above in PurePosixPath(test).parents})


def slow() -> list[str]:
    """Return the tests that take more than a second each, because they start processes or draw many examples."""
    text = Path(__file__).with_name("slow_tests.txt").read_text(encoding="utf-8")
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def left_out(tests: Iterable[str], paths: Iterable[str]) -> list[str]:
    """Return the slow tests, except those of what changed: a changed test file or page of the guide runs in full."""
    pages = tuple(f"[{path}]" for path in paths if path.endswith(".md"))
    return [name for name in slow() if name.partition("::")[0] not in tests and not name.endswith(pages)]


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.quick", description="Run the tests of a change.")
    parser.add_argument("--since", metavar="REVISION", help="what to compare with (default: the last commit)")
    parser.add_argument("--list", action="store_true", help="print what would be run")
    args = parser.parse_args(arguments)
    paths = changed(args.since)
    tests = chosen(paths)
    sys.stdout.write(f"{counted(len(paths), 'changed file')}: {' '.join(tests)}\n")
    if args.list:
        return 0
    sys.stdout.flush()
    run = [sys.executable, "-m", "pytest", "-q", "-n", os.environ.get("WORKERS", "2"), "--dist", "worksteal"]
    without = [f"--deselect={name}" for name in left_out(tests, paths)]
    return subprocess.run([*run, *tests, *without], check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
