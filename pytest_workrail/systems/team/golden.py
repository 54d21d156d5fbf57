"""A run as a golden: everything that matters, nothing of when and where it was played."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import Any

from pytest_workrail.golden.encoding import map_strings
from pytest_workrail.systems.team.event_log import FOR_RULES
from pytest_workrail.systems.team.store import Store
from workrail_lint.documents.json_reader import read_json
from workrail_lint.documents.jsonl_reader import read_jsonl
from workrail_lint.documents.markdown_reader import read_markdown
from workrail_lint.documents.yaml_reader import read_yaml
from workrail_lint.systems.team.vocabulary import TIMESTAMP

PACK = "team"
_TIME = re.compile(rf"(?<![0-9]){TIMESTAMP[1:-1]}(?![0-9:])", re.ASCII)
_ABSOLUTE = re.compile(r"(?:/|[A-Za-z]:[\\/]|~/)\S.*", re.DOTALL)
# Pointers into documents begin like absolute paths and are none.
_POINTERS = ("pointer", "path")


class Normalizer:
    """Values with whatever differs from run to run replaced."""

    def __init__(self, root: Path, session: str) -> None:
        self._roots = sorted({str(root), str(root.resolve())}, key=len, reverse=True)
        self._session = session

    def text(self, text: str) -> str:
        for root in self._roots:
            text = text.replace(f"{root}/", "").replace(root, ".")
        return _TIME.sub("«TS»", text).replace(self._session, "«SESSION»")

    def value(self, value: Any) -> Any:
        return map_strings(value, self._member, self.text)

    def _member(self, text: str, name: str) -> str:
        text = self.text(text)
        return "«ABS»" if name not in _POINTERS and _ABSOLUTE.fullmatch(text) else text


def artifacts(store: Store, normalizer: Normalizer) -> dict[str, Any]:
    """The files of the session by what they say; Markdown by its headings and a digest."""
    return {normalizer.text(file): _artifact(file, store.read(file) or b"", normalizer) for file in store.files()}


def _artifact(file: str, data: bytes, normalizer: Normalizer) -> Any:
    text = data.decode("utf-8", "replace")
    if file.endswith((".json", ".yaml")):
        document: Any = read_json(data) if file.endswith(".json") else read_yaml(data)
        return normalizer.value(document.value) if document.readable else _digest(text, normalizer)
    if file.endswith(".jsonl"):
        return [normalizer.value(line.value) for line in read_jsonl(data).lines]
    if file.endswith(".md"):
        headings = [normalizer.text(heading.title) for heading in read_markdown(data).headings]
        return {**_digest(text, normalizer), "headings": headings}
    return _digest(text, normalizer)


def _digest(text: str, normalizer: Normalizer) -> dict[str, str]:
    lines = [line.rstrip() for line in normalizer.text(text.replace("\r\n", "\n").replace("\r", "\n")).split("\n")]
    return {"sha256": hashlib.sha256("\n".join(lines).encode("utf-8", "surrogatepass")).hexdigest()}


def event_shown(event: dict[str, Any]) -> dict[str, Any]:
    """An event without what only the rules look at."""
    return {name: value for name, value in event.items() if name not in FOR_RULES}
