"""The rules about the configuration itself."""

from __future__ import annotations

from collections.abc import Iterable

from workrail_lint.findings import Severity
from workrail_lint.rules.base import Example, Rule


class SuppressionUnused(Rule):
    """Facts about an entry of the configuration; there is no document to give an example of."""

    code = "CF001"
    name = "suppression-unused"
    severity = Severity.WARNING
    origin = "product"
    summary = "A suppression in the configuration matches no finding."
    why = "The place was mended or moved. An entry that is left behind would hide the next finding there."

    def examples(self) -> Iterable[Example]:
        return ()


class SuppressionExpired(Rule):
    """The same for an entry that was meant for a time."""

    code = "CF002"
    name = "suppression-expired"
    severity = Severity.WARNING
    origin = "product"
    summary = "A suppression in the configuration is past its date."
    why = "The place was due for review by then; until that is done its findings are reported again."

    def examples(self) -> Iterable[Example]:
        return ()
