"""Prompts: five sections in order, nothing for those that are not there, and differences named for what they are."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workrail_lint.systems.blocks.model.build import definition_model
from workrail_lint.systems.blocks.prompts import Difference, Part, Section, assemble, difference, joined, sections
from workrail_lint.systems.blocks.rules.nodes import prompt_fields
from workrail_lint.systems.blocks.rules.samples import control, node, workflow

TEXTS = st.lists(st.sampled_from(["a", "b", " ", "\n", "\r\n", "\0", "\t"]), max_size=12).map("".join)
LISTS = st.none() | st.lists(TEXTS, max_size=3)


@given(LISTS, st.none() | TEXTS, st.none() | TEXTS, st.none() | TEXTS, LISTS, LISTS)
def test_any_fields_give_a_tidy_prompt(
    rules: list[str] | None,
    prefix: str | None,
    task: str | None,
    description: str | None,
    patterns: list[str] | None,
    checklist: list[str] | None,
) -> None:
    config = {"systemPromptPrefix": prefix, "systemPrompt": task, "outputChecklist": checklist}
    made = node("p", prompt=None, description=description, config={k: v for k, v in config.items() if v is not None})
    definition = definition_model(workflow(made, rules=rules))
    parts = sections(definition, definition.by_id["p"], patterns or ())
    order = [part.part for part in parts]
    assert order == sorted(order, key=list(Part).index)
    assert len(set(order)) == len(order)
    for section in parts:
        assert section.text == section.text.strip("\n")
        assert section.text.strip()
        assert "\0" not in section.text
        assert "\r\n" not in section.text
    text = joined(parts)
    assert text == "\n\n".join(section.text for section in parts)
    assert difference(parts, text) is None
    assert difference(parts, f"{text}\n\nRevision feedback:\nadd tests") is None


def test_a_blank_system_prompt_leaves_the_task_to_the_description() -> None:
    definition = definition_model(workflow(node("p", prompt=" ", description="Plan it.")))
    assert assemble(definition, definition.by_id["p"]) == "Plan it."


def test_items_keep_their_numbers_in_a_row() -> None:
    definition = definition_model(workflow(node("p", prompt="Go.", config={"outputChecklist": ["a", " ", "b", 7]})))
    assert assemble(definition, definition.by_id["p"]) == ("Go.\n\nYou must produce the following outputs:\n1) a\n2) b")


WHOLE = [
    Section(Part.RULES, "Rules:\n- Be kind"),
    Section(Part.PREFIX, "You plan."),
    Section(Part.TASK, "Plan it."),
    Section(Part.RESTRICTION, "Only modify files matching: a. Other files are read-only."),
    Section(Part.CHECKLIST, "You must produce the following outputs:\n1) A plan"),
]


def swapped(first: int, second: int) -> str:
    order = list(WHOLE)
    order[first], order[second] = order[second], order[first]
    return joined(order)


@pytest.mark.parametrize(
    ("recorded", "part", "how"),
    [
        (swapped(2, 4), Part.TASK, "order"),
        (swapped(0, 1), Part.RULES, "order"),
        (joined(WHOLE).replace("\n\nPlan it.", "\n\n\nPlan it."), Part.TASK, "separator"),
        (joined(WHOLE).replace("\n\nPlan it.", "\nPlan it."), Part.TASK, "separator"),
        (joined(WHOLE) + "\n", Part.CHECKLIST, "separator"),
        (joined(WHOLE[:1] + WHOLE[2:]), Part.PREFIX, "missing"),
        (joined(WHOLE[:3] + WHOLE[4:]), Part.RESTRICTION, "missing"),
        (joined(WHOLE).replace("matching: a", "matching: b"), Part.RESTRICTION, "text"),
        (joined(WHOLE).replace("- Be kind", "- Be quick"), Part.RULES, "text"),
        (joined(WHOLE).replace("You plan.", "You plan.\n\nHere is what came before."), Part.TASK, "extra"),
        (joined(WHOLE) + "\n\nP.S.", Part.CHECKLIST, "extra"),
        (joined(WHOLE).replace("\n", "\r\n"), Part.RULES, "text"),
        (joined(WHOLE[1:]).replace("\n", "\r\n"), Part.RULES, "missing"),
    ],
)
def test_differences(recorded: str, part: Part, how: str) -> None:
    assert difference(WHOLE, recorded) == Difference(part, how)


def test_feedback_may_quote_earlier_feedback() -> None:
    quoted = f"{joined(WHOLE)}\n\nRevision feedback:\nI said:\n\nRevision feedback:\nadd tests"
    assert difference(WHOLE, quoted) is None
    # A task may speak of it too.
    speaks = [Section(Part.TASK, "Answer with\n\nRevision feedback:\nand more.")]
    assert difference(speaks, joined(speaks)) is None
    assert difference(speaks, f"{joined(speaks)}\n\nRevision feedback:\nadd tests") is None


def test_a_prompt_of_nothing() -> None:
    assert difference([], "") is None
    assert difference([], "Something.") == Difference(None, "extra")
    assert difference(WHOLE, "") == Difference(Part.RULES, "missing")


def test_two_equal_sections_are_both_looked_for() -> None:
    twice = [Section(Part.PREFIX, "Plan."), Section(Part.TASK, "Plan.")]
    assert difference(twice, "Plan.\n\nPlan.") is None
    assert difference(twice, "Plan.") == Difference(Part.TASK, "order")


@given(st.lists(st.sampled_from(WHOLE), max_size=6), st.sampled_from(["\n\n", "\n", "\n\n\n", " "]))
def test_what_differs_is_always_told(order: list[Section], separator: str) -> None:
    recorded = separator.join(section.text for section in order)
    assert (difference(WHOLE, recorded) is None) == (recorded == joined(WHOLE))


def test_a_control_node_has_no_prompt() -> None:
    """What stands on one for people is no text of a prompt, however long."""
    decide = control("decide", "condition") | {"description": "x" * 5000}
    definition = definition_model(workflow(decide, node("plan", prompt="Plan it.")))
    assert [field.pointer for field in prompt_fields(definition)] == ["/nodes/1/config/systemPrompt"]
