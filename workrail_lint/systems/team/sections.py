"""The sections that Markdown documents of a session must and should have, and how headings are matched with them."""

from __future__ import annotations

import re
import unicodedata
from functools import cached_property
from typing import NamedTuple

from workrail_lint.base.patterns import Pattern
from workrail_lint.base.suggest import nearest
from workrail_lint.documents.markdown_reader import MarkdownDocument
from workrail_lint.systems.team.documents import TeamKind
from workrail_lint.systems.team.vocabulary import ac_ids_in

K = TeamKind
_DEEPEST = 4
_NUMBERING = Pattern(r"(?:[0-9]+[.)]|[0-9]+(?:\.[0-9]+)+[.)]?)\s+")
_CUT = Pattern(r" - |[\u2013\u2014:(]")
_ITEM = Pattern(r"([ \t]*)(?:[-*+]|[0-9]{1,9}[.)])[ \t]+\S")
_TABLE_RULE = Pattern(r"[|\s:-]+")


class Section(NamedTuple):
    """A section by its name; an alias in slashes matches as a whole word, any other alias must be the title."""

    name: str
    aliases: tuple[str, ...]


def _section(name: str, *aliases: str) -> Section:
    return Section(name, aliases or (name.casefold(),))


ACCEPTANCE_CRITERIA = _section("Acceptance Criteria", "acceptance criteria", "acceptance criterion")
DEFINITION_OF_DONE = _section("Definition of Done", "definition of done", "dod")
USER_STORIES = _section("User stories")
EDGE_CASES = _section("Edge cases")
REQUIRED: dict[TeamKind, tuple[Section, ...]] = {
    K.SPEC: (_section("Goals", "goals", "goal"), ACCEPTANCE_CRITERIA, DEFINITION_OF_DONE),
    K.ARCHITECTURE: (
        _section("Overview"),
        _section("Modules/components", "/modules/", "/module/", "/components/", "/component/"),
    ),
    K.REPORT: (
        _section("What was done", "what was done", "summary"),
        _section("How to run", "how to run", "run instructions", "run"),
        _section("How to test", "how to test", "testing"),
        _section("Known issues", "known issues", "/limitations/"),
    ),
    K.ADR: (
        _section("Context"),
        _section("Decision"),
        _section("Alternatives", "/alternatives/"),
        _section("Consequences"),
    ),
    K.RESEARCH: (
        _section("Topic", "/topic/", "/question/"),
        _section("Context"),
        _section("Methodology"),
        _section("Findings"),
        _section("Options", "/options/", "/alternatives/"),
        _section("Recommendation"),
        _section("Sources", "/sources/", "/references/"),
        _section("Open Questions"),
    ),
}
ADVISED: dict[TeamKind, tuple[Section, ...]] = {
    K.SPEC: (
        _section("Problem statement", "problem statement", "problem"),
        _section("Non-goals", "non-goals", "non goals", "non-goal"),
        USER_STORIES,
        _section("Functional requirements"),
        _section("Non-functional requirements", "non-functional requirements", "nonfunctional requirements"),
        EDGE_CASES,
        _section("Assumptions", "assumptions", "assumption"),
    ),
    K.ARCHITECTURE: (
        _section("Data flow", "data flow", "data flows"),
        _section("Interfaces/contracts", "/interfaces/", "/interface/", "/contracts/", "/contract/"),
        _section("Directory layout", "directory layout", "directory structure"),
        _section("Error handling"),
        _section("Configuration"),
        _section("Security considerations", "security considerations", "security"),
        _section("Testing strategy", "testing strategy", "test strategy"),
    ),
    K.ADR: (_section("Notes"),),
}
SECTION_NAMES = tuple(
    dict.fromkeys(section.name for table in (REQUIRED, ADVISED) for known in table.values() for section in known)
)


def normal_title(title: str) -> str:
    """Return a title as it is compared: without numbering, case, width, and whatever explains it."""
    numbering = _NUMBERING.match(title)
    text = title[numbering.end() :] if numbering else title
    folded = " ".join(unicodedata.normalize("NFKC", text).casefold().split())
    cut = _CUT.search(folded)
    return folded[: cut.start()].strip() if cut else folded


class Sections:
    """The sections of one document."""

    def __init__(self, document: MarkdownDocument, aliases: dict[str, list[str]]) -> None:
        self.document = document
        self._aliases = {name.casefold(): names for name, names in aliases.items()}

    @cached_property
    def _titles(self) -> dict[str, list[int]]:
        """The headings that may open a section, by what they are compared with."""
        indices: dict[str, list[int]] = {}
        for index, heading in enumerate(self.document.headings):
            if heading.level <= _DEEPEST:
                indices.setdefault(normal_title(heading.title), []).append(index)
        return indices

    def aliases(self, section: Section) -> tuple[str, ...]:
        """Return what a heading may say to open a section: what the contract has, and what the settings add."""
        return (*section.aliases, *self._aliases.get(section.name.casefold(), ()))

    def find(self, section: Section) -> list[int]:
        """Return the headings that open a section, in order."""
        matches: set[int] = set()
        for alias in self.aliases(section):
            if len(alias) > 2 and alias[0] == alias[-1] == "/":
                word = Pattern(rf"(?<!\w){_escaped(normal_title(alias[1:-1]))}(?!\w)")
                for title, indices in self._titles.items():
                    if word.search(title):
                        matches.update(indices)
            else:
                matches.update(self._titles.get(normal_title(alias), ()))
        return sorted(matches)

    def title(self, index: int) -> str:
        return self.document.headings[index].title

    def has_content(self, index: int) -> bool:
        """Return whether a section has a non-blank line that is not a heading."""
        return any(line.says_something for line in self.document.body(index))

    def item_count(self, index: int) -> int:
        """Return how many items a section lists: entries of its outermost list, else rows of a table, else headings."""
        body = self.document.body(index)
        indents = [len(match[1]) for line in body if line.kind == "text" and (match := _ITEM.match(line.text))]
        if indents:
            return indents.count(min(indents))
        rows = [line.text for line in body if line.kind == "text" and line.text.lstrip().startswith("|")]
        if rows:
            return max(0, sum(1 for row in rows if not _TABLE_RULE.fullmatch(row)) - 1)
        return sum(1 for line in body if line.kind == "heading")

    def criteria(self) -> tuple[str, list[str]] | None:
        """Return the title of the section about acceptance criteria and the ids it names.

        None without such a section.
        """
        sections = self.find(ACCEPTANCE_CRITERIA)
        if not sections:
            return None
        named: dict[str, None] = {}
        for index in sections:
            for line in self.document.body(index):
                named.update(dict.fromkeys(ac_ids_in(line.text)))
        return self.title(sections[0]), list(named)


def _escaped(text: str) -> str:
    return re.escape(text)


def alias_problem(aliases: object) -> str | None:
    """Return a section that no document of a team has would be an alias of nothing."""
    known = [name.casefold() for name in SECTION_NAMES]
    for name in aliases if isinstance(aliases, dict) else ():
        if name.casefold() not in known:
            suggestion = nearest(name, SECTION_NAMES)
            return f"no section {name!r}" + (
                f"; did you mean {suggestion!r}?" if suggestion else f"; sections are {', '.join(SECTION_NAMES)}"
            )
    return None
