"""TC401 to TC406: acceptance.json."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from workrail_lint.documents.operations import Insert, Operation, Remove, Rename
from workrail_lint.documents.schema.engine import Violation
from workrail_lint.findings import Fix, Severity, unsafe
from workrail_lint.rules.base import Example
from workrail_lint.rules.describing import Description
from workrail_lint.systems.team.rules import samples
from workrail_lint.systems.team.rules.base import DECIDED, FIXED, AcceptanceDocument, Report, TeamRule
from workrail_lint.systems.team.vocabulary import is_text
from workrail_lint.systems.team.wording import lacking, listed, shown, type_name

_LEGACY = ("verification", "commands", "expected_result")


def _index(violation: Violation) -> int:
    """The index of the criterion that a violation is in."""
    return int(violation.pointer.split("/")[2])


class AcceptanceEmpty(TeamRule):
    code = "TC401"
    name = "acceptance-empty"
    severity = Severity.ERROR
    origin = FIXED
    summary = "`acceptance.json` has no `acceptance_criteria` list, or the list is empty."
    why = "Without criteria nothing defines when the work is accepted, so everything is."
    describes = (("Acceptance", "required"), ("Acceptance", "type"), ("Acceptance", "minItems"))

    def describe(self, violation: Violation, document: AcceptanceDocument) -> Description:
        return Description("'acceptance_criteria' must be a list with at least one criterion")

    def examples(self) -> Iterator[Example]:
        yield Example({"acceptance_criteria": []}, samples.acceptance(), path=samples.ACCEPTANCE)


class AcceptanceFieldMissing(TeamRule):
    code = "TC402"
    name = "acceptance-field-missing"
    severity = Severity.ERROR
    origin = FIXED
    summary = "A criterion has no `id`, `description` or `verify`, or one of them is blank."
    why = "A criterion without one of these fields can't be referred to, understood or checked."
    describes = (
        ("Criterion", "required"),
        ("Criterion", "type"),
        ("Criterion", "pattern"),
    )

    def describe(self, violation: Violation, document: AcceptanceDocument) -> Description | None:
        index, name, value = _index(violation), violation.member, violation.value
        if violation.keyword == "required":
            return Description(f"'{name}' is missing from criterion {index}")
        if name == "acceptance_criteria":
            return Description(f"criterion {index} must be an object, not {type_name(value)}")
        if name == "verify" and value not in (None, ""):
            return None
        if name == "id" and is_text(value):
            return None
        return Description(lacking({name: value}, name, f"criterion {index}"))

    def examples(self) -> Iterator[Example]:
        yield Example({"acceptance_criteria": [{"id": "AC-001"}]}, samples.acceptance(), path=samples.ACCEPTANCE)


class AcceptanceIdFormat(TeamRule):
    code = "TC403"
    name = "acceptance-id-format"
    severity = Severity.WARNING
    origin = FIXED
    summary = "A criterion id does not have the form `AC-001` or `AC-LOGIN-001`."
    why = "Specs and tasks refer to criteria by ids of this form; other ids are not recognized in prose."
    describes = (("Criterion", "pattern", "id"),)

    def describe(self, violation: Violation, document: AcceptanceDocument) -> Description | None:
        if not is_text(violation.value):
            return None
        return Description(f"{shown(violation.value)} is not a valid criterion id; use AC-001 or AC-LOGIN-001")

    def examples(self) -> Iterator[Example]:
        yield Example(samples.acceptance(samples.criterion("AC1")), samples.acceptance(), path=samples.ACCEPTANCE)


class AcceptanceIdDuplicate(TeamRule):
    code = "TC404"
    name = "acceptance-id-duplicate"
    severity = Severity.ERROR
    origin = DECIDED
    summary = "Two criteria have the same id."
    why = "A task that meets one of them appears to meet both."

    def check_acceptance(self, document: AcceptanceDocument, report: Report) -> None:
        seen: dict[str, int] = {}
        for each in document.criteria:
            if is_text(each.id) and seen.setdefault(each.id, each.index) != each.index:
                message = f"duplicate criterion id {shown(each.id)}; criterion {seen[each.id]} already uses it"
                report(each.at("id"), message)

    def examples(self) -> Iterator[Example]:
        yield Example(
            samples.acceptance(samples.criterion(), samples.criterion()),
            samples.acceptance(samples.criterion(), samples.criterion("AC-002")),
            path=samples.ACCEPTANCE,
        )


class AcceptanceVerifyType(TeamRule):
    code = "TC405"
    name = "acceptance-verify-type"
    severity = Severity.ERROR
    origin = FIXED
    summary = "`verify` is neither a non-blank string nor a non-empty list of them."
    why = "QA runs what `verify` holds; an empty list verifies nothing."
    describes = tuple(("Criterion", keyword, "verify") for keyword in ("type", "minItems", "pattern"))

    def describe(self, violation: Violation, document: AcceptanceDocument) -> Description | None:
        verify, at = violation.value, violation.pointer
        label = shown(document.by_index[_index(violation)].label)
        if at.count("/") > 3:
            return Description(f"'verify' of {label} contains {shown(verify)}; every entry must be a non-blank string")
        if verify is None or verify == "":
            return None  # missing, which another rule reports
        kind = "an empty list" if verify == [] else "blank" if type(verify) is str else type_name(verify)
        return Description(f"'verify' of {label} must be a string or a non-empty list of strings, not {kind}")

    def examples(self) -> Iterator[Example]:
        good = samples.acceptance(samples.criterion(verify=["npm test"]))
        yield Example(samples.acceptance(samples.criterion(verify=7)), good, path=samples.ACCEPTANCE)
        good = samples.acceptance(samples.criterion(verify="npm test"))
        yield Example(samples.acceptance(samples.criterion(verify=[])), good, path=samples.ACCEPTANCE)


class AcceptanceLegacyKey(TeamRule):
    code = "TC406"
    name = "acceptance-legacy-key"
    severity = Severity.WARNING
    origin = DECIDED
    summary = "A criterion uses `verification`, `commands` or `expected_result` instead of `verify`."
    why = "Only `verify` is read; checks in the older fields never run."
    fix = "Turn the commands into `verify`, or the expected result into a manual step."
    fix_safety = "unsafe"

    def check_acceptance(self, document: AcceptanceDocument, report: Report) -> None:
        for each in document.criteria:
            used = [name for name in _LEGACY if name in each]
            if used and "verify" not in each:
                message = f"criterion {each.index} uses {listed(used)} instead of verify; only verify is run"
                report(each.at(used[0]), message, fix=_verify(each.raw, each.pointer), on_name=True)

    def examples(self) -> Iterator[Example]:
        good = samples.acceptance(samples.criterion(verify=["make t"]))
        bad = samples.criterion(verify=...) | {"commands": ["make t"]}
        yield Example(samples.acceptance(bad), good, good, path=samples.ACCEPTANCE)
        manual = samples.criterion(verify=["manual: the form shows"])
        bad = samples.criterion(verify=...) | {"expected_result": "the form shows"}
        yield Example(
            samples.acceptance(bad), samples.acceptance(manual), samples.acceptance(manual), path=samples.ACCEPTANCE
        )


def _verify(item: dict[str, Any], at: str) -> Fix | None:
    """Build verify from the commands, or else from the expected result, and remove the other old fields."""
    commands, expected = item.get("commands"), item.get("expected_result")
    if is_text(commands) or (type(commands) is list and commands and all(is_text(command) for command in commands)):
        first: Operation = Rename(f"{at}/commands", "verify")
        others = [name for name in _LEGACY if name in item and name != "commands"]
    elif is_text(expected) and (commands is None or commands == []):
        first = Insert(at, "verify", None, [f"manual: {expected}"])
        others = [name for name in _LEGACY if name in item]
    else:
        return None
    return unsafe("replace with verify", first, *(Remove(f"{at}/{name}") for name in others))
