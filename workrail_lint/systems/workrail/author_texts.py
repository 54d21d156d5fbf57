"""The texts that authors write into a workflow, each with its place."""

from __future__ import annotations

from workrail_lint.base.typed import Any, NamedTuple
from workrail_lint.documents.pointer import child


class Text(NamedTuple):
    """A piece of author text inside a step or at the top level."""

    text: str
    pointer: str
    field: str  # prompt, goal, constraints, procedure, verify, outputRequired, part, title, agentRole, guidance,
    # fragment, audit, rubric, verification, command, synthesis, delegationGoal, metaGuidance, ...


# Plain loops and bare tuples: every text of every document is made here.
_tuple = tuple.__new__


def step_texts(step: dict[str, Any], pointer: str) -> list[Text]:
    """Every author text of a step, prompt parts and configuration blocks included."""
    found: list[Text] = []
    for field in _PLAIN_FIELDS:
        value = step.get(field)
        if isinstance(value, str):
            found.append(_tuple(Text, (value, f"{pointer}/{field}", field)))
    if "promptBlocks" in step and isinstance(step["promptBlocks"], dict):
        _add_block_texts(step["promptBlocks"], f"{pointer}/promptBlocks", found)
    if step.keys().isdisjoint(_OTHER_HOLDERS):
        return found
    _add_strings(step.get("guidance"), f"{pointer}/guidance", "guidance", found)
    for index, item in enumerate(_list(step.get("promptFragments"))):
        if isinstance(item, dict) and isinstance(item.get("text"), str):
            found.append(Text(item["text"], f"{pointer}/promptFragments/{index}/text", "fragment"))
    _add_config_texts(step, pointer, found)
    return found


_PLAIN_FIELDS = ("title", "agentRole", "prompt")
_LIST_SECTIONS = ("constraints", "procedure", "verify")
_OTHER_HOLDERS = ("guidance", "promptFragments", "verification", "audit", "synthesis", "parallelDelegations")
_CONFIGS = (
    ("verification", (("prompt", "verification"), ("command", "command"))),
    ("audit", (("prompt", "audit"),)),
    ("synthesis", (("prompt", "synthesis"),)),
)


def _add_strings(items: object, pointer: str, field: str, found: list[Text]) -> None:
    for index, item in enumerate(_list(items)):
        if type(item) is str:
            found.append(_tuple(Text, (item, f"{pointer}/{index}", field)))


def _add_block_texts(blocks: dict[str, Any], pointer: str, found: list[Text]) -> None:
    goal = blocks.get("goal")
    if isinstance(goal, str):
        found.append(_tuple(Text, (goal, f"{pointer}/goal", "goal")))
    elif goal is not None:
        _add_parts(goal, f"{pointer}/goal", found)
    for section in _LIST_SECTIONS:
        for index, item in enumerate(_list(blocks.get(section))):
            if type(item) is str:
                found.append(_tuple(Text, (item, f"{pointer}/{section}/{index}", section)))
            else:
                _add_parts(item, f"{pointer}/{section}/{index}", found)
    output = blocks.get("outputRequired")
    if isinstance(output, dict):
        place = f"{pointer}/outputRequired"
        for name, value in output.items():
            if type(value) is str:
                found.append(_tuple(Text, (value, child(place, name), "outputRequired")))


def _add_parts(parts: object, pointer: str, found: list[Text]) -> None:
    for index, part in enumerate(_list(parts)):
        if isinstance(part, dict) and isinstance(part.get("text"), str):
            found.append(_tuple(Text, (part["text"], f"{pointer}/{index}/text", "part")))


def _add_config_texts(step: dict[str, Any], pointer: str, found: list[Text]) -> None:
    for block, members in _CONFIGS:
        config = step.get(block)
        if not isinstance(config, dict):
            continue
        for member, field in members:
            if isinstance(config.get(member), str):
                found.append(Text(config[member], f"{pointer}/{block}/{member}", field))
        _add_strings(config.get("rubric"), f"{pointer}/{block}/rubric", "rubric", found)
    for index, item in enumerate(_list(step.get("parallelDelegations"))):
        if isinstance(item, dict) and isinstance(item.get("goal"), str):
            found.append(Text(item["goal"], f"{pointer}/parallelDelegations/{index}/goal", "delegationGoal"))


def top_texts(definition: dict[str, Any]) -> list[Text]:
    """The author texts outside the steps."""
    found = [
        _tuple(Text, (definition[field], f"/{field}", field))
        for field in ("name", "description", "about")
        if isinstance(definition.get(field), str)
    ]
    for field in ("metaGuidance", "preconditions", "clarificationPrompts", "examples"):
        items = enumerate(_list(definition.get(field)))
        found += [_tuple(Text, (item, f"/{field}/{index}", field)) for index, item in items if type(item) is str]
    return found


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
