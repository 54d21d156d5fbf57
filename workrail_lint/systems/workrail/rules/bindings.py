"""BD: extension points, their tokens and defaults, and the project's bindings file.

Problems of the bindings file itself are detected by `workrail_lint.systems.workrail.project_bindings`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

from workrail_lint.base.patterns import Pattern
from workrail_lint.base.suggest import nearest
from workrail_lint.base.wording import quoted
from workrail_lint.documents.operations import Insert, Replace, ReplaceText
from workrail_lint.findings import Finding, Fix, Severity, unsafe
from workrail_lint.rules.base import Example, Report
from workrail_lint.systems.workrail.catalog.catalog import Routine, template_id_of
from workrail_lint.systems.workrail.compiler.ir import workflow_kind
from workrail_lint.systems.workrail.compiler.nodes import name_hint
from workrail_lint.systems.workrail.compiler.tokens import SENTINEL, TOKEN
from workrail_lint.systems.workrail.model.workflow import ExtensionPoint
from workrail_lint.systems.workrail.project_bindings import project_overrides
from workrail_lint.systems.workrail.rules import samples
from workrail_lint.systems.workrail.rules.base import BINDINGS, WorkflowContext, WorkflowRule
from workrail_lint.systems.workrail.rules.prose import excerpt, is_reported, listing, text_at, value_at
from workrail_lint.systems.workrail.settings import BINDINGS_CHECKED, BINDINGS_FILE

_SLOT_ID = Pattern(r"[a-z][a-z0-9_]{1,63}")
# Where binding tokens are resolved: strings of prompts and blocks, not parts.
_TOKEN_FIELDS = ("prompt", "goal", "constraints", "procedure", "verify", "outputRequired")


class Slot:
    """A declared extension point and its value."""

    __slots__ = ("id", "overridden", "point", "value")

    def __init__(self, point: ExtensionPoint, override: str | None) -> None:
        self.id = point.slot_id
        self.point = point
        self.overridden = override is not None
        self.value = point.default if override is None else override

    @property
    def place(self) -> str:
        """Return the place in this document that is closest to the value's source."""
        return self.point.at("slotId" if self.overridden else "default")


def slots_of(workflow: WorkflowContext) -> Iterator[Slot]:
    """Yield the extension points; the first declaration of a slot counts."""
    overrides = project_overrides(workflow.bindings, workflow.id)
    seen: set[str] = set()
    for point in workflow.model.extension_points:
        if "slotId" in point and point.slot_id not in seen:
            seen.add(point.slot_id)
            yield Slot(point, overrides.get(point.slot_id))


def point(slot: str = "checker", default: str = "routine-check", **members: Any) -> dict[str, Any]:
    return {"slotId": slot, "purpose": "Who checks the result.", "default": default, **members}


def _using(token: str = "{{wr.bindings.checker}}", *points: dict[str, Any]) -> dict[str, Any]:
    return samples.workflow(
        samples.step(prompt=f"Run {token} on the result."), extensionPoints=list(points) if points else ...
    )


class BindingRule(WorkflowRule):
    """A rule about extension points and their values."""

    needs = frozenset({"extensionPoints", BINDINGS})


class _SlotRule(BindingRule):
    def applies(self, workflow: WorkflowContext) -> bool:
        return "extensionPoints" in workflow.model


class BindingNoExtensionPoints(BindingRule):
    code = "BD001"
    name = "binding-no-extension-points"
    severity = Severity.ERROR
    origin = "struct"
    summary = "A binding token is used in a workflow that declares no extension points."
    why = "No slot can fill the token, so the engine rejects the workflow."
    fix = "Declare the slots with placeholder values to fill in."

    def fix_for(self, finding: Finding, workflow: WorkflowContext) -> Fix | None:
        first = next((other for other in workflow.earlier if other.name == self.name), finding)
        if finding is not first or value_at(workflow.document.value, "/extensionPoints"):
            return None  # one declaration serves all tokens, and what is there must be corrected
        texts = [text.text for step in workflow.all_steps for text in step.texts if text.field in _TOKEN_FIELDS]
        slots = dict.fromkeys(match[1] for text in texts for match in TOKEN.finditer(text))
        declared: list[Any] = [
            {
                "slotId": slot,
                "purpose": f"What to run for {slot}.",
                "default": f"routine-{slot.replace('_', '-')}",
            }
            for slot in slots
            if _SLOT_ID.fullmatch(slot)
        ]
        if not declared:
            return None
        root = workflow.document.value
        if isinstance(root, dict) and "extensionPoints" in root:
            return unsafe("declare the slots", Replace("/extensionPoints", declared))
        return unsafe("declare the slots", Insert("", "extensionPoints", None, declared))

    def examples(self) -> Iterable[Example]:
        stub: dict[str, Any] = {
            "slotId": "checker",
            "purpose": "What to run for checker.",
            "default": "routine-checker",
        }
        bad = _using()
        yield Example(bad, _using("{{wr.bindings.checker}}", point()), {**bad, "extensionPoints": [stub]})


class BindingSlotUndeclared(BindingRule):
    code = "BD002"
    name = "binding-slot-undeclared"
    severity = Severity.ERROR
    origin = "struct / compile"
    summary = "A binding token names a slot that is not declared."
    why = "Nothing fills the token, not even a project override, so the engine rejects the workflow."
    fix = "Use the closest declared slot."

    def fix_for(self, finding: Finding, workflow: WorkflowContext) -> Fix | None:
        suggestion = finding.suggestion
        text = text_at(workflow.definition, finding.pointer)
        if suggestion is None or text is None:
            return None
        declared = workflow.slots
        wrong = dict.fromkeys(match[1] for match in TOKEN.finditer(text) if match[1] not in declared)
        meant = [slot for slot in wrong if nearest(slot, declared) == suggestion]
        operations = [ReplaceText(finding.pointer, _token(slot), _token(suggestion)) for slot in meant]
        return unsafe(f"use {quoted(suggestion)}", *operations) if operations else None

    def examples(self) -> Iterable[Example]:
        good = _using("{{wr.bindings.checker}}", point())
        yield Example(_using("{{wr.bindings.cheker}}", point()), good, good)


def _token(slot: str) -> str:
    return "{{wr.bindings." + slot + "}}"


class BindingDefaultToken(_SlotRule):
    code = "BD004"
    name = "binding-default-token"
    severity = Severity.ERROR
    origin = "compile when the token survives in a compiled prompt; product otherwise"
    summary = "The default of a slot, or the project's override of it, contains a `{{wr.…}}` token."
    why = (
        "Slot values are not searched for tokens. Whether such a token happens to be resolved depends on the order of "
        "the tokens in the prompt; if it is not, compiling fails."
    )

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        for slot in slots_of(workflow):
            sources = [(slot.point.default, slot.point.at("default"), "the default")]
            if slot.overridden:
                sources.append((slot.value, slot.place, "the project's override"))
            for value, pointer, what in sources:
                if SENTINEL not in value:
                    continue
                if not is_reported(self.name, pointer, workflow):
                    report(
                        pointer,
                        f"{what} of slot {quoted(slot.id)} contains a token, {excerpt(value)}, which is not resolved; "
                        "write the value itself",
                    )

    def examples(self) -> Iterable[Example]:
        inner = point("inspector", "routine-inspect")
        good = _using("{{wr.bindings.checker}}", point(), inner)
        yield Example(_using("{{wr.bindings.checker}}", point(default="{{wr.bindings.inspector}}"), inner), good)
        yield Example(_using("the checker", point(default="{{wr.bindings.inspector}}"), inner), good)


class BindingOverrideEmpty(_SlotRule):
    code = "BD005"
    name = "binding-override-empty"
    severity = Severity.WARNING
    origin = "product"
    summary = "The project overrides a slot with an empty string."
    why = "An empty override still counts: the token disappears from the prompt, and the default is not used."
    fix = "Remove the entry from the bindings file, if that file is checked too."

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        if workflow.bindings is None or workflow.options.get(BINDINGS_CHECKED):
            return
        for slot in slots_of(workflow):
            if slot.overridden and not slot.value:
                report(
                    slot.place,
                    f"the project's bindings set slot {quoted(slot.id)} to an empty string; remove the entry to use "
                    "the default",
                )

    def examples(self) -> Iterable[Example]:
        document = _using("{{wr.bindings.checker}}", point())
        good: dict[str, Any] = {"demo.example": {"checker": "routine-inspect"}}
        yield Example({"demo.example": {"checker": ""}}, good, {"demo.example": {}}, path=BINDINGS_FILE)
        yield Example(
            document, _using("the checker", point("other")), options={"bindings": {"demo.example": {"checker": ""}}}
        )


class BindingOverrideUnknownSlot(BindingRule):
    code = "BD006"
    name = "binding-override-unknown-slot"
    severity = Severity.WARNING
    origin = "product"
    summary = "The project overrides a slot that the workflow does not declare."
    why = "The override has no effect; usually the slot was renamed or is misspelled."
    fix = "Remove the entry from the bindings file, if that file is checked too."

    def applies(self, workflow: WorkflowContext) -> bool:
        if workflow.options.get(BINDINGS_CHECKED):
            return False
        # Without sections the file is meant for all workflows, and need not fit this one.
        return isinstance(workflow.bindings, dict) and isinstance(workflow.bindings.get(workflow.id), dict)

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        declared = workflow.slots
        place = "/extensionPoints" if "extensionPoints" in workflow.model else ""
        for slot in project_overrides(workflow.bindings, workflow.id):
            if slot not in declared:
                hint = name_hint(nearest(slot, declared), "declared slots", declared)
                report(
                    place,
                    f"the project's bindings set slot {quoted(slot)}, which this workflow does not declare{hint}",
                    on_name=bool(place),
                )

    def examples(self) -> Iterable[Example]:
        known: dict[str, Any] = {"checker": "routine-inspect"}
        yield Example(
            {"demo.example": {**known, "cheker": "routine-look"}},
            {"demo.example": known},
            {"demo.example": known},
            path=BINDINGS_FILE,
            files={"workflows/example.json": _using("{{wr.bindings.checker}}", point())},
        )
        yield Example(
            _using("{{wr.bindings.checker}}", point()),
            _using("{{wr.bindings.cheker}}", point("cheker")),
            options={"bindings": {"demo.example": {"cheker": "routine-inspect"}}},
        )


def _bound_routine(slot: Slot, workflow: WorkflowContext) -> Routine | None:
    return workflow.catalog.templates.get(template_id_of(slot.value))


class BindingMismatch(_SlotRule):
    code = "BD012"
    name = "binding-mismatch"
    severity = Severity.WARNING
    origin = "doc"
    summary = "A routine is bound to a slot that wants another kind or contract."
    why = "The step that follows gets another result than it expects."

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        self._binding_kind_mismatch(workflow, report)
        self._binding_contract_mismatch(workflow, report)

    @staticmethod
    def _kind(slot: Slot, workflow: WorkflowContext) -> str | None:
        """Return `routine` or `workflow`; None if the value is unknown here."""
        if _bound_routine(slot, workflow) is not None or workflow_kind(slot.value) == "routine":
            return "routine"
        return "workflow" if slot.value == workflow.id else None

    def examples(self) -> Iterable[Example]:
        def accepting(kind: str) -> dict[str, Any]:
            return _using("{{wr.bindings.checker}}", point(default="wr.routine-plan-analysis", acceptedKinds=[kind]))

        yield Example(accepting("workflow"), accepting("routine"))

        def needing(name: str) -> dict[str, Any]:
            slot = {"purpose": "Who checks the result.", "defaultBinding": "wr.routine-check"}
            contract = {"inputContract": {"requiredContext": [name]}}
            return {**_using(), "extensionPoints": {"checker": {**slot, **contract}}}

        child = samples.workflow(
            samples.step(), id="wr.routine-check", extensionContract={"acceptedContext": ["changedFiles"]}
        )
        yield Example(needing("ticketText"), needing("changedFiles"), options={"routines": [child]})

    def _binding_kind_mismatch(self, workflow: WorkflowContext, report: Report) -> None:
        for slot in slots_of(workflow):
            accepted = slot.point.accepted_kinds
            if not accepted or not slot.value:
                continue
            kind = self._kind(slot, workflow)
            if kind is not None and kind not in accepted:
                report(
                    slot.place,
                    f"slot {quoted(slot.id)} accepts {listing(accepted)}, but {quoted(slot.value)} is a {kind}",
                )

    def _binding_contract_mismatch(self, workflow: WorkflowContext, report: Report) -> None:
        contracts = workflow.normalized.side.extension_contracts if workflow.normalized else {}
        for slot in slots_of(workflow) if contracts else ():
            wanted, routine = contracts.get(slot.id), _bound_routine(slot, workflow)
            offered = routine.definition.get("extensionContract") if routine else None
            if wanted is None or not isinstance(offered, dict):
                continue
            for problem in contract_problems(wanted, offered):
                report(slot.place, f"slot {quoted(slot.id)}: {quoted(slot.value)} {problem}")


def contract_problems(slot: dict[str, Any], child: dict[str, Any]) -> list[str]:
    """Return why a child does not fit a slot: `inputContract` and `outputContract` against its `extensionContract`.

    The content of these contracts is not specified. Every list of names under a member whose name contains "context"
    or "artifact" counts; members whose name contains "optional" are not required.
    """
    accepted, produced = _names(child, "context"), _names(child, "artifact")
    problems = [
        f"does not accept the context {quoted(name)} (accepted: {listing(accepted)})"
        for name in _names(slot.get("inputContract"), "context", required=True)
        if name not in accepted
    ]
    problems += [
        f"does not produce the artifact {quoted(name)} (produced: {listing(produced)})"
        for name in _names(slot.get("outputContract"), "artifact", required=True)
        if name not in produced
    ]
    return problems


def _names(contract: object, word: str, *, required: bool = False) -> list[str]:
    names: dict[str, None] = {}
    stack: list[tuple[object, bool]] = [(contract, False)]
    while stack:
        value, relevant = stack.pop()
        match value:
            case dict():
                for name, item in value.items():
                    if not (required and "optional" in name.lower()):
                        stack.append((item, relevant or word in name.lower()))
            case list() if relevant:
                names.update((item, None) for item in value if isinstance(item, str))
    return list(names)


class _FileRule(WorkflowRule):
    """A rule about the bindings file itself."""

    example_path = BINDINGS_FILE
    good = {"demo.example": {"checker": "routine-check"}}

    def document(self, part: Any) -> Any:
        return part


class BindingsFileInvalid(_FileRule):
    code = "BD007"
    name = "bindings-file-invalid"
    severity = Severity.WARNING
    origin = "engine-warn"
    summary = "The bindings file can't be used: it is not JSON, or a section or value has the wrong shape."
    why = "What can't be read is ignored, and the slots keep their defaults silently."
    bad: ClassVar[Any] = (
        {"demo.example": "routine-check"},
        {"demo.example": {"checker": 3}},
        {"checker": "routine-check", "demo.other": {}},
    )


class BindingDrift(_FileRule):
    code = "BD015"
    name = "binding-drift"
    severity = Severity.WARNING
    origin = "runtime"
    summary = "The bindings file no longer matches the bindings that a resumed run was started with."
    why = "A run keeps the bindings it was started with, so editing the file does not change it."

    def examples(self) -> Iterable[Example]:
        pinned: dict[str, Any] = {"pinned": {"demo.example": {"checker": "routine-check"}}}
        yield Example({"demo.example": {"checker": "routine-inspect"}}, self.good, path=BINDINGS_FILE, options=pinned)
