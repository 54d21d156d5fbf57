"""Loading rules by need must not lose a finding."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, ClassVar

import pytest
from effort import times
from hypothesis import given
from hypothesis import strategies as st
from tables import for_each

from workrail_lint.documents.json_reader import read_json
from workrail_lint.rules.example_files import as_bytes
from workrail_lint.rules.ruleset import LazyRules
from workrail_lint.rules.table import RuleInfo, info_of
from workrail_lint.systems.workrail.catalog.catalog import load_core
from workrail_lint.systems.workrail.check import check_document
from workrail_lint.systems.workrail.rules import RULES
from workrail_lint.systems.workrail.rules.base import WorkflowRule
from workrail_lint.systems.workrail.rules.prose import IN_PROMPTS
from workrail_lint.systems.workrail.rules.samples import loop, step, workflow
from workrail_lint.systems.workrail.settings import Settings
from workrail_lint.systems.workrail.system import Linter

ALL_FIXTURES = sorted((Path(__file__).parents[3] / "fixtures").rglob("*.json"))
SCENARIOS = [path for path in ALL_FIXTURES if "scenarios" in path.parts and path.parent.name != "workflows"]
# Scenarios and goldens are not workflows, and most of the same things are wrong with each.
FIXTURES = sorted({*ALL_FIXTURES} - {*SCENARIOS} | {*SCENARIOS[:: times(8, deep=1)]})
DOCUMENTS = [
    (f"{rule.code}-{number}-{kind}", as_bytes(content), example)
    for rule in RULES.rules()
    for number, example in enumerate(rule.examples(), 1)
    # What laziness could lose is a finding, and a good example has none of its rule.
    for kind, content in (("bad", example.bad), ("good", example.good))[: times(1, deep=2)]
]


class Unneeding:
    """A table whose rules need nothing, so that every rule is run for every document, and for all of its texts."""

    def __init__(self) -> None:
        made = [type(type(rule).__name__, (type(rule),), {"needs": None, "words": None})() for rule in RULES.rules()]
        self._by_name: dict[str, WorkflowRule] = {rule.name: rule for rule in made}
        self.infos = [info_of(self._by_name[info.name], info.module, info.hooks, info.mends) for info in RULES.infos]

    def rules(self, infos: Iterable[RuleInfo]) -> tuple[WorkflowRule, ...]:
        return tuple(self._by_name[info.name] for info in infos)


class Everything:
    """All rules, those that are off by default included."""

    is_default = False
    active: ClassVar = {info.name for info in RULES.infos}


_UNNEEDING: Any = Unneeding()


def lazy_and_full() -> tuple[LazyRules[WorkflowRule], LazyRules[WorkflowRule]]:
    return LazyRules(RULES, WorkflowRule, Everything()), LazyRules(_UNNEEDING, WorkflowRule, Everything())


def told(data: bytes, path: str, settings: Settings, rules: Any, is_routine: bool) -> list[tuple[str, str, str]]:
    findings = check_document(data, path, settings, Linter(path, settings, rules, is_routine=is_routine).lint).findings
    return sorted((finding.code, finding.pointer, finding.message) for finding in findings)


@for_each("name, data, example", DOCUMENTS, key=lambda row: row[0])
def test_examples(name: str, data: bytes, example: Any) -> None:
    settings = Settings(load_core(), bindings=example.options.get("bindings"))
    is_routine = "routines/" in example.path
    lazy, full = lazy_and_full()
    args = (data, example.path, settings)
    assert told(*args, lazy, is_routine) == told(*args, full, is_routine)


@pytest.mark.search
def test_fixtures_in_one_go() -> None:
    settings = Settings(load_core())
    lazy, full = lazy_and_full()
    for path in FIXTURES:
        data = path.read_bytes()
        if read_json(data, parity=True).readable:
            name = str(path)
            assert told(data, name, settings, lazy, False) == told(data, name, settings, full, False), path


def test_what_a_rule_needs_is_said_by_the_rule() -> None:
    """And what has no hooks is never imported to run it."""
    needed = {info.name for info in RULES.infos if info.needs is not None}
    assert needed == {rule.name for rule in RULES.rules() if rule.needs is not None}
    assert {"loop-max-iterations-high", "condition-always-true", "template-call-unknown"} & needed
    assert not any(info.runs for info in RULES.infos if info.code.startswith("SC00"))


# What authors write in the examples of all rules: every word that some rule needs is among it.
PROMPTS = sorted(
    {
        str(found["prompt"])
        for rule in RULES.rules()
        for example in rule.examples()
        if isinstance(example.bad, dict)
        for found in example.bad.get("steps", ())
        if isinstance(found, dict) and isinstance(found.get("prompt"), str)
    }
)
_LAZY, _FULL = lazy_and_full()


@given(st.lists(st.tuples(st.sampled_from(PROMPTS), st.sampled_from(PROMPTS), st.booleans()), min_size=1, max_size=4))
def test_mixed_prompts(drawn: list[tuple[str, str, bool]]) -> None:
    """Words in capitals, across lines and in other fields than in the examples."""
    steps = [
        step(f"step-{number}", f"{first}\n{second.upper() if loud else second}", guidance=[second], agentRole=first)
        for number, (first, second, loud) in enumerate(drawn)
    ]
    data = as_bytes(workflow(*steps, loop(step("inner", drawn[0][0])), metaGuidance=[drawn[0][1]]))
    settings = Settings(load_core())
    args = (data, "workflows/mixed.json", settings)
    assert told(*args, _LAZY, False) == told(*args, _FULL, False)


def test_every_rule_with_words_has_an_example_that_contains_one() -> None:
    for info in RULES.infos:
        if info.words is not None:
            texts = [
                as_bytes(example.bad).decode().replace('\\"', '"').lower()
                for example in RULES.rule(info.name).examples()
            ]
            assert all(any(word in text for word in info.words if word != IN_PROMPTS) for text in texts), info
            assert all(word == word.lower() for word in info.words), info
