"""The rules about the configuration itself."""

from __future__ import annotations

from collections.abc import Iterable

from workrail_lint.findings import Severity
from workrail_lint.rules.base import Example, Rule


class SuppressionUnused(Rule):
    """A rule about an entry of the configuration; no document can be an example of it."""

    code = "CF001"
    name = "suppression-unused"
    severity = Severity.WARNING
    origin = "product"
    summary = "A suppression in the configuration matches no finding."
    why = "The place was fixed or moved. A leftover entry would hide the next finding there."

    def examples(self) -> Iterable[Example]:
        return ()


class SuppressionExpired(Rule):
    """The same for an entry that has expired."""

    code = "CF002"
    name = "suppression-expired"
    severity = Severity.WARNING
    origin = "product"
    summary = "A suppression in the configuration has expired."
    why = "The place was due for review by that date. Until it is reviewed, its findings are reported again."

    def examples(self) -> Iterable[Example]:
        return ()
