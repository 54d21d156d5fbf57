"""A golden as the bytes of its file, for scenarios and tests of every kind.

The golden of a workflow names its format; those of the other contracts name their pack and are made by its driver. In
the file of a workflow's golden the texts of prompts come first, once each, then the conversation. A step that is shown
again, after a blocker or a rewind, shows the same prompt: the text is written once, under `prompts`, and `⟪PROMPT⟫`
refers to it wherever its step is pending; `⟪PROMPT 2⟫` refers to the second text of that step, as a loop may have one
for each pass. Everything else compares and shows the whole value.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from pytest_workrail.golden.symbols import joined, lines
from workrail_lint.base.patterns import Pattern
from workrail_lint.base.result import Err, Ok

PROMPTS = "prompts"
# What fits into a line of this width stands in one line.
_WIDTH = 100
# An author's text that looks like a slot is marked with a backslash, so what is found here is a slot.
_BEFORE = Pattern(r"(?:⟪(?!PROMPT⟫)[A-Z_]+⟫)*")
_BEHIND = Pattern(r"⟪[A-Z_]+⟫|\n\n## Recovery Context\n")
_REFERENCE = Pattern(r"⟪PROMPT(?: ([1-9][0-9]{0,8}))?⟫")


# One for all: `json.dumps` makes one at each call, and a golden is dozens of calls.
_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode
_quoted = json.encoder.encode_basestring  # what that one does with texts
_WORDS = {True: "true", False: "false", None: "null"}

FORMAT = "workrail.golden/2"
# What a golden records besides and is not compared by: it changes while nothing an agent sees does.
METADATA = "metadata"
EARLIER_FORMATS = ("workrail.golden/1",)
_BLANKS = b" \n"


class PromptParts(NamedTuple):
    """A prompt: what the engine shows before the author's text, that text, and what the engine appends."""

    before: str
    text: str
    behind: str


def prompt_parts(prompt: str) -> PromptParts:
    """Return a prompt in its parts; put together they are the prompt."""
    start, end = _author_text(prompt)
    return PromptParts(prompt[:start], prompt[start:end], prompt[end:])


def _author_text(prompt: str) -> tuple[int, int]:
    """Return where the author's text begins and ends."""
    start = _prefix(prompt)
    cut = _BEHIND.search(prompt, start)
    return start, len(prompt) if cut is None else cut.start()


def _prefix(prompt: str) -> int:
    match = _BEFORE.match(prompt) if prompt.startswith("⟪") else None
    return 0 if match is None else match.end()


class Prompts:
    """The texts of the prompts of one golden."""

    def __init__(self) -> None:
        self.texts: list[dict[str, Any]] = []
        self._known: dict[str, list[str]] = {}

    def refer(self, step: str, prompt: str) -> str:
        """Return the prompt of a step with a reference in place of its text."""
        start, end = _author_text(prompt)
        if start == end:
            return prompt
        text = prompt[start:end]
        of_step = self._known.setdefault(step, [])
        if text not in of_step:
            of_step.append(text)
            self.texts.append({"step": step, "text": lines(text)})
        number = of_step.index(text) + 1
        return f"{prompt[:start]}⟪PROMPT{'' if number == 1 else f' {number}'}⟫{prompt[end:]}"


def fold(golden: Mapping[str, Any]) -> dict[str, Any]:
    """Return a golden as it is written to its file."""
    prompts = Prompts()
    rest = {name: golden[name] for name in ("transcript", "final") if name in golden}
    if "transcript" in rest:
        rest["transcript"] = _with_prompts(rest["transcript"], prompts.refer)
    return {**{name: golden[name] for name in golden if name not in rest}, PROMPTS: prompts.texts, **rest}


def unfold(file: Mapping[str, Any]) -> Ok[dict[str, Any]] | Err[str]:
    """Return the whole value of what a file says."""
    texts: dict[str, list[str]] = {}
    for name in (PROMPTS, "transcript"):
        if not isinstance(file.get(name, []), list):
            return Err(f"damaged: {name} is not a list")
    for entry in file.get(PROMPTS, []):
        text = joined(entry.get("text")) if isinstance(entry, dict) else None
        if not isinstance(text, str) or not isinstance(entry.get("step"), str):
            return Err(f"damaged: an entry of {PROMPTS} has no step or no text")
        texts.setdefault(entry["step"], []).append(text)
    unknown: list[str] = []

    def resolve(step: str, prompt: str) -> str:
        start = _prefix(prompt)
        reference = _REFERENCE.match(prompt, start)
        if reference is None:
            return prompt
        number = int(reference[1] or 1)
        if number > len(texts.get(step, ())):
            unknown.append(step)
            return prompt
        return prompt[:start] + texts[step][number - 1] + prompt[reference.end() :]

    whole = {name: value for name, value in file.items() if name != PROMPTS}
    if "transcript" in whole:
        whole["transcript"] = _with_prompts(whole["transcript"], resolve)
    return Err(f"damaged: no prompt of step {unknown[0]!r} is among the {PROMPTS}") if unknown else Ok(whole)


def _with_prompts(transcript: Any, replace: Callable[[str, str], str]) -> Any:
    """A transcript with every prompt replaced; whatever is not shaped like one stays."""
    return list(_replaced(transcript, replace)) if isinstance(transcript, list) else transcript


def _replaced(transcript: list[Any], replace: Callable[[str, str], str]) -> Iterator[Any]:
    for exchange in transcript:
        response: Any = exchange.get("response") if isinstance(exchange, dict) else None
        pending: Any = response.get("pending") if isinstance(response, dict) else None
        prompt = joined(pending.get("prompt")) if isinstance(pending, dict) else None
        if isinstance(prompt, str):
            rewritten = {**pending, "prompt": lines(replace(str(pending.get("stepId")), prompt))}
            yield {**exchange, "response": {**response, "pending": rewritten}}
        else:
            yield exchange


def layout(value: Any, indent: str = "") -> str:
    """Return JSON as people read it: what is small in one line, the lines of a text below one another."""
    kind = type(value)
    if kind is bool or value is None:
        return _WORDS[value]
    inner = indent + "  "
    if kind is dict and value:
        parts = [
            f"{_quoted(name)}: {_quoted(item) if type(item) is str else layout(item, inner)}"
            for name, item in value.items()
        ]
        opening, closing = "{", "}"
    elif kind is list and value:
        parts = [_quoted(item) if type(item) is str else layout(item, inner) for item in value]
        opening, closing = "[", "]"
    else:
        return "[]" if value == [] else _encode(value)
    # What fits in one line is made of parts that do.
    compact = ", ".join(parts)
    if len(indent) + len(compact) + 2 <= _WIDTH and "\n" not in compact and "\\n" not in compact:
        return f"{opening}{compact}{closing}"
    separator = f",\n{inner}"
    return f"{opening}\n{inner}{separator.join(parts)}\n{indent}{closing}"


def dumps(value: Mapping[str, Any], *, sort_keys: bool = False) -> bytes:
    """JSON that people can read: two spaces, one member a line, a line feed at the end."""
    import orjson  # only a run that compares or writes goldens needs it

    options = orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE | (orjson.OPT_SORT_KEYS if sort_keys else 0)
    try:
        return orjson.dumps(value, option=options)
    except TypeError:
        # Half a surrogate pair, or a number beyond 64 bits: rare enough to take the long way.
        written = json.dumps(value, ensure_ascii=False, indent=2, sort_keys=sort_keys, allow_nan=False) + "\n"
        return written.encode("utf-8", "backslashreplace")


def encode(golden: Mapping[str, Any]) -> bytes:
    """Return the file of a golden."""
    return encode_file(fold(golden)) if golden.get("format") == FORMAT else dumps(golden)


def encode_file(folded: Mapping[str, Any]) -> bytes:
    """Return the file of a golden of a workflow whose prompts are folded."""
    # Half a surrogate pair has no bytes of its own; JSON can name it all the same.
    return f"{layout(folded)}\n".encode("utf-8", "backslashreplace")


def says(data: bytes, folded: Mapping[str, Any]) -> bool:
    """Return True if a file is certainly equal to a golden, decided without laying the golden out."""
    import orjson  # only a run that compares or writes goldens needs it

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
    """Return a golden from its file, or why it is none."""
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
    """Return the JSON object in a file, of whatever format."""
    try:
        value = json.loads(data, object_pairs_hook=_unique, parse_constant=_no_number)
    except (ValueError, RecursionError) as problem:
        return Err(f"not readable as JSON: {problem}")
    return Ok(value) if isinstance(value, dict) else Err("not a golden: it has no format")


def same(first: Mapping[str, Any], second: Mapping[str, Any]) -> bool:
    """Return True when an agent saw the same in both; metadata, white space and the order of members say nothing."""
    return plain_text(first) == plain_text(second)


def plain_text(golden: Mapping[str, Any]) -> str:
    """Return what is compared of a golden, and nothing of how it is written down."""
    # Compared as text, because Python takes `True` for `1` and JSON does not.
    return json.dumps(joined({name: golden[name] for name in golden if name != METADATA}), sort_keys=True)


def same_metadata(first: Mapping[str, Any], second: Mapping[str, Any]) -> bool:
    """Return True when two goldens record the same about the workflow."""
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


def migrated(data: bytes) -> Ok[bytes | None] | Err[str]:
    """Return a golden of an earlier format in today's; None where there is nothing to do."""
    parsed = parse(data)
    if isinstance(parsed, Err):
        return parsed
    golden = parsed.value
    if golden.get("format") not in EARLIER_FORMATS:
        return Ok(None)
    return Ok(encode(_from_1(golden)))


def _from_1(golden: dict[str, Any]) -> dict[str, Any]:
    """The hash moves to the metadata; the layout of the file does the rest."""
    document = {**golden, "format": FORMAT, METADATA: {"workflowHash": golden.get("workflowHash")}}
    order = ("pending", "format", "workflow", "profile", "mode", METADATA)
    others = [name for name in document if name not in order and name != "workflowHash"]
    return {name: document[name] for name in (*order, *others) if name in document}
