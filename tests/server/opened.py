"""Documents as the server sees them, with the cursor marked in the text."""

from __future__ import annotations

import argparse
import json
from typing import Any

from workrail_lint.cli.server import open_project, parser
from workrail_lint.server.document import OpenDocument

MARK = "¦"


def arguments() -> argparse.Namespace:
    args = parser().parse_args(["--isolated"])
    assert args is not None
    return args


def opened(text: str | dict[str, Any], path: str = "workflows/a.json") -> OpenDocument:
    source = text if isinstance(text, str) else json.dumps(text, indent=2, ensure_ascii=False)
    return OpenDocument(path, source, open_project(arguments(), path))


def at_mark(text: str, path: str = "workflows/a.json") -> tuple[OpenDocument, int]:
    """A document and the offset of the mark in it."""
    return opened(text.replace(MARK, ""), path), text.index(MARK)
