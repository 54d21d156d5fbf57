"""Outputs of a step: whether what was submitted is what was asked for, and what is kept of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct

from pytest_workrail.engine.core.conditions import Context
from pytest_workrail.engine.core.index import ASSESSMENT, CAPABILITY_OBSERVATION, ContractPack, IrIndex, artifact_kind
from pytest_workrail.engine.core.loops import loop_control_issues
from pytest_workrail.engine.core.profiles import Profile
from pytest_workrail.engine.core.reports import TIME_LIMIT_SECONDS, Validation, contract_issues
from pytest_workrail.engine.model.events import ArtifactPayload
from pytest_workrail.engine.model.ids import Digest
from pytest_workrail.engine.model.places import LoopPath, collated, collation_key, truncate_marked
from pytest_workrail.engine.model.reasons import (
    EvaluationFailed,
    FollowupRequired,
    InvalidRequiredOutput,
    MissingNotes,
    MissingRequiredOutput,
    Reason,
)
from pytest_workrail.engine.model.words import (
    MAX_NOTES_BYTES,
    MAX_VALIDATION_ISSUE_BYTES,
    MAX_VALIDATION_LIST_BYTES,
    MAX_VALIDATION_SUGGESTION_BYTES,
)
from workrail_lint.base import js
from workrail_lint.base.canonical import CanonicalError, canonical_bytes, digest
from workrail_lint.base.js import Json
from workrail_lint.base.result import Err, Ok
from workrail_lint.systems.workrail.model.ir import ProgramStep, RequiredContract
from workrail_lint.systems.workrail.model.nodes import LOOP_CONTROL

# The judges of assessments and criteria are imported on demand: most steps have neither.
if TYPE_CHECKING:
    from pytest_workrail.engine.core.reports import RecordedAssessment

CRITERIA_REF = "wr.validationCriteria"

_FIT_SCHEMA = "Provide a valid artifact matching the contract schema"
_CUT = "[TRUNCATED]"
_EVALUATION_FAILED = Validation(False, ("The validation criteria of this step can't be evaluated.",))


class Submission(Struct, frozen=True):
    """What an agent submits with an advance. `notes` is None when there are none, which is not the empty text."""

    notes: str | None = None
    artifacts: tuple[Json, ...] = ()


class NotRequired(Struct, frozen=True):
    """The step asks for nothing but perhaps notes."""


class Satisfied(Struct, frozen=True):
    """The step got what it asked for."""


class Missing(Struct, frozen=True):
    """Nothing was submitted for it. `kinds` are those that were, None when there is none to name."""

    contract_ref: str
    kinds: tuple[str, ...] | None = None


class Invalid(Struct, frozen=True):
    """What was submitted for it does not do."""

    contract_ref: str
    validation: Validation


Requirement: TypeAlias = NotRequired | Satisfied | Missing | Invalid


class Judgement(Struct, frozen=True):
    """The verdict on one submission.

    `validation` is the result to report and to record, if anything was validated. `failed` means that the
    author's criteria could not be evaluated; then nothing else counts.
    """

    step_id: str
    requirement: Requirement
    validation: Validation | None
    lacks_notes: bool
    assessments: tuple[RecordedAssessment, ...]
    followups: tuple[FollowupRequired, ...]
    failed: bool

    def reasons(self, capabilities: Sequence[Reason] = (), dependencies: Sequence[Reason] = ()) -> tuple[Reason, ...]:
        """Why the advance can't simply go on, in the order of detection."""
        if self.failed:
            return (EvaluationFailed(),)
        found: list[Reason] = []
        match self.requirement:
            case Missing(ref, kinds):
                found.append(MissingRequiredOutput(ref, kinds))
            case Invalid(ref):
                found.append(InvalidRequiredOutput(ref))
            case NotRequired() | Satisfied():
                pass
        found += capabilities
        if self.lacks_notes:
            found.append(MissingNotes(self.step_id))
        return (*found, *self.followups, *dependencies)


def stored_notes(notes: str | None) -> str | None:
    """The notes as they are kept: cut to their budget; None when there is nothing to keep."""
    return truncate_marked(notes, MAX_NOTES_BYTES) if notes else None


class OutputValidator:
    """Judges submissions to the steps of one IR under one profile."""

    __slots__ = ("_assessments", "_packs", "_profile", "_time_limit")

    def __init__(self, index: IrIndex, profile: Profile, time_limit: float = TIME_LIMIT_SECONDS) -> None:
        self._assessments = index.program.assessments
        self._packs = index.packs
        self._profile = profile
        self._time_limit = time_limit

    def check(self, step: ProgramStep, loop_path: LoopPath, submission: Submission, context: Context) -> Judgement:
        """The verdict on what was submitted for a step; `context` is the merged one."""
        assessed: Validation | None = None
        recorded: tuple[RecordedAssessment, ...] = ()
        fired: tuple[FollowupRequired, ...] = ()
        asked = step.assessments
        if asked is not None:
            from pytest_workrail.engine.core.reports import assess, followups

            pack = self._packs[ASSESSMENT]
            assessed, recorded = assess(asked.refs, self._assessments, submission.artifacts, pack)
            fired = followups(asked.consequences, recorded)
        prose: Validation | None = None
        if step.criteria is not None and submission.notes:
            from pytest_workrail.engine.core.criteria import evaluate_criteria

            evaluated = evaluate_criteria(step.criteria, submission.notes, context, self._time_limit)
            if isinstance(evaluated, Err):
                return Judgement(step.id, NotRequired(), _EVALUATION_FAILED, False, recorded, (), True)
            prose = evaluated.value
        requirement = self._requirement(step, loop_path, submission, assessed, prose)
        if isinstance(requirement, Invalid):
            validation: Validation | None = requirement.validation
        else:
            validation = assessed if assessed is not None and not assessed.valid else prose
        lacks_notes = step.requires_notes and js.is_blank(submission.notes or "")
        return Judgement(step.id, requirement, validation, lacks_notes, recorded, fired, False)

    def _requirement(
        self,
        step: ProgramStep,
        loop_path: LoopPath,
        submission: Submission,
        assessed: Validation | None,
        prose: Validation | None,
    ) -> Requirement:
        """The first demand there is decides: contract, assessments, criteria."""
        if step.contract is not None:
            return self._contract(step, step.contract, loop_path, submission.artifacts)
        if assessed is not None:
            return Satisfied() if assessed.valid else Invalid(ASSESSMENT, assessed)
        if step.criteria is not None:
            if prose is None:
                return Missing(CRITERIA_REF)
            return Satisfied() if prose.valid else Invalid(CRITERIA_REF, prose)
        return NotRequired()

    def _contract(
        self, step: ProgramStep, contract: RequiredContract, loop_path: LoopPath, artifacts: Sequence[Json]
    ) -> Requirement:
        ref = contract.ref
        pack = self._packs.get(ref)
        # The assessment pack has its own way of being asked for; as a contract it can't be met.
        if pack is not None and ref != ASSESSMENT:
            for artifact in artifacts:
                if isinstance(artifact, dict) and artifact_kind(artifact) == pack.artifact_kind:
                    issues = self._issues(step, loop_path, artifact, pack)
                    return Invalid(ref, Validation(False, issues, (_FIT_SCHEMA,))) if issues else Satisfied()
        if not contract.required:
            return Satisfied()
        kinds = tuple(kind for artifact in artifacts if (kind := artifact_kind(artifact)) is not None)
        return Missing(ref, kinds or None)

    def _issues(
        self, step: ProgramStep, loop_path: LoopPath, artifact: dict[str, Json], pack: ContractPack
    ) -> tuple[str, ...]:
        if pack.ref == LOOP_CONTROL and loop_path:
            return loop_control_issues(artifact, pack, loop_path[-1].loop_id, self._profile.loop_id)
        if pack.ref == CAPABILITY_OBSERVATION:
            return contract_issues(step, artifact, pack)
        return pack.issues(artifact)


def stored_validation(validation: Validation) -> Validation:
    """A validation as it is recorded and shown: sorted, without repetition, within its budgets."""
    return Validation(
        validation.valid,
        _stored_texts(validation.issues, MAX_VALIDATION_ISSUE_BYTES),
        _stored_texts(validation.suggestions, MAX_VALIDATION_SUGGESTION_BYTES),
    )


def _stored_texts(texts: Sequence[str], item_limit: int) -> tuple[str, ...]:
    kept: list[str] = []
    left = MAX_VALIDATION_LIST_BYTES - js.u8_length(_CUT)
    for text in collated({text for text in texts if text}):
        item = truncate_marked(text, item_limit)
        left -= js.u8_length(item)
        if left < 0:
            return (*kept, _CUT)
        kept.append(item)
    return tuple(kept)


class StoredArtifact(Struct, frozen=True):
    """An artifact as an output of the node it was submitted from, addressed by its content."""

    output_id: str
    sha256: str
    byte_length: int
    content: Json

    def payload(self) -> ArtifactPayload:
        """Return what an event records."""
        return ArtifactPayload(Digest(self.sha256), "application/json", self.byte_length, self.content)


def artifact_output_id(attempt_id: str, index: int) -> str:
    """The output an artifact becomes, by its place in the submission."""
    return f"out_artifact_{attempt_id}_{index}"


def recap_output_id(attempt_id: str) -> str:
    """The output the notes of an attempt become."""
    return f"out_recap_{attempt_id}"


def stored_artifacts(artifacts: Sequence[Json], attempt_id: str) -> Ok[tuple[StoredArtifact, ...]] | Err[str]:
    """The artifacts of a submission in the order they are appended; an error names one that has no canonical form."""
    stored: list[StoredArtifact] = []
    for index, artifact in enumerate(artifacts):
        if _is_circular(artifact):
            return Err(f"artifact {index} can't be stored: it contains itself")
        try:
            raw = canonical_bytes(artifact)
        except CanonicalError as error:
            return Err(f"artifact {index} can't be stored: {error}")
        stored.append(StoredArtifact(artifact_output_id(attempt_id, index), digest(raw), len(raw), artifact))
    return Ok(tuple(sorted(stored, key=lambda output: collation_key(output.sha256))))


def _is_circular(root: object) -> bool:
    """Whether a value contains itself. Python callers can build such a value, and no encoder ends with it."""
    around: set[int] = set()
    stack: list[tuple[object, bool]] = [(root, False)]
    while stack:
        value, is_left = stack.pop()
        if is_left:
            around.discard(id(value))
        elif isinstance(value, dict | list | tuple):
            if id(value) in around:
                return True
            around.add(id(value))
            stack.append((value, True))
            stack.extend((item, False) for item in (value.values() if isinstance(value, dict) else value))
    return False
