"""Which other workflows the prompts of a workflow name. Whether they exist is known only with all files."""

from __future__ import annotations

from workrail_lint.systems.workrail.rules.base import WorkflowContext
from workrail_lint.systems.workrail.rules.delivered_text import delivered
from workrail_lint.systems.workrail.rules.prose import Search
from workrail_lint.systems.workrail.workflow_registry import Mention

_QUOTE = "[\"'`]"
_VERB = "(?:run|execute|start|launch|invoke|trigger|spawn)"
# Routines have the word in their id, bundled workflows their namespace and a hyphen, which no artifact kind has.
_IDS = (
    Search(("routine-",), rf"(?<={_QUOTE})(?:[a-z][a-z0-9_-]*\.)?routine-[a-z0-9][a-z0-9_-]*(?={_QUOTE})", before=40),
    Search(("wr.",), rf"(?<={_QUOTE})wr\.[a-z][a-z0-9]*(?:-[a-z0-9]+)+(?={_QUOTE})"),
    Search(("workflowid",), rf"\bworkflowid{_QUOTE}?\s?[:=]\s?{_QUOTE}([a-z][a-z0-9_-]*(?:\.[a-z0-9_-]+)?){_QUOTE}"),
)
_NAMED = Search(
    (" the '", ' the "', " the `"),
    rf"\b{_VERB} the (?:`([^`\n\0]{{3,60}})`|'([^'\n\0]{{3,60}})'|\"([^\"\n\0]{{3,60}})\") (?:workflow|routine)\b",
    before=8,
)
_ID_LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789_-."


def mentions_of(workflow: WorkflowContext) -> list[Mention]:
    """Return each workflow once, where it is named first."""
    texts = delivered(workflow)
    mentions: dict[str, Mention] = {}
    for search in _IDS:
        for phrase in texts.phrases(search, in_code=True):
            ident = phrase.hit.match[1] if search.pattern.compiled.groups else phrase.hit.match[0]
            if ident not in mentions and not phrase.is_negated:
                mentions[ident] = Mention(phrase.pointer, ident, False)
    for phrase in texts.phrases(_NAMED, in_code=True):
        name = phrase.group(1) or phrase.group(2) or phrase.group(3)
        is_id = not name.strip(_ID_LETTERS)
        if name not in mentions and not phrase.is_negated and "{" not in name and "<" not in name:
            mentions[name] = Mention(phrase.pointer, name, not is_id)
    return list(mentions.values())
