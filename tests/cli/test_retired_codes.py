"""Every retired code and name is accepted, wherever a rule can be named, and the remark says what took its place."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from cli_types import Run

from workrail_lint.rules.table import retired_rules
from workrail_lint.systems.workrail.rules.samples import step, workflow

ROWS = retired_rules()
# A code that its rule kept is current; only its former name is retired.
WORDS = {rule.name: rule for rule in ROWS} | {rule.code: rule for rule in ROWS if rule.code != rule.successor}


@pytest.fixture(autouse=True)
def _workflow(write: Callable[[str, Any], Any]) -> None:
    write("workflows/a.json", workflow(step()))


def assert_remarks(stderr: str) -> None:
    remarks = set(stderr.splitlines())
    missing = [word for word, rule in WORDS.items() if f"workrail-lint: {rule.remark}" not in remarks]
    assert missing == []
    for rule in ROWS:
        assert (rule.successor or "no longer exists") in rule.remark


@pytest.mark.parametrize("option", ["--select", "--extend-select", "--ignore"])
def test_an_option_accepts_every_retired_code_and_name(run: Run, option: str) -> None:
    ran = run("check", "--no-cache", option, ",".join(WORDS), "workflows/a.json")
    assert ran.code == 0, ran.out
    assert_remarks(ran.err)


def test_a_configuration_accepts_every_retired_code_and_name(run: Run, write: Callable[[str, Any], Any]) -> None:
    words = json.dumps(list(WORDS))
    write(
        "workrail-lint.toml",
        f'[[suppress]]\nplace = "workflows/a.json"\ncodes = {words}\nreason = "meant"\n\n'
        f'[per-file-ignores]\n"*.json" = {words}\n',
    )
    ran = run("check", "--no-cache", "--exit-zero", ".")
    assert ran.code == 0, ran.out + ran.err
    assert_remarks(ran.err)


@pytest.mark.parametrize("rule", ROWS[:: len(ROWS) // 8], ids=lambda rule: str(rule.name))
def test_a_suppression_of_a_single_retired_rule_names_its_successor(
    run: Run, write: Callable[[str, Any], Any], rule: Any
) -> None:
    write(
        "workrail-lint.toml",
        f'[[suppress]]\nplace = "workflows/a.json"\ncodes = ["{rule.name}"]\nreason = "meant"\n',
    )
    assert rule.remark in run("check", "--no-cache", ".").err
