"""Every rule that is registered has all of its facts, whoever wrote it."""

from __future__ import annotations

import re

from tables import for_each

from workrail_lint.findings import Severity
from workrail_lint.report.rule_docs import families, rules, undocumented
from workrail_lint.rules.base import Rule

RULES = rules()
FACTS = ("code", "name", "severity", "origin", "summary", "why", "fix", "fix_safety", "default_on")


def problems(rule: Rule) -> list[str]:
    """What is missing or malformed, in words."""
    missing = [fact for fact in FACTS if not hasattr(rule, fact)]
    if missing:
        return [f"{type(rule).__name__} has no {', '.join(missing)}"]
    found = []
    if not re.fullmatch(r"[A-Z]{2}\d{3}", rule.code):
        found.append(f"the code {rule.code!r} is not two letters and three digits")
    elif rule.family not in families():
        found.append(f"the family {rule.family!r} is not known")
    if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", rule.name):
        found.append(f"the name {rule.name!r} is not in kebab case")
    if not isinstance(rule.severity, Severity):
        found.append("the severity is none")
    for fact in ("summary", "why"):
        text = getattr(rule, fact)
        if not text.endswith(".") or not text.isprintable() or text.strip() != text:
            found.append(f"{fact} is not a plain sentence: {text!r}")
    if not rule.origin:
        found.append("the origin is missing")
    if rule.fix_safety not in ("", "safe", "unsafe", "safe or unsafe"):
        found.append(f"the safety {rule.fix_safety!r} is not known")
    if bool(rule.fix) != bool(rule.fix_safety):
        found.append("a safety needs the text of a fix")
    return found + _example_problems(rule)


def _example_problems(rule: Rule) -> list[str]:
    try:
        examples = list(rule.examples())
    except NotImplementedError as error:
        return [str(error)]
    found = []
    if not examples:
        found.append("there is no example")
    if rule.fix_safety and not any(example.fixed is not None for example in examples):
        found.append("the result of the fix is not shown")
    if not rule.fix_safety and any(example.fixed is not None for example in examples):
        found.append("a result of a fix is shown, but there is no fix")
    for example in examples:
        moved = "good_path" in example.options or "missing" in example.options
        if example.bad == example.good and not moved:
            found.append("the bad example is the good one")
    return found


@for_each("rule", RULES, key=lambda rule: rule.code)
def test_facts_are_complete(rule: Rule) -> None:
    assert problems(rule) == []


def test_codes_and_names_are_unique() -> None:
    for fact in ("code", "name"):
        values = [getattr(rule, fact) for rule in (*RULES, *undocumented())]
        assert sorted(set(values)) == sorted(values)
    assert not {rule.name for rule in RULES} & {rule.code for rule in RULES}


def test_no_name_looks_like_a_family() -> None:
    assert not {rule.name.upper() for rule in RULES} & families().keys()


class Unfinished(Rule):
    """What the checks above are there for."""

    code = "XX1"
    name = "Not Kebab"
    severity = Severity.ERROR
    origin = ""
    summary = "no full stop"
    why = "Because."
    fix_safety = "safe"


def test_an_unfinished_rule_is_noticed() -> None:
    assert problems(Unfinished()) == [
        "the code 'XX1' is not two letters and three digits",
        "the name 'Not Kebab' is not in kebab case",
        "summary is not a plain sentence: 'no full stop'",
        "the origin is missing",
        "a safety needs the text of a fix",
        "Not Kebab has no example",
    ]
    assert problems(Rule()) == ["Rule has no code, name, severity, origin, summary, why"]
