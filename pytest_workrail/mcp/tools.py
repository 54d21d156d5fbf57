"""A set of tools: what each is called, does and takes, and what it answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from pytest_workrail.records import Record


class ToolSpec(Record):
    """A tool as a client lists it."""

    name: str
    title: str
    description: str
    input_schema: dict[str, Any]
    read_only: bool
    is_repeatable: bool = True  # the same call again changes nothing more


class ToolAnswer(Record):
    """What a tool answers: text for the agent to read, and the same as data."""

    text: tuple[str, ...]
    data: Mapping[str, Any]
    is_error: bool = False


class Toolset(Protocol):
    """A closed set of tools."""

    @property
    def instructions(self) -> str:
        """What an agent is to know before it calls anything."""
        ...

    @property
    def specs(self) -> Sequence[ToolSpec]:
        """Every tool, in the order in which it is listed."""
        ...

    def call(self, name: str, arguments: dict[str, Any]) -> ToolAnswer:
        """Call one of the tools. Whatever goes wrong is an answer; nothing is raised."""
        ...

    def leave(self) -> None:
        """The client is gone."""
        ...
