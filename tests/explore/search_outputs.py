"""What the searches say about small workflows, kept in `expected/`.

python tests/explore/search_outputs.py     # writes it anew
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
import tempfile
from pathlib import Path

sys.path += [str(Path(__file__).parent), str(Path(__file__).parents[1])]

from planted import WORKFLOWS

from pytest_workrail.cli import main

EXPECTED = Path(__file__).parent / "expected"
# Loops with a decision; a confirmation. Each command runs where it has something to find.
SEARCHES = {
    "decision": ("generate", "mutate"),
    "approval": ("generate", "mutate", "explore"),
    "assessed": ("generate",),
}


def outputs(folder: Path) -> dict[str, str]:
    """What every search says, for people and as JSON, by the name of its file."""
    found: dict[str, str] = {}
    for name, commands in SEARCHES.items():
        path, scenarios = folder / f"{name}.json", str(folder / name)
        path.write_text(json.dumps(WORKFLOWS[name]), encoding="utf-8")
        options = {
            "generate": ["--out", scenarios],
            "mutate": ["--scenarios", scenarios],
            "explore": ["--runs", "5", "--seed", "1"],
        }
        for command in commands:
            said = _said(command, str(path), *options[command])
            answer = _said(command, str(path), *([] if command == "generate" else options[command]), "--json")
            found[f"{command}-{name}.txt"] = said.replace(str(folder), "FOLDER")
            found[f"{command}-{name}.json"] = answer.replace(str(folder), "FOLDER")
    return found


def _said(*arguments: str) -> str:
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        code = main(list(arguments))
    return f"{said.getvalue()}(exit code {code})\n"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        EXPECTED.mkdir(exist_ok=True)
        for file, text in outputs(Path(place)).items():
            (EXPECTED / file).write_text(text, encoding="utf-8")
