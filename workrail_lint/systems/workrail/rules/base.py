"""The hooks of a workflow rule, and the context they receive beside steps and conditions.

One walk over the document calls the hooks; a rule overrides only those it needs. Steps and conditions are nodes of the
model. Values of a wrong type never reach a hook: the schema findings report them, and the walk skips steps and
members of the workflow that have some. A required member may still be missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from workrail_lint.base.files import matches
from workrail_lint.documents.json_reader import JsonDocument
from workrail_lint.findings import Finding, Fix
from workrail_lint.rules.base import Report, Rule
from workrail_lint.systems.workrail.author_texts import Group, texts_of
from workrail_lint.systems.workrail.author_texts import Text as Text
from workrail_lint.systems.workrail.catalog.catalog import Catalog, Routine
from workrail_lint.systems.workrail.compat import Normalized
from workrail_lint.systems.workrail.compiler.compiled import CompiledWorkflow
from workrail_lint.systems.workrail.compiler.nodes import Use, builtin_uses
from workrail_lint.systems.workrail.compiler.tokens import declared_slots
from workrail_lint.systems.workrail.model.workflow import Condition, LoopStep, Step, Workflow
from workrail_lint.systems.workrail.rules.samples import completed

if TYPE_CHECKING:
    from workrail_lint.systems.workrail.analysis.analysis import Analysis
    from workrail_lint.systems.workrail.rules.verdicts import Verdict


# Count as members of a document: the first in a routine file, the second in a project that has bindings.
ROUTINE, BINDINGS = "<routine>", "<bindings>"


class WorkflowContext:
    """The model of a document, and everything else that a rule may need to know about it."""

    def __init__(
        self,
        document: JsonDocument,
        model: Workflow,
        catalog: Catalog,
        path: str,
        *,
        bindings: object = None,
        compiled: CompiledWorkflow | None = None,
        engine: bool = False,
        normalized: Normalized | None = None,
        is_routine: bool = False,
        workspace: str | None = None,
        source_kind: str = "project",
        options: dict[str, object] | None = None,
    ) -> None:
        self.document = document
        # Without damaged members, but with damaged steps, so that what comes before and after them is known.
        self.whole = model.without(model.damaged_members) if model.damaged_members else model
        self.model = model.sound()  # in the shipping form, without members of a wrong type
        self.definition = self.model.raw
        self.steps = self.model.steps  # top level, without those that have something of a wrong type
        self.catalog = catalog
        self.path = path
        self.bindings = bindings  # the content of the project's bindings file, None if there is none
        self.compiled = compiled  # None if it does not compile
        self.engine = engine  # checked for the engine target (or under parity)
        self.normalized = normalized
        self.is_routine = is_routine
        self.workspace = workspace  # the folder references are relative to; None without a disk
        self.source_kind = source_kind  # where the file was found: project, bundled, user, ...
        self.options = options or {}  # project settings of single rules
        self.consulted: dict[str, bool] = {}  # paths that findings depend on, and whether on what is in them
        self.earlier: list[Finding] = []  # of the earlier phases, for rules that must not repeat them

    @property
    def id(self) -> str:
        return self.model.id

    def consult(self, path: str, *, reads: bool = False) -> str:
        """Return the path after noting that findings depend on it, for those who keep the findings."""
        self.consulted[path] = reads or self.consulted.get(path, False)
        return path

    @property
    def is_new(self) -> bool:
        """Return whether the project marks the file as new, where problems of old files are not tolerated."""
        patterns = self.options.get("new-files")
        if not isinstance(patterns, list) or not patterns:
            return False

        return matches(self.path, str(self.options.get("root", ".")), [str(pattern) for pattern in patterns])

    @cached_property
    def all_steps(self) -> list[Step]:
        """Return the steps of the top level and of inline bodies, in order."""
        return [each for step in self.steps for each in (step, *step.inline)]

    @cached_property
    def lacks_steps(self) -> bool:
        """Return whether a step is left out because something in it has a wrong type."""
        return any(step.is_damaged for step in self.whole.all_steps)

    @cached_property
    def step_ids(self) -> set[str]:
        """Return all ids, including those of steps that are skipped because something else is wrong with them."""
        return {step.id for step in self.whole.all_steps if step.id}

    @cached_property
    def slots(self) -> dict[str, str]:
        """Return the declared binding slots, each with its default."""
        return declared_slots(self.model.extension_points)

    @cached_property
    def by_pointer(self) -> dict[str, Step]:
        return {step.pointer: step for step in self.all_steps}

    @cached_property
    def analysis(self) -> Analysis:
        """Return control flow, variables and values, computed once for all rules."""
        from workrail_lint.systems.workrail.analysis.analysis import analyse  # few rules ask for it
        from workrail_lint.systems.workrail.analysis.inputs import configured_inputs

        return analyse(
            self.whole,
            self.catalog,
            compiled=self.compiled,
            path=self.path,
            is_routine=self.is_routine,
            given=configured_inputs(self.options, self.id),
        )

    @cached_property
    def verdicts(self) -> dict[str, list[Verdict]]:
        """Return what the analysis finds wrong, by the name of the rule that reports it."""
        from workrail_lint.systems.workrail.rules.condition_verdicts import verdicts  # it reads this context

        return verdicts(self)

    @cached_property
    def builtin_uses(self) -> list[Use]:
        """Return the builtins that the definition names, and where."""
        return builtin_uses(self.whole)

    @cached_property
    def by_id(self) -> dict[str, Step]:
        steps: dict[str, Step] = {}
        for step in self.steps:
            steps.setdefault(step.id, step)
        return steps

    def called_routine(self, step: Step) -> Routine | None:
        """Return the routine that a step calls, if the catalog has it."""
        call = step.template_call if step.kind == "standard" else None
        return self.catalog.templates.get(call.template_id) if call is not None else None

    def body_of(self, loop: Step) -> Sequence[Step]:
        """Return the steps a loop runs, inline or by reference."""
        if loop.kind != "loop" or loop.body_id is None:
            return loop.inline
        target = self.by_id.get(loop.body_id)
        return [target] if target is not None and target.kind != "loop" else []

    @cached_property
    def loop_of(self) -> dict[str, LoopStep]:
        """Return the loop that runs a step, by the step's pointer; for inline and referenced bodies."""
        return {inner.pointer: step for step in self.steps if step.kind == "loop" for inner in self.body_of(step)}

    @cached_property
    def top_texts(self) -> list[Text]:
        """Return the author texts outside the steps."""
        return texts_of(self.top_groups, "")

    @cached_property
    def top_groups(self) -> list[Group]:
        """Return the author texts outside the steps, without pointers."""
        return self.model.text_groups


class WorkflowRule(Rule):
    """A rule about one workflow document. Override only the hooks that are needed.

    `applies` is called once per document before any hook: a cheap test, so that most documents pay nothing for a rule
    that can't find anything in them.
    """

    good: ClassVar[Any] = {}  # a workflow with nothing special

    def document(self, part: Any) -> Any:
        """Return the workflow that a part of one stands for (`samples.completed`)."""
        return completed(part)

    def applies(self, workflow: WorkflowContext) -> bool:
        return True

    def fix_for(self, finding: Finding, workflow: WorkflowContext) -> Fix | None:
        """Return the fix for a finding of this name that an earlier phase reported."""
        return None

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        """Check the document as a whole."""

    def check_step(self, step: Step, workflow: WorkflowContext, report: Report) -> None:
        """Check a step of any kind, inline bodies included."""

    def check_loop(self, loop: LoopStep, workflow: WorkflowContext, report: Report) -> None:
        """Check a loop."""

    def check_condition(self, condition: Condition, workflow: WorkflowContext, report: Report) -> None:
        """Check a condition in any place, nested ones included."""

    def check_text(self, text: Text, step: Step | None, workflow: WorkflowContext, report: Report) -> None:
        """Check an author text; `step` is None for those outside the steps."""

    def check_string(self, value: str, pointer: str, is_name: bool, workflow: WorkflowContext, report: Report) -> None:
        """Check a string of the document or a member name."""

    def check_compiled(self, compiled: CompiledWorkflow, workflow: WorkflowContext, report: Report) -> None:
        """Check the compiled workflow, if it compiles."""


class WholeWorkflowRule(WorkflowRule):
    """A rule about what no step does, or what comes first or last: it can't tell where a step is left out."""

    def applies(self, workflow: WorkflowContext) -> bool:
        return not workflow.lacks_steps and super().applies(workflow)


class LoopRule(WorkflowRule):
    """A rule about loops."""

    needs = frozenset({"loop", "body"})


class ConditionRule(WorkflowRule):
    """A rule about conditions in any place."""

    needs = frozenset(
        {
            *("loop", "body", "runCondition", "requireConfirmation"),
            *("promptFragments", "parallelDelegations", "validationCriteria"),
        }
    )


def has_own_output(step: Step) -> bool:
    """Return whether the step's members about its output count; a template call drops them."""
    return step.kind == "standard" and not step.calls_template
