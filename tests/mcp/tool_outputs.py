"""The tools as clients list them, kept in `expected/`.

python tests/mcp/tool_outputs.py     # writes it anew
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from pytest_workrail.engine.core.profiles import PROFILES
from pytest_workrail.engine.protocol.engine import Engine, Options
from pytest_workrail.engine.protocol.library import MemoryLibrary
from pytest_workrail.engine.store.memory import FixedClock, SeededEntropy, in_memory
from pytest_workrail.mcp.tools import AuthoringTools, EngineTools, Toolset

EXPECTED = Path(__file__).parent / "expected" / "tools.json"


def text() -> str:
    """Return every set of tools with its instructions, and each tool with all that is said about it."""
    toolsets: dict[str, Toolset] = {"authoring": AuthoringTools(Path(), lambda _: {})}
    for profile in PROFILES:
        home = in_memory(FixedClock(), SeededEntropy())
        toolsets[profile] = EngineTools(Engine(home, MemoryLibrary(), Options(profile=profile)))
    listed = {
        name: {"instructions": toolset.instructions, "tools": [asdict(spec) for spec in toolset.specs]}
        for name, toolset in toolsets.items()
    }
    return f"{json.dumps(listed, indent=1, ensure_ascii=False)}\n"


if __name__ == "__main__":
    EXPECTED.parent.mkdir(exist_ok=True)
    EXPECTED.write_text(text(), encoding="utf-8")
