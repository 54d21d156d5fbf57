"""A golden as the bytes of its file, for scenarios and tests of every kind.

The golden of a workflow names its format; those of the other contracts name their pack and are made by its driver.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from pytest_workrail.golden.layout import fold, text, unfold
from pytest_workrail.golden.symbols import joined
from workrail_lint.base.result import Err, Ok

FORMAT = "workrail.golden/2"
# What a golden records besides and is not compared by: it changes while nothing an agent sees does.
METADATA = "metadata"
EARLIER_FORMATS = ("workrail.golden/1",)
_BLANKS = b" \n"


def dumps(value: Mapping[str, Any], *, sort_keys: bool = False) -> bytes:
    """JSON that people can read: two spaces, one member a line, a line feed at the end."""
    import orjson

    options = orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE | (orjson.OPT_SORT_KEYS if sort_keys else 0)
    try:
        return orjson.dumps(value, option=options)
    except TypeError:
        # Half a surrogate pair, or a number beyond 64 bits: rare enough to take the long way.
        written = json.dumps(value, ensure_ascii=False, indent=2, sort_keys=sort_keys, allow_nan=False) + "\n"
        return written.encode("utf-8", "backslashreplace")


def encode(golden: Mapping[str, Any]) -> bytes:
    """The file of a golden."""
    return encode_file(fold(golden)) if golden.get("format") == FORMAT else dumps(golden)


def encode_file(folded: Mapping[str, Any]) -> bytes:
    """The file of a golden of a workflow whose prompts are folded."""
    # Half a surrogate pair has no bytes of its own; JSON can name it all the same.
    return f"{text(folded)}\n".encode("utf-8", "backslashreplace")


def says(data: bytes, folded: Mapping[str, Any]) -> bool:
    """True if a file is certainly equal to a golden, decided without laying the golden out."""
    import orjson

    try:
        new = orjson.dumps(folded)
        # Without blanks: numbers are spelled alike and no member is repeated. Parsed: blanks in strings are equal, too.
        is_same = data.translate(None, _BLANKS) == new.translate(None, _BLANKS)
        return is_same and orjson.loads(data) == folded
    except (TypeError, ValueError):
        return False


def map_strings(value: Any, replace: Callable[[str, str], str], rename: Callable[[str], str], member: str = "") -> Any:
    """A JSON value with all of its strings replaced, by the member they belong to, and all of its members renamed."""
    if isinstance(value, str):
        return replace(value, member)
    if isinstance(value, list | tuple):
        return [map_strings(item, replace, rename, member) for item in value]
    if isinstance(value, dict):
        return {rename(str(name)): map_strings(item, replace, rename, str(name)) for name, item in value.items()}
    return value


def loads(data: bytes) -> Ok[dict[str, Any]] | Err[str]:
    """A golden from its file, or why it is none."""
    parsed = parse(data)
    if isinstance(parsed, Err):
        return parsed
    value = parsed.value
    if isinstance(value.get("pack"), str):
        return Ok(value)
    if "format" not in value:
        return Err("not a golden: it has no format")
    if value["format"] != FORMAT:
        how = "; convert it with: workrail-test golden migrate" if value["format"] in EARLIER_FORMATS else ""
        return Err(f"of format {value['format']!r}, and this version reads {FORMAT!r}{how}")
    return unfold(value)


def parse(data: bytes) -> Ok[dict[str, Any]] | Err[str]:
    """The JSON object in a file, of whatever format."""
    try:
        value = json.loads(data, object_pairs_hook=_unique, parse_constant=_no_number)
    except (ValueError, RecursionError) as problem:
        return Err(f"not readable as JSON: {problem}")
    return Ok(value) if isinstance(value, dict) else Err("not a golden: it has no format")


def same(first: Mapping[str, Any], second: Mapping[str, Any]) -> bool:
    """True when an agent saw the same in both; metadata, white space and the order of members say nothing."""
    return plain_text(first) == plain_text(second)


def plain_text(golden: Mapping[str, Any]) -> str:
    """What is compared of a golden, and nothing of how it is written down."""
    # Compared as text, because Python takes `True` for `1` and JSON does not.
    return json.dumps(joined({name: golden[name] for name in golden if name != METADATA}), sort_keys=True)


def same_metadata(first: Mapping[str, Any], second: Mapping[str, Any]) -> bool:
    """True when two goldens record the same about the workflow."""
    return bool(joined(first.get(METADATA)) == joined(second.get(METADATA)))


def _no_number(word: str) -> None:
    raise ValueError(f"{word} is no JSON")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"{twice!r} is there twice")
    return members
