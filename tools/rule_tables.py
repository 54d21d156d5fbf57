"""Writes the metadata tables of the rules: `python -m tools.rule_tables [--check]`.

One `table.json` in each package of rules, one line for each rule, by code, and beside it `texts.json` with what is said
about each rule.
"""

from __future__ import annotations

import json
import os
import pkgutil
import sys
from importlib import import_module

from tools.generated import bring_up_to_date
from workrail_lint.rules.base import Rule
from workrail_lint.rules.ruleset import overrides
from workrail_lint.rules.table import TABLE_FILE, TEXTS_FILE, RuleInfo, RuleTexts, info_of, row_of, rule_classes

# Each package of rules, and the class whose hooks they override.
PACKAGES: dict[str, type[Rule] | str] = {
    "workrail_lint.rules": Rule,
    "workrail_lint.systems.workrail.rules": "base:WorkflowRule",
    "workrail_lint.systems.team.rules": "base:TeamRule",
    "workrail_lint.systems.blocks.rules": "base:BlockRule",
    "workrail_lint.systems.scenario.rules": Rule,
}


def infos(package: str) -> list[RuleInfo]:
    """Return the metadata of the rules of a package, read from their classes."""
    base = _base(package)
    hooks = [name for name in vars(base) if name.startswith("check_")]
    result = []
    for module in pkgutil.iter_modules(import_module(package).__path__):
        members = vars(import_module(f"{package}.{module.name}"))
        for cls in rule_classes(members, f"{package}.{module.name}"):
            rule = cls()
            own = frozenset(hook for hook in hooks if overrides(rule, base, hook))
            if own and overrides(rule, base, "applies"):
                own |= {"applies"}
            result.append(info_of(rule, module.name, own, overrides(rule, base, "fix_for")))
    return sorted(result, key=lambda info: info.code)


def _base(package: str) -> type[Rule]:
    base = PACKAGES[package]
    if not isinstance(base, str):
        return base
    module, _, name = base.partition(":")
    cls: type[Rule] = getattr(import_module(f"{package}.{module}"), name)
    return cls


def files() -> dict[str, str]:
    """Return every table and its text."""
    contents = {}
    for package in PACKAGES:
        rows, folder = infos(package), _folder(package)
        contents[os.path.join(folder, TABLE_FILE)] = _text(rows)
        contents[os.path.join(folder, TEXTS_FILE)] = _texts(rows)
    return contents


def _folder(package: str) -> str:
    return os.path.dirname(str(import_module(package).__file__))


def _text(rows: list[RuleInfo]) -> str:
    return "[\n" + ",\n".join(json.dumps(row_of(row), ensure_ascii=False) for row in rows) + "\n]\n"


def _texts(rows: list[RuleInfo]) -> str:
    lines = (f"{json.dumps(row.name)}: {json.dumps(_in_order(row.texts), ensure_ascii=False)}" for row in rows)
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _in_order(texts: RuleTexts) -> tuple[str, str, str, str, str]:
    return texts.origin, texts.summary, texts.why, texts.fix, texts.fix_safety


def main(arguments: list[str]) -> int:
    """Bring the tables up to date; with `--check` only say which are not."""
    return bring_up_to_date(files(), arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
