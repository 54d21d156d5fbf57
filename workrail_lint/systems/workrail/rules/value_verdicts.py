"""Judgements about the values that conditions compare with, and about values that no branch handles."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable
from functools import cached_property
from itertools import combinations
from typing import Any

from workrail_lint.base import js
from workrail_lint.base.patterns import Pattern
from workrail_lint.base.result import Record
from workrail_lint.base.wording import quoted
from workrail_lint.documents.nodes import numbered
from workrail_lint.findings import Severity
from workrail_lint.systems.workrail.analysis.analysis import Analysis, KnownDomain
from workrail_lint.systems.workrail.analysis.definitions_and_uses import AUTHORED, Decision, Use
from workrail_lint.systems.workrail.analysis.domains import BOOLEAN, LIST, NUMBER, ONE_OF, read_list
from workrail_lint.systems.workrail.analysis.logic import (
    BOUNDS,
    Node,
    fold,
    nearest_name,
)
from workrail_lint.systems.workrail.analysis.prose import sentence_at
from workrail_lint.systems.workrail.condition_logic import compare, is_structure, lenient_equal, normal_text
from workrail_lint.systems.workrail.rules.verdicts import Judge, value_text

OUTSIDE, SPELLED, TYPE, BRANCH = (
    "value-outside-domain",
    "value-spelled-differently",
    "comparison-type",
    "branch-value-unhandled",
)
_BOOLEAN_WORDS = frozenset(("yes", "no", "true", "false", "1", "0"))
_SHORTEST = 4  # letters that a value needs to be compared with other words
_MANY_VALUES = 50  # of one variable; more are not searched for in prompts
_MARKED_WORD = Pattern(
    r"`([A-Za-z][\w-]{2,59})`|'([A-Za-z][\w-]{2,59})'|\"([A-Za-z][\w-]{2,59})\"|\b([A-Z][\w-]{2,59})\b"
    r"|\b([a-z]+(?:-[a-z]+)+)\b"
)
_MARKED_VALUE = Pattern(r"[`'\"]([A-Za-z][\w-]{2,59})[`'\"]")
# "1 to 5", "from 0 to 10", "between 1 and 10", "0-100", "out of 10".
_RANGE = Pattern(
    r"(?<![\w.])(\d{1,4}(?:\.\d+)?)\s?(?:to|-|–|through|\.\.|and)\s?(\d{1,5}(?:\.\d+)?)(?![\w-]|\.\d|\s?(?:lines?|words?|sentences?|bullets?|"
    r"items?|files?|steps?|minutes?|hours?|days?|weeks?|seconds?|times|characters?|paragraphs?|pages?)\b)"
    r"|\bout of (\d{1,4})(?![\w.])"
)
# "from 1 (calm) to 5 (loud)" without the words in brackets.
_IN_BRACKETS = Pattern(r"\s\([^()\d\n]{0,60}\)")
_PERCENT = Pattern(r"\b(?:in percent|as a percentage|as (?:a )?percent|in %)(?!\w)")
_NUMBER_OF = Pattern(r"\b(?:number|count|total) of\b|\bhow many\b")
_FREE_TEXT = Pattern(
    r"[`'\"*]*\s(?:to|as|with|in|=)\s(?:an? |one |two |your )?(?:(?:short|brief|one-line|concise|plain) )*"
    r"(?:description|summary|explanation|sentences?|paragraph|free text|few words|own words)\b"
)
_ANY_OF = Pattern(
    r"\b(?:any(?: combination)?|one or more|some|zero or more|those|subset|all that appl(?:y|ies)),? (?:of|from)\b"
    r"(?: the following| these)?:?\s*"
)
_TITLE_NUMBER = Pattern(r"\s*(?:phase|step|stage|part|path)?\s*(\d{1,3})(?:[a-z]|\.\d+)?\b", re.IGNORECASE)
_OFFERED_WITHIN = 80  # characters after the name, within which its values are listed
_MOST_LISTS = 8  # of one variable that are compared with one another
_FEW = 2  # values that two lists may have by chance
_MANY_POINTS = 5  # a scale that ends there or higher is not one of shares


def _same_sentence(text: str, start: int) -> str:
    """Return what follows a place in its sentence."""
    end = re.compile(r"\n|[.!?](?=\s|$)").search(text, start)
    return text[start : min(end.start() if end is not None else len(text), start + 300)]


class Literal(Record):
    """A value that a comparison names."""

    __slots__ = ("operator", "pointer", "use", "value")

    def __init__(self, value: Any, pointer: str, operator: str, use: Use) -> None:
        self.value = value
        self.pointer = pointer
        self.operator = operator
        self.use = use


def literals_of(use: Use) -> list[Literal]:
    leaf = use.leaf
    base = use.pointer.removesuffix("/var")
    literals: list[Literal] = []
    if leaf is None:
        return literals
    if "equals" in leaf:
        literals.append(Literal(leaf.equals, f"{base}/equals", "equals", use))
    if "not_equals" in leaf:
        literals.append(Literal(leaf.not_equals, f"{base}/not_equals", "not_equals", use))
    literals += [Literal(item, f"{base}/in/{index}", "in", use) for index, item in numbered(leaf.in_)]
    return literals


def _compared_values(uses: Iterable[Use]) -> list[Any]:
    """Return the values that several comparisons name."""
    values: list[Any] = []
    for use in uses:
        if use.leaf is not None:
            values += [use.leaf.equals] if "equals" in use.leaf else []
            values += [use.leaf.not_equals] if "not_equals" in use.leaf else []
            values += use.leaf.in_
    return values


def judge_values(judge: Judge) -> None:
    """Judge every variable that conditions compare with something."""
    for name, uses in judge.plain_uses.items():
        if name in judge.unset:
            continue
        leaves = [use for use in uses if use.leaf is not None]
        own = [use for use in leaves if use.origin.via == AUTHORED and use.step not in judge.dead]
        if not own:
            continue
        is_of_loop = judge.analysis.is_of_loop(name)
        if not (is_of_loop and any(judge.analysis.in_scope(name, use) for use in leaves)):
            _Values(judge, name, leaves, own).judge()
    _judge_branches(judge)


class _Values:
    """One variable and the comparisons it is in."""

    def __init__(self, judge: Judge, name: str, leaves: list[Use], own: list[Use]) -> None:
        self.judge_ = judge
        self.analysis: Analysis = judge.analysis
        self.name = name
        self.own = own
        self.statements = self.analysis.statements(name)
        self.kinds = {statement.kind for statement in self.statements}
        self.domain: KnownDomain | None = self.analysis.domain(name)
        self.compared = _compared_values(leaves)
        self.done: set[str] = set()
        self.known: dict[tuple[type, Any], bool] = {}  # values that were judged, and whether one was wrong

    def judge(self) -> None:
        self._differing_lists()
        for use in self.own:
            if use.pointer in self.judge_.judged:
                continue
            bound = next((name for name in BOUNDS if use.leaf is not None and name in use.leaf), None)
            if bound is not None:
                self._bound(use, bound)
                continue
            if use.leaf is not None and "contains" in use.leaf:
                self._contained(use, use.leaf.contains)
                continue
            for literal in literals_of(use):
                if literal.value is not None and self._is_wrong(literal):
                    self.judge_.judged.add(use.pointer)

    def _differing_lists(self) -> None:
        """Report a list of all values that has one value in place of another, which the other lists have."""
        lists = [each for each in self.statements if each.closed and len(each.values) > _FEW and each.kind != BOOLEAN]
        for each in lists:
            others = [set(map(str, other.values)) for other in lists if other is not each]
            own = set(map(str, each.values))
            new = [value for value in own if not any(value in other for other in others)]
            if len(new) == 1 and others and all(len(other) == len(own) == len(other & own) + 1 for other in others):
                (old,) = others[0] - own
                if all(old in other for other in others) and _is_tested(old, self.compared) > _is_tested(
                    new[0], self.compared
                ):
                    message = (
                        f"this list of the values of {quoted(self.name)} has {quoted(new[0])} where others have "
                        f"{quoted(old)}; use one of them"
                    )
                    self._report(SPELLED, Severity.WARNING, each.pointer, message, f"list {new[0]}")
        if not self.done:
            self._other_lists()

    def _other_lists(self) -> None:
        """Report two lists of all values each of which has values that the other lacks."""
        lists = [each for each in self.statements if each.closed and len(each.values) > 1 and each.kind != BOOLEAN]
        for first, second in combinations(lists[:_MOST_LISTS], 2):
            one, two = ({normal_text(js.text(value)) for value in each.values} for each in (first, second))
            if one - two and two - one:
                tested = {normal_text(js.text(value)) for value in self.compared}
                wrong, right = (first, second) if len(tested & one) < len(tested & two) else (second, first)
                message = (
                    f"{quoted(self.name)} is one of {_few(wrong.values)} here and one of {_few(right.values)} "
                    "elsewhere; use one list"
                )
                self._report(SPELLED, Severity.WARNING, wrong.pointer, message, "lists")
                return

    def _is_wrong(self, literal: Literal) -> bool:
        key = type(literal.value), literal.value
        if key not in self.known:
            self.known[key] = self._type(literal) or self._outside(literal) or self._spelling(literal)
        return self.known[key]

    def _report(self, rule: str, severity: Severity, pointer: str, message: str, key: str) -> bool:
        """Report one finding for each cause; the other places are the same mistake."""
        if key not in self.done:
            self.done.add(key)
            self.judge_.report(rule, severity, pointer, message)
        return True

    def _contained(self, use: Use, part: str | None) -> None:
        """Report a part that no prompt offers, where a prompt lists what there is."""
        if part is None or len(part) < _SHORTEST or self.analysis.is_given(self.name):
            return
        low = part.lower()
        offered = [value for value in self._offered if isinstance(value, str)]
        if len(offered) < 2 or any(low in value.lower() for value in offered):
            return
        if any(low in text.lower() for text in self.analysis.texts.read):
            return
        self.judge_.judged.add(use.pointer)
        near = nearest_name(part, offered)
        hint = f"; did you mean {quoted(near.name)}?" if near else "; use one of these, or add it to the prompt"
        message = f"no prompt offers {value_text(part)} for {quoted(self.name)} ({_few(offered)}){hint}"
        pointer = f"{use.pointer.removesuffix('/var')}/contains"
        self._report(OUTSIDE, Severity.WARNING, pointer, message, f"contains {part}")

    @cached_property
    def _offered(self) -> list[Any]:
        """Return the values that a prompt lists for the variable: all of them, or marked words in its sentence."""
        if self.domain is not None:
            return list(self.domain.values)
        for definition in self.analysis.setters(self.name):
            words = _MARKED_VALUE.findall(_same_sentence(definition.text, definition.span[1]))
            words = [word for word in words if word != self.name and word not in self.analysis.by_name]
            if len(words) > 1:
                return words
            start = _ANY_OF.search(definition.text, definition.span[1], definition.span[1] + _OFFERED_WITHIN)
            if start is not None and (values := read_list(definition.text, start.end())):
                return values
        return []

    def _bound(self, use: Use, operator: str) -> None:
        pointer = f"{use.pointer.removesuffix('/var')}/{operator}"
        holds = self._holds()
        if holds is None and (scale := self._scale) is not None:
            self._off_scale(use, operator, pointer, scale)
        if holds is None:
            text = next((value for value in self.compared if _is_text(value)), None)
            if text is None or NUMBER in self.kinds:
                return
            what = f"other conditions compare {quoted(self.name)} with text ({value_text(text)})"
            kind = "text"
        else:
            what, kind = holds
        self.judge_.judged.add(use.pointer)
        self._report(TYPE, Severity.WARNING, pointer, f"{what}; {quoted(operator)} is always false on {kind}", operator)

    def _off_scale(self, use: Use, operator: str, pointer: str, scale: tuple[float, float]) -> None:
        """Report a bound that no value of the scale meets, or every one."""
        lowest, highest = scale
        bound = use.leaf.raw[operator] if use.leaf is not None else None
        if isinstance(bound, bool) or not isinstance(bound, int | float):
            return
        if math.isinf(highest):
            self._off_count(use, operator, pointer, bound)
            return
        ends = {compare(operator, lowest, bound), compare(operator, highest, bound)}
        # 0.7 on a scale from 0 to 10 is most likely a share of it.
        is_share = 0 < bound < 1 and highest >= _MANY_POINTS and lowest.is_integer() and highest.is_integer()
        if not is_share and (len(ends) > 1 or (True in ends and lowest <= bound <= highest)):
            return
        self.judge_.judged.add(use.pointer)
        test = f"'{operator} {js.number_text(bound)}'"
        effect = "tests only its very end" if len(ends) > 1 else f"is {'always' if True in ends else 'never'} true"
        message = (
            f"{quoted(self.name)} is {_range_text(scale)} by its prompt, so {test} {effect}; compare with a number of "
            "that scale"
        )
        self._report(OUTSIDE, Severity.WARNING, pointer, message, f"scale {operator} {bound}")

    def _off_count(self, use: Use, operator: str, pointer: str, bound: float) -> None:
        """Report a bound that no number of things can reach."""
        if bound < 0 or (bound == 0 and operator == "lt"):
            self.judge_.judged.add(use.pointer)
            test, effect = f"'{operator} {js.number_text(bound)}'", "always" if operator[0] == "g" else "never"
            message = f"{quoted(self.name)} is a number of things by its prompt, so {test} is {effect} true"
            self._report(OUTSIDE, Severity.WARNING, pointer, message, f"count {operator} {bound}")

    @cached_property
    def _scale(self) -> tuple[float, float] | None:
        """Return the only range of numbers that the sentences which set the variable name."""
        scales: set[tuple[float, float]] = set()
        for definition in self.analysis.setters(self.name):
            sentence = sentence_at(definition.text, *definition.span)
            if _PERCENT.search(sentence):
                scales.add((0.0, 100.0))
            if not any(map(str.isdecimal, sentence)):
                continue
            for match in _RANGE.finditer(_IN_BRACKETS.sub("", sentence)):
                low, high = float(match[1] or 1), float(match[2] or match[3])
                if low < high:
                    scales.add((low, high))
        if not scales and self.kinds == {NUMBER} and self._is_count:
            return 0.0, math.inf
        return next(iter(scales)) if len(scales) == 1 else None

    @property
    def _is_count(self) -> bool:
        """Return whether the prompts that say what the variable is say that it is a number of things."""
        ends = [(each.text, each.span[1]) for each in self.statements]
        return bool(ends) and all(_NUMBER_OF.search(text, end, end + _OFFERED_WITHIN) for text, end in ends)

    def _holds(self) -> tuple[str, str] | None:
        """Return what the prompts say the variable holds, when that is not a number."""
        name = quoted(self.name)
        if self.domain is not None:
            if self.domain.kind == BOOLEAN:
                return f"{name} holds true or false", "a boolean"
            if all(_is_text(value) for value in self.domain.values):
                return f"{name} holds text ({_few(self.domain.values)})", "text"
        elif LIST in self.kinds and NUMBER not in self.kinds:
            return f"{name} holds a list", "a list"
        return None

    def _type(self, literal: Literal) -> bool:
        value, name = literal.value, quoted(self.name)
        if _is_text(value):
            if self.domain is not None:
                if self.domain.kind != BOOLEAN or _is_among(value, self.domain.values):
                    return False
                message = f"{name} is true or false, never {value_text(value)}; compare with true or false"
                return self._report(TYPE, Severity.WARNING, literal.pointer, message, f"text {value}")
            # A variable can have every value that a prompt gives it.
            other = self._boolean
            stated = other is not None and any(_is_among(value, statement.values) for statement in self.statements)
            if other is not None and not stated and len(self._texts) == 1 and LIST not in self.kinds:
                message = (
                    f"other conditions compare {name} with {value_text(other)}, this one with {value_text(value)}; "
                    "a variable that is true or false never equals another string"
                )
                return self._report(TYPE, Severity.WARNING, literal.pointer, message, f"text {value}")
            if self._is_free_text and not self._is_said(value):
                message = (
                    f"the prompt asks for a description as {quoted(self.name)}, which hardly ever equals "
                    f"{value_text(value)}; list the values in the prompt"
                )
                return self._report(TYPE, Severity.WARNING, literal.pointer, message, "free text")
            if self._is_number:
                is_range = self._scale is not None and not math.isinf(self._scale[1])
                scale = f" ({_range_text(self._scale)})" if self._scale is not None and is_range else ""
                message = f"{name} holds a number{scale}, never {value_text(value)}; compare with a number"
                return self._report(TYPE, Severity.WARNING, literal.pointer, message, f"text {value}")
        if self.kinds == {LIST} and not is_structure(value):
            message = f"{name} holds a list, which never equals {value_text(value)}; compare a variable with one value"
            return self._report(TYPE, Severity.WARNING, literal.pointer, message, "list")
        return False

    def _is_said(self, value: str) -> bool:
        """Return whether a sentence that sets the variable says a value."""
        setters = self.analysis.setters(self.name)
        return any(value.lower() in sentence_at(each.text, *each.span).lower() for each in setters)

    @cached_property
    def _is_free_text(self) -> bool:
        """Return whether every prompt that sets the variable asks for words that the agent chooses."""
        setters = self.analysis.setters(self.name)
        texts = [(each.text, each.span[1]) for each in setters]
        is_free = bool(texts) and all(_FREE_TEXT.match(text, end) is not None for text, end in texts)
        return is_free and not self.statements and not self.analysis.is_given(self.name)

    @cached_property
    def _is_number(self) -> bool:
        """Return whether prompts say that the variable holds a number, and nothing else."""
        if self.domain is not None or not self.analysis.is_set(self.name) or self.analysis.is_given(self.name):
            return False
        return self.kinds == {NUMBER} or (not self.kinds and self._scale is not None)

    @cached_property
    def _boolean(self) -> bool | None:
        """Return a boolean that a condition compares the variable with."""
        return next((value for value in self.compared if isinstance(value, bool)), None)

    @cached_property
    def _strings(self) -> list[str]:
        """Return the strings that conditions compare the variable with."""
        return [value for value in self.compared if isinstance(value, str)]

    @cached_property
    def _texts(self) -> set[str]:
        """Return these strings without numbers and words for true and false."""
        return {normal_text(value) for value in self._strings if _is_text(value)}

    def _outside(self, literal: Literal) -> bool:
        domain, value = self.domain, literal.value
        if domain is None or _is_among(value, domain.values):
            return False
        if domain.kind == BOOLEAN and not isinstance(value, str):
            return False
        texts = [item for item in domain.values if isinstance(item, str)]
        meant = nearest_name(value, texts) if isinstance(value, str) else None
        severity = Severity.WARNING
        if domain.kind == ONE_OF and meant is not None and meant.close and self._is_never(literal.use):
            severity = Severity.ERROR
        message = f"{quoted(self.name)} is never {value_text(value)} ({_few(domain.values)})"
        if meant is not None:
            message += f"; did you mean {quoted(meant.name)}?"
        else:
            message += "; compare with one of these, or add the value where the prompt lists them"
        return self._report(OUTSIDE, severity, literal.pointer, message, f"outside {value}")

    def _is_never(self, use: Use) -> bool:
        if use.kind != "runCondition":
            return False
        decision = self.judge_.decisions.get(use.root)
        if decision is None:
            return False
        return self.analysis.impossible((decision.condition,), within_domains=True)

    def _spelling(self, literal: Literal) -> bool:
        value = literal.value
        if self.domain is not None or not isinstance(value, str) or len(value) < _SHORTEST or not _is_text(value):
            return False
        scanner = self.analysis.scanner
        key = f"spelled {value}"
        usual = self._usual_spelling(value)
        if usual is not None:
            message = f"other conditions on {quoted(self.name)} say {value_text(usual)}, this one {value_text(value)}"
            return self._report(SPELLED, Severity.WARNING, literal.pointer, f"{message}; use one spelling", key)
        if not self.analysis.is_set(self.name) or len(self._texts) > _MANY_VALUES or scanner.occurs(value):
            return False
        for other in respelled(value):
            if scanner.occurs(other):
                return self._report(
                    SPELLED,
                    Severity.WARNING,
                    literal.pointer,
                    f"no prompt says {value_text(value)}; {self._where(other)} says {value_text(other)}",
                    key,
                )
        near = nearest_name(value, self._said_values)
        if near is None or not near.close:
            near = nearest_name(value, self._marked_words)
        if near is None or not near.close or len(near.name) < _SHORTEST or _differs_by_number(value, near.name):
            return self._unsaid(literal, value)
        return self._report(
            SPELLED,
            Severity.WARNING,
            literal.pointer,
            f"no prompt says {value_text(value)}; {self._where(near.name)} says {value_text(near.name)}",
            key,
        )

    def _unsaid(self, literal: Literal, value: str) -> bool:
        """Report a value that no prompt says, where prompts say all the others that conditions compare with."""
        analysis = self.analysis
        others = [other for other in self._said_values if _is_text(other)]
        if len(others) < len(self._texts) - 1 or not others or not analysis.is_complete or analysis.is_routine:
            return False
        if analysis.is_given(self.name) or not all(map(analysis.scanner.occurs, others)):
            return False
        message = (
            f"no prompt says {value_text(value)}, so the agent never sets {quoted(self.name)} to it; prompts say "
            f"{_few(others)}"
        )
        return self._report(OUTSIDE, Severity.WARNING, literal.pointer, message, f"unsaid {value}")

    def _usual_spelling(self, value: str) -> str | None:
        """Return how most conditions join the same words; the engine treats the spellings as different values."""
        written = self._spellings[fold(value)]
        if len(written) == 1:
            return None
        counts = Counter(map(normal_text, written))
        usual = max(counts, key=lambda spelling: counts[spelling])
        if usual == normal_text(value):
            return None
        return next(item for item in written if normal_text(item) == usual)

    @cached_property
    def _spellings(self) -> dict[str, list[str]]:
        """Return what conditions compare with, by the words it is made of."""
        spellings: dict[str, list[str]] = {}
        for value in self._strings:
            spellings.setdefault(fold(value), []).append(value)
        return spellings

    @cached_property
    def _said_values(self) -> list[str]:
        """Return the compared values that a prompt says."""
        return sorted(filter(self.analysis.scanner.occurs, set(self._strings)))

    @cached_property
    def _marked_words(self) -> list[str]:
        """Return the quoted, capitalised or hyphenated words of the steps that set the variable."""
        steps = {definition.step for definition in self.analysis.setters(self.name) if definition.step is not None}
        texts = self.analysis.texts.read_in_step
        whole = "\n".join(text for step in steps for text in texts.get(step, ()))
        words = set(map("".join, _MARKED_WORD.findall(whole)))
        return sorted(word for word in words if word not in self.analysis.by_name and word != self.name)

    def _where(self, word: str) -> str:
        """Return the step whose text contains the word, for a message."""
        pattern = re.compile(rf"(?<![\w-]){re.escape(word)}(?![\w-])", re.IGNORECASE)
        for text in self.analysis.texts:
            if text.delivered and text.step is not None and pattern.search(text.text):
                return f"step {quoted(self.analysis.steps[text.step].id)}"
        return "another prompt"


def respelled(value: str) -> list[str]:
    """Return the same words joined by hyphens, by underscores or by capitals."""
    words = [word for word in re.split(r"[-_]|(?<=[a-z0-9])(?=[A-Z])", value) if word]
    if len(words) < 2 or not all(re.fullmatch(r"[A-Za-z0-9]+", word) for word in words):
        return []
    lowered = [word.lower() for word in words]
    camel = lowered[0] + "".join(word.capitalize() for word in lowered[1:])
    spellings = ["-".join(lowered), "_".join(lowered), camel]
    return [other for other in spellings if other.lower() != value.lower()]


def _is_text(value: object) -> bool:
    """Return whether a literal is text that is neither a number nor a word for true or false."""
    if not isinstance(value, str) or normal_text(value) in _BOOLEAN_WORDS:
        return False
    if value[:1].isalpha() and value[0] != "I":
        return True  # only "Infinity" is a number that begins with a letter
    number = js.to_number(value)
    return number != number


def _is_tested(value: str, compared: list[Any]) -> int:
    return sum(normal_text(str(other)) == normal_text(value) for other in compared)


def _is_among(value: Any, values: tuple[Any, ...]) -> bool:
    """Return whether a condition would take a value for one of these."""
    return (isinstance(value, str) and value in values) or any(lenient_equal(value, item) for item in values)


def _differs_by_number(a: str, b: str) -> bool:
    """Return whether two values differ in their digits, as phase1 and phase2 do."""
    return re.sub(r"\D", "", a) != re.sub(r"\D", "", b)


def _range_text(scale: tuple[float, float]) -> str:
    return f"{js.number_text(scale[0])} to {js.number_text(scale[1])}"


def _few(values: Iterable[Any]) -> str:
    known = [value_text(value).strip("'") for value in values]
    return ", ".join(known[:8]) + (f" and {len(known) - 8} more" if len(known) > 8 else "")


def _judge_branches(judge: Judge) -> None:
    """Judge runs of sibling steps, one for each value of a variable, that omit some."""
    analysis = judge.analysis
    by_step = {
        decision.step: decision
        for decision in analysis.decisions
        if decision.kind == "runCondition" and decision.origin.via == AUTHORED
    }
    run: list[tuple[Decision, str, Any]] = []
    if len(by_step) < 2:
        return
    for index, step in enumerate(analysis.steps):
        decision = by_step.get(index)
        if (decision is None and not run) or step.origin.via == "virtual":
            continue
        branch = _branch(decision) if decision is not None else None
        same_list = not run or analysis.steps[run[-1][0].step].loop == step.loop
        if decision is not None and branch is not None and same_list and (not run or run[-1][1] == branch[0]):
            run.append((decision, *branch))
            continue
        _judge_run(judge, run)
        run = [(decision, *branch)] if decision is not None and branch is not None else []
    _judge_run(judge, run)
    if BRANCH not in judge.verdicts:
        _judge_ends(judge, by_step)


def _judge_ends(judge: Judge, by_step: dict[int, Decision]) -> None:
    """Report a value for which no step is left to run once a step has set the variable."""
    analysis = judge.analysis
    last = max(index for index, step in enumerate(analysis.steps) if step.loop is None and step.origin.via != "virtual")
    if last not in by_step:
        return
    for name in dict.fromkeys(use.name for use in analysis.uses_of_decision.get(by_step[last].pointer, ())):
        domain, first = analysis.domain(name), next(analysis.each_setter(name), None)
        if domain is None or domain.kind == BOOLEAN or first is None or first.step is None or name in judge.unset:
            continue
        later = [index for index, step in enumerate(analysis.steps) if index > first.step and step.loop is None]
        decisions = [by_step.get(index) for index in later]
        if any(decision is None or decision.pointer in judge.judged for decision in decisions):
            continue
        nodes = [analysis.node(decision.condition) for decision in decisions if decision is not None]
        lists = [statement.values for statement in analysis.statements(name) if statement.closed]
        for value in domain.values if nodes else ():
            # A value that one of several lists has is a mistake in that list.
            if (sum(value in values for values in lists) > 1 or len(lists) == 1) and all(
                node is not None and _fails(node, name, value) for node in nodes
            ):
                judge.report(
                    BRANCH,
                    Severity.WARNING,
                    by_step[later[0]].pointer,
                    f"no step runs any more when {name} is {value_text(value)}; add a step for it, or remove the value",
                )


def _fails(node: Node, name: str, value: Any) -> bool:
    """Return whether a condition is false whenever a variable has a value."""
    return node.value({leaf: leaf.holds(value) for leaf in node.leaves if leaf.variable == name}) is False


def _branch(decision: Decision) -> tuple[str, Any] | None:
    condition = decision.condition
    if condition.var is not None and len(condition.raw) == 2 and condition.equals is not None:
        return None if is_structure(condition.equals) else (condition.var, condition.equals)
    return None


def _are_alternatives(judge: Judge, run: list[tuple[Decision, str, Any]]) -> bool:
    """Return whether titles say that one of the steps runs: they share their number, as in "3a" and "3b"."""
    titles = [judge.analysis.flow.nodes[decision.step].model.title for decision, _, _ in run]
    numbers = [match[1] if (match := _TITLE_NUMBER.match(title)) else "" for title in titles]
    return bool(numbers[0]) and len(set(numbers)) == 1


def _judge_run(judge: Judge, run: list[tuple[Decision, str, Any]]) -> None:
    if len(run) < 2:
        return
    analysis, name = judge.analysis, run[0][1]
    domain = analysis.domain(name)
    values = [value for _, _, value in run]
    if domain is None or len({str(value) for value in values}) < 2 or name in judge.unset:
        return
    uses = analysis.by_name.get(name, [])
    if any(f"{decision.pointer}/var" in judge.judged for decision, _, _ in run):
        return
    named = _compared_values(uses)
    # Another kind of test may handle every value that is not named.
    if any(use.leaf is not None and "equals" not in use.leaf and "in" not in use.leaf for use in uses):
        return
    missing = [value for value in domain.values if not any(lenient_equal(value, other) for other in named)]
    if missing:
        judge.report(
            BRANCH,
            Severity.WARNING if domain.kind == ONE_OF or _are_alternatives(judge, run) else Severity.INFO,
            run[0][0].pointer,
            f"no step handles {name} = {' or '.join(value_text(value) for value in missing[:4])}",
        )
