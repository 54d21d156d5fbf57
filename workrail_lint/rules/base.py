"""A rule is one class in one place.

Its documentation page, its fixture, its tests, its SARIF metadata and its row in the rules table are all made
from the class. A rule that can't show an example which triggers it, or claims a fix without showing its
result, does not load in the tests.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from workrail_lint.base.js import Json
from workrail_lint.base.result import Record
from workrail_lint.findings import Confidence, Fix, Severity

if TYPE_CHECKING:
    from workrail_lint.documents.schema.engine import Violation
    from workrail_lint.rules.describing import Description


class Example(Record):
    """A document that shows a rule. A string is used as it is; a value is written as indented JSON.

    `bad` triggers the rule and `good` does not. `fixed` is what the rule's fix makes of `bad`, and has to be
    given exactly when the rule has a fix for it. `files` are other files of a project example (path to
    content); `path` is where the document itself would be.
    """

    __slots__ = ("bad", "files", "fixed", "good", "options", "path")

    def __init__(
        self,
        bad: Json | bytes,
        good: Json | bytes,
        fixed: Json | bytes = None,
        path: str = "workflows/example.json",
        files: dict[str, Json] | None = None,
        options: dict[str, Json] | None = None,
    ) -> None:
        self.bad = bad
        self.good = good
        self.fixed = fixed
        self.path = path
        self.files = files or {}
        self.options = options or {}


class Report(Protocol):
    """The function that a rule reports with: where, what, and optionally how to fix it."""

    def __call__(
        self,
        pointer: str,
        message: str,
        *,
        fix: Fix | None = None,
        on_name: bool = False,
        severity: Severity | None = None,
        original: bool = False,
        at: tuple[int, int] | None = None,
        path: str | None = None,
        details: dict[str, object] | None = None,
    ) -> None:
        """`original`: pointer and fix speak of the document as written, not of its normalized form.

        `at` are the offsets of a place that no pointer names; `path` is another file than the one looked at; `details`
        are for those who judge the finding again beside other files.
        """


class Rule:
    """The facts of a rule. Subclasses of a document system add the hooks their walk calls.

    A rule that `describes` violations of the schema says what is wrong there. A rule without hooks is *reported*: an
    earlier phase (reader, structure, compiler) detects it and names it, and the class lends it its code, severity and
    documentation.
    """

    code: ClassVar[str]  # stable, never reused: two letters for the family, three digits
    name: ClassVar[str]  # kebab case, unique over all families
    severity: ClassVar[Severity]
    confidence: ClassVar[Confidence] = Confidence.HIGH  # lower where it concludes from how people write
    origin: ClassVar[str]  # where the rule comes from, as in "schema", "struct / compile", "product"
    summary: ClassVar[str]  # one sentence: what it finds
    why: ClassVar[str]  # what goes wrong otherwise
    fix: ClassVar[str] = ""  # what the fix does, "" when there is none
    fix_safety: ClassVar[str] = ""  # "safe"; without that word a fix is "unsafe"
    default_on: ClassVar[bool] = True
    # What a document must have for the rule to have anything to say: one of these members or facts, and one of these
    # words in lower case. None: any document will do. A rule is imported, and run, only for documents that have both.
    needs: ClassVar[frozenset[str] | None] = None
    words: ClassVar[tuple[str, ...] | None] = None
    # Violations of the schema that it speaks about: definition, keyword and member, or less of that; "*" is any
    # definition. Of several rules the one that says most about its violations is asked first.
    describes: ClassVar[tuple[tuple[str, ...], ...]] = ()
    # The example: a document that triggers the rule, one that does not, and what the fix makes of the first if that is
    # not the second. Each may be the part of a document that matters, or a tuple of several (in `fixed`, None where
    # there is no fix).
    bad: ClassVar[Any] = None
    good: ClassVar[Any] = None
    fixed: ClassVar[Any] = None
    example_path: ClassVar[str] = "workflows/example.json"

    def __init_subclass__(cls) -> None:
        if cls.fix and not cls.fix_safety:
            cls.fix_safety = "unsafe"

    def describe(self, violation: Violation, place: Any) -> Description | None:
        """Return what is wrong, given what the document's system knows about the place; None leaves it to others."""
        return None

    def document(self, part: Any) -> Any:
        """Return the document that a part stands for in `bad`, `good` and `fixed`."""
        return part

    def examples(self) -> Iterable[Example]:
        """Yield at least one example; override this where `bad`, `good` and `fixed` do not suffice."""
        if self.bad is None:
            raise NotImplementedError(f"{self.name} has no example")
        bad, good = self._documents(self.bad), self._documents(self.good)
        fixed = self._documents(self.fixed) if self.fixed is not None else good if self.fix else [None]
        for number, document in enumerate(bad):
            yield Example(document, good[number % len(good)], fixed[number % len(fixed)], self.example_path)

    def example(self, bad: Any, good: Any, fixed: Any = None, **rest: Any) -> Example:
        """Return an example at the path that most of the rule's examples have."""
        return Example(bad, good, fixed, self.example_path, **rest)

    def _documents(self, parts: Any) -> list[Any]:
        if not isinstance(parts, tuple):
            return [self.document(parts)]
        return [None if part is None else self.document(part) for part in parts]

    @property
    def family(self) -> str:
        return self.code[:2]
