"""The settings of the block rules, under the names they have in a configuration file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from workrail_lint.systems.blocks.expressions import CONTRACT, STUDIO, Language
from workrail_lint.systems.blocks.vocabulary import BlockProfile

WORKFLOW = "block-workflow"  # the definition of an output folder, if it is not beside it
DELIVERABLES = "block-deliverables"  # contract or extended
PROFILE = "block-profile"  # contract, lenient or studio
PROMPT_CHECK = "block-prompt-check"  # on or off: other engines assemble prompts differently
TREE = "block-tree"  # the workspace of the outputs, if it can be checked


class BlockOptions(NamedTuple):
    """How block documents are judged."""

    extended: bool = False
    profile: BlockProfile = BlockProfile.CONTRACT
    prompt_check: bool = True
    workflow: str | None = None
    tree: str | None = None

    @property
    def lenient(self) -> bool:
        return self.profile is BlockProfile.LENIENT

    @property
    def language(self) -> Language:
        """Return what expressions are written in."""
        return STUDIO if self.studio else CONTRACT

    @property
    def studio(self) -> bool:
        return self.profile is BlockProfile.STUDIO


def block_options(options: Mapping[str, object]) -> BlockOptions:
    """Return the settings out of all that a project configures."""
    workflow, tree = options.get(WORKFLOW), options.get(TREE)
    return BlockOptions(
        extended=options.get(DELIVERABLES) == "extended",
        profile=BlockProfile(options.get(PROFILE) or BlockProfile.CONTRACT),
        prompt_check=options.get(PROMPT_CHECK) != "off",
        workflow=workflow if isinstance(workflow, str) else None,
        tree=tree if isinstance(tree, str) else None,
    )
