"""FT: features and refs: whether they reach a prompt, which ones are missing, and duplicate text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any

from workrail_lint.base import js
from workrail_lint.base.wording import quoted
from workrail_lint.documents.operations import Insert, Replace
from workrail_lint.findings import Fix, Severity, unsafe
from workrail_lint.rules.base import Example, Report
from workrail_lint.systems.workrail.catalog.catalog import Catalog
from workrail_lint.systems.workrail.compiler.prompt_blocks import LIST_SECTIONS
from workrail_lint.systems.workrail.model.workflow import Step
from workrail_lint.systems.workrail.rules import samples
from workrail_lint.systems.workrail.rules.base import Text, WorkflowContext, WorkflowRule
from workrail_lint.systems.workrail.rules.delivered_text import delivered
from workrail_lint.systems.workrail.rules.prose import Search, excerpt, label, listing, prompts, step_members, value_at
from workrail_lint.systems.workrail.rules.rule_needs import REFS

SUBAGENTS = "wr.features.subagent_guidance"
MEMORY = "wr.features.memory_context"
CAPABILITIES = "wr.features.capabilities"


def in_blocks(workflow: WorkflowContext) -> list[Step]:
    """Return the steps that features reach."""
    return [step for step in workflow.all_steps if "promptBlocks" in step and not step.calls_template]


def authored_features(workflow: WorkflowContext) -> object:
    """Return the features as the author wrote them; None if there are only those that capabilities imply."""
    return value_at(workflow.document.value, "/features")


def blocks(*ids: str, **sections: Any) -> dict[str, Any]:
    """Return a workflow with the given features and one step with prompt blocks."""
    step = samples.step(prompt=None, promptBlocks={"goal": "Find the cause.", **sections})
    return samples.workflow(step, features=list(ids) or ...)


class FeatureNoEffect(WorkflowRule):
    code = "FT001"
    name = "feature-no-effect"
    severity = Severity.WARNING
    origin = "doc"
    summary = "Features are declared, but no step uses `promptBlocks`."
    why = "Features are added to `promptBlocks` only, never to a plain `prompt`."
    needs = frozenset({"features"})
    bad = {"features": ["wr.features.capabilities"]}
    good = {"features": ["wr.features.capabilities"], "steps": [{"promptBlocks": {"goal": "Find the cause."}}]}

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        features = workflow.model.features
        if features and authored_features(workflow) is not None and not in_blocks(workflow):
            report(
                "/features",
                f"no step has promptBlocks, so features have no effect ({listing(features)}); use promptBlocks or "
                "remove them",
                on_name=True,
            )


class FeaturePartialEffect(WorkflowRule):
    code = "FT002"
    name = "feature-partial-effect"
    severity = Severity.INFO
    origin = "product"
    summary = "Features are declared, but some steps have a plain `prompt` and do not get them."
    why = "The agent follows a feature in some steps but not in others, which is easy to overlook."
    needs = frozenset({"features"})

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        if not workflow.model.features or authored_features(workflow) is None or not in_blocks(workflow):
            return
        plain = [step.id for step in workflow.all_steps if "prompt" in step and not step.calls_template]
        if plain:
            report(
                "/features",
                f"features have no effect on steps with a plain prompt: {listing(plain)}; use promptBlocks there",
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
    summary = "Features are not sorted by id."
    why = "The engine injects features in the given order, so the same features in another order give another hash."
    fix = "Sort the features."
    needs = frozenset({"features"})

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        features, authored = workflow.model.features, authored_features(workflow)
        ordered = js.u16_sorted(features)
        if list(features) == ordered or authored is None:
            return
        report(
            "/features",
            f"the features are not sorted; write {listing(ordered)}",
            fix=unsafe("sort them", Replace("/features", list(ordered))) if authored == features else None,
        )

    def examples(self) -> Iterable[Example]:
        good = blocks(MEMORY, SUBAGENTS)
        yield Example(blocks(SUBAGENTS, MEMORY), good, good)


# Why a feature is needed: the place, and the clause of the message that says so.
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


def _evidence(workflow: WorkflowContext, *searches: Search) -> Evidence | None:
    texts = delivered(workflow)
    hits = (hit for search in searches for hit in prompts(workflow).hits(search))
    hit = next((hit for hit in hits if not texts.passage(hit.step, hit.text).is_negated(hit.start, hit.end)), None)
    if hit is None:
        return None
    return hit.text.pointer, f"{label(hit.step)}: the prompt mentions {excerpt(hit.phrase)}"


class _MissingFeature(WorkflowRule):
    """A text or a step that needs a feature that is not declared."""

    feature: str
    default_on = False  # in real workflows the mention is rarely a reason to declare the feature
    severity = Severity.INFO
    origin = "spec"
    fix = "Add the feature, if a step has `promptBlocks`."

    def applies(self, workflow: WorkflowContext) -> bool:
        # Features of a routine are not passed on with its steps.
        known = self.feature in workflow.catalog.features and not workflow.is_routine
        return known and self.feature not in workflow.model.features

    def evidence(self, workflow: WorkflowContext) -> Evidence | None:
        raise NotImplementedError

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        evidence = self.evidence(workflow)
        if evidence is None:
            return
        pointer, clause = evidence
        reached = bool(in_blocks(workflow))
        how = "declare it" if reached else "declare it, and use promptBlocks so that it takes effect"
        report(
            pointer,
            f"{clause}, but the feature {self.feature} is not declared; {how}",
            fix=self._added(workflow) if reached else None,
        )

    def _added(self, workflow: WorkflowContext) -> Fix | None:
        authored = authored_features(workflow)
        if authored is None:
            return unsafe("declare the feature", Insert("", "features", None, [self.feature]))
        if not isinstance(authored, list) or not all(isinstance(item, str) for item in authored):
            return None
        index = next((at for at, item in enumerate(authored) if str(item) > self.feature), len(authored))
        return unsafe("declare the feature", Insert("/features", None, index, self.feature))


class FeatureMissingSubagent(_MissingFeature):
    code = "FT004"
    name = "feature-missing-subagent"
    summary = "The workflow delegates work, but the feature with guidance for subagents is not declared."
    why = "Without the guidance agents let subagents decide, or accept their results unchecked."
    feature = SUBAGENTS

    def evidence(self, workflow: WorkflowContext) -> Evidence | None:
        for step in workflow.all_steps:
            if step.kind == "parallel":
                return step.pointer, f"{label(step)}: a parallel step delegates work"
        if workflow.model.extension_points:
            return "/extensionPoints", "extension points delegate work to other routines"
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
    summary = "A prompt mentions memory tools, but the feature with guidance for memory is not declared."
    why = "Without it an agent that has no memory tools stops or improvises instead of continuing without them."
    feature = MEMORY

    def evidence(self, workflow: WorkflowContext) -> Evidence | None:
        evidence = _evidence(workflow, _MEMORY_TOOLS)
        if evidence and any(use.kind == "ref" and ".memory_" in use.id for use in workflow.builtin_uses):
            return None  # the same guidance, included by name
        return evidence

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
    summary = "A prompt needs web access or delegation, but the feature for capabilities is not declared."
    why = "Not every agent can browse or delegate. With the feature it probes first and reports what it can't do."
    feature = CAPABILITIES

    def evidence(self, workflow: WorkflowContext) -> Evidence | None:
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
    summary = "A step or `metaGuidance` repeats a line that a declared feature adds."
    why = "The agent reads it twice, and the copy goes stale when the catalog changes."
    needs = frozenset({"features"})

    def applies(self, workflow: WorkflowContext) -> bool:
        return bool(workflow.model.features)

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        raw = workflow.document.text
        lines = {
            line: feature
            for feature in workflow.model.features
            for line, stretch in _lines_of(feature, workflow.catalog)
            if stretch in raw
        }
        for text in self._delivered_texts(workflow) if lines else ():
            for line, feature in lines.items():
                if line in text.text:
                    report(
                        text.pointer, f"feature {quoted(feature)} already adds the line {excerpt(line)}; remove it here"
                    )
                    break

    @staticmethod
    def _delivered_texts(workflow: WorkflowContext) -> Iterator[Text]:
        yield from (text for text in workflow.top_texts if text.field == "metaGuidance")
        for step in workflow.all_steps:
            yield from step.prompt_texts
            yield from (text for text in step.texts if text.field == "guidance")

    def examples(self) -> Iterable[Example]:
        line = "Write down which path was taken or skipped, and the reason."
        yield Example(blocks(CAPABILITIES, procedure=[line]), blocks(CAPABILITIES))


def _plain_stretch(line: str) -> str:
    """Return a part of a line that is the same in JSON, so that the raw document can be searched for it."""
    return max(re.split(r'["\\\\]|[^ -~]', line), key=len)


@lru_cache(maxsize=64)
def _lines_of(feature: str, catalog: Catalog) -> tuple[tuple[str, str], ...]:
    """Return the lines a feature injects, each with the part of it to search for."""
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
    summary = "A prompt, guidance or a fragment mentions a ref by name."
    why = "Only a part of kind `ref` is replaced with the text; elsewhere the agent sees a name it can't look up."
    words = _REF_NAME.words
    bad = {"prompt": "Work as wr.refs.memory_usage says."}
    good = {
        "promptBlocks": {"goal": "Find the cause.", "constraints": [[{"kind": "ref", "refId": "wr.refs.memory_usage"}]]}
    }

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        named: dict[str, tuple[Step, str]] = {}
        for hit in prompts(workflow).hits(_REF_NAME):
            named.setdefault(hit.text.pointer, (hit.step, hit.phrase))
        for step in workflow.all_steps if "guidance" in step_members(workflow) else ():
            if step.kind != "standard" or step.calls_template:
                continue
            for index, item in enumerate(step.guidance):
                match = _REF_NAME.pattern.search(item) if "wr.refs." in item else None
                if match is not None:
                    named[step.at("guidance", index)] = step, match[0]
        for pointer, (step, ref) in named.items():
            report(
                pointer,
                f"{label(step)}: the agent sees only the name {quoted(ref)}; include the text with a part of kind ref",
            )


class RefRepeated(WorkflowRule):
    code = "FT009"
    name = "ref-repeated"
    severity = Severity.INFO
    origin = "product"
    summary = "A step includes the same ref twice, or includes a ref that a feature already adds."
    why = "The agent reads the same lines twice, and they count twice against the limit for injected text."
    needs = frozenset({REFS})

    def applies(self, workflow: WorkflowContext) -> bool:
        return "promptBlocks" in step_members(workflow) and '"refId"' in workflow.document.text

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        from_features = {
            part["refId"]: feature
            for feature in workflow.model.features
            if (entry := workflow.catalog.features.get(feature)) is not None
            for section in LIST_SECTIONS
            for value in getattr(entry, section)
            for part in (value if isinstance(value, list) else ())
            if part.get("kind") == "ref"
        }
        by_step: dict[str, dict[str, str]] = {}
        for use in workflow.builtin_uses:
            if use.kind != "ref":
                continue
            owner = use.pointer.partition("/promptBlocks/")[0]
            earlier = by_step.setdefault(owner, {})
            if use.id in earlier:
                report(use.pointer, f"this step already includes ref {quoted(use.id)}; remove one of the two")
            elif use.id in from_features:
                feature = quoted(from_features[use.id])
                report(use.pointer, f"feature {feature} already adds ref {quoted(use.id)}; remove it here")
            earlier.setdefault(use.id, use.pointer)

    def examples(self) -> Iterable[Example]:
        def taking(*refs: str) -> list[list[dict[str, str]]]:
            return [[{"kind": "ref", "refId": ref}] for ref in refs]

        twice = taking("wr.refs.memory_store", "wr.refs.memory_store")
        yield Example(blocks(constraints=twice), blocks(constraints=twice[:1]))
        usage = taking("wr.refs.memory_usage")
        yield Example(blocks(MEMORY, constraints=usage), blocks(constraints=usage))
