"""The rules of the block contract: BC0 reading, BC1 outputs, BC2 deliverables, BC3 definitions and mounts,
BC4 environments and prompts, BC5 fan-in, BC6 output folders, BC7 traces.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from workrail_lint.rules.table import RuleTable

if TYPE_CHECKING:
    from workrail_lint.systems.blocks.rules.base import BlockRule

RULES: RuleTable[BlockRule] = RuleTable(__name__, os.path.dirname(__file__))
