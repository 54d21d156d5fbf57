"""Text from a document, made harmless for the place it is shown in."""

from __future__ import annotations

import json
from typing import Any

from workrail_lint.base.terminal import LOG_COMMAND, printable

_LONGEST = 4_000


def one_line(text: str) -> str:
    """Text as one line without control characters, escape sequences or orders to a CI service."""
    cut = text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
    shown = printable(cut)
    return LOG_COMMAND.sub(r"#\\u0023", shown) if "##" in shown else shown


def shown_path(path: str) -> str:
    """A path at the start of a line, where `::` would begin a workflow command."""
    shown = one_line(path)
    return f"./{shown}" if shown.lstrip().startswith("::") else shown


def json_text(value: Any, *, indent: int | None = None) -> str:
    """JSON in ASCII that stays what it is in a log or a web page, and that strict parsers accept."""
    text = json.dumps(_well_formed(value), indent=indent)
    text = text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    return LOG_COMMAND.sub(r"#\\u0023", text)


def _well_formed(value: Any) -> Any:
    """The value with surrogates paired, or replaced where they stand alone: no other text can hold them."""
    match value:
        case str():
            if value.isascii():
                return value
            return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        case dict():
            return {_well_formed(name): _well_formed(item) for name, item in value.items()}
        case list() | tuple():
            return [_well_formed(item) for item in value]
        case _:
            return value
