"""Artifacts that are not JSON documents: a prompt is plain text, an output folder is a folder."""

from __future__ import annotations

from pydantic import Field

from tools.models.blocks.output import BlockOutput
from tools.models.blocks.scalars import Open, SafeId, Telling
from workrail_lint.documents.models import Listed, Maybe


class Prompt(Open):
    """The prompt of one block."""

    node_id: SafeId = Field(description="The node it is for.")
    text: Telling = Field(description="The prompt, line feeds between lines and none at the end.")


class OutputFolder(Open):
    """The output folder of a run."""

    outputs: Listed[BlockOutput] = Field(description="What the blocks left behind, in plan order.")
    rejected: Maybe[Listed[SafeId]] = Field(None, description="The nodes whose own files were set aside.")
