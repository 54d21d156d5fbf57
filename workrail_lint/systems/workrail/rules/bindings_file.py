"""The bindings file of a project. `workrail_lint.systems.workrail.bindings_check` detects what these rules describe."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from workrail_lint.findings import Severity
from workrail_lint.rules.base import Example
from workrail_lint.systems.workrail.rules.base import WorkflowRule
from workrail_lint.systems.workrail.settings import BINDINGS_FILE

_SECTION: dict[str, Any] = {"demo.example": {"checker": "routine-check"}}


class BindingsFileInvalid(WorkflowRule):
    code = "BD007"
    name = "bindings-file-invalid"
    severity = Severity.WARNING
    origin = "engine-warn"
    summary = "The bindings file is not valid JSON, or is not an object."
    why = "The engine warns once, ignores the whole file and runs every workflow with its defaults."

    def examples(self) -> Iterable[Example]:
        yield Example([], _SECTION, path=BINDINGS_FILE)
        yield Example(b'{"demo.example": ', _SECTION, path=BINDINGS_FILE)


class BindingsSectionInvalid(WorkflowRule):
    code = "BD008"
    name = "bindings-section-invalid"
    severity = Severity.WARNING
    origin = "engine-warn"
    summary = "A workflow's section in the bindings file is not an object."
    why = "The engine ignores the section with a warning, so the workflow runs with its defaults."

    def examples(self) -> Iterable[Example]:
        yield Example({"demo.example": "routine-check"}, _SECTION, path=BINDINGS_FILE)


class BindingsValueNotString(WorkflowRule):
    code = "BD009"
    name = "bindings-value-not-string"
    severity = Severity.WARNING
    origin = "engine-warn"
    summary = "The override of a slot is not a string."
    why = "The engine skips the entry with a warning, so the slot keeps its default."

    def examples(self) -> Iterable[Example]:
        yield Example({"demo.example": {"checker": 3}}, _SECTION, path=BINDINGS_FILE)


class BindingsMixedFormat(WorkflowRule):
    code = "BD010"
    name = "bindings-mixed-format"
    severity = Severity.WARNING
    origin = "product"
    summary = "The bindings file mixes top-level slots with workflow sections."
    why = "As soon as one section exists, the engine silently ignores entries outside the sections."

    def examples(self) -> Iterable[Example]:
        yield Example({"checker": "routine-check", "demo.other": {}}, _SECTION, path=BINDINGS_FILE)


class BindingsFlatFormat(WorkflowRule):
    code = "BD011"
    name = "bindings-flat-format"
    severity = Severity.INFO
    origin = "product"
    default_on = False
    summary = "The bindings file has no sections, so its slots apply to every workflow."
    why = "It also changes any other workflow that happens to have a slot of the same name."

    def examples(self) -> Iterable[Example]:
        yield Example({"checker": "routine-check"}, _SECTION, path=BINDINGS_FILE)


class BindingDrift(WorkflowRule):
    code = "BD015"
    name = "binding-drift"
    severity = Severity.WARNING
    origin = "runtime"
    summary = "The bindings file no longer matches the bindings that a resumed run was started with."
    why = "A run keeps the bindings it was started with, so editing the file does not change it."

    def examples(self) -> Iterable[Example]:
        pinned: dict[str, Any] = {"pinned": {"demo.example": {"checker": "routine-check"}}}
        yield Example({"demo.example": {"checker": "routine-inspect"}}, _SECTION, path=BINDINGS_FILE, options=pinned)
