"""The settings of the block rules, under the names they have in a configuration file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

WORKFLOW = "block-workflow"  # the definition of an output folder, if it is not beside it
DELIVERABLES = "block-deliverables"  # contract or extended
PROFILE = "block-profile"  # contract or lenient
PROMPT_CHECK = "block-prompt-check"  # on or off: other engines assemble prompts differently
TREE = "block-tree"  # the workspace of the outputs, if it can be checked


class BlockOptions(NamedTuple):
    """How block documents are judged."""

    extended: bool = False
    lenient: bool = False
    prompt_check: bool = True
    workflow: str | None = None
    tree: str | None = None


def block_options(options: Mapping[str, object]) -> BlockOptions:
    """The settings out of all that a project configures."""
    workflow, tree = options.get(WORKFLOW), options.get(TREE)
    return BlockOptions(
        extended=options.get(DELIVERABLES) == "extended",
        lenient=options.get(PROFILE) == "lenient",
        prompt_check=options.get(PROMPT_CHECK) != "off",
        workflow=workflow if isinstance(workflow, str) else None,
        tree=tree if isinstance(tree, str) else None,
    )
