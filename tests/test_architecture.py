"""ARCHITECTURE.md says how the code is walked through; here it is walked through."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
TEXT = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
# Records the first call of each function, then prints them in their order.
RECORDER = """
import os, sys
root, wanted, arguments = sys.argv[1], set(sys.argv[2].split(",")), sys.argv[3:]
seen = {}

def profile(frame, event, argument):
    if event == "call" and frame.f_code.co_name in NAMES:
        path = os.path.relpath(frame.f_code.co_filename, root).replace(os.sep, "/")
        seen.setdefault(path + " " + frame.f_code.co_name)

NAMES = {each.partition(" ")[2] for each in wanted}
if arguments[0] == "pytest":
    import pytest
    sys.setprofile(profile)
    pytest.main(["-q", "-p", "no:cacheprovider", *arguments[1:]])
else:
    from workrail_lint.cli import main
    sys.setprofile(profile)
    main(arguments)
sys.setprofile(None)
print("CALLS", *(each for each in seen if each in wanted), sep="\\n")
"""
WALKS = {
    "From `check` to a finding": [
        "check",
        "--no-cache",
        "--isolated",
        "fixtures/broken/CD023-variable-never-set.json",
    ],
    "From `compile` to a hash": ["compile", "--isolated", "--emit", "hash", "fixtures/workflows/code-review.json"],
    "From a scenario to its golden": ["pytest", "fixtures/scenarios/code-review.scenario.json"],
}


def steps(title: str) -> list[str]:
    """The functions of a walk, each with its module, in the order of the page."""
    section = TEXT.partition(f"### {title}\n")[2].partition("\n### ")[0]
    return [f"{path} {name}" for path, name in re.findall(r"^\d+\. `([\w/.]+)` `(\w+)`:", section, re.MULTILINE)]


@pytest.mark.parametrize("title", WALKS)
def test_the_walk_is_the_real_one(title: str) -> None:
    wanted = steps(title)
    assert len(wanted) > 10
    command = [sys.executable, "-c", RECORDER, str(ROOT), ",".join(wanted), *WALKS[title]]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment, check=True)
    assert done.stdout.partition("CALLS\n")[2].splitlines() == wanted


def test_every_room_is_on_the_page() -> None:
    for package in ("workrail_lint", "pytest_workrail"):
        rooms = {path.name for path in (ROOT / package).iterdir() if (path / "__init__.py").exists()}
        table = TEXT.partition(f"| `{package}/` |")[2].partition("\n\n")[0]
        assert set(re.findall(r"`(\w+)/`", table)) == rooms


@pytest.mark.parametrize("package", ["workrail_lint", "pytest_workrail"])
def test_every_room_is_named(package: str) -> None:
    table = TEXT.partition(f"| `{package}/` | holds |")[2].partition("\n\n")[0]
    first_cells = re.findall(r"^\| (`[^|]+) \|", table, re.MULTILINE)
    named = {name.rstrip("/") for cell in first_cells for name in re.findall("`([a-z_.]+)/?`", cell)}
    rooms = {
        path.name for path in (ROOT / package).iterdir() if path.suffix == ".py" or (path / "__init__.py").is_file()
    }
    assert rooms - {"__init__.py", "__main__.py"} == named


def test_what_has_to_be_changed_is_where_the_page_says() -> None:
    table = TEXT.partition("## Where do I change what\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (an? [^|]+) \| ([^|]+) \|$", table, re.MULTILINE)
    assert len(rows) == 12
    problems = []
    for change, where in rows:
        files = re.findall(r"`([\w./-]+\.(?:py|json))`(?: `(\w+)`)?", where)
        assert files, change
        for path, name in files:
            source = (ROOT / path).read_text(encoding="utf-8") if (ROOT / path).is_file() else ""
            if not source:
                if path != "manifest.json":
                    problems.append(f"{change}: {path} is gone")
            elif name and not re.search(rf"^(?:class |def )?{name}\b", source, re.MULTILINE):
                problems.append(f"{change}: {path} has no {name}")
    assert problems == []


def test_the_representations_are_where_the_page_says() -> None:
    picture = TEXT.partition("## Five representations\n")[2].partition("\n## ")[0]
    named = re.findall(r"(?:(\w+) \()?([\w/]+\.py)\b", picture)
    assert len(named) == 9
    for name, path in named:
        files = [each for each in (ROOT / "workrail_lint").rglob(path.rpartition("/")[2]) if each.match(f"*/{path}")]
        assert len(files) == 1, path
        assert not name or re.search(rf"^class {name}\b", files[0].read_text(encoding="utf-8"), re.MULTILINE), name
