"""The scenario file. The JSON Schema that ships is generated from here."""

from __future__ import annotations

from enum import Enum
from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag
from typing_extensions import TypeAliasType

from workrail_lint.documents.models import (
    AnyText,
    Array,
    ByMember,
    ByPresence,
    ByType,
    Closed,
    FilledText,
    Listed,
    Maybe,
    Number,
    OneOf,
    ScenarioFile,
    Text,
)
from workrail_lint.systems.workrail import blocker_codes
from workrail_lint.systems.workrail.scenario_words import (
    Behaviour,
    CallName,
    ErrorCode,
    FaultKind,
    HostReason,
    PersonDetail,
    ProfileChoice,
)

DefectId = Annotated[str, Text(5, 5, "^KD-[0-9]{2}$")]
Count = Annotated[int, Number(1, whole=True)]
Context = dict[str, Any]


class Mode(str, Enum):
    """How much the run may do on its own."""

    GUIDED = "guided"
    STOP_ON_USER_DEPS = "full_auto_stop_on_user_deps"
    NEVER_STOP = "full_auto_never_stop"


class Risk(str, Enum):
    """How much the run may take upon itself."""

    CONSERVATIVE = "conservative"
    BALANCED = "balanced"
    AGGRESSIVE = "aggressive"


class Status(str, Enum):
    """How a run can end."""

    COMPLETE = "complete"
    COMPLETE_WITH_GAPS = "complete_with_gaps"
    BLOCKED = "blocked"
    GATED = "gated"
    IN_PROGRESS = "in_progress"
    ERROR = "error"


class AnswerKind(str, Enum):
    """The kind of answer to a call."""

    OK = "ok"
    BLOCKED = "blocked"
    GATED = "gated"
    COMPLETE = "complete"
    ERROR = "error"


class Because(str, Enum):
    """Why a step was passed over."""

    UNSET = "unset"
    VALUE = "value"
    NEVER = "never"


class CrashPoint(str, Enum):
    """Where the engine's process dies during a call: around the write of the state, or around that of the log."""

    BEFORE_STATE = "before-state"
    AFTER_STATE = "after-state"
    BEFORE_LOG = "before-log"
    AFTER_LOG = "after-log"


class PromiseName(str, Enum):
    """A promise that every run keeps, no matter what its agents do; `docs/exploring.md` explains each."""

    TOTAL = "total"
    REFUSED_CHANGES_NOTHING = "refused-changes-nothing"
    LOOK_CHANGES_NOTHING = "look-changes-nothing"
    REPLAY = "replay"
    CONTEXT = "context"
    ORDER = "order"
    FORK = "fork"
    GAPS = "gaps"
    GOES_ON = "goes-on"
    RECOVERABLE = "recoverable"
    ENDS = "ends"
    BUDGET = "budget"
    HEALTHY = "healthy"
    SAME = "same"
    PROFILES = "profiles"


class ChoiceKind(str, Enum):
    """The choices that no agent may make by itself."""

    PREFERENCE_TRADEOFF = "preference_tradeoff"
    SCOPE_BOUNDARY = "scope_boundary"
    IRREVERSIBLE_ACTION = "irreversible_action"
    EXTERNAL_SIDE_EFFECT = "external_side_effect"
    POLICY_OR_COMPLIANCE = "policy_or_compliance"


class Severity(str, Enum):
    """How much a gap matters."""

    INFO = "info"
    WARNING = "warning"
    CRITICAL = "critical"


BlockerCode = TypeAliasType(
    "BlockerCode", Annotated[blocker_codes.BlockerCode, Field(description="A reason that stops an advance.")]
)
GapDetail = TypeAliasType(
    "GapDetail",
    Annotated[blocker_codes.GapDetail, Field(description="Something missing that a run can continue without.")],
)


class TurnExpectation(Closed):
    """The expected result of one turn."""

    answer: Maybe[OneOf[AnswerKind]] = Field(None, description="The kind of answer.")
    blockers: Maybe[Listed[BlockerCode]] = Field(None, description="The codes of the blockers, all of them in order.")
    code: Maybe[OneOf[ErrorCode]] = Field(None, description="The code of the error.")
    pending: Maybe[FilledText] = Field(None, description="The step that is pending afterwards.")


class _Turn(Closed):
    step: FilledText = Field(
        description="The step that is pending when it is this turn's turn; $complete for a rewind after the end."
    )
    visit: Maybe[Count] = Field(
        None, description="The visit it is meant for, from 1; without it, turns of a step are used in their order."
    )
    repeats: Maybe[bool] = Field(None, description="Whether it serves any number of visits instead of one.")
    expect: Maybe[TurnExpectation] = Field(None, description="What has to come of it.")
    agent: Maybe[Annotated[int, Number(1, 2, whole=True)]] = Field(
        None, description="Which of two agents acts, the first when left out; only where a promise is expected."
    )


class SubmitTurn(_Turn):
    """Submits the step. Without notes and artifacts, the step is submitted with nothing."""

    notes: Maybe[AnyText] = Field(None, description="The notes; an empty text is sent as one.")
    artifacts: Maybe[Listed[Any]] = Field(None, description="The artifacts, as they are.")
    context: Maybe[Context] = Field(None, description="The change to the context; null removes a variable.")


class Behaves(_Turn):
    """Answers the step as a behaviour does, made to fit by the automatic agent."""

    does: OneOf[Behaviour] = Field(description="The behaviour.")
    context: Maybe[Context] = Field(None, description="More to change in the context.")


class Calls(_Turn):
    """Does something else than submitting the step, which stays pending."""

    call: OneOf[CallName] = Field(description="What to do, or the tool to call.")
    to: Maybe[FilledText] = Field(None, description="The step to rewind to; the pending one when left out.")
    node: Maybe[Count] = Field(
        None, description="The node to rewind to instead of a step: its number in the run, where the first node is 1."
    )
    request: Maybe[Context] = Field(
        None,
        description="Members to send to a tool, over those it would be sent by itself; null removes one. "
        "$continue, $checkpoint, $first, $previous, $resume, $gate, $garbled, $foreign and $workspace stand for "
        "what they name; with raw, $continue-3, $checkpoint-3, $garbled-3 and $cut-3 are made from the token given out "
        "three before the last one.",
    )


class Crashes(_Turn):
    """Makes a call during which the engine's process dies; another one takes over."""

    crash: OneOf[CrashPoint] = Field(description="Where it dies.")
    request: Maybe[Context] = Field(None, description="The members of the call, as with raw.")


class Preferences(Closed):
    """The permissions that the person behind the run gives from here on."""

    mode: OneOf[Mode] = Field(description="How much the run may do on its own.")
    risk: Maybe[OneOf[Risk]] = Field(None, description="How much it may take upon itself.")


class Provision(Closed):
    """Something that a person provides."""

    detail: OneOf[PersonDetail] = Field(description="The declared need that is met.")
    step: Maybe[FilledText] = Field(None, description="The step that has it; the pending one when left out.")


class PersonActs(_Turn):
    """A person does one thing about the run; the step stays pending."""

    prefers: Maybe[Preferences] = Field(None, description="Preferences to set at the pending step.")
    provides: Maybe[Provision] = Field(None, description="A declared need to meet.")
    rebinds: Maybe[dict[str, AnyText]] = Field(
        None, description="What fills the slots of the workflow in the project from now on, all of them."
    )


Turn = TypeAliasType(
    "Turn",
    Annotated[
        Annotated[Behaves, Tag("does")]
        | Annotated[Calls, Tag("call")]
        | Annotated[Crashes, Tag("crash")]
        | Annotated[PersonActs, Tag("person")]
        | Annotated[SubmitTurn, Tag("submit")],
        Discriminator(
            ByPresence(
                {
                    "does": "does",
                    "call": "call",
                    "crash": "crash",
                    "prefers": "person",
                    "provides": "person",
                    "rebinds": "person",
                },
                otherwise="submit",
            )
        ),
        Field(description="What happens when a step is pending."),
    ],
)


class FaultPlan(Closed):
    """Something that goes wrong around the agent, once on each visit it is meant for."""

    fault: OneOf[FaultKind] = Field(description="What goes wrong.")
    step: Maybe[FilledText] = Field(None, description="The step it happens at; every one when left out.")
    visit: Maybe[Count] = Field(None, description="The visit it happens on; every one when left out.")
    rate: Maybe[Annotated[float, Number(0, 1)]] = Field(
        None, description="How likely it is, decided by the seed; certain when left out."
    )


class AutoAgent(Closed):
    """Submits the smallest valid answer wherever no turn says otherwise."""

    kind: Literal["auto"] = Field(description="The automatic agent.")
    turns: Maybe[Listed[Turn]] = Field(None, description="What it does differently; each has to be used.")
    faults: Maybe[Listed[FaultPlan]] = Field(None, description="What goes wrong around it.")


class ScriptedAgent(Closed):
    """Does what is written down: a step without a turn and a turn without use are errors."""

    kind: Literal["scripted"] = Field(description="The strict agent.")
    turns: Listed[Turn] = Field(description="All it does; nothing where the run can't start.")
    faults: Maybe[Listed[FaultPlan]] = Field(None, description="What goes wrong around it.")


class StubbornAgent(Closed):
    """Behaves in one way and never learns."""

    kind: Literal["stubborn"] = Field(description="The stubborn agent.")
    does: OneOf[Behaviour] = Field(description="How it behaves.")
    steps: Maybe[Listed[FilledText]] = Field(None, description="Where; everywhere when left out.")
    faults: Maybe[Listed[FaultPlan]] = Field(None, description="What goes wrong around it.")


class ErraticAgent(Closed):
    """Does something else at every attempt, as the seed decides, and the right thing in the end."""

    kind: Literal["erratic"] = Field(description="The erratic agent.")
    patience: Maybe[Count] = Field(None, description="How many attempts it gets wrong at most; 2 when left out.")
    faults: Maybe[Listed[FaultPlan]] = Field(None, description="What goes wrong around it.")


Agent = TypeAliasType(
    "Agent",
    Annotated[
        Annotated[AutoAgent, Tag("auto")]
        | Annotated[ScriptedAgent, Tag("scripted")]
        | Annotated[StubbornAgent, Tag("stubborn")]
        | Annotated[ErraticAgent, Tag("erratic")],
        Discriminator(ByMember("kind")),
        Field(description="Who plays the run."),
    ],
)


class PersonNeeded(Closed):
    """A step that needs something only a person can provide."""

    reason: Literal["user_only_dependency"] = Field(description="A person is needed.")
    step: FilledText = Field(description="The step.")
    detail: OneOf[PersonDetail] = Field(description="What is needed.")
    choice: Maybe[OneOf[ChoiceKind]] = Field(None, description="Which choice; with needs_user_choice, and only then.")


class KeyNeeded(Closed):
    """A step that needs a variable."""

    reason: Literal["missing_context_key"] = Field(description="A variable is missing.")
    step: FilledText = Field(description="The step.")
    key: Annotated[str, Text(1, 64, "^[a-z0-9_-]+$")] = Field(description="The variable.")


class HostTrouble(Closed):
    """A step at which the host itself is in trouble."""

    reason: OneOf[HostReason] = Field(description="The trouble.")
    step: FilledText = Field(description="The step.")


Declaration = TypeAliasType(
    "Declaration",
    Annotated[
        Annotated[PersonNeeded, Tag("user_only_dependency")]
        | Annotated[KeyNeeded, Tag("missing_context_key")]
        | Annotated[HostTrouble, Tag("context_budget_exceeded")]
        | Annotated[HostTrouble, Tag("invariant_violation")]
        | Annotated[HostTrouble, Tag("storage_corruption_detected")]
        | Annotated[HostTrouble, Tag("evaluation_error")],
        Discriminator(ByMember("reason")),
        Field(description="Something that stands against every advance of a step; only profile locked looks at it."),
    ],
)


class ExpectedBlocker(Closed):
    """A blocker, as far as it matters."""

    code: BlockerCode = Field(description="Its code.")
    step: Maybe[FilledText] = Field(None, description="The step it stopped.")
    message: Maybe[FilledText] = Field(None, description="A part of its message.")


class ExpectedGap(Closed):
    """A gap, as far as it matters."""

    detail: GapDetail = Field(description="Its reason, such as missing_required_notes.")
    step: Maybe[FilledText] = Field(None, description="The step that went on without it.")
    severity: Maybe[OneOf[Severity]] = Field(None, description="How much it matters.")
    summary: Maybe[FilledText] = Field(None, description="A part of its summary.")


class ExpectedSkipped(Closed):
    """A step or loop that was passed over, as far as it matters."""

    step: FilledText = Field(description="The step or loop.")
    because: Maybe[OneOf[Because]] = Field(
        None, description="unset: setting variables would do; value: only other values would; never: nothing would."
    )
    variables: Maybe[Listed[FilledText]] = Field(None, description="The variables to blame, all of them, in order.")


class ExpectedOutput(Closed):
    """The expected submission of a step, as far as it matters."""

    notes: Maybe[AnyText] = Field(None, description="The notes as they are stored.")
    artifacts: Maybe[Listed[Any]] = Field(None, description="The artifacts, all of them.")


Blocker = Annotated[
    Annotated[BlockerCode, Tag("string")] | Annotated[ExpectedBlocker, Tag("object")], Discriminator(ByType())
]
Gap = Annotated[Annotated[GapDetail, Tag("string")] | Annotated[ExpectedGap, Tag("object")], Discriminator(ByType())]
SkippedStep = Annotated[
    Annotated[FilledText, Tag("string")] | Annotated[ExpectedSkipped, Tag("object")], Discriminator(ByType())
]


class Expectations(Closed):
    """The expectations of the run. Members that are left out are not checked, except the status."""

    status: Maybe[OneOf[Status]] = Field(None, description="How it ends; complete when left out.")
    steps: Maybe[Listed[FilledText]] = Field(None, description="The steps that were done, in order.")
    blockers: Maybe[Listed[Blocker]] = Field(None, description="Every blocker the agent met, in order.")
    gaps: Maybe[Listed[Gap]] = Field(None, description="Every gap on record, in order.")
    engine_defects: Maybe[Listed[DefectId]] = Field(
        None,
        alias="engineDefects",
        description="Every known defect of the public engine that the run meets, in order; profile reference only.",
    )
    skipped: Maybe[Listed[SkippedStep]] = Field(
        None, description="Every step and loop that was passed over, in order; once for each reason."
    )
    outputs: Maybe[dict[str, ExpectedOutput]] = Field(
        None, description="What steps submitted, by step id; of several visits, the last one."
    )
    context: Maybe[Context] = Field(None, description="Variables and their values at the end; null for one not set.")
    error: Maybe[OneOf[ErrorCode]] = Field(None, description="The code of the error that the run ends with.")
    promise: Maybe[OneOf[PromiseName]] = Field(
        None, description="The promise that the run must keep; with it, only promises are looked at."
    )


class Scenario(ScenarioFile):
    """A simulated run: a workflow, an agent, and what has to come of it."""

    workflow: FilledText = Field(description="The workflow file, relative to this one.")
    routines: Maybe[FilledText] = Field(None, description="A folder with routines, relative to this file.")
    catalog: Maybe[FilledText] = Field(None, description="A catalog file, relative to this one.")
    bindings: Maybe[dict[str, AnyText]] = Field(None, description="What fills the slots of the workflow.")
    profile: Maybe[OneOf[ProfileChoice]] = Field(None, description="The run profile; reference when left out.")
    profiles: Maybe[Annotated[tuple[OneOf[ProfileChoice], ...], Array(1)]] = Field(
        None, description="The run profiles, one run for each of them, with a golden each; instead of profile."
    )
    mode: Maybe[OneOf[Mode]] = Field(None, description="How much the run may do on its own; guided when left out.")
    risk: Maybe[OneOf[Risk]] = Field(None, description="How much it may take upon itself; as fits the mode by itself.")
    goal: Maybe[FilledText] = Field(None, description="What the run is started for.")
    onboarding: Maybe[bool] = Field(None, description="Whether the run begins with the engine's onboarding step.")
    context: Maybe[Context] = Field(None, description="The context the run starts with.")
    seed: Maybe[Annotated[int, Number(0, whole=True)]] = Field(
        None, description="Decides about chance; 0 when left out."
    )
    agent: Maybe[Agent] = Field(None, description="Who plays the run; the automatic agent when left out.")
    declares: Maybe[Listed[Declaration]] = Field(None, description="What stands against steps, besides the workflow.")
    max_turns: Maybe[Count] = Field(None, description="After how many actions the run counts as endless.")
    expect: Maybe[Expectations] = Field(None, description="What has to be true of the run.")
