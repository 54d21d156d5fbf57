"""The one style of workflow files: members in the order of the model, two spaces for each level, texts left alone."""

from __future__ import annotations

from workrail_lint.documents.json_format import formatted, ordered
from workrail_lint.documents.json_reader import read_json
from workrail_lint.systems.schemas import schema_walk


def format_workflow(text: str) -> str | None:
    """A workflow in the canonical style; None for a text that is not sound JSON, or that repeats a member."""
    document = read_json(text, max_bytes=None)
    if not document.readable or document.problems or not isinstance(document.value, dict):
        return None
    return formatted(ordered(text, schema_walk("workflow")))
