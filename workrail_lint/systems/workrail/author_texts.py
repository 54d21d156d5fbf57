"""The texts that authors write into a workflow, each with its place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

from workrail_lint.documents.pointer import child


class Text(NamedTuple):
    """A piece of author text inside a step or at the top level."""

    text: str
    pointer: str
    field: str  # prompt, goal, constraints, procedure, verify, outputRequired, part, title, agentRole, guidance,
    # fragment, audit, rubric, verification, command, synthesis, delegationGoal, metaGuidance, ...


# The texts of one list or object, or a single text: the strings, their field, their place below the step, and the names
# of the members they are. A place that ends in a slash is followed by the number of the text. Most texts are only
# searched, and never become a record with a pointer, which takes far longer than finding them.
Group: TypeAlias = "tuple[list[str], str, str, Sequence[str]]"


def text_of(group: Group, number: int, pointer: str) -> Text:
    """One text of a group of the step at a pointer."""
    strings, field, place, names = group
    if names:
        place = child(place, names[number])
    elif place[-1] == "/":
        place = f"{place}{number}"
    return tuple.__new__(Text, (strings[number], pointer + place, field))


def strings_of(groups: list[Group]) -> list[str]:
    """The strings of some groups."""
    found: list[str] = []
    for group in groups:
        found += group[0]
    return found


def texts_of(groups: list[Group], pointer: str) -> list[Text]:
    """All texts of some groups."""
    return [text_of(group, number, pointer) for group in groups for number in range(len(group[0]))]


def step_groups(step: dict[str, Any]) -> list[Group]:
    """Every author text of a step, prompt parts and configuration blocks included."""
    found: list[Group] = []
    for field, place in _PLAIN_FIELDS:
        if isinstance(step.get(field), str):
            found.append(([step[field]], field, place, ()))
    blocks = step.get("promptBlocks")
    if isinstance(blocks, dict):
        _add_block_texts(blocks, found)
    if step.keys().isdisjoint(_OTHER_HOLDERS):
        return found
    _add_strings(step.get("guidance"), "/guidance/", "guidance", found)
    for index, item in enumerate(_list(step.get("promptFragments"))):
        if isinstance(item, dict) and isinstance(item.get("text"), str):
            found.append(([item["text"]], "fragment", f"/promptFragments/{index}/text", ()))
    _add_config_texts(step, found)
    return found


_PLAIN_FIELDS = (("title", "/title"), ("agentRole", "/agentRole"), ("prompt", "/prompt"))
_LIST_SECTIONS = tuple((section, f"/promptBlocks/{section}/") for section in ("constraints", "procedure", "verify"))
_OTHER_HOLDERS = ("guidance", "promptFragments", "verification", "audit", "synthesis", "parallelDelegations")
_CONFIGS = (
    ("verification", (("prompt", "verification"), ("command", "command"))),
    ("audit", (("prompt", "audit"),)),
    ("synthesis", (("prompt", "synthesis"),)),
)
_TOP_FIELDS = (("name", "/name"), ("description", "/description"), ("about", "/about"))
_TOP_LISTS = tuple(
    (field, f"/{field}/") for field in ("metaGuidance", "preconditions", "clarificationPrompts", "examples")
)
_STRINGS = frozenset((str,))


def _add_strings(items: object, place: str, field: str, found: list[Group], *, may_have_parts: bool = False) -> None:
    """The strings of a list, and the parts of what else it contains."""
    if not items or not isinstance(items, list):
        return
    if _STRINGS.issuperset(map(type, items)):
        found.append((items, field, place, ()))
        return
    for index, item in enumerate(items):
        if isinstance(item, str):
            found.append(([item], field, f"{place}{index}", ()))
        elif may_have_parts:
            _add_parts(item, f"{place}{index}", found)


def _add_block_texts(blocks: dict[str, Any], found: list[Group]) -> None:
    goal = blocks.get("goal")
    if isinstance(goal, str):
        found.append(([goal], "goal", "/promptBlocks/goal", ()))
    elif goal is not None:
        _add_parts(goal, "/promptBlocks/goal", found)
    for section, place in _LIST_SECTIONS:
        if section in blocks:
            _add_strings(blocks[section], place, section, found, may_have_parts=True)
    output = blocks.get("outputRequired")
    if isinstance(output, dict):
        names = [name for name, value in output.items() if isinstance(value, str)]
        if names:
            found.append(([output[name] for name in names], "outputRequired", "/promptBlocks/outputRequired", names))


def _add_parts(parts: object, place: str, found: list[Group]) -> None:
    for index, part in enumerate(_list(parts)):
        if isinstance(part, dict) and isinstance(part.get("text"), str):
            found.append(([part["text"]], "part", f"{place}/{index}/text", ()))


def _add_config_texts(step: dict[str, Any], found: list[Group]) -> None:
    for block, members in _CONFIGS:
        config = step.get(block)
        if not isinstance(config, dict):
            continue
        for member, field in members:
            if isinstance(config.get(member), str):
                found.append(([config[member]], field, f"/{block}/{member}", ()))
        _add_strings(config.get("rubric"), f"/{block}/rubric/", "rubric", found)
    for index, item in enumerate(_list(step.get("parallelDelegations"))):
        if isinstance(item, dict) and isinstance(item.get("goal"), str):
            found.append(([item["goal"]], "delegationGoal", f"/parallelDelegations/{index}/goal", ()))


def argument_groups(step: dict[str, Any]) -> list[Group]:
    """The texts that a template call passes on, which are the author's own."""
    call = step.get("templateCall")
    args = call.get("args") if isinstance(call, dict) else None
    names = [name for name, value in args.items() if isinstance(value, str)] if isinstance(args, dict) else []
    return [([args[name] for name in names], ARGUMENT, "/templateCall/args", names)] if args and names else []


ARGUMENT = "argument"


def top_groups(definition: dict[str, Any]) -> list[Group]:
    """The author texts outside the steps."""
    found: list[Group] = []
    for field, place in _TOP_FIELDS:
        if isinstance(definition.get(field), str):
            found.append(([definition[field]], field, place, ()))
    for field, place in _TOP_LISTS:
        _add_strings(definition.get(field), place, field, found)
    return found


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
