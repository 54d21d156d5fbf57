"""The bad examples of all rules as files: `python -m tools.broken_files FOLDER` writes them to a folder.

Tests make them in a temporary folder. A few that are good to look at are in the repository, see `PICKED`.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from workrail_lint.base.wording import counted
from workrail_lint.report.rule_docs import rules
from workrail_lint.rules.base import Rule
from workrail_lint.rules.example_files import as_bytes, has_file, side_files

FOLDER = "fixtures/broken"
# Mistakes that happen to everyone, one for each kind: the README, the guides and newcomers look at them.
PICKED = (
    "BC312-workflow-cycle",
    "CD023-variable-never-set",
    "ID008-id-duplicate",
    "LP002-loop-member-missing",
    "LP023-loop-no-exit-step",
    "PR005-token-unresolved",
    "SC001-schema-unknown-member",
    "SY007-json-comment",
)
_PLAIN_PATH = "workflows/example.json"
# A bad file is there to be read; what is larger is only described on the rule's page.
_LARGEST = 100_000


def broken_files(rule: Rule) -> dict[str, bytes]:
    """Return paths to contents, for all examples of a rule.

    An example that is one file by any name is one file; another one gets a folder, laid out as a project.
    """
    files: dict[str, bytes] = {}
    for number, example in enumerate(rule.examples(), 1):
        if not has_file(example) or "links" in example.options:
            continue
        data = as_bytes(example.bad)
        if len(data) > _LARGEST:
            continue
        stem = broken_stem(rule, number)
        beside = side_files(example)
        if not beside and example.path == _PLAIN_PATH:
            files[f"{stem}.json"] = data
        else:
            files |= {f"{stem}/{path}": content for path, content in {**beside, example.path: data}.items()}
    return files


def broken_stem(rule: Rule, number: int) -> str:
    """Return the name of the file or folder that shows a rule's example, counted from 1."""
    return f"{rule.code}-{rule.name}" + (f"-{number}" if number > 1 else "")


def all_broken_files() -> dict[str, bytes]:
    """Return the bad examples of every rule."""
    return {path: data for rule in rules() for path, data in broken_files(rule).items()}


def picked_files() -> dict[str, bytes]:
    """Return the bad examples that are in the repository, by their paths in it."""
    return {
        f"{FOLDER}/{path}": data
        for path, data in all_broken_files().items()
        if path.partition("/")[0].removesuffix(".json") in PICKED
    }


def write_broken(folder: str | os.PathLike[str]) -> int:
    """Write the bad examples of every rule below a folder; returns how many files there are."""
    files = all_broken_files()
    for path, data in files.items():
        target = Path(folder, path)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
    return len(files)


def main(arguments: list[str]) -> int:
    if len(arguments) != 1 or arguments[0].startswith("-"):
        sys.stderr.write("usage: python -m tools.broken_files FOLDER\n")
        return 2
    sys.stdout.write(f"{counted(write_broken(arguments[0]), 'file')} written\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
