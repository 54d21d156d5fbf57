"""The trace of a run: its golden, and what only a driver can see. Any part can be missing."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from tools.models.blocks.run import ExtendedFanInResult
from tools.models.blocks.scalars import AnyText, Open, Texts
from workrail_lint.documents.models import Listed, Maybe, Number

_Number = Annotated[float, Number()]
_Object = dict[str, Any]


class EventData(Open):
    """The data of an event; which members there are depends on its type."""

    lane: Maybe[AnyText] = Field(None, description="The lane it is about.")
    group_id: Maybe[AnyText] = Field(None, description="The group of that lane.")


class RunEvent(Open):
    """An event: when, what, whose, and what it says."""

    n: Maybe[_Number] = Field(None, description="Its number, from 1.")
    type: Maybe[AnyText] = Field(None, description="What happened.")
    node_id: Maybe[AnyText] = Field(None, description="The node it happened to.")
    data: Maybe[EventData] = Field(None, description="What it says.")


class TraceStep(Open):
    """One block that ran."""

    node: Maybe[AnyText] = Field(None, description="The node, in a forEach with the number of the iteration.")
    step_index: Any = Field(None, description="The number of the node in the plan.")
    env: Maybe[dict[str, AnyText]] = Field(None, description="The environment it was given.")
    detected: Maybe[Texts] = Field(None, description="The files that were seen to change.")
    output: Maybe[_Object] = Field(None, description="The output it left behind.")
    synthetic: Any = Field(None, description="Why the output was written in its place; null if it was not.")


class MergeContent(Open):
    """Hashes of files before and after a merge, by path."""

    main: Maybe[_Object] = Field(None, description="Those of the main workspace, after the merge.")
    lanes: Maybe[dict[str, _Object]] = Field(None, description="Those of each lane.")


class GroupMerge(Open):
    """The merge of one group."""

    group: Maybe[AnyText] = Field(None, description="The group.")
    completion_order: Maybe[Texts] = Field(None, description="The lanes, first to finish first.")
    result: Maybe[ExtendedFanInResult] = Field(None, description="How the lanes came together.")
    applied: Maybe[_Object] = Field(None, description="Whose version of each path was taken.")
    content: Maybe[MergeContent] = Field(None, description="What the files contained.")


class FileAccess(Open):
    """A file that a lane touched."""

    n: Maybe[_Number] = Field(None, description="After which event.")
    lane: Maybe[AnyText] = Field(None, description="The lane.")
    workspace: Maybe[AnyText] = Field(None, description="In whose workspace; `main` is the main one.")
    path: Maybe[AnyText] = Field(None, description="The file.")


class FileCopy(Open):
    """A file that a merge copied to the main workspace."""

    n: Maybe[_Number] = Field(None, description="After which event.")
    group_id: Maybe[AnyText] = Field(None, description="The group that was merged.")
    path: Maybe[AnyText] = Field(None, description="The file.")


class RunTrace(Open):
    """The trace of a run."""

    plan: Any = Field(None, description="The plan: nodes, and groups of nodes.")
    events: Maybe[Listed[RunEvent]] = Field(None, description="What happened, in order.")
    steps: Maybe[Listed[TraceStep]] = Field(None, description="The blocks that ran, in order.")
    fan_ins: Maybe[Listed[GroupMerge]] = Field(None, description="The merges, in order.")
    output_folder: Maybe[Texts] = Field(None, description="The files of the output folder.")
    limits: Maybe[_Object] = Field(None, description="The retries that nodes are allowed.")
    accesses: Maybe[Listed[FileAccess]] = Field(None, description="The files that lanes touched.")
    copies: Maybe[Listed[FileCopy]] = Field(None, description="The files that merges copied.")
    cold: Maybe[_Object] = Field(None, description="The golden of the run with cold containers.")
    warm: Maybe[_Object] = Field(None, description="The golden of the run with warm containers.")
    permutations: Maybe[Listed[_Object]] = Field(None, description="Goldens with other completion orders.")
