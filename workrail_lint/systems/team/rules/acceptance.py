"""`acceptance.json`."""

from __future__ import annotations

from collections.abc import Iterator

from workrail_lint.findings import Severity
from workrail_lint.rules.base import Example
from workrail_lint.systems.team.documents import TeamKind
from workrail_lint.systems.team.rules import samples
from workrail_lint.systems.team.rules.base import DECIDED, FIXED, AcceptanceDocument, Report, TeamRule
from workrail_lint.systems.team.rules.shapes import ShapeRule
from workrail_lint.systems.team.vocabulary import is_text
from workrail_lint.systems.team.wording import shown


class AcceptanceInvalid(ShapeRule):
    code = "TC402"
    name = "acceptance-invalid"
    severity = Severity.ERROR
    origin = FIXED
    summary = "A field of `acceptance.json` is missing, blank, or of another type or form."
    why = "A criterion without an id, a description and a way to verify it can't be referred to, understood or checked."
    kind = TeamKind.ACCEPTANCE

    def examples(self) -> Iterator[Example]:
        yield Example({"acceptance_criteria": [{"id": "AC-001"}]}, samples.acceptance(), path=samples.ACCEPTANCE)
        yield Example({"acceptance_criteria": []}, samples.acceptance(), path=samples.ACCEPTANCE)
        yield Example(samples.acceptance(samples.criterion("AC1")), samples.acceptance(), path=samples.ACCEPTANCE)
        good = samples.acceptance(samples.criterion(verify=["npm test"]))
        yield Example(samples.acceptance(samples.criterion(verify=7)), good, path=samples.ACCEPTANCE)
        good = samples.acceptance(samples.criterion(verify="npm test"))
        yield Example(samples.acceptance(samples.criterion(verify=[])), good, path=samples.ACCEPTANCE)


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
