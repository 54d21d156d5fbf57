"""The project of an open document: how it is checked, and what its files said together when they were last read."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import NamedTuple

from workrail_lint.base.files import read_file
from workrail_lint.base.result import Ok
from workrail_lint.findings import Finding, by_path
from workrail_lint.project.config import Config
from workrail_lint.project.discovery import Discovery, is_wanted
from workrail_lint.project.plan import document_suffixes
from workrail_lint.project.run import FileOutcome, Plan, check_and_keep, combine, reported_outcome
from workrail_lint.server.positions import shifted
from workrail_lint.systems.base import System
from workrail_lint.systems.workrail.settings import Settings
from workrail_lint.systems.workrail.system import WorkRailSystem, entries_of
from workrail_lint.systems.workrail.workflow_registry import Entry


class Claim(NamedTuple):
    """The system that a document belongs to, its number among those of the plan, and the kind of the document."""

    system: System
    number: int
    kind: str


class _Together(NamedTuple):
    """The cross-file findings of a file, and the text they refer to."""

    text: str
    findings: list[Finding]


class Project:
    """A configuration and the files that it holds for. `files` finds them; None where they are not looked at."""

    def __init__(
        self,
        config: Config,
        plan: Plan,
        settings: Settings,
        files: Callable[[], Discovery] | None = None,
        problem: str | None = None,
    ) -> None:
        self.config = config
        self.plan = plan
        self.settings = settings  # for compiling
        self.problem = problem  # why the configuration is not in use
        self._files = files
        self._records: list[dict[str, object]] = [{} for _ in plan.systems]
        self._together: dict[str, _Together] = {}
        self.scenarios: list[str] = []  # the files that may be scenarios
        self.about_configuration: list[Finding] = []
        self.configuration_text = ""  # that these are about

    @property
    def key(self) -> str:
        return self.config.path or self.config.root

    def adopt(self, earlier: Project | None) -> Project:
        """Take over what an earlier look at the files found, until they are read again."""
        if earlier is not None and len(earlier._records) == len(self._records):
            self._records, self._together, self.scenarios = earlier._records, earlier._together, earlier.scenarios
        return self

    def claim(self, path: str, data: bytes) -> Claim | None:
        """Return whose document a text is; None for what `check` would leave alone too."""
        if not is_document(self.config, path):
            return None
        for number, system in enumerate(self.plan.systems):
            kind = system.claims(path, data, False)
            if kind is not None:
                return Claim(system, number, kind)
        return None

    def findings(self, path: str, text: str) -> list[Finding] | None:
        """Return what `check` says about a text under a path; None if it is not a document."""
        data = text.encode("utf-8", "surrogatepass")
        claim = self.claim(path, data)
        if claim is None:
            return None
        result = claim.system.check(path, data, claim.kind, self.plan.settings)
        if not result.ours:
            return None
        findings = result.findings
        for number, system in enumerate(self.plan.systems):
            records = self._records[number]
            if number == claim.number and result.record is not None:
                records = {**records, path: result.record}
            if records:
                findings = system.reconsider(findings, records)
        together = self._together.get(path)
        if together is not None:
            findings = [*findings, *shifted(together.findings, together.text, text)]
        reported = reported_outcome(findings, [path], self.plan).findings
        return [finding for finding in reported if finding.path == path]

    def look(self) -> Iterator[None]:
        """Read all files, as `check` does; yields after each, so that typing is not delayed."""
        if self._files is None:
            return
        discovery = self._files()
        self.scenarios = [file.path for file in discovery.files if file.path.endswith(".scenario.json")]
        outcomes: list[FileOutcome] = []
        for file in discovery.files:
            outcomes.append(check_and_keep(file, self.plan))
            yield
        if self.plan.suppressions is not None:
            for entry in self.plan.suppressions.live:
                entry.used = False  # by a text that was typed in the meantime
        self.plan.complete = True
        combined = combine(outcomes, discovery, self.plan)
        self.plan.complete = False
        self._records = combined.records
        files = by_path(combined.cross_findings).items()
        self._together = {path: _Together(_text_of(path), findings) for path, findings in files}
        if self.config.path is None:
            return
        own = os.path.relpath(self.config.path)
        self.configuration_text = _text_of(own)
        self.about_configuration = [finding for finding in combined.outcome.findings if finding.path == own]

    def workflows(self) -> Iterator[Entry]:
        """Yield the workflows of the project, from what each file says about itself to the others."""
        for system, records in zip(self.plan.systems, self._records, strict=True):
            if system.name == WorkRailSystem.name:
                yield from entries_of(records)


def is_document(config: Config, path: str) -> bool:
    """Return whether `check` would look at a path; of files outside of the project it says nothing."""
    root, whole = os.path.abspath(config.root), os.path.abspath(path)
    if not whole.startswith(os.path.join(root, "")):
        return True
    include, exclude = config.strings("include"), config.strings("exclude")
    return is_wanted(whole, root, include=include, exclude=exclude, root=root, suffixes=document_suffixes(config))


def _text_of(path: str) -> str:
    read = read_file(path)
    return read.value.decode("utf-8", "replace") if isinstance(read, Ok) else ""
