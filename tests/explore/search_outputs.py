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
from pytest_workrail.explore.mutation_operators import injections_of, mutants
from workrail_lint.base.canonical import canonical_bytes, digest
from workrail_lint.base.result import Ok
from workrail_lint.systems.workrail.compile import compile_workflow

ROOT = Path(__file__).resolve().parents[2]
LOOPS = (
    {"type": "while", "condition": {"var": "open", "equals": True}},
    {"type": "until", "condition": {"var": "done", "equals": True}},
    {"type": "for", "count": 2},
    {"type": "forEach", "items": "things", "itemVar": "thing"},
)
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
    found["mutants.txt"] = mutant_lines()
    return found


def mutant_lines() -> str:
    """Every mutant of the shipped workflows and of a workflow with every kind of loop, one on a line."""
    steps = [
        {
            "id": f"loop-{number}",
            "type": "loop",
            "title": "Loop",
            "loop": {**loop, "maxIterations": 2},
            "body": [{"id": f"inner-{number}", "title": "Inner", "prompt": "Do it."}],
        }
        for number, loop in enumerate(LOOPS)
    ]
    loops = {"id": "demo.loops", "name": "Loops", "description": "All kinds.", "version": "1.0.0", "steps": steps}
    lines: list[str] = []
    for source in (*sorted((ROOT / "fixtures" / "workflows").glob("*.json")), loops):
        made = compile_workflow(source, routines=ROOT / "fixtures" / "routines")
        assert isinstance(made, Ok), made.error
        lines += [
            f"{mutant.id} {digest(canonical_bytes(mutant.apply(made.value.ir)))[7:19]} "
            f"{mutant.pointer} {' '.join(mutant.beside)}: {mutant.change}"
            for mutant in mutants(made.value.ir, injections_of(made.value))
        ]
    return "\n".join(lines) + "\n"


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
