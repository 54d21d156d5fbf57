"""Validation criteria: a bare rule, and rules without a message.

Imported for every document, because only it knows which rule lacks a message; so it stays light.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from workrail_lint.documents import pointer as pointers

if TYPE_CHECKING:
    from workrail_lint.systems.workrail.compat.draft import Draft
    from workrail_lint.systems.workrail.compat.frames import Frame

CRITERIA = "validationCriteria"
_CONNECTIVES = ("and", "or", "not")
# What each kind of rule demands: the member that goes into the message, and the message.
_MESSAGES: dict[str, tuple[str | None, str]] = {
    "contains": ("value", "Output must include: "),
    "regex": ("pattern", "Pattern mismatch: "),
    "length": (None, "Output length out of bounds"),
    "schema": (None, "Output does not match the schema"),
}


def is_bare_rule(criteria: object) -> bool:
    """One rule where a list of rules or a composition belongs."""
    return isinstance(criteria, dict) and _is_rule(criteria)


def has_work(criteria: object) -> bool:
    """Whether either rule below has something to do."""
    return is_bare_rule(criteria) or next(_without_message(criteria), None) is not None


def bare_rule(draft: Draft, frame: Frame) -> None:
    """D14: a bare rule becomes a list of one."""
    from workrail_lint.systems.workrail.compat.codes import BARE_RULE

    criteria = frame.step.get(CRITERIA)
    origin = pointers.child(frame.origin, CRITERIA)
    if not is_bare_rule(criteria):
        return
    if draft.allows(BARE_RULE, origin, CRITERIA, criteria, [criteria], step=frame.pointer):
        draft.own(frame.path)[CRITERIA] = [criteria]
        draft.places.moved(frame.pointer + pointers.encode((CRITERIA, 0)), origin)


def rule_messages(draft: Draft, frame: Frame) -> None:
    """D15: a rule without a message gets the one its kind implies."""
    from workrail_lint.systems.workrail.compat.codes import RULE_MESSAGE

    criteria = frame.step.get(CRITERIA)
    wrapped: tuple[pointers.Token, ...] = (0,) if is_bare_rule(criteria) else ()
    base = pointers.child(frame.origin, CRITERIA)
    for tokens, rule, message in _without_message(criteria):
        origin = base + pointers.encode(tokens)
        after = {**rule, "message": message}
        if draft.allows(RULE_MESSAGE, origin, "rule without message", rule, after, step=frame.pointer):
            path = (*frame.path, CRITERIA, *wrapped, *tokens)
            draft.own(path)["message"] = message
            draft.places.made(pointers.encode((*path, "message")), origin)


_Found = tuple[tuple[pointers.Token, ...], dict[str, Any], str]


def _without_message(criteria: object) -> Iterator[_Found]:
    """Each rule that lacks a message, in document order: where it is, itself, and what it should say."""
    stack: list[tuple[tuple[pointers.Token, ...], object]] = [((), criteria)]
    while stack:
        tokens, value = stack.pop()
        if isinstance(value, list):
            stack += [((*tokens, index), item) for index, item in reversed(list(enumerate(value)))]
        elif not isinstance(value, dict):
            continue
        elif _is_rule(value):
            message = _message(value)
            if message is not None:
                yield tokens, value, message
        elif "type" not in value:
            inner = [name for name in value if name in _CONNECTIVES]
            stack += [((*tokens, name), value[name]) for name in reversed(inner)]


def _is_rule(value: dict[str, Any]) -> bool:
    return "type" in value and not any(connective in value for connective in _CONNECTIVES)


def _message(rule: dict[str, Any]) -> str | None:
    """The message a rule should have got; None when it has one, or when its kind or text is not known."""
    kind = rule["type"]
    if "message" in rule or not isinstance(kind, str) or kind not in _MESSAGES:
        return None
    member, text = _MESSAGES[kind]
    if member is None:
        return text
    wanted = rule.get(member)
    return text + wanted if isinstance(wanted, str) else None
