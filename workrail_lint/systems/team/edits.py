"""Fixes in text that is not JSON: the characters to write, computed from the positions that the reader kept.

A fix is offered only where the layout is simple enough to be sure of the result.
"""

from __future__ import annotations

from workrail_lint.base.js import json_text
from workrail_lint.base.patterns import Pattern
from workrail_lint.documents.json_reader import NodeSpan
from workrail_lint.documents.operations import Respell
from workrail_lint.documents.pointer import child
from workrail_lint.documents.yaml_reader import YamlDocument
from workrail_lint.findings import Fix, Safety

_PLAIN = Pattern(r"[A-Za-z][A-Za-z0-9_-]*")
# Plain words that some readers do not parse as strings.
_WORDS = ("null", "true", "false", "yes", "no", "on", "off", "y", "n")
_LIST_DASHES = Pattern(r"[ -]*")


def yaml_text(value: str) -> str:
    """Return a string in YAML: bare if it is a plain word, else in double quotes."""
    if _PLAIN.fullmatch(value) and value.lower() not in _WORDS:
        return value
    return json_text(value)


def yaml_list(values: list[str]) -> str:
    return f"[{', '.join(map(yaml_text, values))}]"


def respell(title: str, document: YamlDocument, pointer: str, value: str, *, unsafe: bool = False) -> Fix | None:
    """Replace a scalar with another string, in the same quotes."""
    node = _plain_node(document, pointer)
    if node is None:
        return None
    raw = document.text[node.start : node.end]
    if raw[:1] == '"':
        text = json_text(value)
    elif raw[:1] == "'" and value.isprintable():
        text = "'" + value.replace("'", "''") + "'"
    else:
        text = yaml_text(value)
    return _fix(title, Respell(node.start, node.end, text), unsafe)


def replace(title: str, document: YamlDocument, pointer: str, text: str) -> Fix | None:
    """Replace the value of a key with YAML text, on the line of the key."""
    node = _plain_node(document, pointer)
    if node is None or node.name is None:
        return None
    name_end = node.name[1]
    between = document.text[name_end : node.start]
    if between.lstrip(" ").rstrip() != ":":
        return None
    return _fix(title, Respell(name_end, node.end, f": {text}"))


def replace_item(title: str, document: YamlDocument, pointer: str, text: str) -> Fix | None:
    """Replace an element of a list with YAML text."""
    node = _plain_node(document, pointer)
    return None if node is None else _fix(title, Respell(node.start, node.end, text))


def rename(title: str, document: YamlDocument, pointer: str, name: str) -> Fix | None:
    """Rename a key."""
    node = document.node(pointer)
    return None if node is None or node.name is None else _fix(title, Respell(*node.name, name))


def insert(
    title: str, document: YamlDocument, pointer: str, name: str, text: str, after: tuple[str, ...]
) -> Fix | None:
    """Add a key to a mapping, after the first of some keys that has a line to itself."""
    mapping = document.node(pointer)
    if mapping is None:
        return None
    if document.text[mapping.start] == "{":
        inner = document.text[mapping.start + 1 : mapping.end - 1].strip()
        return _fix(title, Respell(mapping.start + 1, mapping.start + 1, f"{name}: {text}{', ' if inner else ''}"))
    for member in after:
        node = document.node(child(pointer, member))
        if node is None or node.name is None or "\n" in document.text[node.name[0] : node.end]:
            continue
        start = node.name[0]
        line = document.text.rfind("\n", 0, start) + 1
        if not _LIST_DASHES.fullmatch(document.text[line:start]):
            continue
        end = document.text.find("\n", node.end)
        newline = "\r\n" if end > 0 and document.text[end - 1] == "\r" else "\n"
        at = len(document.text) if end < 0 else end - len(newline) + 1
        return _fix(title, Respell(at, at, f"{newline}{' ' * (start - line)}{name}: {text}"))
    return None


def replace_raw(title: str, text: str, start: int, end: int, old: str, new: str) -> Fix | None:
    """Replace every occurrence of a string in a part of a file."""
    edits = []
    at = text.find(old, start, end)
    while at >= 0:
        edits.append(Respell(at, at + len(old), new))
        at = text.find(old, at + len(old), end)
    return Fix(title, Safety.SAFE, tuple(edits)) if edits else None


def _plain_node(document: YamlDocument, pointer: str) -> NodeSpan | None:
    """Return the position of a value that can be rewritten; a value with an anchor is used elsewhere."""
    node = document.node(pointer)
    if node is None or any(p.name == "yaml-anchor" and node.start <= p.start < node.end for p in document.problems):
        return None
    return node


def _fix(title: str, edit: Respell, unsafe: bool = False) -> Fix:
    return Fix(title, Safety.UNSAFE if unsafe else Safety.SAFE, (edit,))
