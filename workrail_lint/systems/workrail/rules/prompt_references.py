"""PR, RF: prompts that name what the run does not have: steps, workflows, tools and files that do not exist."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any

from workrail_lint.base.files import inside
from workrail_lint.base.patterns import Pattern
from workrail_lint.base.suggest import nearest
from workrail_lint.base.wording import counted, listed, quoted
from workrail_lint.findings import Severity
from workrail_lint.rules.base import Example, Report
from workrail_lint.systems.workrail.analysis.prose import has_any
from workrail_lint.systems.workrail.compiler.nodes import walk
from workrail_lint.systems.workrail.model.workflow import Step
from workrail_lint.systems.workrail.rules import samples
from workrail_lint.systems.workrail.rules.base import WorkflowContext, WorkflowRule
from workrail_lint.systems.workrail.rules.delivered_text import Phrase, delivered
from workrail_lint.systems.workrail.rules.prose import IN_PROMPTS, Search, author_text, excerpt, label
from workrail_lint.systems.workrail.rules.rule_needs import WORKSPACE

_NUMBERED = Pattern(r"\b(step|phase|stage)[\s_-]{0,2}(\d{1,3}(?:\.\d{1,2})?[a-z]?)(?![a-z\d])")
_KINDS = ("step", "phase", "stage")
_LIST_NUMBER = Pattern(  # at the start of a line
    r"[ \t>*_#-]{0,12}(?:(step|phase|stage)[ \t]+)?(\d{1,3})[a-z]?(?:[.):]|[ \t*]*(?:[:—–-]|$))"
)
_PREFIX = Pattern(r"(?:step|phase|stage)\s*\d{1,3}(?:\.\d{1,2})?[a-z]?\s*[:.)—–-]*")


class NumberedStep:
    """A step whose title or id has a number, and its title without it."""

    __slots__ = ("kind", "number", "title")

    def __init__(self, kind: str, number: str, title: str) -> None:
        self.kind = kind  # step, phase or stage
        self.number = number
        self.title = title


@lru_cache(maxsize=4)
def numbered_steps(workflow: WorkflowContext) -> tuple[NumberedStep, ...]:
    steps: list[NumberedStep] = []
    for step in workflow.whole.all_steps:
        title = plain_title(step.title)
        for text in (step.title.lower(), step.id.lower()):
            steps += [NumberedStep(match[1], match[2], title) for match in _NUMBERED.finditer(text)]
    return tuple(steps)


def plain_title(title: str) -> str:
    """Return a title in lower case, without its leading number."""
    low = title.strip().lower()
    match = _PREFIX.match(low) if low.startswith(_KINDS) else None
    return low if match is None else low[match.end() :].lstrip()


@lru_cache(maxsize=4)
def numbered_parts(workflow: WorkflowContext, kind: str) -> frozenset[str]:
    """Return the numbers that titles and ids give to steps of a kind; `3b` also counts as `3`."""
    numbers = {step.number for step in numbered_steps(workflow) if step.kind == kind}
    return frozenset(numbers | {base_number(number) for number in numbers})


def base_number(number: str) -> str:
    """Return the leading number: `3` of `3b`, `1` of `1.5`."""
    return number.rstrip("abcdefghijklmnopqrstuvwxyz").partition(".")[0]


@lru_cache(maxsize=32)
def own_numbers(step: Step, kind: str) -> frozenset[str]:
    """Return the numbers that the prompt of a step uses for its own list; a procedure is rendered with numbers."""
    starts = filter(None, map(_LIST_NUMBER.match, step.prompt_text.lower().split("\n")))
    numbers = {match[2] for match in starts if (match[1] or "step") == kind}
    if kind == "step":
        procedure = sum(text.field == "procedure" for text in step.prompt_texts)
        numbers.update(str(number) for number in range(1, procedure + 1))
    return frozenset(numbers)


# ------------------------------------------------------------------------------------------------- steps

_STEP_ID = r"[a-z0-9]+(?:[-_.][a-z0-9]+)*"
_STEP_BEFORE = Search(("step '", 'step "', "step `"), rf"\bstep ([\"'`])({_STEP_ID})\1")
_STEP_AFTER = Search(("' step", '" step', "` step"), rf"([\"'`])({_STEP_ID})\1 step\b", before=70, unbroken=True)
# Without marks: "the collect-facts step". Most such words are no ids.
_STEP_BARE = Search((" step",), r"(?<![\w`'\"/.-])([a-z]++(?:-[a-z0-9]++)++) step\b", before=70, unbroken=True)
# "the notes of collect-facts", "see phase-1-look", "step collect-facts". Their words are frequent, so each pattern
# begins with its word and looks back.
_BARE_ID = r"`?([a-z]+(?:-[a-z0-9]+)+)(?![\w`]*(?:[/\w-]|\.\w))`?(?! step)"
_RESULTS = (
    *("note", "notes", "output", "outputs", "result", "results", "finding", "findings", "answer", "answers"),
    *("number", "numbers", "list", "table", "report"),
)
_STEPS_OF = (
    Search((" of ", " from ", " in "), rf" \w+ {_BARE_ID}", after=_RESULTS, also=("-",)),
    Search((" phase-", " `phase-"), f" {_BARE_ID}", after=("from", "of", "in", "see", "by")),
    Search(("step ",), rf"(?<!\w)step {_BARE_ID}", also=("-",)),
    # Whatever comes before it, a name of that form is an id.
    Search(("`phase-", "`step-", "`stage-"), r"`((?:phase|step|stage)-\d+[a-z]?(?:-[a-z0-9]+)+)`"),
)
# "Use the verdict from the next step."
_LATER = Search(
    (" next step", " following step", " later step", " next phase", " later phase"),
    r"\b(?:use|using|read|take|apply|consult|see|check|based on) (?:the |its )?[^.!?,;:\n\0]{1,50}? (?:from|of) "
    r"(?:the|a) (?:next|following|later) (?:step|phase)\b",
    before=90,
    also=(*("from the ", "of the ", "from a ", "of a "),),
)
# In texts about the workflow: "Step 2 (Collect)", "phase 3: Publish", "step 4 sorts the letters".
_NUMBER_AND_TITLE = Pattern(
    r"\b(step|phase|stage) (\d{1,2})\s?(?:[:(–—-]+\s?|(?=\w))[\"'`(*]*([^.,;:()\n]{3,60})", re.IGNORECASE
)
_NUMBER_NAMES = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_NUMBER_WORDS = {word: number for number, word in enumerate(_NUMBER_NAMES, 2)}
_WORKFLOWS = ("workflow", "process")
_NUMBER = r"(\d{1,2}|[a-z]{3,6})"  # or any other short word
# What says how many steps there are, each with words one of which it has.
_COUNTS_OF_STEPS = (
    # "a workflow of seven steps"
    (
        tuple(f"{noun} {word} " for noun in _WORKFLOWS for word in ("of", "with", "in", "has")),
        Pattern(rf"\b(?:workflow|process) (?:of|with|in|has) (?:exactly )?{_NUMBER} (?:steps|phases)\b"),
    ),
    # "this 5-step workflow"
    (
        tuple(f"{part} {noun}" for noun in _WORKFLOWS for part in ("step", "phase")),
        Pattern(rf"\b{_NUMBER}[- ](?:step|phase) (?:workflow|process)\b"),
    ),
    # "Has 5 short steps", "It takes only two steps".
    (
        ("has ", "takes ", "needs ", "consists of "),
        Pattern(
            r"(?:^|[.!?]\s+|\bit |\bthis |\bworkflow )(?:has|takes|needs|consists of) (?:only |just |exactly )?"
            rf"{_NUMBER} (?:\w+ )?steps\b"
        ),
    ),
)
_AROUND_STEPS = 64


def _number(match: re.Match[str]) -> int | None:
    """Return the number of steps that a text gives; None if the word is no number."""
    written = match[1]
    return int(written) if written.isdecimal() else _NUMBER_WORDS.get(written)


def _count_of_steps(low: str) -> re.Match[str] | None:
    """Return the first number of steps in a text, which is read only around "step" and "phase"."""
    matches: list[re.Match[str]] = []
    patterns = [pattern for words, pattern in _COUNTS_OF_STEPS if any(word in low for word in words)]
    for word in ("step", "phase"):
        at = low.find(word) if patterns else -1
        while at >= 0:
            start, end = max(0, at - _AROUND_STEPS), at + _AROUND_STEPS
            around = [match for pattern in patterns for match in pattern.finditer(low, start, end)]
            numbers = [match for match in around if _number(match) is not None]
            if numbers:
                matches.append(min(numbers, key=lambda match: match.start()))
                break
            at = low.find(word, at + 1)
    return min(matches, key=lambda match: match.start(), default=None)


_SMALL_WORDS = frozenset(
    ("a", "an", "the", "of", "and", "or", "for", "to", "in", "on", "with", "by", "from", "your", "its", "each", "all")
)


def _stems(text: str) -> set[str]:
    """Return the words of a text that mean something, without their endings."""
    words = (word for word in re.findall(r"[a-z]+", text) if word not in _SMALL_WORDS)
    return {re.sub(r"(?:ies|es|ing|ed|s|y|e)$", "", word) or word for word in words}


_PARTS = {
    kind: Search((f"{kind} ",), rf"\b({kind}) (\d{{1,3}}(?:\.\d{{1,2}})?[a-z]?)(?![a-z\d])(?! ?of \d)")
    for kind in ("phase", "step")
}
_TITLED = Search(("(step ", "(phase "), r"\((step|phase) (\d{1,3}(?:\.\d{1,2})?[a-z]?)\)")
# A step that does not exist yet, or one of something else.
_NOT_OURS = Pattern(
    r"\b(?:no|adds?|adding|create|insert|define|named?|called|titled|labell?ed|new|e\.g|example|like|such as|pipeline"
    r"|build|ci|job|plan'?s?|checklist|routine'?s?)\b"
)
_BELONGS_TO = Pattern(
    r"\s*(?:of|in|from) (?:the |your |this |that |its )?(?:\w+ )?"
    r"(?:pipeline|plan|job|build|ci|checklist|routine|recipe|list)\b"
)
# Before "Phase 3" these words show that the workflow is meant; "Rollout Phase 3" is one of something else.
_BEFORE_PHASE = frozenset(
    (
        *("in", "from", "of", "to", "the", "and", "or", "with", "your", "this", "by", "at", "for", "see", "after"),
        *("before", "during", "until", "per", "through", "since", "via", "into", "both", "completed", "complete"),
        *("reference", "current", "on", "revisit", "beyond", "than", "when", "if", "then"),
    )
)


# "step 4 of the plan", "the plan's Step 4".
_OWN_STEPS = Pattern(r"\b(?:plan|guide|recipe|checklist|pipeline|routine|runbook|document)\b")


class StepReferenceUnknown(WorkflowRule):
    code = "RF015"
    name = "step-reference-unknown"
    severity = Severity.WARNING
    origin = "product"
    summary = "A prompt refers to a step or phase that the workflow does not have."
    why = "The agent looks for work that was never done, or uses another step's result instead."
    words = ("step ", " step", "phase ", "stage ", "-step", " phase", "-phase")

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        seen: set[tuple[str, str]] = set()
        for phrase, name, message in self._unknown_steps(workflow):
            is_id = name.startswith(("phase-", "step-", "stage-"))  # named for what is not to be done again, too
            if (phrase.pointer, name) not in seen and (is_id or not phrase.is_negated):
                seen.add((phrase.pointer, name))
                report(phrase.pointer, f"{label(phrase.step)}: {message}")
        for text in workflow.top_texts:
            if text.field in ("about", "description") and any(kind in text.text.lower() for kind in _KINDS):
                count = _count_of_steps(text.text.lower()) if has_any(text.text, _WORKFLOWS) else None
                if count is not None and not self._has_so_many(count, workflow):
                    report(
                        text.pointer,
                        f"{excerpt(count[0].lstrip('.!? '))} is the wrong number: the workflow has "
                        f"{len(workflow.steps)}",
                    )
                for message in self._wrong_numbers(text.text, workflow):
                    report(text.pointer, message)
                low = text.text.lower()
                for match in _TITLED.pattern.finditer(low) if has_any(low, _TITLED.words) else ():
                    before = text.text[: match.start()]
                    title_message = self._judge_title(match, before, text.text[match.start() : match.end()], workflow)
                    if title_message is not None:
                        report(text.pointer, title_message)

    @staticmethod
    def _has_so_many(count: re.Match[str], workflow: WorkflowContext) -> bool:
        """Return whether the workflow has as many steps, counted in one of the usual ways."""
        number = _number(count)
        numbers = {base_number(step.number) for step in numbered_steps(workflow)}
        return number in {len(workflow.steps), len(workflow.all_steps), len(numbers), len(numbers) - 1}

    @staticmethod
    def _wrong_numbers(text: str, workflow: WorkflowContext) -> Iterator[str]:
        """Yield what a text about the workflow says of the number of a step, if that step has another one."""
        matches = list(_NUMBER_AND_TITLE.finditer(text)) if any(map(str.isdecimal, text)) else []
        if not matches:
            return
        titles = [(index, plain_title(step.title)) for index, step in enumerate(workflow.steps, 1)]
        for match in matches:
            kind, number, words_after = match[1].lower(), match[2], match[3].lower()
            stems = _stems(words_after)
            right: list[str] = []
            for index, own in titles:
                words = _stems(own)
                if len(own) > 3 and (words_after.startswith(own) or (len(words) > 1 and words <= stems)):
                    right += [part.number for part in numbered_steps(workflow) if part.title == own] or [str(index)]
            if right and number not in {*right, *map(base_number, right)}:
                yield (
                    f"{excerpt(match[0])} is the wrong number: that step is {kind} {listed(sorted(set(right)), 'or')}"
                )

    def _unknown_steps(self, workflow: WorkflowContext) -> Iterator[tuple[Phrase, str, str]]:
        """Yield references to steps that do not exist: the phrase, what it names, and the message."""
        texts = delivered(workflow)
        if texts.has(*_STEP_BEFORE.words, *_STEP_AFTER.words):
            known = known_step_ids(workflow)
            for search, is_sure in ((_STEP_BEFORE, True), (_STEP_AFTER, False)):
                for phrase in texts.phrases(search, in_code=True, wanted=lambda match: match[2] not in known):
                    ident = phrase.hit.match[2]
                    message = self._judge_id(ident, phrase, is_sure or self._is_stale(ident, workflow), workflow)
                    if message:
                        yield phrase, ident, message
        for phrase in texts.phrases(_STEP_BARE):
            ident = phrase.hit.match[1]
            if (
                self._is_stale(ident, workflow)
                and (message := self._judge_id(ident, phrase, True, workflow)) is not None
            ):
                yield phrase, ident, message
        for phrase in texts.phrases(_LATER):
            yield phrase, phrase.words, f"{excerpt(phrase.words)} is not there yet, because that step runs later"
        known = known_step_ids(workflow)
        for search in _STEPS_OF:
            for phrase in texts.phrases(search, in_code=True, wanted=lambda match: match[1] not in known):
                ident = phrase.hit.match[1]
                is_ours = self._is_stale(ident, workflow) or self._begins_like_id(ident, workflow)
                if is_ours and (message := self._judge_id(ident, phrase, True, workflow)) is not None:
                    yield phrase, ident, message
        for kind, search in _PARTS.items():
            if texts.has(*search.words) and not workflow.lacks_steps:  # whose titles may have the numbers
                yield from self._unknown_parts(kind, search, workflow)
        for phrase in texts.phrases(_TITLED):
            before = phrase.passage.original(max(0, phrase.start - 80), phrase.start)
            message = self._judge_title(phrase.hit.match, before, phrase.words, workflow)
            if message:
                yield phrase, phrase.words, message

    def _judge_id(self, ident: str, phrase: Phrase, is_sure: bool, workflow: WorkflowContext) -> str | None:
        known = known_step_ids(workflow)
        if ident in known or any(name.startswith(f"{ident}-") or name.endswith(f".{ident}") for name in known):
            return None
        if ident in {plain_title(step.title) for step in workflow.all_steps}:
            return None
        before, _ = phrase.passage.sentence(phrase.start)
        if _NOT_OURS.search(phrase.passage.low, before, phrase.start) or _BELONGS_TO.match(
            phrase.passage.low, phrase.end
        ):
            return None
        suggestion = self._near_id(ident, workflow)
        # "the `lint` step" may be one of a build; only what looks like a typo is certainly ours.
        if suggestion is None and not is_sure and not ident.startswith(("phase-", "step-")):
            return None
        hint = f"; did you mean {quoted(suggestion)}?" if suggestion else ""
        return f"there is no step {quoted(ident)}{hint}"

    @staticmethod
    def _is_stale(ident: str, workflow: WorkflowContext) -> bool:
        """Return whether a word has the form of the ids: all but one of its parts are those of an id."""
        parts = set(ident.split("-"))
        known = [set(name.replace("_", "-").split("-")) for name in workflow.step_ids]
        titles = [set(step.title.lower().replace("-", " ").split()) for step in workflow.all_steps]
        if any(parts <= other for other in (*known, *titles)):
            return False
        return any(len(parts) == len(other) and len(parts & other) == len(parts) - 1 for other in known)

    @staticmethod
    def _begins_like_id(ident: str, workflow: WorkflowContext) -> bool:
        """Return whether a word begins as an id does, with "phase-2" or with a word and another of the same id."""
        words = ident.split("-")
        if re.fullmatch(r"(?:phase|step|stage)-\d+[a-z]?-.*", ident):
            return any(re.match(r"(?:phase|step|stage)-\d", name) for name in workflow.step_ids)
        ids = [name.replace("_", "-").split("-") for name in workflow.step_ids]
        return any(len(own) > 1 and own[0] == words[0] and own[1][:4] == words[1][:4] for own in ids)

    @staticmethod
    def _near_id(ident: str, workflow: WorkflowContext) -> str | None:
        ids = sorted(workflow.step_ids)
        bare = ident.replace("_", "-")
        same = [known for known in ids if known.replace("_", "-") == bare]
        return same[0] if same else nearest(ident, ids, 1 if len(ident) < 5 else 2 if len(ident) < 12 else 3)

    def _unknown_parts(self, kind: str, search: Search, workflow: WorkflowContext) -> Iterator[tuple[Phrase, str, str]]:
        known = numbered_parts(workflow, kind)
        if not known and kind == "step":
            yield from self._beyond_last(search, workflow)
        if len({base_number(number) for number in known}) < 2:
            return  # a single numbered title is not a numbering
        for phrase in delivered(workflow).phrases(search, wanted=lambda match: match[2] not in known):
            number = phrase.hit.match[2]
            if phrase.words[0].islower() or number in own_numbers(phrase.step, kind):
                continue
            before = phrase.passage.low[max(0, phrase.start - 30) : phrase.start].split("\n")[-1]
            last = before.split(" ")[-2:-1] if before.endswith(" ") else []
            word = last[0].strip("([*_\"'") if last else ""
            # Prompts number their own steps, so only "from Step 12" surely means the workflow's.
            if (word not in _BEFORE_PHASE) if kind == "step" else (word.isalpha() and word not in _BEFORE_PHASE):
                continue
            if kind == "step" and (int(base_number(number)) <= self._last(known) or _OWN_STEPS.search(before)):
                continue
            nearby = sorted({part for part in known if base_number(part) == base_number(number)})
            name = kind.title()
            yield (
                phrase,
                f"{kind} {number}",
                f"there is no {name} {number}; the step titles have {self._parts(name, nearby or sorted(known))}",
            )

    @staticmethod
    def _beyond_last(search: Search, workflow: WorkflowContext) -> Iterator[tuple[Phrase, str, str]]:
        """Yield references by number to a step that neither the workflow nor any list of its prompts can have."""
        count = len(workflow.all_steps)
        for phrase in delivered(workflow).phrases(search, wanted=lambda match: int(base_number(match[2])) > count + 1):
            number = phrase.hit.match[2]
            before = phrase.passage.low[max(0, phrase.start - 30) : phrase.start].split("\n")[-1]
            words = before.split()
            if not words or words[-1] not in _BEFORE_PHASE or _OWN_STEPS.search(before):
                continue
            if any(
                int(base_number(number)) <= int(own) for step in workflow.all_steps for own in own_numbers(step, "step")
            ):
                continue
            yield phrase, f"step {number}", f"there is no step {number}; the workflow has {counted(count, 'step')}"

    @staticmethod
    def _last(numbers: Iterable[str]) -> int:
        return max(int(base_number(number)) for number in numbers)

    @staticmethod
    def _parts(kind: str, numbers: list[str]) -> str:
        first = [f"{kind} {number}" for number in sorted(numbers, key=lambda n: (int(base_number(n)), n))[:6]]
        more = len(numbers) - len(first)
        return listed(first) if more <= 0 else f"{', '.join(first)} and {more} more"

    @staticmethod
    def _judge_title(match: re.Match[str], before: str, words: str, workflow: WorkflowContext) -> str | None:
        """Return whether "Title (Step n)" gives a title and the number of another step."""
        kind, number = match.groups()
        before = before.rstrip()
        low = before.lower()
        steps = [step for step in numbered_steps(workflow) if len(step.title) > 3 and low.endswith(step.title)]
        right = {step.number for step in steps if step.kind == kind}
        if not right or number in right:
            return None
        title = before[-max(len(step.title) for step in steps) :]
        named = f"{kind.title()} {listed(sorted(right), 'or')}"
        return f"{excerpt(f'{title} {words}')} is the wrong number: that title is {named}"

    def examples(self) -> Iterable[Example]:
        def using(ident: str) -> dict[str, Any]:
            return samples.workflow(
                samples.step("prepare", "Prepare the table."),
                samples.step("publish", f"Publish the table from step '{ident}'."),
            )

        yield Example(using("prepair"), using("prepare"))

        def building_on(phase: str) -> dict[str, Any]:
            return samples.workflow(
                samples.step("look", title="Phase 1: Look"),
                samples.step("decide", f"Decide on the findings of {phase}.", title="Phase 2: Decide"),
            )

        yield Example(building_on("Phase 1b"), building_on("Phase 1"))


@lru_cache(maxsize=4)
def known_step_ids(workflow: WorkflowContext) -> frozenset[str]:
    """Return the ids an author may mean: those in the file, of called routines, and of the compiled workflow."""
    ids = set(workflow.step_ids)
    for step in workflow.all_steps:
        routine = workflow.called_routine(step)
        ids.update(routine.step_ids if routine is not None else ())
    if workflow.compiled is not None:
        ids.update(node.id.lower() for node in walk(workflow.compiled.nodes))
    return frozenset(ids)


# --------------------------------------------------------------------------------------------- workflows


class WorkflowReferenceUnknown(WorkflowRule):
    code = "RF016"
    name = "workflow-reference-unknown"
    severity = Severity.WARNING
    origin = "registry"
    summary = "A prompt names a workflow or routine that is neither in a checked folder nor in the catalog."
    why = (
        "The agent can't start it, because workflows are found by their exact id. It is info when only some files were "
        "checked, because the workflow may be among the others."
    )

    def examples(self) -> Iterable[Example]:
        def running(ident: str) -> dict[str, Any]:
            return samples.workflow(samples.step(prompt=f"Spawn one WorkRail Executor running `{ident}`."))

        files: dict[str, Any] = {"workflows/other.json": samples.workflow(id="demo.other")}
        yield Example(running("routine-context-gathering"), running("wr.routine-context-gathering"), files=files)


# ------------------------------------------------------------------------------------------------- tools

# What agents called before the protocol had tokens.
_OLD_TOOLS = {
    "workflow_next": "continue_workflow",
    "workflow_get": "inspect_workflow",
    "workflow_list": "list_workflows",
    "workflow_validate": None,
    "workflow_validate_json": None,
}
_DAEMON_TOOLS = ("complete_step", "report_issue", "spawn_agent", "signal_coordinator")
_MCP_TOOLS = ("continue_workflow", "start_workflow", "checkpoint_workflow", "resume_session")
# What that protocol kept in the context.
_OLD_STATE = ("_loopstate", "_currentloop")
_TOOL = Search(
    ("workflow_", *_DAEMON_TOOLS, *_OLD_STATE),
    rf"\b(?:workflow_(?:next|get|list|validate(?:_json)?)|{'|'.join((*_DAEMON_TOOLS, *_OLD_STATE))})\b",
)


# A tool that sounds like one of the engine's.
_CALLS = frozenset(
    ("call", "calling", "invoke", "invoking", "use", "using", "run", "running", "trigger", "via", "through")
)
_TOOL_VERBS = frozenset(
    (
        *("workrail", "workflow", "complete", "finish", "advance", "next", "end", "close", "submit", "proceed"),
        *("confirm", "approve", "update", "get", "mark", "load", "fetch", "read", "skip", "cancel", "abort", "restart"),
        *("create", "save", "run", "execute", "register"),
    )
)
_TOOL_NOUNS = ("_workflow", "_step", "_session", "_checkpoint", "workrail_", "workflow_")
_INVENTED = Search(
    _TOOL_NOUNS,
    r"\b(?:call|calling|invoke|invoking|use|using|run|running|trigger|via|through) (?:the )?(?:tool )?[`'\"]?"
    r"((?:workrail|workflow)_[a-z_]+"
    r"|[a-z]+_(?:next_)?(?:workflow|step|session|checkpoint)s?(?:_(?:done|complete|completed|finished))?)\b(?!\.)",
    before=48,
    near=_CALLS,
)
# Another name for the same, where it is called a tool.
_CALLED_TOOL = Search(
    _TOOL_NOUNS,
    r"\b((?:[a-z]+_)+(?:workflow|step|checkpoint)s?(?:_[a-z]+)*)[`'\"]? tool\b",
    before=48,
    also=(" tool",),
)
_TOOLS = frozenset(
    (*_OLD_TOOLS, *_DAEMON_TOOLS, *_MCP_TOOLS, "list_workflows", "inspect_workflow", "workflow_id", "workflow_step")
)


class ToolUnavailable(WorkflowRule):
    code = "PR043"
    name = "tool-unavailable"
    severity = Severity.WARNING
    origin = "product"
    summary = "A prompt names a tool of an older protocol, one that only some hosts offer, or one that does not exist."
    why = (
        "The agent calls a tool that its host does not have, and fails or improvises. A prompt that says what to "
        "submit, not which tool to use, works everywhere."
    )
    words = (IN_PROMPTS, *_TOOL.words, *_INVENTED.words)
    bad = (
        {"prompt": "Write the summary, then call `finish_workflow`."},
        {"prompt": "Write the summary, then call `workflow_next`."},
        {"prompt": "Emit the verdict through complete_step's artifacts parameter."},
    )
    good = (
        {"prompt": "Write the summary."},
        {"prompt": "Write the summary."},
        {"prompt": "Emit the verdict as an artifact."},
    )

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        is_internal = "internal" in workflow.path.replace("\\", "/").split("/")[:-1]
        by_tool: dict[str, list[Phrase]] = {}
        for phrase in delivered(workflow).phrases(_TOOL, in_code=True):
            tool = phrase.hit.match[0]
            if tool in _OLD_STATE:
                if phrase.words.lower() not in {name.lower() for name in workflow.analysis.by_name}:
                    by_tool.setdefault(phrase.words, []).append(phrase)
                continue
            if tool in _DAEMON_TOOLS and (is_internal or any(other in phrase.passage.low for other in _MCP_TOOLS)):
                continue
            if not phrase.is_negated:
                by_tool.setdefault(tool, []).append(phrase)
        texts = delivered(workflow)
        calls = texts.phrases(_INVENTED, in_code=True, wanted=lambda match: match[1].partition("_")[0] in _TOOL_VERBS)
        for phrase in (*calls, *texts.phrases(_CALLED_TOOL, in_code=True)):
            tool = phrase.hit.match[1]
            if tool not in _TOOLS and tool not in workflow.analysis.by_name and not phrase.is_negated:
                by_tool.setdefault(tool, []).append(phrase)
        for tool, phrases in by_tool.items():
            places = len({phrase.pointer for phrase in phrases})
            more = f" (here and in {counted(places - 1, 'other place')})" if places > 1 else ""
            if tool in _DAEMON_TOOLS:
                what = (
                    f"only autonomous sessions have the tool {quoted(tool)}{more}; say what to submit, not which tool "
                    "to use"
                )
            elif tool.lower() in _OLD_STATE:
                what = f"the engine no longer has {quoted(tool)}{more}; remove what is said about it"
            elif tool not in _OLD_TOOLS:
                what = (
                    f"the engine has no tool {quoted(tool)}{more}; say what to submit, and the agent's host knows how"
                )
            else:
                instead = _OLD_TOOLS.get(tool)
                advice = f"it is now called {quoted(instead)}" if instead else "remove the instruction"
                what = f"the engine no longer has the tool {quoted(tool)}{more}; {advice}"
            report(phrases[0].pointer, f"{label(phrases[0].step)}: {what}")


# ------------------------------------------------------------------------------------------------- files

_PATH = r"((?:\./)?[\w.-]+(?:/[\w.-]+)*/[\w.-]*\w\.[a-z]{1,5})"
_FILE = Search(
    ("read ", "open ", "follow ", "consult ", "per "),
    r"\b(?:read|open|follow|consult|per) (?:the )?"
    r"(?:(?:file|document|rules|guide|guidelines|spec|checklist) )?(?:in |at )?"
    rf"[\"'`(]?{_PATH}(?![\w/<{{*$\[-])",
    also=("/",),
)
_MAYBE = Pattern(r"\b(?:if|any|e\.g|example|when|whenever|unless|optional\w*|such as|like|where)\b|[<{*$\[]")
_MADE = Pattern(r"\b(?:writ|creat|sav|generat|produc|updat|stor|record|export|emit|draft|append|put)\w*\b")


class ProseFileMissing(WorkflowRule):
    code = "RF017"
    name = "prose-file-missing"
    severity = Severity.WARNING
    origin = "product"
    summary = "A prompt tells the agent to read a file that is not in the workspace and that no step writes."
    why = "The agent works without the file, or makes up what it says."
    needs = frozenset({WORKSPACE})
    words = (IN_PROMPTS, *_FILE.words)

    def applies(self, workflow: WorkflowContext) -> bool:
        return workflow.workspace is not None and delivered(workflow).has("/")

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        seen: set[str] = set()
        for phrase in delivered(workflow).phrases(_FILE):
            path = phrase.group(1)
            if path in seen or phrase.is_negated or _MAYBE.search(phrase.sentence) or "://" in phrase.sentence:
                continue
            if self._exists(path, workflow) or self._is_written(path, phrase, workflow):
                continue
            seen.add(path)
            report(
                phrase.pointer,
                f"{label(phrase.step)}: the file {quoted(path)} is not in the workspace, and no step writes it; "
                "correct the path, or say what to do without it",
            )

    @staticmethod
    def _exists(path: str, workflow: WorkflowContext) -> bool:
        assert workflow.workspace is not None
        place = inside(workflow.workspace, path)
        return place is None or os.path.lexists(workflow.consult(place))

    @staticmethod
    def _is_written(path: str, phrase: Phrase, workflow: WorkflowContext) -> bool:
        """Return whether a prompt says that the file is written, or a reference provides it."""
        plain = path.removeprefix("./")
        if any(reference.source.removeprefix("./") == plain for reference in workflow.model.references):
            return True
        name = plain.rpartition("/")[2]
        text = author_text(workflow)
        at = text.find(name)
        while at >= 0:
            if _MADE.search(text[max(0, at - 160) : at].rpartition("\n")[2].lower()):
                return True
            at = text.find(name, at + len(name))
        return any("parallelDelegations" in step for step in workflow.all_steps if step is not phrase.step)

    def examples(self) -> Iterable[Example]:
        files: dict[str, Any] = {"docs/style.md": "How we write.\n"}
        yield Example(
            samples.workflow(samples.step(prompt="Read docs/stlye.md before you write.")),
            samples.workflow(samples.step(prompt="Read docs/style.md before you write.")),
            files=files,
        )
