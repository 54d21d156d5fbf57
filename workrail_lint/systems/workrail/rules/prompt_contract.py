"""CT: what a prompt says about an artifact, against what the contract accepts."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator
from functools import lru_cache
from typing import Any

from workrail_lint.base.patterns import Pattern
from workrail_lint.base.suggest import nearest
from workrail_lint.base.wording import counted, listed, name_list, quoted
from workrail_lint.documents.schema.engine import Violation
from workrail_lint.findings import Severity
from workrail_lint.rules.base import Example, Report
from workrail_lint.systems.workrail.analysis.domains import ALTERNATIVES, NUMBER, ONE_OF, VALUE, read_domain, read_list
from workrail_lint.systems.workrail.catalog.catalog import Catalog, Contract
from workrail_lint.systems.workrail.catalog.contracts import artifact_violations, by_object
from workrail_lint.systems.workrail.model.workflow import StandardStep, Step
from workrail_lint.systems.workrail.rules import samples
from workrail_lint.systems.workrail.rules.base import WorkflowContext, WorkflowRule, has_own_output
from workrail_lint.systems.workrail.rules.delivered_text import Passage, Phrase, delivered
from workrail_lint.systems.workrail.rules.prose import IN_PROMPTS, Search, excerpt, label, prompts, step_members
from workrail_lint.systems.workrail.rules.pseudo_json import artifacts_in, object_at, opening_brace

_ASSESSMENT_KIND = "wr.assessment"
_MOST_NAMES = 40
_MOST_FIELDS = 8


@lru_cache(maxsize=4)
def _packs(catalog: Catalog) -> dict[str, Contract]:
    """Return the packs that a workflow's agent can be asked for, by artifact kind."""
    return {pack.artifact_kind: pack for pack in catalog.contracts.values()}


# ---------------------------------------------------------------------------------------------- examples

_KIND_MEMBER = ('"kind"', "'kind'", "kind:")
_PLACEHOLDER = Pattern(r"[<>|/…\[\]{}]|\.\.\.|\bor\b")
_OPTIONS = Pattern(r"\s*(?:\|+|/|,?\s*\bor\b)\s*")
_OPTION = Pattern(r"[A-Za-z][\w-]*")
_TYPE_WORDS = frozenset(("string", "number", "integer", "boolean", "text", "null", "enum", "array", "object", "value"))


# What is wrong with a single member, whatever else is left out.
_OF_A_MEMBER = ("enum", "const", "type", "minimum", "maximum", "additionalProperties")


class ExampleViolatesContract(WorkflowRule):
    code = "CT011"
    name = "example-violates-contract"
    severity = Severity.WARNING
    origin = "product"
    summary = "A JSON example in a prompt is an artifact that its contract rejects."
    why = (
        "Agents copy examples. An agent that submits this one is blocked, while the prompt keeps telling it to submit "
        "the same. It is an error when the step itself requires that artifact."
    )
    words = (IN_PROMPTS, *_KIND_MEMBER)

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        packs = _packs(workflow.catalog)
        for passage in delivered(workflow).passages(_KIND_MEMBER):
            for artifact, is_whole in artifacts_in(passage):
                pack = packs.get(artifact["kind"])
                if pack is None:
                    self._check_kind(artifact["kind"], passage, workflow, report)
                    continue
                problems = self._problems(pack, artifact, is_whole)
                if problems:
                    required = _requires(passage.step, pack)
                    report(
                        passage.text.pointer,
                        f"{label(passage.step)}: the engine rejects this {pack.artifact_kind} example: "
                        f"{'; '.join(problems)}",
                        severity=Severity.ERROR if required else None,
                    )

    @staticmethod
    def _check_kind(kind: str, passage: Passage, workflow: WorkflowContext, report: Report) -> None:
        """Report an unknown kind that stands for the one that the step requires, or for a known one."""
        required = _required_pack(passage.step, workflow)
        if required is not None and required.artifact_kind not in _kinds(passage.step, workflow):
            report(
                passage.text.pointer,
                f"{label(passage.step)}: the engine knows no artifact of the kind {quoted(kind)}, and the step "
                f"requires {quoted(required.artifact_kind)}; use that",
                severity=Severity.ERROR,
            )
        elif kind.startswith("wr."):
            near = nearest(kind, _packs(workflow.catalog)) or (required.artifact_kind if required is not None else None)
            if near is not None:
                report(
                    passage.text.pointer,
                    f"{label(passage.step)}: the engine knows no artifact of the kind {quoted(kind)}; did you mean "
                    f"{quoted(near)}?",
                )

    def _problems(self, pack: Contract, artifact: dict[str, Any], is_whole: bool) -> list[str]:
        """Return why the pack rejects an example, apart from placeholders that the agent fills in.

        One that is not whole shows some of the members.
        """
        problems = [
            self._describe(violation, ".".join(path), unknown, pack)
            for path, violation, unknown in by_object(artifact_violations(pack.schema, artifact))
            if not self._is_placeholder(violation, unknown, artifact)
            and (is_whole or violation.keyword in _OF_A_MEMBER)
        ]
        return problems[:3]

    def _is_placeholder(self, violation: Violation, unknown: list[str], artifact: dict[str, Any]) -> bool:
        if violation.keyword == "additionalProperties":
            return all(_PLACEHOLDER.search(name) for name in unknown)
        if violation.keyword == "required":
            return "..." in artifact  # which means the rest
        if violation.keyword == "enum" and isinstance(violation.value, str):
            options = [option.strip("<>`'\" ") for option in _OPTIONS.compiled.split(violation.value)]
            if len(options) > 1 and all(_OPTION.fullmatch(option) for option in options):
                # All alternatives are values, not words for what belongs there.
                return _TYPE_WORDS.issuperset(options) or all(option in violation.expected for option in options)
        return self._holds_placeholder(violation.value)

    @staticmethod
    def _holds_placeholder(value: object) -> bool:
        stack = [value]
        while stack:
            item = stack.pop()
            match item:
                case str() if not item or _PLACEHOLDER.search(item):
                    return True
                case dict():
                    stack.extend(item.values())
                case list():
                    stack.extend(item)
        return False

    @staticmethod
    def _describe(violation: Violation, where: str, unknown: list[str], pack: Contract) -> str:
        expected = violation.expected
        match violation.keyword:
            case "required":
                return f"`{where}` is missing"
            case "additionalProperties":
                place = f"`{where}`" if where else pack.artifact_kind
                names = [quoted(name) for name in unknown if not _PLACEHOLDER.search(name)]
                return f"{place} has no field {listed(names[:3], 'or')}"
            case "enum":
                return f"`{where}` must be {listed(map(str, expected), 'or')}{_instead_of(violation.value)}"
            case "const":
                return f"`{where}` must be {json.dumps(expected)}{_instead_of(violation.value)}"
            case "type":
                return (
                    f"`{where}` must be {'an' if expected[0][0] in 'aio' else 'a'} {expected[0]}"
                    f"{_instead_of(violation.value)}"
                )
            case "minItems":
                return f"`{where}` must have at least {counted(expected, 'item')}"
            case "minLength":
                return f"`{where}` must have at least {counted(expected, 'character')}"
            case _:
                return f"`{where}` has an invalid value"

    def examples(self) -> Iterable[Example]:
        def showing(result: str) -> dict[str, Any]:
            check = '{"name": "unit", "result": "passed"}'
            members = f'"kind": "wr.verification_report", "result": "{result}", "checks": [{check}], "summary": "Fine."'
            return samples.workflow(samples.step(prompt=f"Submit this artifact:\n```json\n{{{members}}}\n```"))

        yield Example(showing("green"), showing("passed"))

        def sketching(verdict: str) -> dict[str, Any]:
            prompt = f'Submit {{"kind": "wr.gate_verdict", "verdict": {verdict}, "rationale": "…"}}.'
            return samples.workflow(samples.step(prompt=prompt))

        yield Example(sketching('"go" | "no-go"'), sketching('"approved" | "rejected"'))


def _instead_of(value: object) -> str:
    """Return the value that is wrong, as a part of a sentence; "" for a list or an object."""
    match value:
        case str():
            return f", not {excerpt(value)}"
        case bool() | int() | float() | None:
            return f", not {json.dumps(value)}"
        case _:
            return ""


def _requires(step: Step, pack: Contract) -> bool:
    output = step.output_contract if step.kind == "standard" else None
    return output is not None and output.contract_ref == pack.id and output.required is not False


# ------------------------------------------------------------------------------------------ fields in prose

_KIND = Search(("wr.",), r"\bwr\.(contracts\.)?([a-z][a-z0-9_]*[a-z0-9])\b(?![.-]\w)")
# "Decide whether to go on (`continue`) or not (`stop`)."
_CHOICE = Pattern(r"\(`([a-z][\w-]*)`\)[^.;\n()`]{0,60}\bor\b[^.;\n()`]{0,60}\(`([a-z][\w-]*)`\)")
_AS_KIND = Pattern(r"\bkind[`'\"*]{0,2}\s*(?:(?:is|of|to|as|:|=)\s*)?[`'\"*]{0,2}$")
_WITH = Pattern(
    r"[`*\"']{0,2}(?: (?:artifact|object|record))?[`*\"']{0,2}\s*"
    r"(?:with|containing|that (?:has|contains)|which (?:has|contains)|having|including)\s+"
    r"(?:(?:the|these|exactly|only|its|an?|following|required|fields?|members?|keys?|properties|:)\s*){0,4}"
)
_WITH_WORDS = ("with", "contain", " has", "having", "including")
_NAME = Pattern(r"`([^`\n]{1,80})`")
_BETWEEN_FIELDS = Pattern(
    r"(?:\s*\([^()`\n]{0,80}\))?\s*(?:[,;+&]\s*)?(?:(?:and|plus|as well as)\s+)?"
    r"(?:(?:an?|the|its|optional|required)\s+){0,2}"
)
_BEFORE_VALUE = Pattern(
    r"\s*(?:(?:set|equal) to|to|is|are|as|being|of|:|=|must be|may be|\(|—|--)\s*"
    r"(?:\(?\s*(?:exactly )?(?:one of|either)?:?\s*)?"
)
# The item after "or" is the last one, so a comma continues the values only where an "or" is still to come.
_BETWEEN_VALUES = Pattern(
    r"\s*(?:\||/|,?\s*or\s|,(?=\s*`[^`\n]{1,80}`(?:\s*,\s*`[^`\n]{1,80}`){0,8}\s*,?\s*or\s+`))\s*"
)
_FIELD = Pattern(r"[A-Za-z_]\w*(?:[.\[]\S*)?")
_GIVEN_WORD = Pattern(r"[`'\"*]{0,2}\s*(?:is set to|set to|to|is|=|:|must be|should be)\s*[`'\"*]{0,2}([a-z][a-z_]*)")
_MARKS = ("`", '"', "'")
_MEMBER_VALUE = Pattern(r"[\"'`]\s?:\s?[\"'`]([A-Za-z][\w-]*)[\"'`](?!\s*(?:[|/,]|or\b))")  # "verdict": "clean"
# "`clean` or `minor` as the verdict".
_BEFORE_FIELD = 200
_QUOTED_VALUE = Pattern(r"[`\"']([a-z][\w-]*)[`\"']")
_VALUES_BEFORE = Pattern(
    r"[`\"'][a-z][\w-]*[`\"'](?:(?:,? or |, | / | \| )[`\"'][a-z][\w-]*[`\"'])*,? (?:as|for) (?:the |its |your )?"
    r"(?:\w+ )?[`\"']?$"
)
_REMARK = Pattern(r"[`'\"]? \(([a-z][\w, |/`-]{3,80})\)")  # "`severity` (high, medium, low)"
_BETWEEN = Pattern(r"[`\s]*[,|/][`\s]*")
# Only with one of these a number is the value, and not how many there are.
_SCALE = Pattern(r"\b(?:between|from|0\.\d+|0-1|0-100|percent\w*|score)\b|%")


class ContractProseMismatch(WorkflowRule):
    code = "CT012"
    name = "contract-prose-mismatch"
    severity = Severity.WARNING
    origin = "product"
    summary = "A prompt asks for an artifact with a field or value that its contract rejects."
    why = (
        "Contracts are closed: the engine rejects an artifact with an unknown field or value as a whole. An agent that "
        "follows the prompt is blocked and can't see why."
    )
    words = (IN_PROMPTS, *_KIND.words, "artifact", "verdict", "confidence", "decision", "result")

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        packs = _packs(workflow.catalog)
        seen: set[tuple[str, str]] = set()
        for phrase in delivered(workflow).phrases(_KIND, in_code=True):
            pack = self._named_pack(phrase, packs)
            if pack is not None and phrase.hit.match[1] and _AS_KIND.search(phrase.passage.before(phrase.start)):
                report(
                    phrase.pointer,
                    f"{label(phrase.step)}: {quoted(phrase.words)} is a contract, and its artifacts have the kind "
                    f"{quoted(pack.artifact_kind)}; write that",
                )
            if pack is None or pack.mode != "strict" or phrase.is_negated:
                continue
            for message in self._field_problems(phrase, pack):
                if (phrase.pointer, message) not in seen:
                    seen.add((phrase.pointer, message))
                    report(phrase.pointer, f"{label(phrase.step)}: {message}")
        if "outputContract" in step_members(workflow):
            for step in workflow.all_steps:
                required = _required_pack(step, workflow)
                if required is not None and required.mode == "strict" and step.kind == "standard":
                    self._check_values(step, required, workflow, seen, report)

    def _check_values(
        self, step: Step, pack: Contract, workflow: WorkflowContext, seen: set[tuple[str, str]], report: Report
    ) -> None:
        """Report values that the prompt gives to a field of the required artifact, and that its contract rejects."""
        enums = {
            name: field["enum"]
            for name, field in _fields_of(pack).items()
            if "enum" in field and name not in workflow.analysis.by_name
        }
        for text in step.prompt_texts:
            chosen = _CHOICE.findall(text.text) if "(`" in text.text else []
            for name, allowed in enums.items():
                wrong = [value for pair in chosen if sum(map(allowed.__contains__, pair)) == 1 for value in pair]
                wrong = [value for value in wrong if value not in allowed]
                if name not in text.text and not wrong:
                    continue
                passage = delivered(workflow).passage(step, text)
                wrong = list(dict.fromkeys([*wrong, *self._wrong_values(passage, name, allowed, pack, workflow)]))
                is_reported = any(place == text.pointer and f"for `{name}`" in other for place, other in seen)
                if wrong and not is_reported:
                    message = (
                        f"{pack.artifact_kind} does not accept {listed(map(quoted, wrong), 'or')} for `{name}`; it "
                        f"must be {listed(map(str, allowed), 'or')}"
                    )
                    seen.add((text.pointer, message))
                    report(text.pointer, f"{label(step)}: {message}")

    def _wrong_values(
        self, passage: Passage, name: str, allowed: Collection[str], pack: Contract, workflow: WorkflowContext
    ) -> Iterator[str]:
        """Yield the values that sentences give to a field, if they are not allowed.

        A word without marks counts if it is a value in another contract.
        """
        text = passage.text.text
        elsewhere, allowed_values = _enum_values(workflow.catalog), frozenset(allowed)
        for match in re.finditer(rf"(?<![\w.{{-]){name}(?![\w-])", text):
            start, end = match.span()
            if passage.is_fenced(start) or passage.is_negated(start, end):
                continue
            if (brace := opening_brace(text, start)) >= 0:
                yield from self._wrong_in_part(text, brace, name, allowed, pack)
                continue
            statement = read_domain(text, start, end, lambda: None)
            is_quoted = text[end : end + 1] in _MARKS
            if is_quoted and (member := _MEMBER_VALUE.match(text, end)) is not None:
                if member[1] not in allowed:
                    yield member[1]
            elif statement is not None:
                if statement.kind == NUMBER and _SCALE.search(text, end, passage.sentence(start, end)[1]):
                    yield "a number"
                for value in statement.values if statement.kind in (ONE_OF, ALTERNATIVES, VALUE) else ():
                    is_known = is_quoted or statement.kind == ONE_OF or value in elsewhere or len(statement.values) > 1
                    if isinstance(value, str) and value not in allowed and is_known and _OPTION.fullmatch(value):
                        yield value
            elif (before := self._values_before(text, start)) is not None:
                yield from (value for value in _QUOTED_VALUE.findall(before[0]) if value not in allowed)
            elif (bare := _GIVEN_WORD.match(text, end)) is not None and bare[1] not in allowed:
                if bare[1] in elsewhere or text[bare.end() : bare.end() + 1] in _MARKS:
                    yield bare[1]
            elif text[end : end + 1] == " " and not allowed_values.isdisjoint(values := read_list(text, end + 1)):
                yield from (value for value in values if value not in allowed)
            elif (opened := _REMARK.match(text, end)) is not None:
                values = _BETWEEN.compiled.split(opened[1])
                if len(values) > 1 and elsewhere.union(allowed).issuperset(values):
                    yield from (value for value in values if value not in allowed)

    @staticmethod
    def _values_before(text: str, start: int) -> re.Match[str] | None:
        """Return the values that a text gives right before a name: "`clean` or `minor` as the verdict"."""
        first = max(0, start - _BEFORE_FIELD)
        may_match = text.find(" as ", first, start) >= 0 or text.find(" for ", first, start) >= 0
        return _VALUES_BEFORE.search(text, first, start) if may_match else None

    @staticmethod
    def _wrong_in_part(text: str, brace: int, name: str, allowed: Collection[str], pack: Contract) -> Iterator[str]:
        """Yield the wrong values of a field in an object that shows a part of the artifact, as a single finding."""
        part = object_at(text, brace)
        if part is None or len(part) < 2 or "kind" in part or opening_brace(text, brace) >= 0:
            return  # examples of whole artifacts are read elsewhere
        value = str(part.get(name) or "")
        if value and _fields_of(pack).keys() >= part.keys() - {"..."}:
            options = [option.strip("<>`'\" ") for option in _OPTIONS.compiled.split(value)]
            if not value.startswith("<") and not _TYPE_WORDS.issuperset(options):
                yield from (option for option in options if _OPTION.fullmatch(option) and option not in allowed)

    @staticmethod
    def _named_pack(phrase: Phrase, packs: dict[str, Contract]) -> Contract | None:
        return packs.get(f"wr.{phrase.hit.match[2]}")

    def _field_problems(self, phrase: Phrase, pack: Contract) -> Iterator[str]:
        properties = _properties(pack)
        if not properties:
            return
        refused: dict[str, list[str]] = {}
        for field, values in self._listed_fields(phrase, properties):
            if field not in properties:
                near = nearest(field, properties) or self._related(field, properties)
                hint = f"; did you mean {quoted(near)}?" if near else f"; it has {self._fields(properties)}"
                yield f"{pack.artifact_kind} has no field {quoted(field)}{hint}"
                continue
            allowed = properties[field].get("enum")
            if allowed is not None:
                wrong = [value for value in values if value not in allowed and not _PLACEHOLDER.search(value)]
                refused.setdefault(field, []).extend(wrong)
        for field, wrong in refused.items():
            if wrong:
                values_text = listed(dict.fromkeys(map(quoted, wrong)), "or")
                allowed = listed(map(str, properties[field]["enum"]), "or")
                yield f"{pack.artifact_kind} does not accept {values_text} for `{field}`; it must be {allowed}"

    @staticmethod
    def _fields(properties: dict[str, Any]) -> str:
        names = [name for name in properties if name != "kind"]
        more = f" and {len(names) - _MOST_FIELDS} more" if len(names) > _MOST_FIELDS else ""
        return name_list(names[:_MOST_FIELDS]) + more

    @staticmethod
    def _related(field: str, properties: dict[str, Any]) -> str | None:
        meant = _SYNONYMS.get(field)
        return meant if meant in properties else None

    def _listed_fields(self, phrase: Phrase, known: Collection[str]) -> Iterator[tuple[str, list[str]]]:
        """Yield the backticked names of the list after "with", each with the values that follow it."""
        passage = phrase.passage
        low = passage.low
        _, last = passage.sentence(phrase.start, phrase.end)
        may_list = any(low.find(word, phrase.end, last) >= 0 for word in _WITH_WORDS)
        opening = _WITH.match(low, phrase.end, last) if may_list else None
        at = opening.end() if opening else last
        field: str | None = None
        values: list[str] = []
        in_values = False
        for _ in range(_MOST_NAMES):
            match = _NAME.match(low, at, last)
            if match is None:
                break
            name = passage.original(match.start(1), match.end(1))
            if in_values and name not in known:
                values.append(name.strip("'\""))
            elif _FIELD.fullmatch(name):
                if field is not None:
                    yield field, values
                field, values, in_values = name.split(".")[0].split("[")[0], [], False
            else:
                break
            at, in_values = self._next_name(low, match.end(), last, in_values)
        if field is not None:
            yield field, values

    @staticmethod
    def _next_name(low: str, at: int, last: int, in_values: bool) -> tuple[int, bool]:
        """Return where the next name of the list begins, and whether it is a value of the field before it."""
        more = _BETWEEN_VALUES.match(low, at, last) if in_values else _BEFORE_VALUE.match(low, at, last)
        if more is not None and low[more.end() : more.end() + 1] == "`":
            return more.end(), True
        if in_values and low[at : at + 1] == ")":
            at += 1
        following = _BETWEEN_FIELDS.match(low, at, last)
        return (following.end() if following else last), False

    def examples(self) -> Iterable[Example]:
        def judging(fields: str) -> dict[str, Any]:
            prompt = f"Submit a wr.gate_verdict artifact with {fields}."
            return samples.workflow(
                samples.step(prompt=prompt, outputContract={"contractRef": "wr.contracts.gate_verdict"})
            )

        good = judging("`verdict`, `confidence` and `rationale`")
        yield Example(judging("`verdict`, `certainty` and `rationale`"), good)
        yield Example(
            judging("`verdict` set to `pass` or `fail`"), judging("`verdict` set to `approved` or `rejected`")
        )


def _properties(pack: Contract) -> dict[str, Any]:
    properties: dict[str, Any] = pack.schema.get("properties", {})
    return properties


def _fields_of(pack: Contract) -> dict[str, Any]:
    """Return the fields of an artifact, and those of the objects that it lists."""
    fields = _properties(pack)
    items = [field["items"] for field in fields.values() if "items" in field]
    nested = [item["properties"] for item in items if "properties" in item]
    return {name: field for group in (*nested, fields) for name, field in group.items()}


@lru_cache(maxsize=4)
def _enum_values(catalog: Catalog) -> frozenset[str]:
    """Return the values of the closed sets in all contracts of the engine."""
    packs = [pack for pack in catalog.contracts.values() if pack.id.startswith("wr.")]
    fields = [field for pack in packs for field in _properties(pack).values()]
    return frozenset(value for field in fields for value in field.get("enum", ()))


# Words that authors confuse.
_SYNONYMS = {
    "certainty": "confidence",
    "reason": "rationale",
    "reasoning": "rationale",
    "explanation": "rationale",
    "outcome": "result",
    "status": "result",
    "issues": "findings",
    "branch": "branchName",
}


# ------------------------------------------------------------------------------------ asked for and required

_PRODUCE = Pattern(
    r"\b(?:emit|submit|produce|provide|return|hand in|hand over|output|write|include|create|send|attach|report|give"
    r"|fill)(?:s|ting|ing)?\b"
)


_ASKED_KIND = Pattern(
    r"\bwr\.([a-z][a-z0-9_]*[a-z0-9])[`'\"*]{0,2} artifact\b"
    r"|\bartifact (?:of (?:the )?kind )?[`'\"*]{0,2}wr\.([a-z][a-z0-9_]*[a-z0-9])\b(?![.-]\w)"
)


class ContractPackMismatch(WorkflowRule):
    code = "CT013"
    name = "contract-pack-mismatch"
    severity = Severity.WARNING
    origin = "product"
    summary = "A prompt asks for a different artifact than the one its step requires, or the step requires none."
    why = (
        "The agent submits what the prompt asks for, and the engine blocks because the required artifact is missing. "
        "Without an `outputContract` it continues also without the artifact, or with a wrong one."
    )
    words = (IN_PROMPTS, *_KIND.words)
    bad = (
        {
            "prompt": "Emit a wr.coding_handoff artifact for the next session.",
            "outputContract": {"contractRef": "wr.contracts.shaping_handoff"},
        },
        {"prompt": "Emit a wr.coding_handoff artifact for the next session."},
    )
    good = (
        {
            "prompt": "Emit a wr.shaping_handoff artifact for the next session.",
            "outputContract": {"contractRef": "wr.contracts.shaping_handoff"},
        },
        {"prompt": "Read the wr.coding_handoff artifact of the last session."},
    )

    def check_step(self, step: Step, workflow: WorkflowContext, report: Report) -> None:
        pack = _required_pack(step, workflow)
        if pack is None:
            if step.kind == "standard" and "outputContract" not in step and not step.calls_template:
                self._check_unchecked(step, workflow, report)
            return
        kinds = _kinds(step, workflow)
        others = [kind for kind, is_asked_for in kinds.items() if is_asked_for]
        if step.kind == "standard" and step.assessment_refs:
            others = [kind for kind in others if kind != _ASSESSMENT_KIND]
        if pack.artifact_kind not in kinds and not others and (unknown := self._unknown_kind(step, workflow)):
            report(
                step.at("outputContract", "contractRef"),
                f"{label(step)} requires {pack.artifact_kind}, but its prompt asks for {quoted(unknown)}, which the "
                f"engine does not know; ask for {pack.artifact_kind}",
            )
        elif pack.artifact_kind not in kinds and others:
            report(
                step.at("outputContract", "contractRef"),
                f"{label(step)} requires {pack.artifact_kind}, but its prompt asks for {listed(others)}; correct one "
                "of them",
            )

    @staticmethod
    def _check_unchecked(step: StandardStep, workflow: WorkflowContext, report: Report) -> None:
        """Report an artifact that the prompt asks for and the engine does not check."""
        if step not in _naming_kinds(workflow):
            return
        packs = _packs(workflow.catalog)
        kinds = [kind for kind, is_asked_for in _kinds(step, workflow).items() if is_asked_for]
        # The decisions of loops and assessments have rules of their own.
        kinds = [kind for kind in kinds if kind not in (_ASSESSMENT_KIND, "wr.loop_control")]
        if len(kinds) == 1:
            shape = f'{{"contractRef": "{packs[kinds[0]].id}"}}'
            report(
                step.pointer,
                f"{label(step)}: the prompt asks for {kinds[0]}, but the step has no `outputContract`, so the engine "
                f"continues without it; write {shape} there",
            )

    @staticmethod
    def _unknown_kind(step: Step, workflow: WorkflowContext) -> str | None:
        """Return an artifact kind that no pack has and that the prompt asks for in a sentence."""
        packs = _packs(workflow.catalog)
        for text in step.prompt_texts:
            if "wr." not in text.text or "artifact" not in text.text:
                continue
            passage = delivered(workflow).passage(step, text)
            for match in _ASKED_KIND.finditer(passage.low):
                kind = f"wr.{match[1] or match[2]}"
                if kind not in packs and not passage.is_negated(match.start(), match.end()):
                    return kind
        return None


class ArtifactNotRequested(WorkflowRule):
    code = "CT014"
    name = "artifact-not-requested"
    severity = Severity.WARNING
    origin = "spec"
    summary = "A step requires an artifact that its prompt never asks for, or shows with its kind under another name."
    why = (
        "The engine looks for an artifact by its `kind`. "
        "The engine appends the names of the fields to the prompt, not what belongs in them. A prompt that never "
        "mentions the artifact leaves that to chance."
    )
    needs = frozenset({"outputContract"})
    bad = {"prompt": "Look at the change.", "outputContract": {"contractRef": "wr.contracts.review_verdict"}}
    good = {
        "prompt": "Look at the change, then submit a wr.review_verdict artifact.",
        "outputContract": {"contractRef": "wr.contracts.review_verdict"},
    }

    def check_step(self, step: Step, workflow: WorkflowContext, report: Report) -> None:
        pack = _required_pack(step, workflow)
        if pack is None or pack.artifact_kind == _ASSESSMENT_KIND or self._has_refs(step):
            return
        prompt = step.prompt_text
        if (name := self._other_name(prompt, pack.artifact_kind)) is not None:
            report(
                step.at("outputContract"),
                f"{label(step)}: the engine recognizes the artifact by `kind`, but the prompt shows {quoted(name)}; "
                f'write "kind": "{pack.artifact_kind}" there',
                severity=Severity.ERROR,
            )
            return
        if "artifact" in prompt.lower() or "{{wr." in prompt or _kinds(step, workflow):
            return
        names = [name for name in _properties(pack) if name != "kind"]
        if not any(f"{quote}{name}{quote}" in prompt for name in names for quote in "`\"'"):
            report(
                step.at("outputContract"),
                f"{label(step)}: the prompt never asks for the {pack.artifact_kind} artifact that this step requires; "
                "say what to submit",
            )

    @staticmethod
    def _other_name(prompt: str, kind: str) -> str | None:
        """Return the member that a prompt gives the kind as its value, if it is never `kind`."""
        names = re.findall(rf'"(\w+)"\s*:\s*"{re.escape(kind)}"', prompt) if f'"{kind}"' in prompt else []
        return names[0] if names and "kind" not in names else None

    @staticmethod
    def _has_refs(step: Step) -> bool:
        """Return whether catalog text is part of the prompt, which may ask for the artifact."""
        return '"refId"' in json.dumps(step.raw.get("promptBlocks", ""))


@lru_cache(maxsize=4)
def _naming_kinds(workflow: WorkflowContext) -> frozenset[Step]:
    """Return the steps whose prompts may name an artifact kind."""
    return frozenset(step for step, _ in prompts(workflow).having(_KIND.words))


def _required_pack(step: Step, workflow: WorkflowContext) -> Contract | None:
    """Return the pack that a step requires."""
    if "outputContract" not in step or not has_own_output(step):
        return None
    pack = workflow.catalog.contracts.get(step.contract or "")
    return pack if pack is not None and _requires(step, pack) else None


def _object_start(text: str, at: int) -> int:
    """Return where the object begins whose kind is named at a position; the position itself if there is none."""
    brace = opening_brace(text, at) if text[max(0, at - 10) : at].rstrip("\"'` ").endswith(":") else -1
    return brace if brace >= 0 else at


def _kinds(step: Step, workflow: WorkflowContext) -> dict[str, bool]:
    """Return the artifact kinds that the prompt of a step names, and whether it asks for them."""
    kinds: dict[str, bool] = {}
    packs = _packs(workflow.catalog)
    texts = delivered(workflow)
    for text in step.prompt_texts:
        if "wr." not in text.text:
            continue
        passage = texts.passage(step, text)
        for match in _KIND.pattern.finditer(passage.low):
            kind = f"wr.{match[2]}"
            if kind in packs:
                asked = not passage.is_negated(match.start(), match.end()) and (
                    passage.is_fenced(match.start())
                    or _PRODUCE.search(passage.before(_object_start(passage.low, match.start()))) is not None
                )
                kinds[kind] = kinds.get(kind, False) or asked
    return kinds
