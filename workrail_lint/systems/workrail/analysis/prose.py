"""Classification of the sentences that name a variable: they set it, test it, or only mention it.

Works on the surroundings of one mention: the line, the clause before the name, the words after it. Every window is cut,
so that no expression ever runs over a long text.
"""

from __future__ import annotations

import re
from itertools import islice

from workrail_lint.base.patterns import Pattern, folded
from workrail_lint.base.result import Record
from workrail_lint.systems.workrail.analysis.definitions_and_uses import LISTED, MENTIONED, STATED

WINDOW = 400  # characters of a clause
_NEARBY = 120  # characters within which "variable" says what the next words are
MAX_LINES = 40  # bullets between a heading and the one it governs
CONDITION, PLAIN = "condition", "plain"

_STRONG = (
    "set capture record store save update initialize assign define derive determine compute calculate classify choose "
    "decide select populate increment increase decrement decrease append track mark observe maintain adjust cap "
    "persist reset load downgrade upgrade raise lower count estimate reclassify put fill pick emit output return "
    "submit create build collect extract produce generate declare rate score"
)
_WEAK = (
    "list add identify write include provide pass confirm carry prepare make keep establish gather name report note "
    "refine assess resolve revise describe"
)
# Forms that are surely verbs; plurals such as "records" or "outputs" are mostly nouns.
_FORMS = {"setting": "set", "updating": "update", "recording": "record", "capturing": "capture", "sets": "set"}
STRONG = frozenset((*_STRONG.split(), *_FORMS, "initialise", "re-set", "re-classify"))
WEAK = frozenset(_WEAK.split())
_VERBS = STRONG | WEAK
_DIRECT_WORDS = "set update record capture store mark increment reset append"
_DIRECT = frozenset(_DIRECT_WORDS.split())
_HEADINGS = (
    "set capture record store update initialize context variable variables keys fields output outputs provide return "
    "classify define track emit produce derive submit include determine maintain create"
)
_HEADING_WORDS = frozenset(_HEADINGS.split())
_CONDITION_WORDS = frozenset(
    ("if", "when", "whenever", "unless", "because", "while", "until", "since", "where", "once")
)
# Between a verb and the name it sets; with more words than these the verb is about something else.
_FEW, _MANY = 6, 16
_FILLERS = frozenset(("and", "or", "the", "a", "an", "both", "all", "each", "then", "also"))

_BALANCED = Pattern(r"\([^()]*\)|\{[^{}]*\}|\[[^\[\]]*\]")
_CUTS = (". ", "; ", " -- ", " — ", " – ")
_SENTENCE_END = Pattern(r"[.!?;]\s+(?=[A-Z`*\-(])")
_WORD = Pattern(r"[A-Za-z][A-Za-z0-9_'-]*")
_NAME_LIKE = Pattern(r"`[^`\n]{0,80}`|\b[a-z]+[A-Z_][A-Za-z0-9_]*|\b[a-z]+_[a-z0-9_]+")
_PASSIVE = Pattern(
    r"(?:\s*\([^()\n]{0,200}\))?\s+(?:is|are|must be|should be|shall be)\s+(?:explicitly\s+|always\s+)?"
    r"(?:set|recorded|captured|stored|updated|classified|populated|initialized|derived)\b",
    re.IGNORECASE,
)
_STOPS = Pattern(
    r"\b(?:continue|stop|proceed|exit|repeat)\b(?:\s+(?:only\s+)?(?:if|when|while|until))?[^,.;]*$", re.IGNORECASE
)
_PREPOSITION = Pattern(
    r"\b(?:using|against|from|based on|with|per|via|of|for|than)\s+(?:the\s+|each\s+|current\s+)?[`'\"*(]*"
    r"(?:@[`'\"*]*\s*,?\s*(?:and|or)?\s*[`'\"*]*)*$",
    re.IGNORECASE,
)
_FIRST_NUMBER = Pattern(r"(?: (?:starts|begins))? (?:at|with|from) -?\d")
_BEGINNING = ("start", "begin")
_JOINED = Pattern(r"(?:,|\band)\s+[`'\"]?$", re.IGNORECASE)
_NEGATED = Pattern(r"\b(?:do not|don't|never|must not|mustn't|without|cannot|should not)\b", re.IGNORECASE)
_VARIABLE_BEFORE = Pattern(r"\bvariables?\b[^.!?;]*$", re.IGNORECASE)
_SET_BEFORE = Pattern(r"\b(?:set|record|store|save|keep) (?:the )?$", re.IGNORECASE)
_SET_AFTER = (" to ", " to:", ": ", " as ", " as:", " (", " based on ")
_CALLERS = ("caller", "coordinator", "trigger", "dispatcher", "parent workflow", "delegating workflow", "the gate")
_PROVIDED = Pattern(
    r"\b(?:provided|passed|supplied|given|injected|sent|set)\s+(?:in\s+|to\s+you\s+)?by\s+(?:the|its|a|your)\s+"
    r"(?:calling\s+|parent\s+|delegating\s+)?(?:caller|coordinator|trigger|dispatcher|workflow|gate)\b",
    re.IGNORECASE,
)
_PROVIDES = Pattern(
    r"\b(?:caller|coordinator|trigger|dispatcher|(?:parent|delegating|calling)\s+workflow|gate)\s+(?:\w+\s+)?"
    r"(?:provides|passes|supplies|gives|injects|sends|sets)\b",
    re.IGNORECASE,
)
_CLOSING = "`'\"*_"
_BETWEEN = " `'\"*:"  # a verb and its name, where no word is
_BULLETS = ("-", "*", "+", "•")
_TYPES = ("number", "boolean", "bool", "array", "list", "string", "integer", "object", "enum")
# What the patterns above need somewhere, or first: compiling one takes longer than reading many sentences without it.
_STOP_WORDS = ("continue", "stop", "proceed", "exit", "repeat")
_PREPOSITIONS = ("using", "against", "from", "based", "with", "per", "via", "of", "for", "than")
_NEGATIONS = ("not", "n't", "never", "without")
_PASSIVE_STARTS = frozenset("(iamsIAMS\u0130\u0131\u017f")


class Reading(Record):
    """The classification of a mention."""

    __slots__ = ("kind", "role")

    def __init__(self, role: str, kind: str) -> None:
        self.role = role  # stated, listed, mentioned, condition or plain
        self.kind = kind  # passive, outputRequired, assignment, verb, heading, bullet, example


def is_plain_word(name: str) -> bool:
    """Return whether a name could as well be an English word: it has neither an inner capital nor an underscore."""
    return "_" not in name and name[1:].lower() == name[1:]


def has_any(text: str, words: tuple[str, ...]) -> bool:
    """Return whether a text has one of the words, in any case and also as a part of another."""
    return any(map(folded(text).__contains__, words))


def read_mention(text: str, start: int, end: int, field: str) -> Reading | None:
    """Return what the text does with the name at these offsets; None when it is an ordinary word or a token there."""
    line_start = text.rfind("\n", 0, start) + 1
    line_end = text.find("\n", end)
    if line_end < 0:
        line_end = len(text)
    before = text[max(line_start, start - WINDOW) : start]
    after = text[end : min(line_end, end + WINDOW)]
    if before.endswith("context."):
        before = before[:-8]
    if is_plain_word(text[start:end]) and not _is_marked(text, line_start, start, before, after):
        return None
    rest = after.lstrip(_CLOSING)
    clause, braced = _clause(before[sentence_start(before) :])
    if braced:
        fenced = before.endswith('"') and after.startswith('"') and rest.lstrip().startswith(":")
        if fenced and _in_fence(text, start):
            return Reading(LISTED, "example")
        return Reading(MENTIONED, "example")
    if before.endswith('"') and rest.startswith(":") and after.startswith('"') and _in_fence(text, start):
        return Reading(LISTED, "example")
    role, kind = _role(text, line_start, start, clause, rest, field)
    if role in (STATED, LISTED) and has_any(clause, _NEGATIONS) and _NEGATED.search(clause):
        role = MENTIONED
    return Reading(role, kind)


def comes_from_caller(text: str, start: int, end: int) -> bool:
    """Return whether a sentence says that whoever starts the workflow provides the variable it names."""
    if not any(map(text.__contains__, _CALLERS)):
        return False
    sentence = sentence_at(text, start, end)
    return _PROVIDED.search(sentence) is not None or _PROVIDES.search(sentence) is not None


def sentence_at(text: str, start: int, end: int) -> str:
    """The sentence around a name, within its line."""
    line_end = text.find("\n", end)
    before = text[max(text.rfind("\n", 0, start) + 1, start - WINDOW) : start]
    after = text[end : min(line_end if line_end >= 0 else len(text), end + WINDOW)]
    if before.endswith("context."):
        before = before[:-8]
    match = _SENTENCE_END.search(after)
    stop = len(after) if match is None else match.start() + 1
    return (before[sentence_start(before) :] + text[start:end] + after[:stop]).strip()


def sentence_start(before: str) -> int:
    """Return where the last sentence of a text begins."""
    # Printable text has no other space than the plain one.
    if before.isprintable() and not (". " in before or "; " in before or "! " in before or "? " in before):
        return 0
    start = 0
    for match in _SENTENCE_END.finditer(before):
        start = match.end()
    return start


def _role(text: str, line_start: int, start: int, clause: str, rest: str, field: str) -> tuple[str, str]:
    """The first row of the table that applies."""
    is_condition = _starts_condition(clause) and _WORD.findall(clause)[-1].lower() not in _DIRECT
    if not is_condition and rest.lstrip()[:1] in _PASSIVE_STARTS and _PASSIVE.match(rest):
        return STATED, "passive"
    if is_condition:
        return CONDITION, ""
    if field == "outputRequired":
        return STATED, "outputRequired"
    if _is_assigned(rest) and not (has_any(clause, _STOP_WORDS) and _STOPS.search(clause)):
        return STATED, "assignment"
    if _FIRST_NUMBER.match(rest) and (has_any(rest[:8], _BEGINNING) or has_any(clause, _BEGINNING)):
        return STATED, "assignment"
    # "Set a to …, and b to …" sets both, however much is said about the first. So does "Record … as a, and … as b".
    is_another = (rest.startswith(" to ") and _JOINED.search(clause)) or clause.rstrip(_BETWEEN).endswith(" as")
    strength = _verb_strength(clause, _MANY if is_another else _FEW)
    if strength:
        return strength, "verb"
    if _is_head(text, line_start, start):
        if _is_governed(text, line_start):
            return STATED, "heading"
        following = rest.lstrip()
        if not following or following[0] in ":=(,—–→" or following.startswith(("--", "->")):
            return LISTED, "bullet"
    return PLAIN, ""


def _is_head(text: str, line_start: int, start: int) -> bool:
    if start - line_start > 40:
        return False
    head = text[line_start:start].removesuffix("context.").rstrip(_CLOSING)
    mark = head.strip()
    return not mark or (_is_bullet(mark) and head[-1].isspace())


def _is_bullet(mark: str) -> bool:
    return mark in _BULLETS or (len(mark) <= 4 and mark.endswith((".", ")")) and mark[:-1].isdecimal())


def _is_assigned(rest: str) -> bool:
    """Return whether a name is followed by `=` or `:=`, but not by `==` or `=>`."""
    following = rest.lstrip().removeprefix(":")
    return following[:1] == "=" and following[1:2] not in ("=", ">")


def _is_marked(text: str, line_start: int, start: int, before: str, after: str) -> bool:
    """Return whether an everyday word stands there as the name of a variable."""
    last, following = before[-1:], after[:1]
    if last in ("`", "'", '"') and last == following:
        return True
    if last == "`" or following == "`":
        return True
    if _is_assigned(after) and not after.startswith(" = ="):
        return True
    unquoted = after.lstrip("`'\"*").lstrip()
    if unquoted[:1] == "(" and folded(unquoted[1:20]).startswith(_TYPES):
        return True
    nearby = before[-_NEARBY:]
    if has_any(nearby, ("variable",)) and _VARIABLE_BEFORE.search(nearby):
        return True
    if (after.startswith(_SET_AFTER) or after.strip() == ":") and _SET_BEFORE.search(nearby):
        return True
    is_bullet = before.lstrip()[:1] in _BULLETS
    return is_bullet and _is_head(text, line_start, start) and _is_governed(text, line_start)


def _clause(prefix: str) -> tuple[str, bool]:
    """The clause before a name without what is in brackets, and whether the name is inside open braces."""
    clause = prefix
    if "(" in clause or "{" in clause or "[" in clause:
        for _ in range(4):
            shorter = _BALANCED.sub(" ", clause)
            if shorter == clause:
                break
            clause = shorter
        if "{" in clause:
            return clause, True
    cut = 0
    for mark in _CUTS:
        if mark in clause:
            cut = max(cut, clause.rfind(mark) + len(mark))
    bracket = clause.rfind("(")
    # "If the cause is known (x = true)" tests the variable, in brackets or not.
    if bracket >= cut and not _starts_condition(clause[cut:bracket]):
        cut = bracket + 1
    return clause[cut:], False


def _starts_condition(clause: str) -> bool:
    tail = clause[max(clause.rfind(","), clause.rfind(":")) + 1 :]
    match = _WORD.search(tail)
    return match is not None and match[0].lower() in _CONDITION_WORDS


def _verb_strength(clause: str, most: int) -> str | None:
    """Return whether the last verb of the clause is about the name that follows it: stated, listed or None."""
    clause_words = (
        _WORD.findall(clause.lower()) if clause.isascii() else [word.lower() for word in _WORD.findall(clause)]
    )
    if _VERBS.isdisjoint(clause_words):
        return None
    last = len(clause_words) - 1
    while clause_words[last] not in _VERBS:
        last -= 1
    strength = STATED if clause_words[last] in STRONG else LISTED
    if last == len(clause_words) - 1 and clause.rstrip(_BETWEEN).lower().endswith(clause_words[last]):
        return strength  # nothing is between the two
    verb = next(islice(_WORD.finditer(clause), last, None))
    gap = clause[verb.end() :]
    if not gap.islower() or "`" in gap or "_" in gap:
        gap = _NAME_LIKE.sub("@", gap)
    if has_any(gap, _PREPOSITIONS) and _PREPOSITION.search(gap):
        return None
    words = [word for word in _WORD.findall(gap) if word.lower() not in _FILLERS]
    return strength if len(words) <= most else None


def _is_governed(text: str, line_start: int) -> bool:
    """Return whether the bullets that the line belongs to follow a heading that speaks of setting things."""
    end = line_start - 1
    own = _indent(text, line_start)
    blank = False
    for _ in range(MAX_LINES):
        if end < 0:
            return False
        start = text.rfind("\n", 0, end) + 1
        line = text[max(start, end - WINDOW) : end]
        stripped = line.strip()
        if not stripped:
            if blank:
                return False
            blank = True
        else:
            indent = _indent(text, start)
            mark = stripped.split(None, 1)[0]
            bulleted = _is_bullet(mark) and len(mark) < len(line.lstrip())
            if not bulleted or indent < own:
                heading = stripped.rstrip("*_ ")
                if heading.endswith(":"):
                    return not _HEADING_WORDS.isdisjoint(word.lower() for word in _WORD.findall(heading))
                if not bulleted and indent <= own:
                    return False
                own = min(own, indent)
            blank = False
        end = start - 1
    return False


def _indent(text: str, start: int) -> int:
    end = start
    while end < len(text) and text[end] == " " and end - start < 80:
        end += 1
    return end - start


def _in_fence(text: str, position: int) -> bool:
    return text.count("```", 0, position) % 2 == 1
