"""What the requests of each tool may have, and what is meant by other names, is what is kept in `expected/`."""

from __future__ import annotations

import json
from pathlib import Path

from pytest_workrail.engine.protocol.requests import CHECKPOINT, CONTINUE, INSPECT, LIST, RESUME, START

SHAPES = Path(__file__).parent / "expected" / "requests.json"


def test_what_a_request_may_have_is_as_expected() -> None:
    """Every answer to a request that is refused is made from these, and so are the tools as clients list them."""
    shapes = (START, CONTINUE, CHECKPOINT, RESUME, LIST, INSPECT)
    found = {shape.tool: {"schema": shape.schema, "aliases": dict(shape.aliases)} for shape in shapes}
    assert json.loads(json.dumps(found)) == json.loads(SHAPES.read_text(encoding="utf-8"))
