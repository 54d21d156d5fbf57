"""Features and refs: whether they reach a prompt, which ones are missing, and text that is said twice."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from workrail_lint.base import js
from workrail_lint.base.wording import quoted
from workrail_lint.documents.operations import Insert, Replace
from workrail_lint.findings import Fix, Severity
from workrail_lint.findings.fix import unsafe
from workrail_lint.rules.base import Example, Report
from workrail_lint.systems.workrail.compiler.builtin_uses import builtin_uses
from workrail_lint.systems.workrail.compiler.prompt_blocks import LIST_SECTIONS
from workrail_lint.systems.workrail.rules import samples
from workrail_lint.systems.workrail.rules.base import Step, Text, Workflow, WorkflowRule
from workrail_lint.systems.workrail.rules.delivered_text import delivered
from workrail_lint.systems.workrail.rules.prose import Search, excerpt, label, listing, prompts, step_members

if TYPE_CHECKING:
    from workrail_lint.systems.workrail.catalog.catalog import Catalog

SUBAGENTS = "wr.features.subagent_guidance"
MEMORY = "wr.features.memory_context"
CAPABILITIES = "wr.features.capabilities"


def features_of(workflow: Workflow) -> list[str]:
    features = workflow.definition.get("features")
    return [item for item in features if isinstance(item, str)] if isinstance(features, list) else []


def in_blocks(workflow: Workflow) -> list[Step]:
    """The steps that features reach."""
    return [step for step in workflow.all_steps if "promptBlocks" in step.step and not step.calls_template]


def is_authored(workflow: Workflow) -> bool:
    """Whether the author wrote a list of features; asking for capabilities implies some."""
    return isinstance(workflow.document.value, dict) and "features" in workflow.document.value


def blocks(*ids: str, **sections: Any) -> dict[str, Any]:
    """A workflow with one step in blocks and the given features."""
    made = samples.step(prompt=None, promptBlocks={"goal": "Find the cause.", **sections})
    return samples.workflow(made, features=list(ids) or ...)


class FeatureNoEffect(WorkflowRule):
    code = "FT001"
    name = "feature-no-effect"
    severity = Severity.WARNING
    origin = "doc"
    summary = "Features are declared, but no step is written in prompt blocks."
    why = "Features add to prompt blocks only; a plain prompt never sees them."

    def check_workflow(self, workflow: Workflow, report: Report) -> None:
        features = features_of(workflow)
        if features and is_authored(workflow) and not in_blocks(workflow):
            report(
                "/features",
                f"No step has promptBlocks, so {listing(features)} reaches no prompt; write the prompts as blocks",
                on_name=True,
            )

    def examples(self) -> Iterable[Example]:
        yield Example(samples.workflow(features=[CAPABILITIES]), blocks(CAPABILITIES))


class FeaturePartialEffect(WorkflowRule):
    code = "FT002"
    name = "feature-partial-effect"
    severity = Severity.INFO
    origin = "product"
    summary = "Features are declared, but some steps have plain prompts and do not receive them."
    why = "What a feature says then holds in some steps and not in others, which is easy to overlook."

    def check_workflow(self, workflow: Workflow, report: Report) -> None:
        if not features_of(workflow) or not is_authored(workflow) or not in_blocks(workflow):
            return
        plain = [step.id for step in workflow.all_steps if "prompt" in step.step and not step.calls_template]
        if plain:
            report(
                "/features",
                f"The features do not reach the steps with plain prompts: {listing(plain)}",
                on_name=True,
            )

    def examples(self) -> Iterable[Example]:
        good = blocks(CAPABILITIES)
        yield Example({**good, "steps": [*good["steps"], samples.step("second-step")]}, good)


class FeatureOrder(WorkflowRule):
    code = "FT003"
    name = "feature-order"
    severity = Severity.INFO
    origin = "lock"
    summary = "Features are not in ascending order of their ids."
    why = "The engine injects them as they are written, so two orders give two texts and two hashes for one meaning."
    fix = "Sort the features."
    fix_safety = "unsafe"

    def check_workflow(self, workflow: Workflow, report: Report) -> None:
        features = features_of(workflow)
        ordered = js.u16_sorted(features)
        if features == ordered or not is_authored(workflow):
            return
        authored = workflow.document.value["features"] if isinstance(workflow.document.value, dict) else None
        report(
            "/features",
            f"The features are not in ascending order; write {listing(ordered)}",
            fix=unsafe("sort them", Replace("/features", list(ordered))) if authored == features else None,
        )

    def examples(self) -> Iterable[Example]:
        good = blocks(MEMORY, SUBAGENTS)
        yield Example(blocks(SUBAGENTS, MEMORY), good, good)


# Why a feature is called for: the place, and the clause that says so.
Evidence = tuple[str, str]


_DELEGATING = (
    Search(
        ("spawn", "launch", "dispatch"),
        r"\b(?:spawn|launch|dispatch)(?:ing)?\s+(?:[\w-]+\s+){0,4}?(?:executors?|sub-?agents?|agents?|helpers?)\b",
    ),
    Search(("workrail executor",), r"\bworkrail executors?\b"),
    Search(("delegat",), r"\bdelegat(?:e|ed|ing)\s+(?:\w+\s+){0,3}?to\b"),
    Search(
        ("subagent", "sub-agent"),
        r"\b(?:use|using|ask|contact|call|invoke|run)\s+(?:\w+\s+){0,2}?sub-?agents?\b",
        before=32,
    ),
)


def _evidence(workflow: Workflow, *searches: Search) -> Evidence | None:
    texts = delivered(workflow)
    hits = (hit for search in searches for hit in prompts(workflow).hits(search))
    hit = next((hit for hit in hits if not texts.passage(hit.step, hit.text).is_negated(hit.start, hit.end)), None)
    if hit is None:
        return None
    return hit.text.pointer, f"{label(hit.step)}: the prompt speaks of {excerpt(hit.phrase)}"


class _MissingFeature(WorkflowRule):
    """A text or a step that calls for a feature which is not declared."""

    feature: str
    default_on = False  # in real workflows the mention is rarely a reason to declare the feature
    severity = Severity.INFO
    origin = "spec"
    fix = "Add the feature, when there are prompt blocks for it to reach."
    fix_safety = "unsafe"

    def applies(self, workflow: Workflow) -> bool:
        # What a routine declares does not travel with its steps.
        known = self.feature in workflow.catalog.features and not workflow.is_routine
        return known and self.feature not in features_of(workflow)

    def evidence(self, workflow: Workflow) -> Evidence | None:
        raise NotImplementedError

    def check_workflow(self, workflow: Workflow, report: Report) -> None:
        found = self.evidence(workflow)
        if found is None:
            return
        pointer, clause = found
        reached = bool(in_blocks(workflow))
        how = "declare it" if reached else "declare it, and write the prompts as blocks so that it reaches them"
        report(
            pointer,
            f"{clause}, but the feature {self.feature} is not declared; {how}",
            fix=self._added(workflow) if reached else None,
        )

    def _added(self, workflow: Workflow) -> Fix | None:
        authored = workflow.document.value.get("features") if isinstance(workflow.document.value, dict) else None
        if authored is None:
            return unsafe("declare the feature", Insert("", "features", None, [self.feature]))
        if not isinstance(authored, list) or not all(isinstance(item, str) for item in authored):
            return None
        index = next((at for at, item in enumerate(authored) if str(item) > self.feature), len(authored))
        return unsafe("declare the feature", Insert("/features", None, index, self.feature))


class FeatureMissingSubagent(_MissingFeature):
    code = "FT004"
    name = "feature-missing-subagent"
    summary = "Work is delegated, but the feature that guides delegation is not declared."
    why = "Without that guidance agents hand over authority along with the work, or adopt results unread."
    feature = SUBAGENTS

    def evidence(self, workflow: Workflow) -> Evidence | None:
        for found in workflow.all_steps:
            if found.kind == "parallel":
                return found.pointer, f"{label(found)}: delegates in parallel"
        if workflow.definition.get("extensionPoints"):
            return "/extensionPoints", "Extension points hand work to other routines"
        return _evidence(workflow, *_DELEGATING)

    def examples(self) -> Iterable[Example]:
        text = "Spawn two WorkRail Executors in parallel and merge their reports."
        good = blocks(SUBAGENTS, procedure=[text])
        yield Example(blocks(procedure=[text]), good, {**blocks(procedure=[text]), "features": [SUBAGENTS]})
        yield Example(samples.workflow(samples.step(), samples.parallel()), good)


_MEMORY_TOOLS = Search(
    ("mcp_memory", "memory"),
    r"\bmcp_memory_\w+|\bmemory_(?:query|store|recall|search|save|write|read|get|list|add|briefing)\w*"
    r"|\bmemory (?:tools?|servers?|mcp)\b",
)


class FeatureMissingMemory(_MissingFeature):
    code = "FT005"
    name = "feature-missing-memory"
    summary = "A prompt names memory tools, but the feature that says how to use memory is not declared."
    why = "Without it a run on a machine without such tools stops or improvises instead of going on without them."
    feature = MEMORY

    def evidence(self, workflow: Workflow) -> Evidence | None:
        found = _evidence(workflow, _MEMORY_TOOLS)
        if found and any(use.kind == "ref" and ".memory_" in use.id for use in builtin_uses(workflow.definition)):
            return None  # the same guidance, taken in by name
        return found

    def examples(self) -> Iterable[Example]:
        text = "Call memory_query for earlier findings."
        good = blocks(MEMORY, procedure=[text])
        yield Example(blocks(procedure=[text]), good, {**blocks(procedure=[text]), "features": [MEMORY]})


_WEB = (
    Search(("search", "brows"), r"\b(?:search(?:ing)?|browse|browsing) (?:the )?(?:web|internet)\b"),
    Search(("web",), r"\bweb[- ]?(?:search|browsing|fetch)\w*"),
)


class FeatureMissingCapabilities(_MissingFeature):
    code = "FT006"
    name = "feature-missing-capabilities"
    summary = (
        "A prompt relies on web access or delegation, but the feature about optional capabilities is not declared."
    )
    why = "Not every session can browse or delegate. The feature makes an agent probe first and degrade openly."
    feature = CAPABILITIES

    def evidence(self, workflow: Workflow) -> Evidence | None:
        return _evidence(workflow, *_WEB, *_DELEGATING)

    def examples(self) -> Iterable[Example]:
        text = "Search the web for known causes."
        good = blocks(CAPABILITIES, procedure=[text])
        yield Example(blocks(procedure=[text]), good, {**blocks(procedure=[text]), "features": [CAPABILITIES]})


_SHORT_LINE = 20


class FeatureDuplicatedText(WorkflowRule):
    code = "FT007"
    name = "feature-duplicated-text"
    severity = Severity.INFO
    origin = "spec"
    default_on = False
    summary = "A step or metaGuidance repeats a line that a declared feature injects anyway."
    why = "The agent reads it twice, and the copy stays behind when the catalog's wording improves."

    def applies(self, workflow: Workflow) -> bool:
        return bool(features_of(workflow))

    def check_workflow(self, workflow: Workflow, report: Report) -> None:
        raw = workflow.document.text
        lines = {
            line: feature
            for feature in features_of(workflow)
            for line, stretch in _lines_of(feature, workflow.catalog)
            if stretch in raw
        }
        for text in _delivered_texts(workflow) if lines else ():
            for line, feature in lines.items():
                if line in text.text:
                    report(
                        text.pointer, f"The line {excerpt(line)} comes with {quoted(feature)} anyway; remove it here"
                    )
                    break

    def examples(self) -> Iterable[Example]:
        line = "Write down which path was taken or skipped, and the reason."
        yield Example(blocks(CAPABILITIES, procedure=[line]), blocks(CAPABILITIES))


def _delivered_texts(workflow: Workflow) -> Iterator[Text]:
    yield from (text for text in workflow.top_texts if text.field == "metaGuidance")
    for found in workflow.all_steps:
        yield from found.prompt_texts
        yield from (text for text in found.texts if text.field == "guidance")


def _plain_stretch(line: str) -> str:
    """A part of a line that stands in JSON as it is, so that the raw document can be searched for it."""
    return max(re.split(r'["\\\\]|[^ -~]', line), key=len)


@lru_cache(maxsize=64)
def _lines_of(feature: str, catalog: Catalog) -> tuple[tuple[str, str], ...]:
    """The lines a feature injects, each with the part of it to search for."""
    return tuple((line, _plain_stretch(line)) for line in _injected(feature, catalog))


def _injected(feature: str, catalog: Catalog) -> Iterator[str]:
    entry = catalog.features.get(feature)
    for section in LIST_SECTIONS if entry else ():
        for value in getattr(entry, section):
            parts = value if isinstance(value, list) else [{"text": value}]
            for part in parts:
                ref = catalog.refs.get(part.get("refId", ""))
                text = ref.text if ref is not None else part.get("text", "")
                stripped = (js.trim(line).removeprefix("- ") for line in text.split("\n"))
                yield from (line for line in stripped if len(line) >= _SHORT_LINE)


_REF_NAME = Search(("wr.refs.",), r"(?<!\{\{)\bwr\.refs\.[a-z][a-z0-9_]*")


class RefInRawPrompt(WorkflowRule):
    code = "FT008"
    name = "ref-in-raw-prompt"
    severity = Severity.WARNING
    origin = "lock"
    summary = "A prompt, guidance or a fragment names a ref as text."
    why = "Only a ref part is replaced by its text; in a sentence the agent reads a name it can't look up."

    def check_workflow(self, workflow: Workflow, report: Report) -> None:
        named: dict[str, tuple[Step, str]] = {}
        for hit in prompts(workflow).hits(_REF_NAME):
            named.setdefault(hit.text.pointer, (hit.step, hit.phrase))
        for step in workflow.all_steps if "guidance" in step_members(workflow) else ():
            items = None if step.calls_template else step.step.get("guidance")
            for index, item in enumerate(items if isinstance(items, list) else ()):
                match = _REF_NAME.pattern().search(item) if isinstance(item, str) and "wr.refs." in item else None
                if match is not None:
                    named[step.at("guidance", index)] = step, match[0]
        for pointer, (step, ref) in named.items():
            report(
                pointer, f"{label(step)}: {quoted(ref)} is only a name here; take the text in with a part of kind ref"
            )

    def examples(self) -> Iterable[Example]:
        part = [{"kind": "ref", "refId": "wr.refs.memory_usage"}]
        yield Example(
            samples.workflow(samples.step(prompt="Work as wr.refs.memory_usage says.")), blocks(constraints=[part])
        )


class RefRepeated(WorkflowRule):
    code = "FT009"
    name = "ref-repeated"
    severity = Severity.INFO
    origin = "product"
    summary = "A step takes in the same ref twice, by itself or through a feature."
    why = "The agent reads the same lines twice, and they count twice against the budget of injected text."

    def applies(self, workflow: Workflow) -> bool:
        return "promptBlocks" in step_members(workflow) and '"refId"' in workflow.document.text

    def check_workflow(self, workflow: Workflow, report: Report) -> None:
        from_features = {
            part["refId"]: feature
            for feature in features_of(workflow)
            if (entry := workflow.catalog.features.get(feature)) is not None
            for section in LIST_SECTIONS
            for value in getattr(entry, section)
            for part in (value if isinstance(value, list) else ())
            if part.get("kind") == "ref"
        }
        by_step: dict[str, dict[str, str]] = {}
        for use in builtin_uses(workflow.definition):
            if use.kind != "ref":
                continue
            owner = use.pointer.partition("/promptBlocks/")[0]
            earlier = by_step.setdefault(owner, {})
            if use.id in earlier:
                report(use.pointer, f"The ref {quoted(use.id)} stands in this step already; remove one of the two")
            elif use.id in from_features:
                feature = quoted(from_features[use.id])
                report(use.pointer, f"The ref {quoted(use.id)} comes with {feature} already; remove it here")
            earlier.setdefault(use.id, use.pointer)

    def examples(self) -> Iterable[Example]:
        def taking(*refs: str) -> list[list[dict[str, str]]]:
            return [[{"kind": "ref", "refId": ref}] for ref in refs]

        twice = taking("wr.refs.memory_store", "wr.refs.memory_store")
        yield Example(blocks(constraints=twice), blocks(constraints=twice[:1]))
        usage = taking("wr.refs.memory_usage")
        yield Example(blocks(MEMORY, constraints=usage), blocks(constraints=usage))
