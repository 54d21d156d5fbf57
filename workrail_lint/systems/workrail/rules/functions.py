"""FN: function definitions, calls and references."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

from workrail_lint.base import js
from workrail_lint.base.patterns import Pattern
from workrail_lint.base.suggest import nearest
from workrail_lint.base.wording import counted, name_list, quoted
from workrail_lint.documents.nodes import numbered
from workrail_lint.documents.operations import Remove, Replace
from workrail_lint.findings import Finding, Fix, Severity, unsafe
from workrail_lint.rules.base import Example, Report
from workrail_lint.systems.workrail.model.workflow import (
    FunctionDefinition,
    FunctionParameter,
    LoopStep,
    StandardStep,
    Step,
    Workflow,
)
from workrail_lint.systems.workrail.rules.base import WorkflowContext, WorkflowRule
from workrail_lint.systems.workrail.rules.prose import label, listing, use_suggestion
from workrail_lint.systems.workrail.rules.samples import loop, step, workflow
from workrail_lint.systems.workrail.structural import has_type, named_functions

_SHOWN_NAMES = 5
_MARKED_NAME = Pattern(r"`([a-z][A-Za-z0-9]*)(?:\(\))?`")


def _parameter(name: str = "limit", kind: str = "number", **members: Any) -> dict[str, Any]:
    return {"name": name, "type": kind, **members}


def _function(*parameters: dict[str, Any], **members: Any) -> dict[str, Any]:
    return {"name": "rank", "definition": "Sort by impact.", "parameters": list(parameters), **members}


def _calling(function: dict[str, Any], **args: Any) -> dict[str, Any]:
    return workflow(step(functionCalls=[{"name": "rank", "args": args}]), functionDefinitions=[function])


class FunctionRule(WorkflowRule):
    """A rule about functions and their calls."""

    needs = frozenset({"functionDefinitions", "functionCalls", "functionReferences"})


class _DefinitionRule(FunctionRule):
    """A rule about every definition."""

    needs = frozenset({"functionDefinitions"})

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        for scope in self._scopes(workflow):
            self.check_scope(scope, report)

    def check_scope(self, scope: Sequence[FunctionDefinition], report: Report) -> None:
        for definition in scope:
            self.check_definition(definition, report)

    def check_definition(self, definition: FunctionDefinition, report: Report) -> None:
        """Check a function definition."""

    @staticmethod
    def _scopes(workflow: WorkflowContext) -> Iterator[Sequence[FunctionDefinition]]:
        """Yield the definitions of the workflow, and of each loop and step that has some."""
        yield workflow.model.function_definitions
        for holder in workflow.all_steps:
            if holder.kind != "parallel" and not holder.calls_template:
                yield holder.function_definitions


class FunctionUnknown(FunctionRule):
    code = "FN001"
    name = "function-unknown"
    severity = Severity.ERROR
    origin = "struct"
    summary = "A step calls a function that is not visible to it."
    why = "A step can call the functions of the workflow, of the loop around it, and its own."
    fix = "Use the closest visible function name."

    def fix_for(self, finding: Finding, workflow: WorkflowContext) -> Fix | None:
        return use_suggestion(finding, workflow)

    def examples(self) -> Iterable[Example]:
        def calling(name: str) -> dict[str, Any]:
            return workflow(step(functionCalls=[{"name": name, "args": {}}]), functionDefinitions=[_function()])

        yield Example(calling("ranc"), calling("rank"), calling("rank"))


class FunctionArgumentInvalid(FunctionRule):
    code = "FN002"
    name = "function-argument-invalid"
    severity = Severity.ERROR
    origin = "struct"
    summary = "A function call lacks an argument, or gives it a value that the definition does not allow."
    why = "The agent would call a function in a way its definition excludes."

    def examples(self) -> Iterable[Example]:
        function = _function(_parameter(required=True))
        yield Example(_calling(function), _calling(function, limit=3))
        function = _function(_parameter())
        yield Example(_calling(function, limit="3"), _calling(function, limit=3))
        function = _function(_parameter("order", "string", enum=["up", "down"]))
        yield Example(_calling(function, order="Up"), _calling(function, order="up"))


class FunctionArgUnknown(FunctionRule):
    code = "FN005"
    name = "function-arg-unknown"
    severity = Severity.WARNING
    origin = "engine-warn"
    summary = "A call has an argument that the function does not declare."
    why = "It is usually a misspelled parameter, which then silently keeps its default."

    def examples(self) -> Iterable[Example]:
        function = _function(_parameter())
        yield Example(_calling(function, limits=3), _calling(function, limit=3))


class FunctionDuplicate(_DefinitionRule):
    code = "FN006"
    name = "function-duplicate"
    severity = Severity.WARNING
    origin = "product"
    summary = "A function is defined twice in one list, or declares a parameter twice."
    why = (
        "Calls use the last definition of a name; the earlier one is never used. Of a repeated parameter only the "
        "first entry defines type and values."
    )

    def check_scope(self, scope: Sequence[FunctionDefinition], report: Report) -> None:
        seen: set[str] = set()
        for definition in scope:
            if definition.name in seen:
                report(
                    definition.at("name"),
                    f"duplicate function {quoted(definition.name)}; this definition replaces the one above",
                )
            seen.add(definition.name)
            self.check_definition(definition, report)

    def check_definition(self, definition: FunctionDefinition, report: Report) -> None:
        seen: set[str] = set()
        for parameter in definition.parameters:
            if "name" in parameter and parameter.name in seen:
                report(
                    parameter.at("name"),
                    f"function {quoted(definition.name)} declares parameter {quoted(parameter.name)} twice; remove one",
                    severity=Severity.ERROR,
                )
            seen.add(parameter.name)

    def examples(self) -> Iterable[Example]:
        called = step(functionCalls=[{"name": "rank", "args": {}}])
        again = _function(definition="Sort by cost.")
        yield Example(
            workflow(called, functionDefinitions=[_function(), again]),
            workflow(called, functionDefinitions=[_function()]),
        )
        yield Example(
            _calling(_function(_parameter(), _parameter(kind="string")), limit=3),
            _calling(_function(_parameter(), _parameter("order", "string")), limit=3),
        )


class FunctionDefaultMismatch(_DefinitionRule):
    code = "FN008"
    name = "function-default-mismatch"
    severity = Severity.WARNING
    origin = "product"
    summary = "The default of a parameter is not a valid value for it, or the parameter is required."
    why = "An invalid default is misleading, and the default of a required parameter is never used."

    def check_definition(self, definition: FunctionDefinition, report: Report) -> None:
        for parameter in definition.parameters:
            problem = self._default_problem(parameter)
            if problem is not None:
                report(
                    parameter.at("default"),
                    f"function {quoted(definition.name)}: the default of {quoted(parameter.name)} {problem}",
                )

    @staticmethod
    def _default_problem(parameter: FunctionParameter) -> str | None:
        if "default" not in parameter:
            return None
        if not has_type(parameter.default, parameter.type):
            return f"must be of type {parameter.type}"
        if "enum" in parameter and not any(js.strict_equal(parameter.default, value) for value in parameter.enum):
            return f"must be one of {name_list(js.text(value) for value in parameter.enum)}"
        return "is never used, because the parameter is required" if parameter.required is True else None

    def examples(self) -> Iterable[Example]:
        good = _calling(_function(_parameter(default=3)))
        yield Example(_calling(_function(_parameter(default="three"))), good)
        yield Example(_calling(_function(_parameter(default=3, required=True)), limit=4), good)


class FunctionReferenceUnknown(FunctionRule):
    code = "FN009"
    name = "function-reference-unknown"
    severity = Severity.WARNING
    origin = "product"
    summary = "A step refers to a function that is not visible to it."
    why = "A reference shows the definition of a function to the agent; here there is none to show."
    fix = "Use the closest visible function name."
    needs = frozenset({"functionReferences"})

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        nowhere: dict[str, list[str]] = {}  # places by name
        for user in workflow.all_steps:
            if user.kind != "standard" or not user.function_references or user.calls_template:
                continue
            visible = self._visible(user, workflow)
            for index, reference in numbered(user.function_references):
                name = reference.removesuffix("()")
                if not name or name in visible:
                    continue
                suggestion = nearest(name, visible)
                place = user.at("functionReferences", index)
                if suggestion is None:
                    nowhere.setdefault(name, []).append(place)
                    continue
                report(
                    place,
                    f"{label(user)}: unknown function {quoted(name)}; did you mean {quoted(suggestion)}?",
                    fix=unsafe(f"use {quoted(suggestion)}", Replace(place, f"{suggestion}()")),
                )
            if step_text := user.prompt_text:
                self._check_prompt(user, step_text, visible, report)
        if nowhere:
            self._report_missing(nowhere, report)

    @staticmethod
    def _check_prompt(user: StandardStep, prompt: str, visible: Collection[str], report: Report) -> None:
        """Report a function that the prompt names, where the step refers to another of the same kind."""
        own = [reference.removesuffix("()") for reference in user.function_references]
        if len(own) != 1 or own[0] not in visible or own[0] in prompt:
            return
        kind = re.split(r"(?=[A-Z])", own[0])[-1]  # `Template` of `rowTemplate`
        named = {name for name in _MARKED_NAME.findall(prompt) if name.endswith(kind) and name not in visible}
        if kind != own[0] and len(named) == 1:
            name = named.pop()
            report(
                user.at("functionReferences"),
                f"{label(user)}: the prompt names the function {quoted(name)}, which is not defined, and the step "
                f"refers to {quoted(own[0])}; use one name",
            )

    @staticmethod
    def _visible(step: StandardStep, workflow: WorkflowContext) -> Collection[str]:
        around = workflow.loop_of.get(step.pointer)
        of_loop = around.function_definitions if around is not None else ()
        return named_functions([*workflow.model.function_definitions, *of_loop, *step.function_definitions])

    @staticmethod
    def _report_missing(nowhere: dict[str, list[str]], report: Report) -> None:
        """Report all functions without a visible definition at once: that they are missing is one mistake."""
        names = listing(list(nowhere)[:_SHOWN_NAMES])
        more = f" and {len(nowhere) - _SHOWN_NAMES} more" if len(nowhere) > _SHOWN_NAMES else ""
        places = [place for of_name in nowhere.values() for place in of_name]
        count = f" (here and in {counted(len(places) - 1, 'other place')})" if len(places) > 1 else ""
        noun = "function" if len(nowhere) == 1 else "functions"
        report(
            places[0],
            f"no definition of the {noun} {names}{more} is visible where a step refers to it{count}; add it to "
            "`functionDefinitions` or describe in the prompt what to do",
        )

    def examples(self) -> Iterable[Example]:
        def referring(name: str) -> dict[str, Any]:
            return workflow(step(functionReferences=[name]), functionDefinitions=[_function()])

        yield Example(referring("ranc()"), referring("rank()"), referring("rank()"))


class FunctionReferenceFiltered(FunctionRule):
    code = "FN010"
    name = "function-reference-filtered"
    severity = Severity.INFO
    origin = "runtime"
    summary = "A step has `functionReferences`, so a resumed run shows no function definitions."
    why = (
        "The engine compares `name()` with `name`, so no reference ever matches and the recovery prompt omits all "
        "definitions (engine defect KD-09). Without references it shows all of them. Repeat important details in the "
        "prompt."
    )
    needs = frozenset({"functionReferences"})

    def check_step(self, step: Step, workflow: WorkflowContext, report: Report) -> None:
        if step.kind == "standard" and step.function_references and not step.calls_template:
            report(
                step.at("functionReferences"),
                f"{label(step)}: with functionReferences the engine shows no function definitions in a resumed run; "
                "repeat what matters in the prompt",
                on_name=True,
            )

    def examples(self) -> Iterable[Example]:
        yield Example(
            workflow(step(functionReferences=["rank()"]), functionDefinitions=[_function()]),
            workflow(step(prompt="Use rank() on the findings."), functionDefinitions=[_function()]),
        )


class FunctionScopeMismatch(_DefinitionRule):
    code = "FN011"
    name = "function-scope-mismatch"
    severity = Severity.WARNING
    origin = "product"
    summary = "The `scope` of a function does not match the level where it is defined."
    why = (
        "Calls ignore `scope`, but a resumed run does not show the agent a definition whose scope differs from its "
        "level."
    )
    fix = "Remove `scope`."

    def check_definition(self, definition: FunctionDefinition, report: Report) -> None:
        level = self._level(definition)
        if definition.scope is not None and definition.scope != level:
            place = definition.at("scope")
            report(
                place,
                f"function {quoted(definition.name)} is defined at the {level} level, but its scope is "
                f"{quoted(definition.scope)}; remove scope",
                fix=unsafe("remove scope", Remove(place)),
            )

    @staticmethod
    def _level(definition: FunctionDefinition) -> str:
        """Return where a function is defined: workflow, loop or step."""
        holder = definition.parent
        return "loop" if isinstance(holder, LoopStep) else "workflow" if isinstance(holder, Workflow) else "step"

    def examples(self) -> Iterable[Example]:
        called = step(functionCalls=[{"name": "rank", "args": {}}])
        good = workflow(called, functionDefinitions=[_function()])
        yield Example(workflow(called, functionDefinitions=[_function(scope="step")]), good, good)
        looped = {**loop(called), "functionDefinitions": [_function(scope="loop")]}
        yield Example(
            workflow({**looped, "functionDefinitions": [_function(scope="workflow")]}),
            workflow(looped),
            workflow({**looped, "functionDefinitions": [_function()]}),
        )
