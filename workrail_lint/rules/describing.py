"""From a violation of a schema to the rule that speaks about it: one table for each kind of document."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, TypeVar

from workrail_lint.base.result import Record
from workrail_lint.documents.schema.engine import Violation
from workrail_lint.documents.schema.messages import Message
from workrail_lint.findings import Fix, Severity
from workrail_lint.rules.base import Rule
from workrail_lint.rules.ruleset import Collector
from workrail_lint.rules.table import RuleInfo

R = TypeVar("R", bound=Rule)
ANY = "*"


class Description(Record):
    """The finding of a rule about a violation. Without a message there is none, because another hook reports it."""

    __slots__ = ("fix", "message", "on_name", "pointer", "severity", "suggestion")

    def __init__(
        self,
        message: str = "",
        fix: Fix | None = None,
        on_name: bool = False,
        severity: Severity | None = None,
        pointer: str | None = None,  # another place than that of the violation
        suggestion: str | None = None,
    ) -> None:
        self.message = message
        self.fix = fix
        self.on_name = on_name
        self.severity = severity
        self.pointer = pointer
        self.suggestion = suggestion

    @classmethod
    def of(cls, message: Message) -> Description:
        """Return what a generic message says."""
        return cls(message.text, on_name=message.on_name, suggestion=message.suggestion)


REPORTED_ELSEWHERE = Description()


class Describers(Generic[R]):
    """Finds the rule for a violation by `Rule.describes`: the most specific one that has something to say."""

    def __init__(self, rules: Iterable[R | RuleInfo], rule: Callable[[str], R]) -> None:
        """`rule` returns the rule of a name, of which only the metadata may be at hand."""
        self._rule = rule
        self._names: dict[tuple[str, ...], list[str]] = {}
        for each in rules:
            for key in each.describes:
                self._names.setdefault(key, []).append(each.name)

    def describe(self, violation: Violation, place: Any) -> tuple[R, Description] | None:
        """Return the rule that speaks about a violation and what it says; None if there is none."""
        for key in _keys(violation):
            for name in self._names.get(key, ()):
                rule = self._rule(name)
                description = rule.describe(violation, place)
                if description is not None:
                    return rule, description
        return None

    def report(self, violations: Iterable[Violation], place: Any, collector: Collector) -> None:
        """Report each violation under the rule that speaks about it, if there is one and it has something to say."""
        for violation in violations:
            rule, description = self.describe(violation, place) or (None, REPORTED_ELSEWHERE)
            if rule is not None and description.message:
                pointer = violation.pointer if description.pointer is None else description.pointer
                collector.add(
                    rule,
                    pointer,
                    description.message,
                    fix=description.fix,
                    on_name=description.on_name,
                    severity=description.severity,
                )


def _keys(violation: Violation) -> Iterator[tuple[str, ...]]:
    """Yield the keys that fit a violation, the most specific first."""
    shape, keyword, member = violation.shape, violation.keyword, violation.member
    yield shape, keyword, member
    yield ANY, keyword, member
    yield shape, keyword
    yield (shape,)
    yield ANY, keyword
    yield (ANY,)
