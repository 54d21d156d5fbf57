"""The output of a block, in the contract's three kinds of deliverables and in the extended six."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Discriminator, Field, Tag

from tools.models.blocks.scalars import AnyText, HarmlessPath, Open, SafeId, Telling, Texts, Timestamp
from workrail_lint.documents.models import ByMember, Listed, Maybe, Number, OneOf
from workrail_lint.systems.blocks.vocabulary import BlockType, OutputStatus

Count = Annotated[int, Number(0, whole=True)]


class PlanDeliverables(Open):
    """A plan: a document, a task list, or both."""

    block_type: Literal["plan"] = Field(description="The kind of deliverables.")
    markdown_document: Maybe[AnyText] = Field(None, description="The plan as a document.")
    task_list: Maybe[Texts] = Field(None, description="The tasks, one text each.")


class CodeDeliverables(Open):
    """Changes to files."""

    block_type: Literal["code"] = Field(description="The kind of deliverables.")
    files_changed: Maybe[Texts] = Field(None, description="The files that were modified or created.")
    diff_summary: Maybe[AnyText] = Field(None, description="What changed, in words.")


class GenericDeliverables(Open):
    """Anything else, in words."""

    block_type: Literal["generic"] = Field(description="The kind of deliverables.")
    summary: Maybe[AnyText] = Field(None, description="What the block found or did.")


class FileDiff(Open):
    """How one file changed."""

    path: AnyText = Field(description="The file.")
    old_content: Maybe[AnyText] = Field(None, description="What it held before.")
    new_content: Maybe[AnyText] = Field(None, description="What it holds now.")


class DetailedCodeDeliverables(CodeDeliverables):
    """Changes to files, with their content."""

    file_diffs: Maybe[Listed[FileDiff]] = Field(None, description="The changes file by file.")


class TestResults(Open):
    """How many tests ended how."""

    passed: Maybe[Count] = Field(None, description="How many passed.")
    failed: Maybe[Count] = Field(None, description="How many failed.")
    skipped: Maybe[Count] = Field(None, description="How many did not run.")


class TestDeliverables(Open):
    """The result of a test run."""

    block_type: Literal["test"] = Field(description="The kind of deliverables.")
    test_results: Maybe[TestResults] = Field(None, description="The counts.")
    summary: Maybe[AnyText] = Field(None, description="What the tests showed.")


class ReviewDeliverables(Open):
    """The result of a review."""

    block_type: Literal["review"] = Field(description="The kind of deliverables.")
    findings: Maybe[Texts] = Field(None, description="What was found.")
    approved: Maybe[bool] = Field(None, description="Whether the work may go on as it is.")
    summary: Maybe[AnyText] = Field(None, description="The verdict in words.")


class DevopsDeliverables(Open):
    """The changes to systems."""

    block_type: Literal["devops"] = Field(description="The kind of deliverables.")
    operations: Maybe[Texts] = Field(None, description="What was done.")
    status: Maybe[AnyText] = Field(None, description="How things stand now.")
    summary: Maybe[AnyText] = Field(None, description="The whole in words.")


Deliverables = Annotated[
    Annotated[PlanDeliverables, Tag("plan")]
    | Annotated[CodeDeliverables, Tag("code")]
    | Annotated[GenericDeliverables, Tag("generic")],
    Discriminator(ByMember("blockType")),
]
ExtendedDeliverables = Annotated[
    Annotated[PlanDeliverables, Tag("plan")]
    | Annotated[DetailedCodeDeliverables, Tag("code")]
    | Annotated[GenericDeliverables, Tag("generic")]
    | Annotated[TestDeliverables, Tag("test")]
    | Annotated[ReviewDeliverables, Tag("review")]
    | Annotated[DevopsDeliverables, Tag("devops")],
    Discriminator(ByMember("blockType")),
]


class BlockOutput(Open):
    """The file a block leaves behind."""

    block_id: SafeId = Field(description="The node whose block this is.")
    block_type: OneOf[BlockType] = Field(description="What the block was for.")
    status: OneOf[OutputStatus] = Field(description="How it ended.")
    deliverables: Deliverables = Field(description="What it produced.")
    summary: Telling = Field(description="One to three sentences for a person.")
    files_modified: Listed[HarmlessPath] = Field(description="Files that were there and changed; empty when none.")
    files_created: Listed[HarmlessPath] = Field(description="Files that are new; empty when none.")
    timestamp: Timestamp = Field(description="When the block ended, as ISO-8601.")


class ExtendedBlockOutput(BlockOutput):
    """The file a block leaves behind, in the extended profile."""

    deliverables: ExtendedDeliverables = Field(description="What it produced.")  # type: ignore[assignment]
