"""Names from a closed set, as tests write them. An unknown name is an error with a suggestion."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from enum import Enum
from typing import TypeVar

from workrail_lint.base.suggest import hint

_Member = TypeVar("_Member", bound=Enum)


def one_of(what: str, name: str, known: Iterable[str]) -> str:
    """The name, if it is a known one."""
    __tracebackhide__ = True
    names = list(known)
    if name not in names:
        raise ValueError(f"unknown {what} '{name}'{hint(str(name), names)}")
    return name


def member_of(kind: type[_Member], what: str, name: str) -> _Member:
    """The member of an enum with this value."""
    __tracebackhide__ = True
    return kind(one_of(what, name, [member.value for member in kind]))


def unknown_step_message(step_id: str, known: Collection[str]) -> str:
    """The message about a step that a workflow does not have."""
    return f"The workflow has no step '{step_id}'{hint(step_id, known, 'steps')}"
