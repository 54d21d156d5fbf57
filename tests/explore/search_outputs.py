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
from collections.abc import Iterator, Sequence
from itertools import groupby, islice, product
from pathlib import Path
from typing import Any

sys.path += [str(Path(__file__).parent), str(Path(__file__).parents[1])]

from msgspec import structs
from planted import PLANTED, WORKFLOWS, compiled
from zoo import ZOO

from pytest_workrail.agents.agent import Action, StepView
from pytest_workrail.agents.correct import Auto
from pytest_workrail.cli import main
from pytest_workrail.coverage.goals import goals
from pytest_workrail.coverage.points import Point, place_of
from pytest_workrail.engine.core.profiles import PROFILES, ProfileName
from pytest_workrail.explore import planner, runs
from pytest_workrail.explore.answers import Answers
from pytest_workrail.explore.generation import generation_piece, perform
from pytest_workrail.explore.hostile_promises import BrokenPromise, Promises
from pytest_workrail.explore.hostile_search import Settling, explore, generated_seeds
from pytest_workrail.explore.hostile_turns import CRASH_POINTS, MALFORMED, OVERSIZE, WRONG_TOKENS, Turn, describe
from pytest_workrail.explore.hostile_world import World
from pytest_workrail.explore.mutation_operators import injections_of, mutants
from pytest_workrail.explore.mutation_report import SoundRuns, _contexts, _turns, missing_scenario
from pytest_workrail.explore.mutation_verdicts import inert_reason
from pytest_workrail.run.bench import Setup
from pytest_workrail.run.driver import drive
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
MODES = ("guided", "full_auto_stop_on_user_deps", "full_auto_never_stop")
HIGH = {"var": "risk", "equals": "high"}
FOLLOW_UP = {"kind": "require_followup", "guidance": "Look again."}


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
    return found


def every_loop() -> dict[str, Any]:
    """A workflow with every kind of loop."""
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
    return {"id": "demo.loops", "name": "Loops", "description": "All kinds.", "version": "1.0.0", "steps": steps}


def mutant_lines() -> str:
    """Every mutant of the shipped workflows and of a workflow with every kind of loop, one on a line."""
    lines: list[str] = []
    for source in (*sorted((ROOT / "fixtures" / "workflows").glob("*.json")), every_loop(), EVERYTHING, *ZOO.values()):
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
            kinds = groupby(sorted(mutants(ir), key=lambda mutant: mutant.operator), key=lambda mutant: mutant.operator)
            some = [mutant for _, group in kinds for mutant in islice(group, 2)]
            runs = SoundRuns(ir)
            missing = ((mutant.id, missing_scenario(mutant, runs, ["reference"], 8)) for mutant in some)
            lines += [f"{name} {json.dumps(scenario)}" for name, scenario in missing]
        for mutant in {mutant.operator: mutant for mutant in mutants(ir)}.values():
            change = (mutant, program_model(ir), mutant.apply(ir))
            tried = [*_contexts(*change), *islice(_turns(*change), 6)]
            lines += [mutant.id, *(f"  {json.dumps(each)}" for each in tried)]
    return "\n".join(lines) + "\n"


def tried_lines() -> str:
    """How many contexts and turns are tried for the mutants of a workflow, with a digest; those that change nothing."""
    lines: list[str] = []
    for source in (EVERYTHING, every_loop(), GRADED, *ZOO.values()):
        made = compile_workflow(source)
        assert isinstance(made, Ok), made.error
        ir, program = made.value.ir, made.value.program
        changes = [(mutant, program, mutant.apply(ir)) for mutant in mutants(ir)]
        tried = [[*_contexts(*change), *islice(_turns(*change), 40)] for change in changes]
        lines.append(f"{source['id']}: {sum(map(len, tried))} {digest(json.dumps(tried).encode())[7:19]}")
        for profile in PROFILES:
            reasons = ((mutant.id, inert_reason(mutant, program, [profile])) for mutant, *_ in changes)
            lines += [f"  {profile} {name}: {reason}" for name, reason in reasons if reason is not None]
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


PLANNED = ("decision", "everything", "loops", *ZOO)
SHIPPED = ("design-gate",)


def plan_lines() -> str:
    """What is generated for a workflow and the way that the search takes, which decides how long it takes: digests."""
    profiles: tuple[ProfileName, ...] = tuple(PROFILES)
    sources: dict[str, Any] = {**WORKFLOWS, **ZOO, "everything": EVERYTHING, "loops": every_loop()}
    lines: list[str] = []
    for name in (*PLANNED, *SHIPPED):
        source = sources.get(name, ROOT / "fixtures" / "workflows" / f"{name}.json")
        made = compile_workflow(source, routines=ROOT / "fixtures" / "routines")
        assert isinstance(made, Ok), made.error
        steps: list[Any] = []
        with _recorded(steps):
            answer = perform(generation_piece(f"{name}.json", made.value.ir, profiles))
        numbers = " ".join(f"{what} {len(answer[what])}" for what in ("new", "infeasible", "scenarios"))  # type: ignore[arg-type]
        answers, ways = (digest(json.dumps(each, sort_keys=True).encode())[7:19] for each in (answer, steps))
        lines.append(f"{name}: {numbers}, {answers}; {len(steps)} steps of the search, {ways}")
        if name in ("decision", "loops"):
            few = _with_one_run(made.value.ir, profiles)
            lines += [f"  {json.dumps(each)}" for each in few["uncovered"]]  # type: ignore[union-attr]
    return "\n".join(lines) + "\n"


@contextlib.contextmanager
def _recorded(steps: list[Any]) -> Iterator[None]:
    """Record the order in which targets are tried, and what could be shown on the way to each of them."""
    rank, extras = planner.Planner._rank, planner.extras

    def recorded_rank(self: Any, target: Any, *others: Any) -> Any:
        answer = rank(self, target, *others)
        steps.append([target.place, *answer])
        return answer

    def recorded_extras(*given: Any) -> Iterator[Any]:
        for wishes in extras(*given):
            steps.append([[None if condition is None else condition.raw, holds] for condition, holds in wishes])
            yield wishes

    planner.Planner._rank, planner.extras = recorded_rank, recorded_extras  # type: ignore[method-assign,assignment]
    try:
        yield
    finally:
        planner.Planner._rank, planner.extras = rank, extras  # type: ignore[method-assign]


def _with_one_run(ir: dict[str, Any], profiles: tuple[ProfileName, ...]) -> dict[str, Any]:
    """What is said when a search may only try one run of each kind, so that goals are left."""
    limits = runs._MAX_RUNS, runs._MAX_DRY
    runs._MAX_RUNS, runs._MAX_DRY = 1, 1
    try:
        return perform(generation_piece("few.json", ir, profiles))
    finally:
        runs._MAX_RUNS, runs._MAX_DRY = limits


def occasion_lines() -> str:
    """How often each promise could have been broken in a run of every turn, and how many faults landed, by kind."""
    lines: list[str] = []
    for number, (name, profile) in enumerate(product([*WORKFLOWS, "everything"], PROFILES)):
        made = compile_workflow(EVERYTHING) if name == "everything" else None
        ir = made.value.ir if isinstance(made, Ok) else compiled(name)
        promises = Promises()
        world = World(ir, profile, MODES[number % len(MODES)], "occasions", promises, files=number % 2 == 0)
        for index, turn in enumerate(TURNS):
            world.play(turn)
            if index % 3 == 0:
                world.play(("adv", 0, "right"))
            if all(agent.is_done for agent in world.agents):
                world.play(("rewind", index % 2, 1 + index % 4))
        broken = ""
        try:
            Settling(world, promises, stays=number % 2 == 0).run()
        except BrokenPromise as error:
            broken = f" ({error.promise}: {error.how})"
        lines += [f"{name} {profile} {world.preferences.autonomy}{broken}", f"  {json.dumps(promises.occasions)}"]
        lines += [f"  {kind}: {landed} of {world.tried[kind]}" for kind, landed in world.landed.items()]
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


# Assessments, also with optional dimensions only, whose consequences ask for another look at one or at both of them.
GRADED = {
    **EVERYTHING,
    "id": "demo.graded",
    "assessments": [
        {
            "id": name,
            "purpose": "How good.",
            "dimensions": [
                {"id": "depth", "purpose": "How deep.", "levels": ["low", "middle", "high"], "required": False},
                {"id": "width", "purpose": "How wide.", "levels": ["low", "high"], "required": required},
            ],
        }
        for name, required in (("quality", False), ("risk", True))
    ],
    "steps": [
        step("one", assessmentRefs=["quality"]),
        step(
            "both",
            assessmentRefs=["quality", "risk"],
            assessmentConsequences=[{"when": {"anyEqualsLevel": "low"}, "effect": FOLLOW_UP}],
            notesOptional=True,
        ),
        step(
            "other",
            assessmentRefs=["risk"],
            assessmentConsequences=[{"when": {"anyEqualsLevel": "high", "forAssessment": "risk"}, "effect": FOLLOW_UP}],
        ),
    ],
}


class _Answering(Auto):
    """Notes what could be submitted at every step to show each goal alone, and all of them."""

    def __init__(self, wanted: Sequence[Point]) -> None:
        super().__init__()
        self.lines: list[str] = []
        self._wanted = wanted

    def act(self, view: StepView) -> Action:
        place = place_of(view.step_id, view.instance.loop_path)
        own = [point for point in self._wanted if point.step_place == place]
        for wanted in ([], own, *([point] for point in own)):
            answers = Answers(view, wanted)
            given = [answers.right_with_points(), *answers.refused(), answers.with_gaps({"given": 1})]
            self.lines.append(f"{place}: {' '.join(map(str, wanted))}")
            for answer, points in given:
                shown = None if answer is None else structs.asdict(answer)
                self.lines.append(f"  {json.dumps(shown, sort_keys=True)} {sorted(map(str, points))}")
        return super().act(view)


def answer_lines() -> str:
    """How many ways there are to show the goals of a workflow by what is submitted, and a digest of them."""
    lines: list[str] = []
    for (name, source), profile in product({**ZOO, "everything": EVERYTHING, "graded": GRADED}.items(), PROFILES):
        made = compile_workflow(source)
        assert isinstance(made, Ok), made.error
        agent = _Answering(goals(made.value.program, PROFILES[profile]))
        drive(Setup(made.value.ir, profile, context={"risk": "high", "größe": "large"}, max_turns=40), agent)
        said = "\n".join(agent.lines)
        lines.append(f"{name} {profile}: {len(agent.lines)} lines {digest(said.encode())[7:19]}")
    return "\n".join(lines) + "\n"


# Bugs that a search finds in a few runs.
FOUND = (
    "nobody hears a stop",
    "a replay is rendered from today's log",
    "all looks at a node share one attempt",
    "the retry token belongs to the node above",
    "no gap is recorded",
    "gaps are only warnings",
    "a change replaces the context",
    "a look writes",
    "a block prints no next call",
)


def found_lines() -> str:
    """What searches for planted bugs find, and what they did until then."""
    lines: list[str] = []
    for bug in PLANTED:
        if bug.name in FOUND:
            ir = compiled(bug.workflow)
            seeds = generated_seeds(ir, bug.profile)[:3] if not lines else ()
            with bug.planted():
                search = explore(ir, bug.profile, bug.mode, "1", 6, seeds)
            counts = [search.runs, search.states, search.found_after, search.tried, search.landed, search.occasions]
            lines.append(f"{bug.name}: {search.broken}, {search.story}; {json.dumps(counts)}")
    return "\n".join(lines) + "\n"


LINES = {
    "found": found_lines,
    "mutants": mutant_lines,
    "missing": missing_lines,
    "tried": tried_lines,
    "turns": turn_lines,
    "plans": plan_lines,
    "occasions": occasion_lines,
    "answers": answer_lines,
}

if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        EXPECTED.mkdir(exist_ok=True)
        for file, text in outputs(Path(place)).items():
            (EXPECTED / file).write_text(text, encoding="utf-8")
    for what, made_of in LINES.items():
        (EXPECTED / f"{what}.txt").write_text(made_of(), encoding="utf-8")
