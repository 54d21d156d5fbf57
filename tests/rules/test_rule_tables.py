"""The metadata tables beside the rules say what the classes say."""

from __future__ import annotations

import re

import pytest

from tools import rule_tables
from workrail_lint.project.selection import unknown_patterns
from workrail_lint.report.rule_docs import retired_section, shipped
from workrail_lint.rules.table import RuleTable, info_of, retired_rules
from workrail_lint.systems.builtin import known_systems


def test_the_tables_are_up_to_date(capsys: pytest.CaptureFixture[str]) -> None:
    assert rule_tables.main(["--check"]) == 0, capsys.readouterr().err


def test_a_stale_table_is_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(rule_tables, "_text", lambda rows: "[]\n")
    assert rule_tables.main(["--check"]) == 1
    assert "workrail_lint/systems/team/rules/table.json is out of date" in capsys.readouterr().err


@pytest.mark.parametrize("system", known_systems(), ids=lambda system: system.name)
def test_a_row_is_the_rule(system: object) -> None:
    rows = system.rules()  # type: ignore[attr-defined]
    assert [row.code for row in rows] == sorted({row.code for row in rows})
    for row in rows:
        rule = system.rule(row.name)  # type: ignore[attr-defined]
        assert info_of(rule, row.module, row.hooks, row.mends) == row
        assert row.family in system.families  # type: ignore[attr-defined]


def test_reading_a_table_imports_no_rule() -> None:
    import subprocess
    import sys

    script = (
        "import sys; from workrail_lint.systems.builtin import known_systems;"
        "print(sum(len(system.rules()) for system in known_systems()));"
        "print([name for name in sys.modules if '.rules.' in name and '.systems.' in name])"
    )
    said = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split("\n")
    assert int(said[0]) > 400
    assert said[1] == "[]"


def test_a_table_of_a_package_that_has_none_is_missing(tmp_path: object) -> None:
    with pytest.raises(FileNotFoundError):
        _ = RuleTable("no.such.package", str(tmp_path)).infos


def test_shipped_retired_rules_are_not_in_use_and_their_successors_are() -> None:
    rows = retired_rules()
    codes, names = {rule.code for rule in shipped()()}, {rule.name for rule in shipped()()}
    for row in rows:
        assert re.fullmatch(r"[A-Z]{2}\d{3}", row.code), row
        assert row.name not in names, row
        assert row.code not in codes or row.code == row.successor, row
        assert not row.successor or row.successor in codes, row
        assert row.reason, row
    assert [row.code for row in rows] == sorted(row.code for row in rows)
    assert len({row.name for row in rows}) == len(rows)
    assert not unknown_patterns(shipped()(), [row.code for row in rows])
    page = retired_section()
    assert all(f"| {row.code} | `{row.name}` |" in page for row in rows)
