"""The bindings file of a project. `workrail_lint.systems.workrail.bindings_check` detects what these rules describe."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from workrail_lint.findings import Severity
from workrail_lint.rules.base import Example
from workrail_lint.systems.workrail.project_bindings import FILE
from workrail_lint.systems.workrail.rules.base import WorkflowRule

_SECTION: dict[str, Any] = {"demo.example": {"checker": "routine-check"}}


class BindingsFileInvalid(WorkflowRule):
    code = "BD007"
    name = "bindings-file-invalid"
    severity = Severity.WARNING
    origin = "engine-warn"
    summary = "The bindings file is not JSON, or holds something other than an object."
    why = "The engine warns once, ignores the whole file and runs every workflow with its defaults."

    def examples(self) -> Iterable[Example]:
        yield Example([], _SECTION, path=FILE)
        yield Example(b'{"demo.example": ', _SECTION, path=FILE)


class BindingsSectionInvalid(WorkflowRule):
    code = "BD008"
    name = "bindings-section-invalid"
    severity = Severity.WARNING
    origin = "engine-warn"
    summary = "The section of a workflow in the bindings file is not an object."
    why = "The section is ignored with a warning, so the workflow runs with its defaults."

    def examples(self) -> Iterable[Example]:
        yield Example({"demo.example": "routine-check"}, _SECTION, path=FILE)


class BindingsValueNotString(WorkflowRule):
    code = "BD009"
    name = "bindings-value-not-string"
    severity = Severity.WARNING
    origin = "engine-warn"
    summary = "The override of a slot is not a string."
    why = "The entry is skipped with a warning, so the slot keeps its default."

    def examples(self) -> Iterable[Example]:
        yield Example({"demo.example": {"checker": 3}}, _SECTION, path=FILE)


class BindingsMixedFormat(WorkflowRule):
    code = "BD010"
    name = "bindings-mixed-format"
    severity = Severity.WARNING
    origin = "product"
    summary = "The bindings file mixes slots at the top level with sections of workflows."
    why = "As soon as one section exists, entries outside the sections are ignored without a word."

    def examples(self) -> Iterable[Example]:
        yield Example({"checker": "routine-check", "demo.other": {}}, _SECTION, path=FILE)


class BindingsFlatFormat(WorkflowRule):
    code = "BD011"
    name = "bindings-flat-format"
    severity = Severity.INFO
    origin = "product"
    default_on = False
    summary = "The bindings file has no sections, so its slots are set for every workflow."
    why = "A workflow that happens to have a slot of the same name is changed too."

    def examples(self) -> Iterable[Example]:
        yield Example({"checker": "routine-check"}, _SECTION, path=FILE)


class BindingDrift(WorkflowRule):
    code = "BD015"
    name = "binding-drift"
    severity = Severity.WARNING
    origin = "runtime"
    summary = "The bindings file no longer says what a resumed run was started with."
    why = "A run keeps what it pinned. Who edits the file expects the change to be seen, and the run will not see it."

    def examples(self) -> Iterable[Example]:
        pinned: dict[str, Any] = {"pinned": {"demo.example": {"checker": "routine-check"}}}
        yield Example({"demo.example": {"checker": "routine-inspect"}}, _SECTION, path=FILE, options=pinned)
