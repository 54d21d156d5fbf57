"""What the searches say about small workflows, kept in `expected/`.

python tests/explore/search_outputs.py     # writes it anew
"""

from __future__ import annotations

import contextlib
import io
import json
import re
import sys
import tempfile
from itertools import islice
from pathlib import Path
from typing import Any

sys.path += [str(Path(__file__).parent), str(Path(__file__).parents[1])]

from planted import WORKFLOWS, compiled

from pytest_workrail.cli import main
from pytest_workrail.engine.core.profiles import PROFILES
from pytest_workrail.explore.hostile_promises import Promises
from pytest_workrail.explore.hostile_turns import CRASH_POINTS, MALFORMED, OVERSIZE, WRONG_TOKENS, Turn, describe
from pytest_workrail.explore.hostile_world import World
from pytest_workrail.explore.mutation_operators import injections_of, mutants
from pytest_workrail.explore.mutation_report import SoundRuns, _contexts, _turns, missing_scenario
from workrail_lint.base.canonical import canonical_bytes, digest
from workrail_lint.base.result import Ok
from workrail_lint.systems.workrail.compile import compile_workflow
from workrail_lint.systems.workrail.model.build import program_model

ROOT = Path(__file__).resolve().parents[2]
LOOPS = (
    {"type": "while", "condition": {"var": "open", "equals": True}},
    {"type": "until", "condition": {"var": "done", "equals": True}},
    {"type": "for", "count": 2},
    {"type": "forEach", "items": "things", "itemVar": "thing"},
)
EXPECTED = Path(__file__).parent / "expected"
HIGH = {"var": "risk", "equals": "high"}


def step(step_id: str, **members: Any) -> dict[str, Any]:
    return {"id": step_id, "title": step_id.title(), "prompt": f"Do {step_id}.", **members}


def rule(word: str) -> dict[str, Any]:
    return {"type": "contains", "value": word, "message": f"say {word}"}


# Every place that can have a condition, every way to combine criteria, a contract.
EVERYTHING = {
    "id": "demo.everything",
    "name": "Everything",
    "description": "All that a mutant can change.",
    "version": "1.0.0",
    "steps": [
        step("plan", promptFragments=[{"id": "late", "text": "Hurry.", "when": {"var": "late", "equals": True}}]),
        step("gated", runCondition=HIGH, requireConfirmation={"or": [{"var": "big", "gt": 3}, {"var": "force"}]}),
        step(
            "checked",
            validationCriteria={"and": [rule("one"), {"or": [rule("two"), rule("three")]}, {"not": rule("bad")}]},
        ),
        step("alone", validationCriteria=[rule("alone")]),
        step("sized", validationCriteria=[{"type": "length", "min": 4, "max": 20, "message": "size"}]),
        step("verdict", outputContract={"contractRef": "wr.contracts.gate_verdict"}),
        {
            "id": "rounds",
            "type": "loop",
            "title": "Rounds",
            "runCondition": HIGH,
            "loop": {"type": "while", "condition": {"var": "open", "equals": True}, "maxIterations": 2},
            "body": [step("inner", runCondition={"var": "deep", "equals": True}), step("outer", notesOptional=True)],
        },
    ],
}
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
    found["missing.txt"] = missing_lines()
    found["turns.txt"] = turn_lines()
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
    for source in (*sorted((ROOT / "fixtures" / "workflows").glob("*.json")), loops, EVERYTHING):
        made = compile_workflow(source, routines=ROOT / "fixtures" / "routines")
        assert isinstance(made, Ok), made.error
        lines += [
            f"{mutant.id} {digest(canonical_bytes(mutant.apply(made.value.ir)))[7:19]} "
            f"{mutant.pointer} {' '.join(mutant.beside)}: {mutant.change}"
            for mutant in mutants(made.value.ir, injections_of(made.value))
        ]
    return "\n".join(lines) + "\n"


def missing_lines() -> str:
    """The scenario that would notice a mutant, then the contexts and turns that are tried for each kind of mutant."""
    lines: list[str] = []
    for source in (EVERYTHING, WORKFLOWS["assessed"], WORKFLOWS["decision"]):
        made = compile_workflow(source)
        assert isinstance(made, Ok), made.error
        ir = made.value.ir
        if source is EVERYTHING:
            missing = ((mutant.id, missing_scenario(mutant, SoundRuns(ir), ["reference"], 8)) for mutant in mutants(ir))
            lines += [f"{name} {json.dumps(scenario)}" for name, scenario in missing]
        for mutant in {mutant.operator: mutant for mutant in mutants(ir)}.values():
            change = (mutant, program_model(ir), mutant.apply(ir))
            tried = [*_contexts(*change), *islice(_turns(*change), 6)]
            lines += [mutant.id, *(f"  {json.dumps(each)}" for each in tried)]
    return "\n".join(lines) + "\n"


# Every kind of turn, where it has an effect and where it has none.
TURNS: tuple[Turn, ...] = (
    *(("wrong", 0, kind) for kind in WRONG_TOKENS),
    *(("malformed", 0, shape) for shape in range(MALFORMED)),
    ("old", 0, 3),
    ("rewind", 0, 3),
    ("resend", 0, 0),
    ("resume", 0),
    ("look", 1),
    ("checkpoint", 0),
    ("printed", 0),
    ("block", 0, 2),
    ("adv", 0, "right"),
    ("resend", 0, 0),
    ("resend", 0, 1),
    ("old", 0, 1),
    ("rewind", 0, 2),
    ("context", 0, "size", "large"),
    ("around", 0, 5),
    ("join",),
    ("restart",),
    *(("crash", 1, point) for point in CRASH_POINTS),
    *(("oversize", 0, what) for what in OVERSIZE),
    *[("adv", 0, "right")] * 5,
    ("look", 0),
    ("printed", 0),
)


def turn_lines() -> str:
    """Every kind of turn in both profiles: how many faults landed, each call with its answer, and what was written."""
    lines: list[str] = []
    for profile in PROFILES:
        world = World(compiled("decision"), profile, "guided", "turns", Promises())
        for turn in TURNS:
            kind, calls, answers, events = turn[0], len(world.journal), len(world.bench.exchanges), len(world.log())
            landed, tried = world.landed.get(kind, 0), world.tried.get(kind, 0)
            world.play(turn)
            counts = f"{world.landed[kind] - landed} of {world.tried[kind] - tried}"
            lines.append(f"{profile}: {describe(turn)}: {counts}, {len(world.log()) - events} events")
            lines += [f"  > {_short(call)}" for call in world.journal[calls:]]
            lines += [f"  < {_answer(world, exchange.response)}" for exchange in world.bench.exchanges[answers:]]
    return "\n".join(lines) + "\n"


def _answer(world: World, response: dict[str, Any]) -> str:
    """Where an answer leads."""
    members = {name: world.symbol(value) for name, value in response.items() if name.endswith("Token")}
    pending = (response.get("pending") or {}).get("stepId")
    return _short({**members, "pending": pending, "code": response.get("code"), "done": response.get("isComplete")})


def _short(value: object) -> str:
    """A value on one line; a text that is too long to read is its length."""
    return re.sub(r'"[^"]{400,}"', lambda text: f"({len(text[0])} characters)", json.dumps(value, sort_keys=True))


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
