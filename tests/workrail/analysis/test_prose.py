"""What a sentence does with the variable it names, and which values it gives it."""

from __future__ import annotations

from typing import Any

import pytest
from effort import times
from hypothesis import given, settings
from hypothesis import strategies as st

from workrail_lint.systems.workrail.analysis.domains import read_domain
from workrail_lint.systems.workrail.analysis.prose import read_mention

NAME = "riskLevel"


def role(text: str, name: str = NAME, field: str = "prompt", nth: int = 0) -> str | None:
    start = -1
    for _ in range(nth + 1):
        start = text.index(name, start + 1)
    reading = read_mention(text, start, start + len(name), field)
    return None if reading is None else reading.role


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # 1: passive
        ("`riskLevel` MUST be set to High.", "stated"),
        ("riskLevel is set to one of the bands.", "stated"),
        ("If `riskLevel` is set, continue there.", "condition"),
        # 2: conditions
        ("If `riskLevel` is High, stop.", "condition"),
        ("When the area is large, set `riskLevel`.", "stated"),
        ("When the area is large update `riskLevel`.", "stated"),
        ("Ask again unless `riskLevel` is Low.", "plain"),
        ("Go on, unless `riskLevel` is Low.", "condition"),
        ("If the cause is known (riskLevel = High), stop.", "condition"),
        # 4: assignment
        ("Then riskLevel = High.", "stated"),
        ("Then `riskLevel` := High.", "stated"),
        ("Then `riskLevel == High`.", "plain"),
        ("Continue when riskLevel = High", "plain"),
        # 5: strong verbs
        ("Set `riskLevel`.", "stated"),
        ("Record the outcome as `riskLevel`.", "stated"),
        ("Capture the scope ({ a, b }), the owner and riskLevel.", "stated"),
        ("Set these keys in `context`: `scopeShape`, `riskLevel`", "stated"),
        ("Set context.riskLevel accordingly.", "stated"),
        ("Build the plan using `riskLevel`.", "plain"),
        ("Score the options against `scopeShape` and `riskLevel`.", "plain"),
        ("Set `ownerName` to the person that looks after the code and riskLevel to high or low.", "stated"),
        # 6: weak verbs
        ("List the files and note `riskLevel`.", "listed"),
        # 7: lines
        ("Capture:\n- `riskLevel`", "stated"),
        ("**Capture these fields:**\n\n- `other`\n- riskLevel", "stated"),
        ("Capture:\n- bands:\n  - `riskLevel` by size", "plain"),
        ("Look here:\n- `riskLevel`: how bad it is", "listed"),
        ("Look here:\n- `riskLevel` goes up", "plain"),
        # 8: anything else
        ("The team discussed `riskLevel` at length.", "plain"),
        # negated, in braces, in an example
        ("Do not set `riskLevel`.", "mentioned"),
        ("Finish without setting `riskLevel`.", "mentioned"),
        ("Never guess; set `riskLevel`.", "stated"),
        ("Set `plan` to { riskLevel, owner }.", "mentioned"),
        ('```json\n{\n  "riskLevel": "High"\n}\n```', "listed"),
    ],
)
def test_what_a_sentence_does(text: str, expected: str) -> None:
    assert role(text) == expected


def test_a_value_of_output_required_states_what_it_names() -> None:
    assert role("The band: riskLevel and why.", field="outputRequired") == "stated"


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("Report the status of the build.", False),
        ("Set `status`.", True),
        ("Set 'status'.", True),
        ("Then status = done.", True),
        ("Set status (string).", True),
        ("Set the variable status.", True),
        ("Set the context variable found to true or false and status to low or high.", True),
        ("Set the variable `found`. Report the status.", False),
        ("Capture:\n- status", True),
        ("Look:\n- status", False),
    ],
)
def test_an_everyday_word_counts_only_when_it_is_marked(text: str, counts: bool) -> None:
    assert (role(text, "status") is not None) is counts


def domain(text: str, name: str = NAME) -> tuple[str, tuple[Any, ...], bool] | None:
    start = text.index(name)
    reading = read_mention(text, start, start + len(name), "prompt")
    assert reading is not None
    found = read_domain(text, start, start + len(name), lambda: reading.role)
    return None if found is None else (found.kind, found.values, found.closed)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Set `riskLevel` to exactly one of: `low`, `mid`, `high`.", ("one-of", ("low", "mid", "high"), True)),
        ("Set `riskLevel` in the context to one of low, mid or high.", ("one-of", ("low", "mid", "high"), True)),
        ("`riskLevel` must be either `low` or `high`.", ("one-of", ("low", "high"), True)),
        ("- `riskLevel`: low / mid / high", ("alternatives", ("low", "mid", "high"), True)),
        ("- `riskLevel` (low | high)", ("alternatives", ("low", "high"), True)),
        ("- `riskLevel`: `low` (quiet) | `high` (loud)", ("alternatives", ("low", "high"), True)),
        ("Classify `riskLevel` as low, mid, or high by size.", ("alternatives", ("low", "mid", "high"), True)),
        ("Set `riskLevel` to `'low'` or `'high'`.", ("alternatives", ("low", "high"), True)),
        ("- `riskLevel`: low, mid, high", None),
        ("Set `riskLevel` to low or the path of a file.", None),
        ("- `riskLevel` (true/false)", ("boolean", (True, False), True)),
        ("Set `riskLevel` to true if anything fails.", ("boolean", (True, False), True)),
        ("- `riskLevel`: whether it is bad", ("boolean", (True, False), True)),
        ("Set `riskLevel` to the number of failures.", ("number", (), False)),
        ("`riskLevel` = number of failures", ("number", (), False)),
        ("- `riskLevel`: list of files", ("list", (), False)),
        ("Set `riskLevel` to a list of objects, each with `path` and `size`.", ("list", ("path", "size"), False)),
        ("- `riskLevel` (array of { path, size })", ("list", ("path", "size"), False)),
        ("Set `riskLevel = high`.", ("value", ("high",), False)),
        ("Set `riskLevel` to `high`.", ("value", ("high",), False)),
        ("Set `riskLevel` using these rules:\n- `low`: fine\n- `high`: not", ("bullets", ("low", "high"), True)),
        ("Set `riskLevel` by these rules:\n- low when fine\n- high when not", ("bullets", ("low", "high"), True)),
        ("If `riskLevel` is low or high, stop.", ("alternatives", ("low", "high"), False)),
        ("If `riskLevel` is set, stop.", None),
        ("Set `riskLevel` to src/main.py or lib.py.", None),
    ],
)
def test_which_values_a_sentence_gives(text: str, expected: tuple[str, tuple[Any, ...], bool] | None) -> None:
    assert domain(text) == expected


PIECES = st.sampled_from(
    [
        NAME,
        f"`{NAME}`",
        "set ",
        "if ",
        "one of ",
        ": ",
        " = ",
        "(",
        ")",
        "{",
        "}",
        "|",
        "/",
        ", ",
        "or ",
        "\n",
        "- ",
        "`",
    ]
)
TEXTS = st.lists(st.one_of(PIECES, st.text(max_size=6)), max_size=30).map("".join)


@settings(max_examples=times(100, deep=800), deadline=None)
@given(TEXTS)
def test_any_text_can_be_read_and_reads_alike_twice(text: str) -> None:
    start = text.find(NAME)
    while start >= 0:
        first = read_mention(text, start, start + len(NAME), "prompt")
        assert first == read_mention(text, start, start + len(NAME), "prompt")
        for known in ("stated", "condition", "plain"):
            read_domain(text, start, start + len(NAME), lambda role=known: role)
        start = text.find(NAME, start + 1)
