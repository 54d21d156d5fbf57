"""Outputs of a step: whether what was submitted is what was asked for, and what is kept of it.

Reports are outputs that an agent may submit at any step: divergences, and observations of capabilities.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from msgspec import Struct

from pytest_workrail.engine.core.conditions import Context
from pytest_workrail.engine.core.criteria import Validation, evaluate_criteria
from pytest_workrail.engine.core.index import (
    ASSESSMENT,
    ASSESSMENT_KIND,
    CAPABILITY_OBSERVATION,
    ContractPack,
    IrIndex,
    artifact_kind,
)
from pytest_workrail.engine.core.loops import loop_control_issues
from pytest_workrail.engine.core.profiles import Profile
from pytest_workrail.engine.model import keys
from pytest_workrail.engine.model.events import (
    ArtifactPayload,
    AssessmentRecordedData,
    AttemptDetail,
    AttemptProvenance,
    CapabilityObservedData,
    ClaimDetail,
    ClaimProvenance,
    DivergenceData,
    NodeOutputData,
    ProbeDetail,
    ProbeProvenance,
    Provenance,
    RecordedDimension,
    ValidationResult,
)
from pytest_workrail.engine.model.ids import AttemptId, Digest
from pytest_workrail.engine.model.reasons import (
    CapabilityUnavailable,
    CapabilityUnknown,
    EvaluationFailed,
    FollowupRequired,
    InvalidRequiredOutput,
    MissingNotes,
    MissingRequiredOutput,
    Reason,
)
from pytest_workrail.engine.model.step_keys import LoopPath, collated, collation_key, truncate_marked
from pytest_workrail.engine.model.words import (
    MAX_NOTES_BYTES,
    MAX_VALIDATION_ISSUE_BYTES,
    MAX_VALIDATION_LIST_BYTES,
    MAX_VALIDATION_SUGGESTION_BYTES,
    Capability,
    CapabilityStatus,
    DivergenceReason,
)
from workrail_lint.base import js
from workrail_lint.base.canonical import CanonicalError, canonical_bytes, digest
from workrail_lint.base.js import Json
from workrail_lint.base.result import Err, Ok
from workrail_lint.systems.workrail.model.ir import Program, ProgramStep, RequiredContract
from workrail_lint.systems.workrail.model.nodes import LOOP_CONTROL
from workrail_lint.systems.workrail.model.workflow import (
    AssessmentConsequence,
    AssessmentDefinition,
    AssessmentDimension,
)


class ReportedDivergence(Struct, frozen=True):
    """A valid divergence. `artifact_index` is its place in the submission."""

    artifact_index: int
    reason: DivergenceReason
    summary: str
    related_step_id: str | None

    def data(self, attempt: AttemptId) -> DivergenceData:
        """Return what an event records."""
        name = keys.divergence_id(attempt, self.artifact_index)
        return DivergenceData(name, self.reason, self.summary, self.related_step_id)


def divergences(
    artifacts: Sequence[Json], pack: ContractPack
) -> tuple[tuple[ReportedDivergence, ...], tuple[int, ...]]:
    """The divergences in a submission, and the places of those that do not pass."""
    passed: list[ReportedDivergence] = []
    failed: list[int] = []
    for index, artifact in enumerate(artifacts):
        if artifact_kind(artifact) != pack.artifact_kind:
            continue
        if pack.issues(artifact):
            failed.append(index)
            continue
        fields: Any = artifact
        passed.append(ReportedDivergence(index, fields["reason"], fields["summary"], fields.get("relatedStepId")))
    return tuple(passed), tuple(failed)


class RecordedAssessment(Struct, frozen=True):
    """A valid assessment. `artifact_index` is its place in the submission."""

    assessment_id: str
    artifact_index: int
    summary: str | None
    dimensions: tuple[RecordedDimension, ...]
    normalization_notes: tuple[str, ...]

    def data(self, attempt: AttemptId) -> AssessmentRecordedData:
        """Return what an event records."""
        return AssessmentRecordedData(
            self.assessment_id,
            attempt,
            keys.artifact_output_id(attempt, self.artifact_index),
            self.normalization_notes,
            self.dimensions,
            self.summary,
        )


class _Problem(Struct, frozen=True):
    issue: str
    suggestion: str


class _Candidate(Struct, frozen=True):
    place: int
    artifact: dict[str, Any]


def assess(
    refs: Sequence[str], declared: Sequence[AssessmentDefinition], artifacts: Sequence[Json], pack: ContractPack
) -> tuple[Validation, tuple[RecordedAssessment, ...]]:
    """The verdict on a submission, and what to record: everything or, if one assessment is invalid, nothing."""
    by_id = {assessment.id: assessment for assessment in declared}
    undeclared = [ref for ref in refs if ref not in by_id]
    if undeclared:
        known = ", ".join(f'"{name}"' for name in by_id) or "none"
        suggestion = f"Ask the author of the workflow; declared assessments: {known}."
        return _invalid([_Problem(f'Assessment "{ref}" is not declared.', suggestion) for ref in undeclared]), ()
    candidates = [
        _Candidate(index, artifact)
        for index, artifact in enumerate(artifacts)
        if isinstance(artifact, dict) and artifact_kind(artifact) == ASSESSMENT_KIND
    ]
    problems: list[_Problem] = []
    recorded: list[RecordedAssessment] = []
    for ref in refs:
        chosen = _choose(ref, candidates, pack, names_id=len(refs) > 1)
        if isinstance(chosen, _Problem):
            problems.append(chosen)
            continue
        record, own_problems = _read(by_id[ref], chosen)
        recorded.append(record)
        problems.extend(own_problems)
    if problems:
        return _invalid(problems), ()
    return Validation(True), tuple(recorded)


def _invalid(problems: list[_Problem]) -> Validation:
    return Validation(False, tuple(p.issue for p in problems), tuple(p.suggestion for p in problems))


def _choose(ref: str, candidates: list[_Candidate], pack: ContractPack, names_id: bool) -> _Candidate | _Problem:
    """The artifact that answers a reference: the first one, or where there are several the first that names it."""
    how = f'Submit an artifact of kind "{ASSESSMENT_KIND}"'
    if not candidates:
        issue = f'This step requires an assessment submission for "{ref}".'
        return _Problem(issue, f"{how} in `output.artifacts`.")
    if names_id:
        for candidate in candidates:
            if candidate.artifact.get("assessmentId") == ref and not pack.issues(candidate.artifact):
                return candidate
        issue = f'Missing assessment artifact for "{ref}". Each assessment of this step needs one that names it.'
        return _Problem(issue, f'{how} and assessmentId "{ref}".')
    first = candidates[0]
    issues = pack.issues(first.artifact)
    if issues:
        return _Problem(
            f'The assessment artifact for "{ref}" is malformed: {"; ".join(issues)}',
            f"{how} whose `dimensions` give each dimension a level, or an object with `level` and `rationale`.",
        )
    named = first.artifact.get("assessmentId", ref)
    if named != ref:
        issue = f'The artifact assesses "{named}", but this step asks for "{ref}".'
        return _Problem(issue, f'Set assessmentId to "{ref}", or leave it out.')
    return first


def _read(assessment: AssessmentDefinition, candidate: _Candidate) -> tuple[RecordedAssessment, list[_Problem]]:
    """Return what an artifact records, and where it misses the declaration it answers."""
    artifact = candidate.artifact
    problems: list[_Problem] = []
    submitted: dict[str, Any] = artifact["dimensions"]
    dimensions: list[RecordedDimension] = []
    notes: list[str] = []
    for dimension in assessment.dimensions:
        if dimension.id not in submitted:
            if dimension.required is not False:
                issue = f'Missing assessment dimension "{dimension.id}".'
                problems.append(_Problem(issue, f"Give it one of these levels: {_listed(dimension.levels)}."))
            continue
        answer = submitted[dimension.id]
        raw = answer["level"] if isinstance(answer, dict) else answer
        level = _canonical_level(dimension, raw)
        if isinstance(level, _Problem):
            problems.append(level)
            continue
        rationale = js.trim(answer.get("rationale", "")) if isinstance(answer, dict) else ""
        if level != raw:
            notes.append(f'Normalized level "{raw}" to canonical value "{level}".')
        way: Literal["exact", "normalized"] = "exact" if level == raw else "normalized"
        dimensions.append(RecordedDimension(dimension.id, level, way, rationale or None))
    problems.extend(_unknown_dimensions(assessment, submitted))
    record = RecordedAssessment(
        assessment.id, candidate.place, artifact.get("summary"), tuple(dimensions), tuple(notes)
    )
    return record, problems


def _canonical_level(dimension: AssessmentDimension, raw: str) -> str | _Problem:
    levels = dimension.levels
    if raw in levels:
        return raw
    folded = js.lower(js.trim(raw))
    hits = [level for level in levels if js.lower(level) == folded]
    if len(hits) == 1:
        return hits[0]
    name = dimension.id
    suggestion = f'Give dimension "{name}" one of these levels, exactly as written: {_listed(levels)}.'
    if hits:
        return _Problem(f'Dimension "{name}": Level "{raw}" is ambiguous; it can mean {_listed(hits)}.', suggestion)
    issue = f'Dimension "{name}": Level "{raw}" is not allowed. Allowed levels: {_listed(levels)}.'
    return _Problem(issue, suggestion)


def _unknown_dimensions(assessment: AssessmentDefinition, submitted: dict[str, Any]) -> Iterator[_Problem]:
    known = [dimension.id for dimension in assessment.dimensions]
    for name in js.keys(submitted):
        if name not in known:
            issue = f'Unknown assessment dimension "{name}" for assessment "{assessment.id}".'
            yield _Problem(issue, f'Leave "{name}" out; the dimensions are: {_listed(known)}.')


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names)


def followups(
    consequences: Sequence[AssessmentConsequence], recorded: Sequence[RecordedAssessment]
) -> tuple[FollowupRequired, ...]:
    """Return the follow-ups of the recorded levels, at most one per consequence, in the order of declaration."""
    fired = (_followup(consequence, recorded) for consequence in consequences)
    return tuple(reason for reason in fired if reason is not None)


def _followup(consequence: AssessmentConsequence, recorded: Sequence[RecordedAssessment]) -> FollowupRequired | None:
    when = consequence.when
    for assessment in recorded:
        if when.for_assessment not in (None, assessment.assessment_id):
            continue
        for dimension in assessment.dimensions:
            if dimension.level == when.any_equals_level:
                guidance = consequence.effect.guidance
                return FollowupRequired(assessment.assessment_id, dimension.dimension_id, dimension.level, guidance)
    return None


PROBE_TEMPLATE = "wr.templates.capability_probe"


def observation_issues(step: ProgramStep, artifact: Mapping[str, Json], pack: ContractPack) -> tuple[str, ...]:
    """Return the issues that keep an observation from being recorded at a step."""
    issues = pack.issues(dict(artifact))
    if issues:
        return issues
    provenance = artifact["provenance"]
    is_probe = isinstance(provenance, dict) and provenance["kind"] == "probe_step"
    if is_probe and step.probed_capability != artifact["capability"]:
        return ("provenance.kind: A probe_step observation can be made only at the probe step of its capability",)
    return ()


def contract_issues(step: ProgramStep, artifact: Mapping[str, Json], pack: ContractPack) -> tuple[str, ...]:
    """Return the issues of an observation as a step's contract; a probe expects its own capability."""
    probed = step.probed_capability
    if probed is not None and artifact.get("capability") != probed and not pack.issues(dict(artifact)):
        return (f'capability: Invalid literal value, expected "{probed}"',)
    return observation_issues(step, artifact, pack)


class Observation(Struct, frozen=True):
    """A valid observation of a capability. `artifact_index` is its place in the submission."""

    artifact_index: int
    capability: Capability
    status: CapabilityStatus
    provenance: Provenance

    def data(self, attempt: AttemptId) -> CapabilityObservedData:
        """Return what an event records."""
        name = keys.observation_id(attempt, self.artifact_index)
        return CapabilityObservedData(name, self.capability, self.status, self.provenance)


def observations(
    step: ProgramStep, artifacts: Sequence[Json], pack: ContractPack
) -> tuple[tuple[Observation, ...], tuple[int, ...]]:
    """The observations in a submission, and the places of those that do not pass."""
    passed: list[Observation] = []
    failed: list[int] = []
    for index, artifact in enumerate(artifacts):
        if not isinstance(artifact, dict) or artifact_kind(artifact) != pack.artifact_kind:
            continue
        if observation_issues(step, artifact, pack):
            failed.append(index)
            continue
        fields: Any = artifact
        provenance = _provenance(fields["provenance"], fields["status"], step.id)
        passed.append(Observation(index, fields["capability"], fields["status"], provenance))
    return tuple(passed), tuple(failed)


def _provenance(given: dict[str, Any], status: Any, step_id: str) -> Provenance:
    """The grade follows from the kind; an agent can't claim it."""
    match given["kind"]:
        case "probe_step":
            return ProbeProvenance(ProbeDetail(PROBE_TEMPLATE, step_id, given["result"]))
        case "attempted_use":
            return AttemptProvenance(AttemptDetail("workflow_step", given["result"], given.get("failureCode")))
        case _:
            return ClaimProvenance(ClaimDetail(given["claimedBy"], status))


def probe_steps(program: Program) -> dict[str, list[str]]:
    """Return the probe steps of a workflow by the capability they probe."""
    probes: dict[str, list[str]] = {}
    for step in program.steps:
        if step.probed_capability is not None:
            probes.setdefault(step.probed_capability, []).append(step.id)
    return probes


def capability_status(
    program: Program, reached: Collection[str], observed: Iterable[Observation | CapabilityObservedData]
) -> dict[str, CapabilityStatus]:
    """Return the status of each capability whose probe was reached, as strong observations say.

    Strong is what was tried; a mere claim neither unlocks nor locks anything.
    `reached` are the pending step and the completed ones. `observed` are those on the lineage and then those of the
    submission, oldest first.
    """
    strong: dict[str, CapabilityStatus] = {
        item.capability: item.status for item in observed if item.provenance.enforcement_grade == "strong"
    }
    return {
        capability: strong.get(capability, "unknown")
        for capability, step_ids in probe_steps(program).items()
        if any(step_id in reached for step_id in step_ids)
    }


def capability_reasons(
    program: Program, status: Mapping[str, CapabilityStatus]
) -> tuple[CapabilityUnknown | CapabilityUnavailable, ...]:
    """Required capabilities that nothing strong has shown to be there, as far as their probes were reached."""
    reasons: list[CapabilityUnknown | CapabilityUnavailable] = []
    for capability in program.required_capabilities:
        match status.get(capability, "available"):
            case "unknown":
                reasons.append(CapabilityUnknown(capability))
            case "unavailable":
                reasons.append(CapabilityUnavailable(capability))
            case "available":
                pass
    return tuple(reasons)


CRITERIA_REF = "wr.validationCriteria"

_FIT_SCHEMA = "Provide a valid artifact matching the contract schema"
_CUT = "[TRUNCATED]"
_EVALUATION_FAILED = Validation(False, ("The validation criteria of this step can't be evaluated.",))


class Submission(Struct, frozen=True):
    """The submission of an advance. `notes` is None when there are none, which is not the empty string."""

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
    """The submission violates the contract."""

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
        reasons: list[Reason] = []
        match self.requirement:
            case Missing(ref, kinds):
                reasons.append(MissingRequiredOutput(ref, kinds))
            case Invalid(ref):
                reasons.append(InvalidRequiredOutput(ref))
            case NotRequired() | Satisfied():
                pass
        reasons += capabilities
        if self.lacks_notes:
            reasons.append(MissingNotes(self.step_id))
        return (*reasons, *self.followups, *dependencies)


def stored_notes(notes: str | None) -> str | None:
    """The notes as they are kept: cut to their budget; None when there is nothing to keep."""
    return truncate_marked(notes, MAX_NOTES_BYTES) if notes else None


class OutputValidator:
    """Judges submissions to the steps of one IR under one profile."""

    __slots__ = ("_assessments", "_packs", "_profile")

    def __init__(self, index: IrIndex, profile: Profile) -> None:
        self._assessments = index.program.assessments
        self._packs = index.packs
        self._profile = profile

    def check(self, step: ProgramStep, loop_path: LoopPath, submission: Submission, context: Context) -> Judgement:
        """The verdict on what was submitted for a step; `context` is the merged one."""
        assessed: Validation | None = None
        recorded: tuple[RecordedAssessment, ...] = ()
        fired: tuple[FollowupRequired, ...] = ()
        asked = step.assessments
        if asked is not None:
            pack = self._packs[ASSESSMENT]
            assessed, recorded = assess(asked.refs, self._assessments, submission.artifacts, pack)
            fired = followups(asked.consequences, recorded)
        prose: Validation | None = None
        if step.criteria is not None and submission.notes:
            evaluated = evaluate_criteria(step.criteria, submission.notes, context)
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


def stored_validation(validation: Validation) -> ValidationResult:
    """A validation as it is recorded and shown: sorted, without repetition, within its budgets."""
    return ValidationResult(
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


def stored_artifacts(artifacts: Sequence[Json], attempt: AttemptId) -> Ok[list[NodeOutputData]] | Err[str]:
    """The artifacts of a submission as outputs of its node, in order; an error names one without a canonical form."""
    stored: list[tuple[str, NodeOutputData]] = []
    for index, artifact in enumerate(artifacts):
        if _is_circular(artifact):
            return Err(f"artifact {index} can't be stored: it contains itself")
        try:
            raw = canonical_bytes(artifact)
        except CanonicalError as error:
            return Err(f"artifact {index} can't be stored: {error}")
        sha256 = Digest(digest(raw))
        payload = ArtifactPayload(sha256, "application/json", len(raw), artifact)
        output = NodeOutputData(
            output_id=keys.artifact_output_id(attempt, index), output_channel="artifact", payload=payload
        )
        stored.append((sha256, output))
    return Ok([output for _, output in sorted(stored, key=lambda item: collation_key(item[0]))])


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
