"""Facts of a workflow that decide which rules are imported: its members, and others with names of their own.

A rule lists in `needs` the members and facts without which it has nothing to say. So most rules cost most documents one
comparison of sets, and each fact is computed once for all rules that need it. The second half is about single loops.
"""

from __future__ import annotations

import unicodedata
from bisect import bisect_right
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from typing import Any

from workrail_lint.base import js
from workrail_lint.base.patterns import Pattern
from workrail_lint.base.result import Record
from workrail_lint.base.wording import quoted
from workrail_lint.documents.operations import Remove, Replace
from workrail_lint.documents.source_text import SourceText
from workrail_lint.findings import Fix, unsafe
from workrail_lint.systems.workrail.analysis.logic import exclusive, implies
from workrail_lint.systems.workrail.compat.normalize import CONDITION_REF
from workrail_lint.systems.workrail.compiler.nodes import walk
from workrail_lint.systems.workrail.condition_logic import COMPARISONS, is_structure
from workrail_lint.systems.workrail.model.nodes import LOOP_CONTROL
from workrail_lint.systems.workrail.model.workflow import Condition, LoopStep, OutputContract, Step
from workrail_lint.systems.workrail.rules.base import BINDINGS, ROUTINE, WorkflowContext
from workrail_lint.systems.workrail.rules.prose import TextIndex, has_braces, sentences, text_index
from workrail_lint.systems.workrail.rules.walk import conditions_of

LOOP = "<loop>"
BRACES = "<braces>"  # in a text of a step, as tokens have
REPETITION = "<repetition>"  # of a long sentence
LONG_PROMPT, BLANK_PROMPT = "<long prompt>", "<blank prompt>"
ENGINE_VOICE = "<engine voice>"  # a prompt may begin with words about the agent
UNUSUAL_CONDITION = "<unusual condition>"  # one whose form may be wrong
DESIGN_FORM = "<design form>"
WORKSPACE = "<workspace>"  # the files of the project can be looked at
PLAIN_ID, RESERVED_ID, SIMILAR_IDS = "<id without a namespace>", "<id of the engine>", "<similar ids>"
NO_ABOUT, NO_EXAMPLES = "<no about>", "<no examples>"
UNCOUNTED = "<uncounted>"  # there may be something to count, but there is no metricsProfile
UNSURE_START = "<unsure start>"  # the first step may not run
OTHER_SPEC_VERSION = "<other spec version>"
TERSE, DECORATED_NAME = "<terse name or description>", "<decorated name>"
ODD_NUMBERS = "<odd numbers>"
HOME_PATH, LONG_TOKEN, RESERVED_NAME = "<home path>", "<long token>", "<reserved name>"
REFS = "<refs>"
CONDITIONS = "<conditions>"  # that test a variable, or may: those of a template are not looked for

MAX_PROMPT = 8192
VERDICT = "wr.contracts.review_verdict"
# One of these is in every text about something that is delivered.
DELIVERED = ("review", "request", "commit", " pr", " mr", "ticket", "user stor")
LONG_SENTENCE, OFTEN = 60, 3  # characters, and how many prompts with the same one are too many
MARKUP = " \t\n#*>_`-"  # before the first word of a prompt
_FIRST_FIELDS = ("prompt", "goal", "part")  # whose texts can open a prompt
_VOICES = frozenset(("the agent", "this step", "provide a", "input con"))
# Of a text whose token characters became `t` and whose others became blanks: what every credential is at least.
_TOKEN_CHARACTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/_=~-"
_TOKEN_ROWS = bytes(116 if code in _TOKEN_CHARACTERS else 32 for code in range(256))
_LEAST_TOKEN = 20
_TOKEN_END = b"t" * _LEAST_TOKEN + b" "
# The only member that looks like one.
_LONG_MEMBER = b"validatedAgainstSpecVersion"
# An escape other than that of a line break or a quote.
_ESCAPE, _ESCAPED_ASCII = Pattern(r"\\[ubf]"), Pattern(r"\\u00[0-7]")
_RESERVED = ("__proto__", 'prototype"', '"constructor"')
_COMMON = bytes(code for code in _TOKEN_CHARACTERS if not (48 <= code <= 57 or 65 <= code <= 90))
LEAST_RARE = 3  # digits and capitals of a credential
_COMPARISONS = frozenset(COMPARISONS)
_MISSING = (("about", NO_ABOUT), ("examples", NO_EXAMPLES))
# What holds conditions, and what brings in texts and steps that the document itself does not show.
_HOLDERS = frozenset(("runCondition", "requireConfirmation", "promptFragments", "validationCriteria"))
_TAKEN_IN = frozenset(("templateCall", "features", "extensionPoints", REFS))
# No placeholder for a name or a description is longer.
_TERSE = 12
# How a description begins that the author meant to replace.
UNFINISHED = ("TODO", "TBD", "FIXME", "Describe what this workflow", "Describe the workflow", "Your description")

_UNSAFE = Pattern(r"[^a-z0-9_-]")


def facts_of(workflow: WorkflowContext) -> set[str]:
    """Return the members of the document and its steps, and what else is true of it."""
    present = set(workflow.model.raw)
    for step in workflow.all_steps:
        present.update(step.raw)
        if step.kind == "loop":
            present.add(LOOP)
    present.update(_about_settings(workflow), _about_prompts(workflow), _about_text(workflow))
    present.update(_about_names(workflow))
    if workflow.document.odd_numbers:
        present.add(ODD_NUMBERS)
    conditions = condition_facts(workflow)
    if conditions.unusual:
        present.add(UNUSUAL_CONDITION)
    if conditions.by_variable or not (present.isdisjoint(_HOLDERS) or present.isdisjoint(_TAKEN_IN)):
        present.add(CONDITIONS)
    return present


def _about_settings(workflow: WorkflowContext) -> Iterator[str]:
    if workflow.is_routine:
        yield ROUTINE
    if workflow.bindings is not None:
        yield BINDINGS
    if workflow.steps and (workflow.steps[0].kind == "loop" or "runCondition" in workflow.steps[0]):
        yield UNSURE_START
    if workflow.workspace is not None:
        yield WORKSPACE
    if workflow.normalized is not None and workflow.normalized.warnings:
        yield DESIGN_FORM


def _about_names(workflow: WorkflowContext) -> Iterator[str]:
    top, ident = workflow.model, workflow.id
    for member, fact in _MISSING:
        if member not in top:
            yield fact
    if "." not in ident:
        yield PLAIN_ID
    elif ident.startswith("wr."):
        yield RESERVED_ID
    if top.validated_against_spec_version != workflow.catalog.authoring_spec_version:
        yield OTHER_SPEC_VERSION
    if any(char in top.name for char in "(•·|"):
        yield DECORATED_NAME
    for member, text in (("name", top.name), ("description", top.description)):
        if member in top and (
            len(trimmed := js.trim(text)) < _TERSE or trimmed == ident or trimmed.startswith(UNFINISHED)
        ):
            yield TERSE
    ids = set(_ids(workflow))
    if len(set(map(folded, ids))) < len(ids):
        yield SIMILAR_IDS


def _ids(workflow: WorkflowContext) -> Iterator[str]:
    """Yield every id and name that another of its kind could be mistaken for."""
    model = workflow.model
    for step in workflow.all_steps:
        yield step.id
        if step.kind == "standard":
            yield from [fragment.id for fragment in step.prompt_fragments]
        if step.kind != "parallel":
            yield from [function.name for function in step.function_definitions]
    for assessment in model.assessments:
        yield assessment.id
        yield from [dimension.id for dimension in assessment.dimensions]
    yield from [point.slot_id for point in model.extension_points]
    yield from [function.name for function in model.function_definitions]
    yield from [reference.id for reference in model.references]


def folded(ident: str) -> str:
    """Return an id without the differences that are easily overlooked."""
    return ident.replace("_", "-").replace("0", "o").replace("1", "l")


def _about_prompts(workflow: WorkflowContext) -> Iterator[str]:
    texts = text_index(workflow)
    if "metricsProfile" not in workflow.model and (
        texts.has(DELIVERED) or any(step.contract == VERDICT for step in workflow.all_steps)
    ):
        yield UNCOUNTED
    if has_braces(workflow):
        yield BRACES
    first = texts.delivered_in(_FIRST_FIELDS)
    if not _VOICES.isdisjoint([text[:64].lstrip(MARKUP)[:9].lower() for text in first]):
        yield ENGINE_VOICE
    if len(workflow.all_steps) >= OFTEN and repeated_sentences(texts):
        yield REPETITION
    if any(step.kind == "standard" and step.prompt and js.is_blank(step.prompt) for step in workflow.all_steps):
        yield BLANK_PROMPT
    nodes = walk(workflow.compiled.nodes) if workflow.compiled is not None else ()
    if any(len(node.step.get("prompt") or "") > MAX_PROMPT for node in nodes):
        yield LONG_PROMPT


@lru_cache(maxsize=1)
def repeated_sentences(texts: TextIndex) -> frozenset[str]:
    """Return the long sentences that occur often in all that is delivered."""
    delivered = [text for text in texts.strings[: texts.delivered] if len(text) >= LONG_SENTENCE]
    long = sentences("\n".join(delivered), LONG_SENTENCE)
    if len(long) - len(set(long)) < OFTEN - 1:
        return frozenset()
    counts: dict[str, int] = {}
    for sentence in long:
        counts[sentence] = counts.get(sentence, 0) + 1
    return frozenset(
        [sentence for sentence, count in counts.items() if count >= OFTEN and len(sentence) >= LONG_SENTENCE]
    )


def _about_text(workflow: WorkflowContext) -> Iterator[str]:
    """Yield the facts that the text of the file shows."""
    text = workflow.document.text
    has_escapes = _ESCAPE.search(text) is not None
    if has_escapes or not text.isascii() or "\x7f" in text:
        yield from character_kinds(workflow)
    if "/home/" in text or "Users" in text:
        yield HOME_PATH
    if "PRIVATE KEY" in text or long_tokens(workflow):
        yield LONG_TOKEN
    # An escaped ASCII letter is so rare that such a document is simply checked.
    if any(name in text for name in _RESERVED) or (has_escapes and _ESCAPED_ASCII.search(text)):
        yield RESERVED_NAME
    if '"refId"' in text:
        yield REFS


@lru_cache(maxsize=1)
def character_kinds(workflow: WorkflowContext) -> frozenset[str]:
    """Return the kinds of unusual characters that the strings of the document may contain."""
    return kinds_in(workflow.document.source)


@lru_cache(maxsize=1)
def long_tokens(workflow: WorkflowContext) -> set[bytes]:
    """Return what may be a credential. Names have few capitals and digits, credentials have some.

    Translating bytes and searching them for a fixed row is many times faster than any pattern.
    """
    data = workflow.document.source.data
    rows = data.translate(_TOKEN_ROWS) + b" "
    tokens: set[bytes] = set()
    last = rows.find(_TOKEN_END)
    while last >= 0:
        end = last + _LEAST_TOKEN
        tokens.add(data[rows.rfind(b" ", 0, last) + 1 : end])
        last = rows.find(_TOKEN_END, end)
    tokens.discard(_LONG_MEMBER)
    rare = b" ".join(tokens).translate(None, _COMMON).split(b" ")
    return {token for token, letters in zip(tokens, rare, strict=False) if len(letters) >= LEAST_RARE}


class ConditionFacts(Record):
    """Conditions in document order, nested ones included."""

    __slots__ = ("by_variable", "unusual")

    def __init__(self, unusual: list[Condition], by_variable: dict[str, list[Condition]]) -> None:
        self.unusual = unusual  # those whose form may be wrong
        self.by_variable = by_variable  # the comparisons, by the variable they test


@lru_cache(maxsize=1)
def condition_facts(workflow: WorkflowContext) -> ConditionFacts:
    """Sort the conditions of a workflow once for all rules.

    Nearly every condition compares one plainly named variable with one plain value, and no rule about the form of
    conditions applies to those.
    """
    facts = ConditionFacts([], {})
    for condition in conditions_of(workflow):
        if condition.var is not None:
            facts.by_variable.setdefault(condition.var, []).append(condition)
        if not _is_plain(condition):
            facts.unusual.append(condition)
    return facts


_WITHIN_NAMES = str.maketrans("", "", "_-")


def _is_plain(condition: Condition) -> bool:
    """Return whether the form is surely right: never true for a wrong form, and true for nearly every right one."""
    members = condition.raw
    if "var" not in members:
        return len(members) == 1 and bool(condition.and_ or condition.or_ or condition.not_)
    name = condition.var
    if not name or not name.isascii() or not name.translate(_WITHIN_NAMES).isalnum() or len(members) > 2:
        return False
    if "in" in members:
        return bool(condition.in_) and not any(map(is_structure, condition.in_))
    return all(
        operator == "var" or (operator in _COMPARISONS and not is_structure(literal))
        for operator, literal in members.items()
    )


# What decides a loop: the kinds of a `conditionSource`.
ARTIFACT, CONTEXT = "artifact_contract", "context_variable"
# A run that skips more steps in a row than these is not foreseen: each pair of conditions costs a search.
_MOST_NEXT = 20


class Decision:
    """A place in a loop body that submits the loop's decision."""

    __slots__ = ("contract", "step")

    def __init__(self, step: Step, contract: str) -> None:
        self.step = step
        self.contract = contract  # pointer of the contract, or of the template call that adds it


class LoopVariables:
    """The names of the loop's variables in its body; item and index only in a forEach."""

    __slots__ = ("index", "item", "iteration")

    def __init__(self, iteration: str, item: str | None, index: str | None) -> None:
        self.iteration = iteration
        self.item = item
        self.index = index

    def __iter__(self) -> Iterator[str | None]:
        return iter((self.iteration, self.item, self.index))


def number_of_rounds(loop: LoopStep) -> float | None:
    """Return the count of a loop, if it is a number."""
    count = loop.loop.count
    return None if isinstance(count, str) else count


def variables(loop: LoopStep) -> LoopVariables:
    config = loop.loop
    iteration = config.iteration_var or "currentIteration"
    if config.type != "forEach":
        return LoopVariables(iteration, None, None)
    return LoopVariables(iteration, config.item_var or "currentItem", config.index_var or "currentIndex")


@lru_cache(maxsize=8)
def decisions(loop: LoopStep, workflow: WorkflowContext) -> tuple[Decision, ...]:
    """Return where the body submits a decision, in the order of its steps."""
    places: list[Decision] = []
    for step in workflow.body_of(loop):
        if step.calls_template:
            routine = workflow.called_routine(step)
            if routine is not None and any(_decides(inner) for inner in routine.steps):
                places.append(Decision(step, step.at("templateCall")))
        elif step.decides_loop:
            places.append(Decision(step, step.at("outputContract")))
        # The synthesis of a referenced body stays at the top level.
        elif step.around is not None and (contract := synthesis_decision(step)) is not None:
            places.append(Decision(step, contract.pointer))
    return tuple(places)


def synthesis_decision(step: Step) -> OutputContract | None:
    """Return the loop-control contract of the step that a parallel step's synthesis becomes."""
    contract = step.synthesis.output_contract if step.kind == "parallel" and step.synthesis is not None else None
    return contract if contract is not None and contract.contract_ref == LOOP_CONTROL else None


def _decides(step: dict[str, Any]) -> bool:
    """Return whether a step of a routine submits the decision."""
    contract = step.get("outputContract")
    return isinstance(contract, dict) and contract.get("contractRef") == LOOP_CONTROL


def decided_by(loop: LoopStep, workflow: WorkflowContext) -> str | None:
    """Return the kind of what decides a while or until loop, as the compiler will see it; "" if it is unknown."""
    if loop.loop.type not in ("while", "until"):
        return None
    if "conditionSource" in loop.loop:
        return loop.loop.condition_source.kind if loop.loop.condition_source is not None else ""
    if decisions(loop, workflow):
        return ARTIFACT
    return CONTEXT if "condition" in loop.loop else None


def artifact_source(loop_id: str) -> dict[str, Any]:
    return {"kind": ARTIFACT, "contractRef": LOOP_CONTROL, "loopId": loop_id}


def is_unsafe_id(ident: str) -> bool:
    """Return whether an id has characters that the public engine can't read again in its log."""
    return _UNSAFE.search(ident) is not None


def is_artifact_decided(step: Step, workflow: WorkflowContext) -> bool:
    return step.kind == "loop" and decided_by(step, workflow) == ARTIFACT


def steps_after(top: Step, workflow: WorkflowContext) -> Iterator[Step]:
    """Return the top-level steps after one."""
    start = bisect_right(workflow.steps, top.index, key=lambda step: step.index)
    return islice(workflow.steps, start, None)


def may_come_next(top: Step, workflow: WorkflowContext) -> Iterator[Step]:
    """Yield the top-level steps that the engine may select right after one: all up to the first that certainly runs.

    A step that is the body of a loop is never selected alone, and a step whose condition follows from that of `top`
    runs whenever `top` did.
    """
    condition = top.run_condition
    for following in islice(steps_after(top, workflow), _MOST_NEXT):
        if following.pointer in workflow.loop_of:
            continue
        own = following.run_condition
        if not exclusive(condition, own):
            yield following
        if not following.is_conditional or implies(condition, own):
            return


def from_named_condition(loop: Step, workflow: WorkflowContext) -> bool:
    """Return whether the loop's condition was a named one of the design form."""
    if workflow.normalized is None or not workflow.normalized.step_codes:
        return False
    codes: tuple[str, ...] = workflow.normalized.step_codes.get(loop.pointer, ())
    return CONDITION_REF.name in codes


def only_user(loop: LoopStep, workflow: WorkflowContext) -> bool:
    """Return whether no other loop names the same step as its body."""
    return [step.body for step in workflow.steps if step.kind == "loop"].count(loop.body) == 1


def move_inline(loop: LoopStep, workflow: WorkflowContext) -> Fix | None:
    """Move the step that a body names into that body; None if something else needs it where it is."""
    named = [step for step in workflow.all_steps if step.id == loop.body_id]
    if loop.body_id is None or len(named) != 1 or named[0].kind == "loop" or not only_user(loop, workflow):
        return None
    return unsafe(
        f"move step {quoted(loop.body_id)} into the body of loop {quoted(loop.id)}",
        Replace(loop.at("body"), [named[0].raw]),
        Remove(named[0].pointer),
    )


# ---------------------------------------------------------------------------------------------- unusual characters

BIDI, INVISIBLE, SURROGATE, TAG = "<bidi control>", "<invisible character>", "<surrogate>", "<tag character>"
CONTROL, LETTER, OTHER = "<control character>", "<letter beyond ASCII>", "<character beyond ASCII>"
KINDS = frozenset((BIDI, INVISIBLE, SURROGATE, TAG, CONTROL, LETTER, OTHER))

BIDI_CHARACTERS = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
INVISIBLE_CHARACTERS = "\u00ad\u180e\u200b\u200c\u200d\u2060\u2061\u2062\u2063\u2064\ufeff"
# The most common ones in prose, none of which is a part of a name.
_TYPOGRAPHY = "–—‘’“”…•→←↔≤≥≠×✓✅❌⚠️─│├└"
_ESCAPES = Pattern(r"\\(?:u([0-9a-fA-F]{4})|[bf])")
# Two escapes that spell one character, as for emoji; after a backslash the first may not be an escape.
_PAIRS = Pattern(r"\\u(?<!\\\\u)([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})")
_ASCII = bytes(range(128))


def kinds_in(source: SourceText) -> frozenset[str]:
    """Return the kinds of unusual characters that the strings of a JSON text may contain."""
    text = source.text
    kinds: set[str] = set()
    if not text.isascii():
        # Deleting everything else is fast and leaves little to check.
        rare = source.data.translate(None, _ASCII).decode("utf-8", "surrogatepass")
        kinds.update(_kind(ord(char)) for char in set(rare))
    escapes = set(_ESCAPES.findall(text))
    if any("d800" <= code.lower() <= "dfff" for code in escapes):
        pairs = set(_PAIRS.compiled.findall(text))
        kinds.update(_kind((int(high, 16) - 0xD800 << 10) + int(low, 16) + 0x2400) for high, low in pairs)
        escapes = set(_ESCAPES.findall(_PAIRS.sub(" ", text)))
    kinds.update(_kind(int(code, 16)) if code else CONTROL for code in escapes)
    if "\x7f" in text:
        kinds.add(CONTROL)
    if SURROGATE in kinds:
        kinds.add(TAG)  # which two escapes may spell
    return frozenset(kinds)


def _kind(code: int) -> str:
    char = chr(code)
    if char in _TYPOGRAPHY:
        return OTHER
    if char in BIDI_CHARACTERS:
        return BIDI
    if char in INVISIBLE_CHARACTERS:
        return INVISIBLE
    if 0xD800 <= code <= 0xDFFF:
        return SURROGATE
    if 0xE0000 <= code <= 0xE007F:
        return TAG
    if code < 0x20 or 0x7F <= code <= 0x9F:
        return CONTROL
    return LETTER if code > 0x7F and _is_in_names(char) else OTHER


def _is_in_names(char: str) -> bool:
    """Return whether it is a letter, digit or mark, as opposed to dashes, quotes and symbols of prose."""
    is_variation_selector = "\ufe00" <= char <= "\ufe0f"  # a mark too, but of emoji
    return unicodedata.category(char)[0] in "LNM" and not is_variation_selector
