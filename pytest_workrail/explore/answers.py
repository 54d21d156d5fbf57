"""Submissions that make a run show a goal: answers that are refused, that leave gaps, or that pass.

Every answer is judged beforehand with the engine's own validator, so nothing is submitted on the off chance.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from pytest_workrail.agents.agent import StepView, Submit
from pytest_workrail.agents.correct import artifacts_of, contract_artifact, notes_of
from pytest_workrail.agents.misbehaving import behave
from pytest_workrail.coverage.goals import (
    BlockerGoal,
    ConsequenceGoal,
    ContractGoal,
    GapGoal,
    LeftOutGoal,
    LevelGoal,
)
from pytest_workrail.coverage.points import (
    LEFT_OUT,
    GoalKind,
    Point,
    consequence_place,
    dimension_place,
    place_of,
)
from pytest_workrail.coverage.reach import FOLLOWUP, GAP_OF_BLOCKER
from pytest_workrail.engine.core.index import ASSESSMENT_KIND, LOOP_CONTROL_KIND, artifact_kind
from pytest_workrail.engine.model.reasons import CapabilityUnavailable, CapabilityUnknown, InvalidRequiredOutput
from workrail_lint.base.js import Json
from workrail_lint.base.result import Ok
from workrail_lint.systems.workrail.blocker_codes import BlockerCode
from workrail_lint.systems.workrail.model.workflow import AssessmentConsequence, AssessmentDimension
from workrail_lint.systems.workrail.scenario_words import Behaviour

_FAULTS = (
    Behaviour.NOTHING,
    Behaviour.MISSING_NOTES,
    Behaviour.MISSING_ARTIFACT,
    Behaviour.INVALID_ARTIFACT,
    Behaviour.WRONG_LEVEL,
    Behaviour.FAILING_NOTES,
    Behaviour.FOLLOWUP_LEVEL,
    Behaviour.CLAIM_CAPABILITY,
    Behaviour.LACK_CAPABILITY,
)
_CAPABILITY_FAULTS: dict[Behaviour, BlockerCode] = {
    Behaviour.CLAIM_CAPABILITY: CapabilityUnknown.code,
    Behaviour.LACK_CAPABILITY: CapabilityUnavailable.code,
}


def with_loop_names(view: StepView, answer: Submit) -> Submit:
    """Return the answer with decisions that say which loop they are about: both profiles accept that."""
    loop = view.loop
    if loop is None:
        return answer
    named = tuple(
        {**each, "loopId": loop.id}
        if isinstance(each, dict) and artifact_kind(each) == LOOP_CONTROL_KIND and "loopId" not in each
        else each
        for each in answer.artifacts
    )
    return replace(answer, artifacts=named)


class Answers:
    """The answers to one pending step."""

    def __init__(self, view: StepView, wanted: Collection[Point]) -> None:
        self._view = view
        self._wanted = wanted
        self._place = place_of(view.step_id, view.instance.loop_path)
        asked = view.step.assessments
        self._refs: Sequence[str] = () if asked is None else asked.refs
        self._consequences: Sequence[AssessmentConsequence] = () if asked is None else asked.consequences

    # ------------------------------------------------------------------------------------------------ what passes

    def right(self) -> Submit:
        """Return an answer that passes, with levels and optional artifacts that nobody has shown yet."""
        view = self._view
        artifacts = artifacts_of(view)
        contract = view.step.contract
        if contract is not None and not contract.required and self._wants(ContractGoal, self._place):
            artifact = contract_artifact(view, contract.ref)
            artifacts = artifacts if artifact is None else (artifact,)
        if self._refs:
            artifacts = self._beside_contract(self._assessments(self._fresh_levels(harmless=True)), artifacts)
        return with_loop_names(view, Submit(notes_of(view), artifacts))

    def _beside_contract(
        self, assessments: Iterator[dict[str, Json]], artifacts: tuple[Json, ...] | None = None
    ) -> tuple[Json, ...]:
        """Assessments, beside the artifact of a contract where there is one."""
        if self._view.step.contract is None:
            return tuple(assessments)
        given = artifacts_of(self._view) if artifacts is None else artifacts
        return (*(each for each in given if artifact_kind(each) != ASSESSMENT_KIND), *assessments)

    def right_with_points(self) -> tuple[Submit, set[Point]]:
        """Return the same, with the levels and the contract that it shows."""
        answer = self.right()
        points = self._assessed_points([each for each in answer.artifacts if isinstance(each, dict)], is_valid=True)
        contract = self._view.step.contract
        if contract is not None and answer.artifacts:
            points.add(Point(ContractGoal, self._place, contract.ref))
        return answer, points

    # --------------------------------------------------------------------------------------------- what is refused

    def refused(self) -> Iterator[tuple[Submit, set[Point]]]:
        """Answers that are refused, one after the other as long as each shows something new."""
        left = {point for point in self._wanted if point.step_place == self._place}
        if not any(point.kind.is_answered for point in left):
            return
        judged = [(self._points_of(answer, BlockerGoal), answer) for answer in self._faulty()]
        for _ in range(9):
            best = max(
                ((points & left, answer) for points, answer in judged),
                key=lambda each: len(each[0]),
                default=(set(), Submit()),
            )
            if not best[0]:
                return
            left -= best[0]
            yield best[1], best[0]

    def with_gaps(self, context: Mapping[str, Json] | None) -> tuple[Submit | None, set[Point]]:
        """The answer that leaves most gaps that nobody has shown, and what it shows; None where no gap is left."""
        best: tuple[Submit | None, set[Point]] = (None, set())
        if not any(point.kind.is_answered for point in self._wanted):
            return best
        for answer in self._faulty():
            given = replace(answer, context=dict(context) if context else None)
            points = self._points_of(given, GapGoal) & set(self._wanted)
            if len(points) > len(best[1]):
                best = (given, points)
        return best

    def _faulty(self) -> Iterator[Submit]:
        view = self._view
        yield from self._bare_artifact()
        for behaviour in _FAULTS:
            behaved = behave(behaviour, view)
            if not isinstance(behaved, Ok):
                continue
            answer = with_loop_names(
                view, replace(behaved.value, context=self._criteria_context(behaviour, behaved.value))
            )
            yield answer
            if answer.notes is not None and view.step.requires_notes:
                yield replace(answer, notes=None)
        if self._refs:
            yield from self._assessed()

    def _bare_artifact(self) -> Iterator[Submit]:
        """Yield an artifact that has its kind and nothing else: the refusal names every member that is required."""
        contract = self._view.step.contract
        artifact = None if contract is None else contract_artifact(self._view, contract.ref)
        if artifact is not None:
            yield with_loop_names(self._view, Submit(notes_of(self._view), ({"kind": artifact["kind"]},)))

    def _criteria_context(self, behaviour: Behaviour, answer: Submit) -> dict[str, Json] | None:
        return answer.context if behaviour is Behaviour.FAILING_NOTES else None

    def _assessed(self) -> Iterator[Submit]:
        """Assessments with levels that nobody has shown, or without a dimension that nobody left out."""
        notes = notes_of(self._view)
        fresh = self._fresh_levels(harmless=False)
        for given in (notes, None) if self._view.step.requires_notes else (notes,):
            yield Submit(given, self._beside_contract(self._assessments(fresh)))
            for ref, dimension in self._dimensions():
                for level in dimension.levels:
                    if self._wants(LevelGoal, dimension_place(self._place, ref, dimension.id), level):
                        yield Submit(
                            given, self._beside_contract(self._assessments({**fresh, (ref, dimension.id): level}))
                        )
        for ref, dimension in self._dimensions():
            if self._wants(LeftOutGoal, dimension_place(self._place, ref, dimension.id)):
                yield Submit(notes, self._beside_contract(self._assessments(fresh, without=(ref, dimension.id))))
                yield Submit(None, self._beside_contract(self._assessments(fresh, without=(ref, dimension.id))))

    # ------------------------------------------------------------------------------------------------- what is shown

    def _points_of(self, answer: Submit, kind: type[GoalKind]) -> set[Point]:
        """Return what submitting this would show, where it is refused or leaves gaps because of the step itself."""
        view = self._view
        codes = [reason.code for reason in view.reasons(answer) if reason.cause]
        codes += self._capability_codes(answer)
        if not codes:
            return set()
        points = {Point(kind, self._place, code if kind is BlockerGoal else GAP_OF_BLOCKER[code]) for code in codes}
        submitted = [each for each in answer.artifacts if isinstance(each, dict)]
        is_valid = InvalidRequiredOutput.code not in codes
        return points | self._assessed_points(submitted, is_valid=is_valid, follows_up=FOLLOWUP in codes)

    def _assessed_points(
        self, submitted: list[dict[str, Json]], *, is_valid: bool, follows_up: bool = False
    ) -> set[Point]:
        """Return what assessments show: the levels of those that are valid, and the dimensions they leave out."""
        points: set[Point] = set()
        assessed = [each for each in submitted if artifact_kind(each) == ASSESSMENT_KIND]
        for ref, dimension in self._dimensions() if assessed else ():
            own: Any = next((each for each in assessed if each.get("assessmentId", ref) == ref), {})
            given = own.get("dimensions")
            if not isinstance(given, dict):
                continue
            place = dimension_place(self._place, ref, dimension.id)
            if dimension.id not in given:
                points.add(Point(LeftOutGoal, place, LEFT_OUT))
            elif is_valid:
                level = given[dimension.id]
                points.add(Point(LevelGoal, place, level))
                if follows_up:
                    points |= {
                        Point(ConsequenceGoal, consequence_place(self._place, scope), level) for scope in (None, ref)
                    }
        return points

    def _capability_codes(self, answer: Submit) -> Iterator[BlockerCode]:
        required = self._view.program.definition.required_capabilities
        if self._view.step.probed_capability not in required or not self._view.profile.allows(CapabilityUnknown):
            return
        for behaviour, code in _CAPABILITY_FAULTS.items():
            behaved = behave(behaviour, self._view)
            if isinstance(behaved, Ok) and behaved.value.artifacts == answer.artifacts:
                yield code

    # ------------------------------------------------------------------------------------------------- assessments

    def _wants(self, kind: type[GoalKind], place: str, case: str | None = None) -> bool:
        return any(point.kind is kind and point.place == place and case in (None, point.case) for point in self._wanted)

    def _dimensions(self) -> Iterator[tuple[str, AssessmentDimension]]:
        declared = {each.id: each for each in self._view.program.definition.assessments}
        for ref in self._refs:
            yield from ((ref, dimension) for dimension in declared[ref].dimensions)

    def _alarms(self, ref: str) -> set[str]:
        return {each.when.any_equals_level for each in self._consequences if each.when.for_assessment in (None, ref)}

    def _fresh_levels(self, *, harmless: bool) -> dict[tuple[str, str], str]:
        """Return a level for each dimension, one that nobody has shown if there is any; optional ones only for that."""
        chosen: dict[tuple[str, str], str] = {}
        for ref, dimension in self._dimensions():
            alarms = self._alarms(ref)
            place = dimension_place(self._place, ref, dimension.id)
            levels = [level for level in dimension.levels if level not in alarms] or dimension.levels[:1]
            if not harmless:
                levels = [*dimension.levels]
            fresh = [level for level in levels if self._wants(LevelGoal, place, level)]
            if fresh or dimension.required is not False:
                chosen[ref, dimension.id] = (fresh or levels)[0]
        for ref in self._refs:
            if not any(key[0] == ref for key in chosen):
                first = next(dimension for each, dimension in self._dimensions() if each == ref)
                chosen[ref, first.id] = first.levels[0]
        return chosen

    def _assessments(
        self, levels: Mapping[tuple[str, str], str], without: tuple[str, str] | None = None
    ) -> Iterator[dict[str, Json]]:
        for ref in self._refs:
            given: dict[str, Json] = {dimension: level for (each, dimension), level in levels.items() if each == ref}
            if without is not None and without[0] == ref:
                given.pop(without[1], None)
                if not given:
                    others = [
                        each for each_ref, each in self._dimensions() if each_ref == ref and each.id != without[1]
                    ]
                    given = {others[0].id: others[0].levels[0]}
            yield {
                "kind": ASSESSMENT_KIND,
                **({"assessmentId": ref} if len(self._refs) > 1 else {}),
                "dimensions": given,
            }
