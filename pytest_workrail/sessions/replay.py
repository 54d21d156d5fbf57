"""Does a recorded session still get through on another version of its workflow?

Both versions run on our engine, call by call, so that only the workflow makes a difference: the wording of the engine
that made the recording does not matter.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, TypeAlias, TypeVar

from msgspec import Struct

from pytest_workrail.engine.core.index import FORMAT
from pytest_workrail.engine.core.profiles import ProfileName, profile_of
from pytest_workrail.engine.protocol.sessions import ONBOARDING_STEP, Program, frozen, with_onboarding
from pytest_workrail.sessions.data_folder import DataFolder
from pytest_workrail.sessions.script import Outcome, Player, Script, SubmitStep, script_of
from pytest_workrail.sessions.session_log import read_log
from pytest_workrail.sessions.story import FIRST_STEP, KnownDefect, Story, defects_of, known_defect, stories
from workrail_lint.base.result import Err, Ok
from workrail_lint.base.wording import listed
from workrail_lint.systems.workrail.compile import compile_pin, is_pin
from workrail_lint.systems.workrail.model.build import ir_problem

T = TypeVar("T")
Verdict: TypeAlias = Literal["same", "differs", "breaks", "invalid"]


class Pinned(Struct, frozen=True):
    """The pinned workflow of a run: its IR, and the onboarding step where the run had one."""

    ir: dict[str, Any]
    onboarding: dict[str, str] | None
    document: dict[str, Any]  # what a file of it holds: its source, else what was pinned
    is_engines: bool  # the public engine pinned it, and not ours

    @property
    def runnable(self) -> dict[str, Any]:
        """The IR as the run had it."""
        return self.onboarded(self.ir)

    def onboarded(self, ir: dict[str, Any]) -> dict[str, Any]:
        """Another version of the workflow, begun in the same way."""
        return ir if self.onboarding is None else with_onboarding(ir, **self.onboarding)


class Judgement(Struct, frozen=True):
    """The verdict on a session that was replayed on another version."""

    session: str
    workflow_id: str
    verdict: Verdict
    at: str | None = None  # the step that was being answered
    reason: str = ""
    call: int | None = None  # 1 is the start
    recorded: Outcome | None = None
    now: Outcome | None = None
    differences: tuple[str, ...] = ()
    pending: str | None = None  # where a session under way stands
    can_continue: bool | None = None  # of a session under way: whether an agent gets from there to the end
    note: str = ""


def pinned_of(folder: DataFolder, workflow_hash: str) -> Ok[Pinned] | Err[str]:
    """The workflow that a run was pinned to, by the public engine or by ours."""
    stored = folder.pinned_workflow(workflow_hash)
    if isinstance(stored, Err):
        return stored
    if not is_pin(stored.value):
        return _own_pin(stored.value)
    compiled = compile_pin(stored.value)
    if isinstance(compiled, Err):
        return Err(f"the pinned workflow can't run here: {compiled.error}")
    pin = compiled.value
    onboarding = None if pin.onboarding is None else {"title": pin.onboarding.title, "prompt": pin.onboarding.prompt}
    return Ok(Pinned(pin.ir, onboarding, pin.definition if pin.is_source else stored.value, True))


def _own_pin(ir: dict[str, Any]) -> Ok[Pinned] | Err[str]:
    if ir.get("format") != FORMAT:
        return Err("the pinned workflow is of a kind that is not known here")
    problem = ir_problem(ir)
    if problem is not None:
        return Err(f"the pinned workflow is damaged ({problem})")
    own = [step for step in ir["steps"] if step["id"] != ONBOARDING_STEP]
    injected = next((step for step in ir["steps"] if step["id"] == ONBOARDING_STEP), None)
    onboarding = None if injected is None else {"title": injected["title"], "prompt": injected["prompt"]}
    stripped = {**ir, "steps": own}
    return Ok(Pinned(stripped, onboarding, stripped, False))


def program_of(ir: dict[str, Any], profile: ProfileName = "reference") -> Ok[Program] | Err[str]:
    """Return an IR, ready to run."""
    pin = frozen(ir, onboarding=False)
    return Err(pin.error.message) if isinstance(pin, Err) else Ok(Program(*pin.value, profile_of(profile)))


class Recorded(Struct, frozen=True):
    """A run with the workflow it was pinned to and the calls it was made of."""

    story: Story
    pinned: Pinned
    script: Script
    profile: ProfileName = "reference"
    defects: tuple[KnownDefect, ...] = ()  # of the engine that made the recording

    @property
    def unplayable(self) -> str | None:
        """Why the calls can't be made again as a scenario; None when they can."""
        for action in self.script.actions:
            if action.step is None:
                problem = self.story.node(action.node).problem
                return f"node #{action.node}: {problem or 'something was submitted where no step is pending'}"
        return None

    @property
    def step(self) -> str | None:
        """The step at which the run stands; None when it is complete."""
        tip = self.story.preferred_tip
        return None if tip is None else self.story.node(tip).step


def recorded_runs(
    folder: DataFolder, session_id: str, profile: ProfileName = "reference"
) -> Ok[list[Recorded]] | Err[str]:
    """The runs of a session that can be played again, made by an engine with this profile; none of an empty session."""
    log = read_log(folder, session_id)
    if log.is_empty:
        return Ok([])
    all_runs = stories(folder, session_id, log)
    if not all_runs:
        return Err(log.damage or "the log holds no run")
    runs = []
    for story in all_runs:
        if not story.nodes:
            return Err(story.damage or "the run has no nodes")
        pinned = pinned_of(folder, story.workflow_hash)
        if isinstance(pinned, Err):
            return pinned
        program = program_of(pinned.value.runnable, profile)
        if isinstance(program, Err):
            return program
        script, defects = script_of(story, program.value), defects_of(folder, story)
        runs.append(Recorded(story, pinned.value, script, profile, defects))
    return Ok(runs)


class Reproduction(Struct, frozen=True):
    """How far our engine does what the log says. `parts_at` is the first call where it does not."""

    outcomes: tuple[Outcome, ...]
    parts_at: int | None = None

    def describe(self, script: Script) -> str:
        """Where and how the two part."""
        if self.parts_at is None:
            return ""
        recorded = recorded_outcomes(script)[self.parts_at - 1]
        return f"call {self.parts_at} was recorded as {described(recorded)}, and is {described(self.outcomes[-1])} here"


def recorded_outcomes(script: Script) -> list[Outcome]:
    """Return the recorded outcomes of the start and of each submission."""
    return [script.started, *(action.recorded for action in script.actions if isinstance(action, SubmitStep))]


def answered_steps(script: Script) -> list[str | None]:
    """The step that each of these calls answers; the start answers none."""
    return [None, *(action.step for action in script.actions if isinstance(action, SubmitStep))]


def reproduce(run: Recorded) -> Reproduction:
    """Play a run on the version it was pinned to and hold it against the log."""
    expected = recorded_outcomes(run.script)
    outcomes: list[Outcome] = []
    for outcome in _outcomes(run, run.pinned.runnable):
        outcomes.append(outcome)
        if outcome != expected[len(outcomes) - 1] and expected[len(outcomes) - 1].kind != "unknown":
            return Reproduction(tuple(outcomes), len(outcomes))
    return Reproduction(tuple(outcomes))


def known_defects(run: Recorded, reproduction: Reproduction) -> tuple[KnownDefect, ...]:
    """The engine's own defects that a recording shows, also where our engine parts from it for that reason."""
    first = run.pinned.ir["steps"][0] if run.pinned.ir["steps"] else {}
    is_unasked = first.get("type") == "loop" or "runCondition" in first
    if reproduction.parts_at == 1 and run.pinned.is_engines and run.pinned.onboarding is None and is_unasked:
        return (known_defect(FIRST_STEP, run.script.started.pending), *run.defects)
    return run.defects


def _outcomes(run: Recorded, ir: dict[str, Any]) -> Iterator[Outcome]:
    player = Player(ir, run.script, run.profile)
    started = player.start()
    yield started
    if started.kind != "error":
        for _, outcome in player.play():
            if outcome is not None:
                yield outcome


def compare_run(run: Recorded, ir: dict[str, Any]) -> Judgement:
    """Play a run on another version, as far as our engine reproduces the recording at all."""
    story, base = run.story, reproduce(run)
    comparable = base.outcomes if base.parts_at is None else base.outcomes[: base.parts_at - 1]
    notes = []
    if story.damage is not None:
        notes.append(f"the log is damaged, judged up to there: {story.damage}")
    if base.parts_at is not None:
        notes.append(f"judged up to where our engine parts from the recording: {base.describe(run.script)}")
    notes += map(str, known_defects(run, base))
    note = "; ".join(notes)
    steps = answered_steps(run.script)
    differences: dict[str, None] = {}
    for number, now in enumerate(_outcomes(run, run.pinned.onboarded(ir)), 1):
        if number > len(comparable):
            break
        before = comparable[number - 1]
        if now != before:
            return Judgement(
                story.session_id,
                story.workflow_id,
                "breaks",
                steps[number - 1],
                _reason(before, now, ir),
                number,
                before,
                now,
                tuple(differences),
                pending=run.step,
                note=note,
            )
        differences |= dict.fromkeys(shown_differences(before, now))
    return Judgement(
        story.session_id,
        story.workflow_id,
        "differs" if differences else "same",
        reason="; ".join(differences),
        differences=tuple(differences),
        pending=run.step,
        note=note,
    )


def described(outcome: Outcome) -> str:
    """An outcome in a few words."""
    match outcome.kind:
        case "error":
            return f"the error {listed(outcome.codes)}"
        case "blocked":
            return f"blocked at {outcome.pending} ({listed(outcome.codes)})"
        case "gate_checkpoint":
            return f"a gate at {outcome.pending}"
        case "unknown":
            return "unknown"
        case _:
            return "complete" if outcome.is_complete else f"step {outcome.pending}"


def _reason(before: Outcome, now: Outcome, ir: dict[str, Any]) -> str:
    """Why the run can't go on as recorded, in the author's terms."""
    ids = {step["id"] for top in ir["steps"] for step in (top.get("body", ()) if top["type"] == "loop" else (top,))}
    was, came = described(before), described(now)
    if now.kind == "error":
        return f"the engine now refuses the call: {now.answer.get('message', came)}"
    if now.kind == "blocked" and before.kind != "blocked":
        return f"the step no longer accepts the recorded output: {came}; it was {was}"
    if before.kind == "blocked" and now.kind != "blocked":
        return f"the step accepts what was refused before: {came}; it was {was}"
    if before.kind == now.kind == "blocked":
        return f"the step is blocked for other reasons: {came}; it was {was}"
    if before.kind == "gate_checkpoint" or now.kind == "gate_checkpoint":
        return f"the confirmation changed: {came}; it was {was}"
    if before.pending is not None and before.pending not in ids and before.pending != "wr-system-onboarding":
        return f"the next step '{before.pending}' no longer exists; the run now comes to {came}"
    if now.is_complete:
        return f"the run now ends here; it continued to {was}"
    if before.is_complete:
        return f"the run now continues to {came}; it was complete here"
    return f"the run is now sent to {came}; it went to {was}"


_MEMBERS = {"prompt": "prompt", "title": "title", "agentRole": "agent role", "modelTier": "model tier"}


def shown_differences(before: Outcome, now: Outcome) -> list[str]:
    """Return the differences that an agent sees although the run takes the same path."""
    differences = []
    one, other = before.answer.get("pending"), now.answer.get("pending")
    if isinstance(one, dict) and isinstance(other, dict):
        differences += [
            f"the {noun} of step {before.pending} changed"
            for member, noun in _MEMBERS.items()
            if one.get(member) != other.get(member)
        ]
    for member in ("nextIntent", "preferences", "references", "stepContext", "gateKind"):
        if before.answer.get(member) != now.answer.get(member):
            differences.append(f"{member} changed at step {before.pending or 'the end'}")
    if before.answer.get("blockers") != now.answer.get("blockers"):
        differences.append(f"the blockers of step {before.pending} are worded differently")
    return differences
