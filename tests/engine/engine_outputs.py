"""Runs in which agents do everything right and wrong, and a digest of all that the engine answered and stored.

python tests/engine/engine_outputs.py                      # writes `expected/` anew
python tests/engine/engine_outputs.py list-locked-guided   # prints this run in full, to compare two versions
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import Any

sys.path += [str(Path(__file__).parents[1] / "explore"), str(Path(__file__).parents[1])]

from planted import WORKFLOWS
from search_outputs import EVERYTHING, LOOPS, step
from zoo import ZOO

from pytest_workrail.engine.core.profiles import PROFILES, ProfileName
from pytest_workrail.engine.core.prompts import PromptStyle
from pytest_workrail.engine.protocol.engine import Answer, Engine
from pytest_workrail.engine.protocol.text import error_text, items
from pytest_workrail.explore.hostile_turns import CRASH_POINTS, MALFORMED, OVERSIZE, WRONG_TOKENS, Turn
from pytest_workrail.explore.hostile_world import CallRecord, World
from workrail_lint.base.canonical import canonical_bytes, digest
from workrail_lint.base.result import Err, Ok
from workrail_lint.systems.workrail.compile import compile_workflow
from workrail_lint.systems.workrail.scenario_words import Behaviour

ROOT = Path(__file__).resolve().parents[2]
SMALL = {name: source for name, source in WORKFLOWS.items() if name != "long"}
FIXTURES = sorted((ROOT / "fixtures" / "workflows").glob("*.json"))
EXPECTED = Path(__file__).parent / "expected" / "runs.txt"
MODES = ("guided", "full_auto_stop_on_user_deps", "full_auto_never_stop")
# One loop of each kind that needs a variable, beyond its limit and with variables that the prompts show.
EVERY_LOOP = {
    "id": "demo.loops",
    "name": "Loops",
    "description": "All kinds.",
    "version": "1.0.0",
    "recommendedPreferences": {"recommendedAutonomy": "guided", "recommendedRiskPolicy": "conservative"},
    "steps": [
        step("first", requireConfirmation={"var": "risky", "equals": True}),
        *(
            {
                "id": f"loop-{number}",
                "type": "loop",
                "title": "Loop",
                "loop": {**loop, "maxIterations": 2},
                "body": [step(f"inner-{number}", prompt="Do {{thing}} of {{things}} as {{goal}}: {{missing}}.")],
            }
            for number, loop in enumerate(LOOPS)
        ),
    ],
}
# Each agent does something right between what it does wrong, so that a run gets somewhere.
WRONG: tuple[Turn, ...] = (
    ("printed", 0),
    ("checkpoint", 0),
    *(("wrong", 0, kind) for kind in WRONG_TOKENS),
    ("block", 0, 2),
    ("look", 0),
    *(("malformed", 1, shape) for shape in range(MALFORMED)),
    ("resend", 0, 1),
    ("context", 0, "size", "large"),
    ("context", 0, "things", ["a", {"b": 1}, "c"]),
    ("rewind", 1, 1),
    ("around", 1, 3),
    ("old", 0, 2),
    ("join",),
    ("restart",),
    *(("oversize", 0, what) for what in OVERSIZE),
    ("context", 1, "n", 2.5),
    ("context", 1, "open", True),
    ("resume", 1),
    *(("crash", 0, point) for point in CRASH_POINTS),
    ("block", 1, 11),
    ("context", 1, "size", None),
)
RIGHT: Turn = ("adv", 0, "right")


class Listener:
    """Looks at no call."""

    def started(self, *_: Any) -> None: ...
    def refused(self, *_: Any) -> None: ...
    def called(self, world: World, record: CallRecord) -> None: ...


def workflows() -> dict[str, dict[str, Any]]:
    """The workflows with their IR: small ones for each part of the engine, and those that are shipped."""
    sources: dict[str, Any] = {**SMALL, **ZOO, "everything": EVERYTHING, "loops": EVERY_LOOP}
    sources |= {path.stem: path for path in FIXTURES}
    irs: dict[str, dict[str, Any]] = {}
    for name, source in sources.items():
        made = compile_workflow(source, routines=ROOT / "fixtures" / "routines")
        assert isinstance(made, Ok), made.error
        irs[name] = made.value.ir
    return irs


def turns(number: int) -> Iterator[Turn]:
    """Everything an agent can do, each run beginning elsewhere; after every second turn a right one."""
    behaviours: list[Turn] = [("adv", 0, behaviour.value) for behaviour in Behaviour]
    everything = [*WRONG, *behaviours]
    start = number * 7 % len(everything)
    for index, turn in enumerate([*everything[start:], *everything[:start]]):
        yield turn
        if index % 2:
            yield RIGHT


TOOLS = ("start_workflow", "continue_workflow", "checkpoint_workflow", "resume_session", "inspect_workflow")


@contextmanager
def read_into(texts: list[tuple[str, ...]]) -> Iterator[None]:
    """Read every answer as text, in both styles."""
    sound = {name: getattr(Engine, name) for name in TOOLS}

    def reading(call: Any) -> Any:
        def read(self: Engine, request: object) -> Answer:
            answer: Answer = call(self, request)
            texts.append((error_text(answer.error),) if isinstance(answer, Err) else answer.value.text)
            if isinstance(answer, Ok):
                texts.append(items(answer.value.response, PromptStyle.CLEAN))
            return answer

        return read

    for name, call in sound.items():
        setattr(Engine, name, reading(call))
    try:
        yield
    finally:
        for name, call in sound.items():
            setattr(Engine, name, call)


def run(ir: dict[str, Any], number: int, profile: ProfileName, mode: str) -> World:
    """Play one run on files that are in memory."""
    world = World(ir, profile, mode, "outputs", Listener(), files=True)
    for turn in turns(number) if world.can_start else ():
        world.play(turn)
        if all(agent.is_done for agent in world.agents):
            world.play(("rewind", 0, 1 + number % 4))
    world.bench.call("list_workflows", {})
    for what in ("preview", "metadata"):
        world.bench.call("inspect_workflow", {"workflowId": ir["workflowId"], "mode": what})
    return world


def lines() -> Iterator[str]:
    """Yield for each run: how many calls and stored files, and the digests of all answers and of all that is stored."""
    for number, (name, ir, profile, mode) in enumerate(cases()):
        texts: list[tuple[str, ...]] = []
        with read_into(texts):
            world = run(ir, number, profile, mode)
        answers = [*([each.request, each.response] for each in world.bench.exchanges), *map(list, texts)]
        files = {path: digest(content) for path, content in stored(world).items()}
        digests = [digest(canonical_bytes(value))[7:19] for value in (answers, files)]
        calls = len(world.bench.exchanges)
        yield f"{name}-{profile}-{mode}: {calls} calls {digests[0]}, {len(files)} files {digests[1]}"


def cases() -> Iterator[tuple[str, dict[str, Any], ProfileName, str]]:
    """Yield the runs: small workflows under both profiles, shipped ones under one of them, the modes in turn."""
    shipped = {path.stem for path in FIXTURES}
    for number, ((name, ir), profile) in enumerate(product(workflows().items(), PROFILES)):
        if name not in shipped or number % 4 in (0, 3):
            yield name, ir, profile, MODES[number % len(MODES)]


def stored(world: World) -> dict[str, bytes]:
    """Return the files of a run, without those of locks."""
    contents = world.homes._contents
    assert contents is not None
    return {path: content for path, content in contents.items() if not path.endswith(".lock")}


def show(wanted: str) -> Iterator[str]:
    """Yield the exchanges and the files of one run."""
    for number, (name, ir, profile, mode) in enumerate(cases()):
        if wanted == f"{name}-{profile}-{mode}":
            world = run(ir, number, profile, mode)
            for each in world.bench.exchanges:
                yield f"> {each.tool} {json.dumps(each.request, sort_keys=True)[:4000]}"
                yield f"< {json.dumps(each.response, sort_keys=True)[:4000]}"
            for path, content in sorted(stored(world).items()):
                yield f"{path}\n{content.decode(errors='replace')[:20000]}"


if __name__ == "__main__":
    if sys.argv[1:]:
        sys.stdout.writelines(f"{line}\n" for line in show(sys.argv[1]))
    else:
        EXPECTED.parent.mkdir(exist_ok=True)
        EXPECTED.write_text("".join(f"{line}\n" for line in lines()), encoding="utf-8")
