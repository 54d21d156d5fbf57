"""Which part of a workflow's `version` has to rise for what changed, and why.

A change is classified by what it does to those who rely on the workflow: sessions under way, recorded runs, goldens and
callers. What may stop one of them is major, what offers more is minor, what only reads differently is a patch.
Where a lockfile keeps a digest instead of the value, the answer is the one for the worst that the change may be.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import IntEnum
from functools import cache
from typing import Any, NamedTuple, TypeVar

from workrail_lint.documents import pointer as pointers
from workrail_lint.documents.nodes import Build, Node
from workrail_lint.documents.schema.engine import Validator, compile_schema
from workrail_lint.systems.schemas import load_schema
from workrail_lint.systems.workrail.analysis.inputs import declared_inputs
from workrail_lint.systems.workrail.compiler.ir import CARRIED
from workrail_lint.systems.workrail.criteria_schema import problems as schema_problems
from workrail_lint.systems.workrail.diff import Change, Facets, Outline, compare, is_digest
from workrail_lint.systems.workrail.model.workflow import AssessmentDefinition

N = TypeVar("N", bound=Node)


class Part(IntEnum):
    """A part of a version, by what its rise announces."""

    NONE = 0
    PATCH = 1
    MINOR = 2
    MAJOR = 3

    @property
    def word(self) -> str:
        return self.name.lower()


class Reason(NamedTuple):
    """One change, and the part that has to rise for it."""

    part: Part
    kind: str  # such as "step-removed" or "bound-lowered"
    step: str  # the step's key, "" for the workflow itself
    text: str

    def as_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "step": self.step or None, "text": self.text}


class Version(NamedTuple):
    """The numbers of a version; what follows them is kept apart."""

    major: int
    minor: int
    patch: int

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}.{self.patch}"


_VERSION = re.compile(r"(\d{1,9})\.(\d{1,9})\.(\d{1,9})(?:[-+].*)?\Z", re.DOTALL)


def read_version(text: object) -> Version | None:
    """Return a version, or None if the text is not one."""
    match = _VERSION.match(text) if isinstance(text, str) else None
    return Version(int(match[1]), int(match[2]), int(match[3])) if match is not None else None


def next_version(version: Version, part: Part) -> Version:
    """Return the version that announces a change. Before 1.0.0 a part means one more: 0.4 may break what 0.3 did."""
    if version.major == 0 and part is not Part.NONE:
        part = Part.MINOR if part is Part.MAJOR else Part.PATCH
    match part:
        case Part.MAJOR:
            return Version(version.major + 1, 0, 0)
        case Part.MINOR:
            return Version(version.major, version.minor + 1, 0)
        case Part.PATCH:
            return Version(version.major, version.minor, version.patch + 1)
        case Part.NONE:
            return version


class Judgement(NamedTuple):
    """Whether a workflow's version says what changed."""

    workflow_id: str
    base: str | None  # the version before
    declared: str | None
    required: Part
    reasons: tuple[Reason, ...]  # the weightiest first

    @property
    def due(self) -> str | None:
        """Return the least version that says what changed; None if the version before is not one."""
        before = read_version(self.base)
        return str(next_version(before, self.required)) if before is not None else None

    @property
    def ok(self) -> bool:
        if self.required is Part.NONE:
            return True
        before, now = read_version(self.base), read_version(self.declared)
        return before is not None and now is not None and now >= next_version(before, self.required)

    def as_json(self) -> dict[str, Any]:
        return {
            "workflowId": self.workflow_id,
            "declared": self.declared,
            "required": self.required.word,
            "ok": self.ok,
            "reasons": [reason.as_json() for reason in self.reasons],
        }

    def describe(self) -> str:
        """Return the verdict in one line."""
        if self.required is Part.NONE:
            return f"{self.declared}: nothing changed that the version has to say"
        if self.ok:
            return f"{self.base} -> {self.declared}: enough for a {self.required.word} change"
        if self.declared is None:
            return f"the workflow has no version; this is a {self.required.word} change, so write one"
        if read_version(self.declared) is None:
            return f"version {self.declared!r} is not MAJOR.MINOR.PATCH; this is a {self.required.word} change"
        if self.due is None:
            return f"the version before ({self.base}) is not MAJOR.MINOR.PATCH, so it can't be compared"
        was = f"still {self.declared}" if self.declared == self.base else f"{self.declared}, after {self.base}"
        return f"version is {was}, but this is a {self.required.word} change: write {self.due}"


def judge_change(workflow_id: str, old: Outline, new: Outline) -> Judgement:
    """Return which part of the version has to rise from one outline to the other, and whether it did."""
    reasons = sorted(_reasons(old, new), key=lambda reason: -reason.part)
    required = max((reason.part for reason in reasons), default=Part.NONE)
    return Judgement(workflow_id, old.workflow.get("version"), new.workflow.get("version"), required, tuple(reasons))


def _reasons(old: Outline, new: Outline) -> Iterable[Reason]:
    yield from _input_reasons(old.workflow, new.workflow)
    for change in compare(old, new):
        yield from _classified(change)


def _classified(change: Change) -> Iterable[Reason]:
    if not change.facet:
        part, kind, text = _WHOLE_STEPS[change.kind]
        was = f" (it was '{change.before.rpartition('/')[2]}')" if change.kind == "renamed" else ""
        yield Reason(part, kind, change.step, text + was)
        return
    if change.facet.startswith(_CONTRACT):
        verdicts = _contract_pack(change.before, change.after)
    else:
        verdicts = (STEP_FACETS if change.step else WORKFLOW_FACETS)[change.facet](change.before, change.after)
    for part, kind, text in verdicts:
        yield Reason(part, kind, change.step, text)


_Verdict = tuple[Part, str, str]
_Verdicts = Sequence[_Verdict]
_Judge = Callable[[Any, Any], _Verdicts]

_WHOLE_STEPS: dict[str, _Verdict] = {
    "removed": (Part.MAJOR, "step-removed", "the step is gone; a session at it can't go on"),
    "renamed": (Part.MAJOR, "step-renamed", "the step has another id; recorded runs don't find it"),
    "moved": (Part.MAJOR, "step-moved", "the step is at another place; recorded runs go another way"),
    "added": (Part.MINOR, "step-added", "the step is new"),
}


def _input_reasons(old: Facets, new: Facets) -> Iterable[Reason]:
    if not any(is_digest(facets.get(name)) for facets in (old, new) for name in ("preconditions", "about")):
        before, now = declared_inputs(_Declaring(old)), declared_inputs(_Declaring(new))
        for name in sorted(now.keys() - before.keys()):
            yield Reason(Part.MAJOR, "input-added", "", f"callers now have to provide '{name}'")
        for name in sorted(before.keys() - now.keys()):
            yield Reason(Part.MINOR, "input-removed", "", f"callers no longer provide '{name}'")


class _Declaring:
    """The texts of an outline that declare inputs."""

    def __init__(self, facets: Facets) -> None:
        self.preconditions: Sequence[str] = facets.get("preconditions") or ()
        self.about: str | None = facets.get("about")


# ------------------------------------------------------------------------------------- facets and their judges


def _always(part: Part, kind: str, text: str) -> _Judge:
    return lambda before, after: ((part, kind, text),)


def _wording(noun: str) -> _Judge:
    return _always(Part.PATCH, "wording", f"{noun} reads differently")


def _if_known(judge: _Judge, kind: str, noun: str, part: Part = Part.MAJOR) -> _Judge:
    """Return a judge of changes of which only digests may be known."""
    unknown = ((part, kind, f"{noun} changed; compare with --base REV to see whether it asks for more"),)
    return lambda before, after: unknown if is_digest(before) or is_digest(after) else judge(before, after)


def _preconditions(before: Any, after: Any) -> _Verdicts:
    more = len(after or ()) - len(before or ())
    if more > 0:
        return ((Part.MAJOR, "precondition-added", "more must be true before a run"),)
    if more < 0:
        return ((Part.MINOR, "precondition-removed", "less must be true before a run"),)
    return ((Part.PATCH, "wording", "a precondition reads differently"),)


def _capabilities(before: Any, after: Any) -> _Verdicts:
    had, has = before or {}, after or {}
    needed = [name for name, level in sorted(has.items()) if level == "required" and had.get(name) != "required"]
    if needed:
        return tuple((Part.MAJOR, "capability-required", f"the host now has to offer '{name}'") for name in needed)
    return ((Part.MINOR, "capability-changed", "the host may offer less, or more than before is used"),)


def _by_id(items: Any) -> dict[str, Any]:
    return {str(item.get("id")): item for item in items or () if isinstance(item, dict)}


def _assessments(before: Any, after: Any) -> _Verdicts:
    had, has = ({each.id: each for each in _read(AssessmentDefinition, items)} for items in (before, after))
    verdicts = [verdict for ident in sorted(had.keys() & has.keys()) for verdict in _assessment(had[ident], has[ident])]
    return verdicts or [(Part.MINOR, "assessment-added", "the definitions of assessments changed")]


def _read(cls: type[N], items: Sequence[dict[str, Any]] | None) -> list[N]:
    return [Build().root(cls, item) for item in items or ()]


def _assessment(before: AssessmentDefinition, after: AssessmentDefinition) -> Iterable[_Verdict]:
    had, has = ({each.id: each for each in assessment.dimensions} for assessment in (before, after))
    narrower = [f"dimension '{name}' is gone" for name in sorted(had.keys() - has.keys())]
    new = sorted(has.keys() - had.keys())
    narrower += [f"dimension '{name}' is new" for name in new if has[name].required is not False]
    both = sorted(had.keys() & has.keys())
    fewer = [name for name in both if not set(had[name].levels) <= set(has[name].levels)]
    narrower += [f"a level of dimension '{name}' is gone" for name in fewer]
    of = f"assessment '{before.id}'"
    for text in narrower:
        yield Part.MAJOR, "assessment-narrowed", f"{of}: {text}, so recorded results may be refused"
    if not narrower and before.raw != after.raw:
        yield Part.MINOR, "assessment-changed", f"{of} changed"


def _conditions(before: Any, after: Any) -> _Verdicts:
    had, has = _by_id(before), _by_id(after)
    if all(has.get(name) == condition for name, condition in had.items()):
        return ((Part.MINOR, "condition-added", "a named condition is new"),)
    return ((Part.MAJOR, "condition-changed", "a named condition changed; recorded runs may go another way"),)


def _run_condition(before: Any, after: Any) -> _Verdicts:
    match before, after:
        case None, _:
            text = "the step may be skipped now"
        case _, None:
            text = "the step always runs now"
        case _:
            text = "the step runs under another condition"
    return ((Part.MAJOR, "condition-changed", f"{text}; recorded runs may go another way"),)


def _notes(before: Any, after: Any) -> _Verdicts:
    if after == "required":
        return ((Part.MAJOR, "output-required", "the step now requires notes"),)
    return ((Part.MINOR, "output-relaxed", "the step no longer requires notes"),)


def _fragments(before: Any, after: Any) -> _Verdicts:
    def when(fragments: Any) -> list[Any]:
        return [fragment.get("when") for fragment in fragments or ()]

    if when(before) == when(after):
        return ((Part.PATCH, "wording", "conditional text reads differently"),)
    return ((Part.MINOR, "fragment-changed", "conditional text is added, gone or shown in other cases"),)


def _delegations(before: Any, after: Any) -> _Verdicts:
    def targets(delegations: Any) -> list[Any]:
        return [
            [one.get("workflowId"), one.get("runCondition"), one.get("contextMapping")] for one in delegations or ()
        ]

    if targets(before) == targets(after):
        return ((Part.PATCH, "wording", "the goal of a delegation reads differently"),)
    return ((Part.MINOR, "delegation-changed", "other workflows are delegated to"),)


def _bound(before: Any, after: Any) -> _Verdicts:
    if before is None or after is None:  # the type of the step changed, which is said there
        return ()
    if after < before:
        return ((Part.MAJOR, "bound-lowered", f"the loop stops after {after:g} passes, it was {before:g}"),)
    return ((Part.MINOR, "bound-raised", f"the loop stops after {after:g} passes, it was {before:g}"),)


def _contract(before: Any, after: Any) -> _Verdicts:
    match before, after:
        case (None, {"required": False}) | ({"required": True}, {"required": False}) if _same_ref(before, after):
            return ((Part.MINOR, "output-relaxed", "an artifact of the contract may be submitted, and need not be"),)
        case None, {"ref": ref}:
            return ((Part.MAJOR, "output-required", f"the step now requires an artifact of {ref}"),)
        case {"ref": ref}, None:
            return ((Part.MAJOR, "output-removed", f"callers no longer get an artifact of {ref}"),)
        case _:
            return ((Part.MAJOR, "output-required", "the step now requires another artifact"),)


def _same_ref(before: Any, after: Any) -> bool:
    return before is None or before["ref"] == after["ref"]


def _required_assessments(before: Any, after: Any) -> _Verdicts:
    had, has = before or {}, after or {}
    added = sorted(set(has.get("refs", ())) - set(had.get("refs", ())))
    consequences = [one for one in has.get("consequences", ()) if one not in had.get("consequences", ())]
    if added:
        return tuple((Part.MAJOR, "output-required", f"the step now requires assessment '{ref}'") for ref in added)
    if consequences:
        return ((Part.MAJOR, "output-required", "an assessment has another consequence"),)
    return ((Part.MINOR, "output-relaxed", "the step requires fewer assessments"),)


def _criteria(before: Any, after: Any) -> _Verdicts:
    if after is None:
        return ((Part.MINOR, "output-relaxed", "the notes are no longer validated"),)
    if before is not None:
        had, has = _without_messages(before), _without_messages(after)
        if had == has:
            return ((Part.PATCH, "wording", "a message of the validation reads differently"),)
        if isinstance(had, list) and isinstance(has, list) and all(rule in had for rule in has):
            return ((Part.MINOR, "output-relaxed", "the notes have to satisfy less"),)
    return ((Part.MAJOR, "output-required", "the notes have to satisfy something else or more"),)


def _without_messages(criteria: Any) -> Any:
    match criteria:
        case {**members}:
            return {name: _without_messages(value) for name, value in members.items() if name != "message"}
        case [*items]:
            return [_without_messages(item) for item in items]
    return criteria


_CONTRACT = "contract "


def _contract_pack(before: Any, after: Any) -> _Verdicts:
    """Judge the schema of a contract pack. The steps say whether it is used."""
    if before is None or after is None:
        return ()
    return _if_known(_pack_schema, "contract-narrowed", "the schema of a contract")(before, after)


def _pack_schema(before: Any, after: Any) -> _Verdicts:
    if _accepts_at_least(before["schema"], after["schema"]):
        return ((Part.MINOR, "contract-widened", "a contract accepts more than before"),)
    return ((Part.MAJOR, "contract-narrowed", "a contract may refuse what it accepted"),)


_LOWER_IS_WIDER = ("minLength", "minItems", "minimum", "minProperties")
_HIGHER_IS_WIDER = ("maxLength", "maxItems", "maximum", "maxProperties")


def _accepts_at_least(before: Any, after: Any) -> bool:
    """Return whether a schema surely accepts all that another accepts, judged member by member."""
    if before == after or after in ({}, True):
        return True
    if not isinstance(before, dict) or not isinstance(after, dict):
        return False
    return all(_is_wider(name, before, after) for name in before.keys() | after.keys())


def _is_wider(name: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    was, now = before.get(name), after.get(name)
    if was == now or name in ("description", "title"):
        return True
    match name:
        case "required":
            return set(now or ()) <= set(was or ())
        case "enum":
            return now is None or (was is not None and all(value in now for value in was))
        case "properties":
            # A member that is new in a closed object was refused; in an open one it could have any value.
            closed = before.get("additionalProperties") is False
            kept = all(_accepts_at_least(schema, (now or {}).get(member, {})) for member, schema in (was or {}).items())
            gone_is_fine = after.get("additionalProperties") is not False or not set(was or ()) - set(now or ())
            return kept and gone_is_fine and (closed or set(now or ()) <= set(was or ()))
        case "items":
            return now is None or (was is not None and _accepts_at_least(was, now))
        case "additionalProperties":
            return was is False
    if name in _LOWER_IS_WIDER:
        return now is None or (was is not None and now <= was)
    if name in _HIGHER_IS_WIDER:
        return now is None or (was is not None and now >= was)
    return now is None


def _option(noun: str) -> _Judge:
    return _always(Part.MINOR, "option-changed", f"{noun} changed")


# Every member of the IR that an outline has as a facet; a test compares both tables with the schema of the IR.
WORKFLOW_FACETS: dict[str, _Judge] = {
    "workflowId": _always(Part.MAJOR, "id-changed", "callers and sessions know the workflow by another id"),
    "name": _wording("the name"),
    "description": _wording("the description"),
    "version": lambda before, after: (),
    "kind": _always(Part.MAJOR, "kind-changed", "a workflow became a routine, or the other way round"),
    "agentRole": _wording("the role of the agent"),
    "metaGuidance": _wording("the guidance for the whole run"),
    "preconditions": _if_known(_preconditions, "precondition-changed", "what must be true before a run", Part.MINOR),
    "clarificationPrompts": _wording("a question before the run"),
    "examples": _wording("an example"),
    "about": _wording("the text about the workflow"),
    "capabilities": _if_known(_capabilities, "capability-changed", "what the workflow needs of its host"),
    "features": _option("the features"),
    "assessments": _if_known(_assessments, "assessment-changed", "an assessment"),
    "functions": _wording("a function"),
    "references": _option("the references"),
    "recommendedPreferences": _option("the recommended preferences"),
    "modelTier": _option("the model tier"),
    "metricsProfile": _option("the metrics profile"),
    "conditions": _if_known(_conditions, "condition-changed", "a named condition"),
    "bindings": _option("what slots are bound to"),
}
STEP_FACETS: dict[str, _Judge] = {
    **{member: _option(f"the {re.sub('(?=[A-Z])', ' ', member).lower()}") for member in CARRIED},
    "type": _always(Part.MAJOR, "type-changed", "the step is of another type"),
    "title": _wording("the title"),
    "prompt": _wording("the prompt"),
    "agentRole": _wording("the role of the agent"),
    "guidance": _wording("the guidance"),
    "runCondition": _run_condition,
    "confirmation": _always(Part.MAJOR, "confirmation-changed", "the step asks for approval in other cases"),
    "notes": _notes,
    "fragments": _if_known(_fragments, "fragment-changed", "conditional text", Part.MINOR),
    "functions": _wording("a function"),
    "functionCalls": _wording("the use of a function"),
    "functionReferences": _wording("a mentioned function"),
    "delegations": _if_known(_delegations, "delegation-changed", "a delegation", Part.MINOR),
    "bodyRef": _wording("the place of the body"),
    "loop.kind": _always(Part.MAJOR, "loop-changed", "the loop is of another kind"),
    "loop.maxIterations": _bound,
    "loop.source": _always(Part.MAJOR, "loop-changed", "the loop goes on in other cases"),
    "loop.variables": _always(Part.MAJOR, "loop-changed", "the loop sets other variables"),
    "output.contract": _contract,
    "output.assessments": _if_known(_required_assessments, "output-required", "the assessments that the step requires"),
    "output.criteria": _if_known(_criteria, "output-required", "the validation of the notes"),
}


# ------------------------------------------------------------------------------------------- facets from a lockfile

_DIGEST: dict[str, Any] = {
    "type": "object",
    "required": ["sha256"],
    "properties": {"sha256": {"type": "string"}},
    "additionalProperties": False,
}
_PACK = {"type": "object", "required": ["schema"], "properties": {"schema": {"type": "object"}}}
_STEPS = ("PromptStep", "RepeatingStep", "DelegatingStep")


def damaged_facet(outline: Outline) -> str | None:
    """Return a facet that no compiled workflow has; None if all are sound. A lockfile may hold anything."""
    of_workflow, of_steps, pack = _facet_validators()
    for name, value in outline.workflow.items():
        if name.startswith(_CONTRACT):
            if pack.violations(value) or (not is_digest(value) and schema_problems(value["schema"])):
                return name
        elif name not in WORKFLOW_FACETS:
            return name
    for facets, validator in ((outline.workflow, of_workflow), *((step.facets, of_steps) for step in outline.steps)):
        if violations := validator.violations(facets):
            return pointers.decode(violations[0].pointer)[0]
    return next((name for step in outline.steps for name in step.facets if name not in STEP_FACETS), None)


@cache
def _facet_validators() -> tuple[Validator, Validator, Validator]:
    """Return what checks the facets of a workflow, those of a step, and the one of a contract pack."""
    definitions = load_schema("ir")["definitions"]

    def members(name: str, prefix: str = "") -> dict[str, Any]:
        return {f"{prefix}{member}": schema for member, schema in definitions[name]["properties"].items()}

    def validator(*owners: dict[str, Any]) -> Validator:
        names = dict.fromkeys(name for owner in owners for name in owner)
        facets = {name: _or_digest(*(owner[name] for owner in owners if name in owner)) for name in names}
        return compile_schema({"definitions": definitions, "type": "object", "properties": facets})

    of_steps = validator(*map(members, _STEPS), members("Repetition", "loop."), members("StepOutput", "output."))
    return validator(members("Program")), of_steps, compile_schema(_or_digest(_PACK))


def _or_digest(*schemas: dict[str, Any]) -> dict[str, Any]:
    return {"anyOf": [*schemas, _DIGEST]}
