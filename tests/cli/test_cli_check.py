"""check: every option, as a user meets it."""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
from cli_types import Run
from effort import patience

from workrail_lint.systems.workrail.rules.samples import controlled_loop, step, workflow

CLEAN = workflow(step("first"), step("second", "Do it again."))
BROKEN = {**CLEAN, "steps": [step("first", title=..., titel="x")]}
WARNED = workflow(
    {
        **controlled_loop(),
        "loop": {"type": "while", "condition": {"var": "again"}, "maxIterations": 3},
        "body": [step("inner", "Set again to true or false.")],
    }
)


def codes(out: str) -> list[str]:
    return [finding["name"] for finding in json.loads(out)["findings"]]


def test_clean_and_broken(run: Run, write: Any) -> None:
    write("workflows/example.json", CLEAN)
    ran = run("check")
    assert (ran.code, ran.out) == (0, "")
    assert "nothing found" in ran.err
    write("workflows/example.json", BROKEN)
    ran = run("check", "workflows/example.json")
    assert ran.code == 1
    assert "schema-unknown-member" in ran.out
    assert "did you mean" in ran.out
    assert "workflows/example.json:" in ran.out
    assert run("check", "--exit-zero").code == 0


def test_json_shape(run: Run, write: Any) -> None:
    write("workflows/example.json", BROKEN)
    report = json.loads(run("check", "--format", "json").out)
    assert report["version"] == 1
    finding = next(item for item in report["findings"] if item["name"] == "schema-unknown-member")
    assert set(finding) >= {"code", "name", "severity", "message", "path", "pointer", "range", "fix", "help"}
    assert finding["pointer"] == "/steps/0/titel"
    assert finding["range"]["start"]["line"] > 1
    assert report["findings"] == sorted(
        report["findings"],
        key=lambda f: (f["path"], f["range"]["start"]["line"], f["range"]["start"]["column"], f["code"]),
    )


def test_warnings_fail_only_when_strict(run: Run, write: Any) -> None:
    write("workflows/example.json", WARNED)
    assert run("check").code == 0
    assert run("check", "--strict").code == 1
    write("workrail-lint.toml", "strict = true\n")
    assert run("check").code == 1


def test_selection(run: Run, write: Any) -> None:
    write("workflows/example.json", WARNED)
    everything = codes(run("check", "--format", "json").out)
    assert "loop-context-controlled" in everything
    assert codes(run("check", "--format", "json", "--ignore", "LP").out) == [
        n for n in everything if not n.startswith("loop")
    ]
    assert codes(run("check", "--format", "json", "--select", "loop-context-controlled").out) == [
        "loop-context-controlled"
    ]
    assert run("check", "--select", "nope").code == 2
    assert "did you mean" in run("check", "--select", "loop-context-controled").err
    write("workrail-lint.toml", '[per-file-ignores]\n"workflows/*" = ["LP"]\n')
    assert not [n for n in codes(run("check", "--format", "json").out) if n.startswith("loop")]
    write("workrail-lint.toml", '[severity]\nloop-context-controlled = "error"\n')
    assert run("check").code == 1
    write("workrail-lint.toml", '[severity]\nloop-context-controlled = "fatal"\n')
    assert run("check").code == 2


def test_a_configuration_can_not_make_less_of_schema_errors(run: Run, write: Any) -> None:
    write("workflows/example.json", BROKEN)
    for pattern in ("ALL", "schema-unknown-member"):
        write("workrail-lint.toml", f'[severity]\n{pattern} = "info"\n')
        ran = run("check", "--format", "json")
        assert ran.code == 1
        found = json.loads(ran.out)["findings"]
        assert {item["severity"] for item in found if item["name"] == "schema-unknown-member"} == {"error"}


def test_syntax_errors_can_not_be_ignored(run: Run, write: Any) -> None:
    write("workflows/example.json", '{"steps": [}')
    assert run("check", "--select", "LP").code == 1


def test_fix_diff_and_their_safety(run: Run, write: Any) -> None:
    text = json.dumps(CLEAN, indent=2).replace('"version": "1.0.0",', '"version": "1.0.0", // why\n') + "\n"
    path = write("workflows/example.json", text)
    shown = run("check", "--diff")
    assert shown.code == 1
    assert "// why" in shown.out
    assert path.read_text() == text
    fixed = run("check", "--fix")
    assert fixed.code == 0
    assert "fixed" in fixed.err
    after = path.read_text()
    assert json.loads(after) == CLEAN
    assert run("check", "--fix").code == 0
    assert path.read_text() == after
    assert run("check", "--diff").code == 0
    assert run("check", "--unsafe-fixes").code == 2


@pytest.mark.parametrize("options", [[], ["--unsafe-fixes"]])
def test_fix_with_diff_writes_nothing(options: list[str], run: Run, write: Any) -> None:
    text = json.dumps({**CLEAN, "metaGuidance": ["a", "a"]}, indent=2).replace('"1.0.0",', '"1.0.0", // why\n') + "\n"
    path = write("workflows/example.json", text)
    both = run("check", "--fix", "--diff", *options)
    alone = run("check", "--diff", *options)
    assert path.read_text() == text
    assert both == alone
    assert both.code == 1
    assert "// why" in both.out
    assert run("check", "--fix", "--diff", "--exit-zero", *options).code == 0
    assert path.read_text() == text


def test_unsafe_fixes_are_asked_for(run: Run, write: Any) -> None:
    path = write("workflows/example.json", BROKEN)
    before = path.read_bytes()
    assert run("check", "--fix", "--select", "schema-unknown-member").code == 1
    assert path.read_bytes() == before


def test_suppression_by_ids_with_reason_and_expiry(run: Run, write: Any) -> None:
    write("workflows/example.json", WARNED)
    entry = '[[suppress]]\nplace = "workflows/example.json#/steps/again"\ncodes = ["loop-context-controlled"]\n'
    write("workrail-lint.toml", entry)
    ran = run("check")
    assert ran.code == 2
    assert "'reason' is missing" in ran.err
    write("workrail-lint.toml", entry + 'reason = "a plain fact decides"\n')
    assert "loop-context-controlled" not in codes(run("check", "--format", "json").out)
    moved = {**WARNED, "steps": [step("new"), *WARNED["steps"]]}
    write("workflows/example.json", moved)
    assert "loop-context-controlled" not in codes(run("check", "--format", "json").out)
    write("workrail-lint.toml", entry + 'reason = "r"\nexpires = "2001-01-01"\n')
    names = codes(run("check", "--format", "json").out)
    assert {"loop-context-controlled", "suppression-expired"} <= set(names)
    write("workflows/example.json", CLEAN)
    write("workrail-lint.toml", entry + 'reason = "r"\n')
    assert codes(run("check", "--format", "json").out) == ["suppression-unused"]
    assert codes(run("check", "--format", "json", "workflows/example.json").out) == []


@pytest.mark.parametrize(("days", "is_over"), [(-1, True), (0, False), (1, False)])
def test_a_suppression_holds_on_the_day_it_expires(run: Run, write: Any, days: int, is_over: bool) -> None:
    write("workflows/example.json", WARNED)
    while True:  # unless midnight passes meanwhile, once
        today = date.today()
        entry = 'place = "workflows/example.json"\ncodes = ["loop-context-controlled"]\nreason = "meant"\n'
        write("workrail-lint.toml", f'[[suppress]]\n{entry}expires = "{today + timedelta(days)}"\n')
        names = codes(run("check", "--format", "json").out)
        if date.today() == today:
            break
    assert ("loop-context-controlled" in names) is is_over
    assert ("suppression-expired" in names) is is_over


def test_baseline_survives_reformatting_and_moves(run: Run, write: Any) -> None:
    write("workflows/example.json", {**WARNED, "id": "My.Flow"})
    assert run("check").code == 1
    assert run("check", "--write-baseline", "baseline.json").code == 0
    assert run("check", "--baseline", "baseline.json", "--strict").code == 0
    write("workflows/example.json", json.dumps({**WARNED, "id": "My.Flow", "steps": [step("zero"), *WARNED["steps"]]}))
    assert run("check", "--baseline", "baseline.json", "--strict").code == 0
    write("workflows/example.json", {**WARNED, "id": "My.Other"})
    assert run("check", "--baseline", "baseline.json").code == 1
    sarif = json.loads(run("check", "--baseline", "baseline.json", "--format", "sarif").out)
    states = {result.get("baselineState") for result in sarif["runs"][0]["results"]}
    assert states == {"new", "unchanged"}
    assert "baseline: nope.json does not exist; create it with" in run("check", "--baseline", "nope.json").err
    for bad in ("{}", "[", '{"baselineVersion": 9, "entries": []}'):
        write("baseline.json", bad)
        assert run("check", "--baseline", "baseline.json").code == 2
    assert run("check", "--baseline", "missing.json").code == 2


def test_stdin(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(json.dumps(BROKEN).encode())))
    ran = run("check", "-", "--stdin-filename", "workflows/x.json", "--format", "concise")
    assert ran.code == 1
    assert "workflows/x.json:1:" in ran.out
    assert run("check", "-", "a.json").code == 2
    assert run("check", "a.json", "--stdin-filename", "x").code == 2


def test_a_diff_of_what_comes_on_stdin(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def diff(text: str, *arguments: str) -> tuple[int, str]:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        ran = run("check", "-", "--stdin-filename", "workflows/example.json", "--diff", *arguments)
        return ran.code, ran.out

    neat = json.dumps(CLEAN, indent=2) + "\n"
    code, out = diff(neat.replace("\n", "\r\n"))
    assert code == 1
    assert out.startswith("--- workflows/example.json\n+++ workflows/example.json\n@@")
    assert "-{\\u000d\n" in out
    assert diff(neat) == (0, "")
    code, out = diff(neat[:-1])
    assert (code, out.splitlines()[-3:]) == (1, ["-}", "\\ No newline at end of file", "+}"])
    blank = json.dumps(workflow(step("first", guidance=["Look.", ""])), indent=2) + "\n"
    assert diff(blank, "--select", "guidance-blank") == (0, "")
    code, out = diff(blank, "--select", "guidance-blank", "--unsafe-fixes")
    assert code == 1
    assert '-        ""' in out
    assert diff("\udcff".encode("utf-8", "surrogatepass").decode("latin-1") * 3) == (0, "")


def test_output_file(run: Run, write: Any, tmp_path: Path) -> None:
    write("workflows/example.json", BROKEN)
    ran = run("check", "--format", "json", "--output", "report.json")
    assert (ran.code, ran.out) == (1, "")
    assert json.loads((tmp_path / "report.json").read_text())["findings"]
    assert run("check", "--format", "json", "--output", "no/such/folder.json").code == 2


def test_exit_codes_for_what_is_not_there(run: Run, write: Any, tmp_path: Path) -> None:
    assert run("check", "missing.json").code == 2
    assert run("check").code == 3
    write("package.json", {"name": "other", "steps": 3})
    write("tsconfig.json", '{ // a comment\n "compilerOptions": {} }')
    assert run("check").code == 3
    assert run("check", "--jobs", "0").code == 2


def test_nothing_unreadable_hides_among_workflows(run: Run, write: Any) -> None:
    neat = json.dumps(CLEAN, indent=2)
    for name, content in {"empty": b"", "cut": b"{", "wide": neat.encode("utf-16"), "list": b"[]"}.items():
        write(f"workflows/{name}.json", content)
        write(f"elsewhere/{name}.json", content)
    write("workflows/other.json", '{"compilerOptions": {}}')
    ran = run("check", "--format", "concise")
    assert ran.code == 1
    for name, rule in {"empty": "json-syntax", "cut": "json-syntax", "wide": "json-invalid-utf8"}.items():
        assert f"workflows/{name}.json:1:" in ran.out
        assert rule in ran.out
    assert "elsewhere" not in ran.out
    assert "other" not in ran.out


def test_a_file_with_an_id_among_workflows_is_one_however_little_it_holds(run: Run, write: Any) -> None:
    write("workflows/begun.json", {"id": "demo.begun", "name": "Begun"})
    write("elsewhere/begun.json", {"id": "demo.begun", "name": "Begun"})
    write("workflows/numbered.json", {"id": 3, "name": "Some other tool's"})
    ran = run("check", "--format", "concise")
    assert ran.code == 1
    assert "workflows/begun.json:1:1: error SC002 schema-missing-member: the required field 'steps'" in ran.out
    assert "elsewhere" not in ran.out
    assert "numbered" not in ran.out


def test_a_project_below_a_folder_named_routines_has_workflows(run: Run, write: Any, tmp_path: Path) -> None:
    bare = {name: value for name, value in CLEAN.items() if name != "about"}
    write("routines/repo/workflows/example.json", bare)
    write("routines/repo/workflows/routines/helper.json", {**bare, "id": "demo.helper"})
    write("repo/routines/other.json", {**bare, "id": "demo.other"})
    ran = run("check", "--isolated", "--select", "workflow-undescribed", "--format", "concise", str(tmp_path))
    assert "example.json:1:1: info LC015" in ran.out
    assert "helper.json" not in ran.out
    assert "other.json" not in ran.out


def test_a_variable_that_a_scenario_or_a_delegating_workflow_gives_is_set(run: Run, write: Any) -> None:
    from workrail_lint.systems.workrail.rules.samples import parallel

    reader = workflow(step("first", "Look at {{ticketKey}} and {{reviewDepth}}."), id="demo.reader")
    write("workflows/reader.json", reader)

    def unset() -> list[str]:
        found = json.loads(run("check", "--format", "json").out)["findings"]
        return [finding["message"] for finding in found if finding["name"] == "variable-never-set"]

    assert len(unset()) == 2
    given = {"workflow": "../workflows/reader.json", "context": {"ticketKey": "K-1"}, "agent": {"kind": "auto"}}
    write("tests/reader.scenario.json", given)
    (left,) = unset()
    assert "reviewDepth" in left
    mapped = {"workflowId": "demo.reader", "contextMapping": {"depth": "reviewDepth"}}
    caller = workflow(step("ask", "Set `depth` to 1 or 2."), parallel(parallelDelegations=[mapped]), id="demo.caller")
    write("workflows/caller.json", caller)
    assert unset() == []


def test_cross_file_findings(run: Run, write: Any) -> None:
    from workrail_lint.systems.workrail.rules.samples import parallel

    fan = parallel(parallelDelegations=[{"workflowId": "demo.bb"}, {"workflowId": "demo.cc"}])
    write("workflows/a.json", workflow(step(), fan, id="demo.aa"))
    write("workflows/b.json", workflow(step(), parallel(parallelDelegations=[{"workflowId": "demo.aa"}]), id="demo.bb"))
    write("workflows/c.json", workflow(id="demo.aa"))
    names = set(codes(run("check", "--format", "json").out))
    assert {"delegation-circular", "delegation-unknown", "duplicate-workflow-id"} <= names


def test_cache_is_used_never_wrong_and_safe_to_lose(run: Run, write: Any, tmp_path: Path, user_cache: Path) -> None:
    path = write("workflows/example.json", WARNED)
    first = run("check", "--format", "json").out
    folder = user_cache / "workrail-lint"
    entry = max(folder.glob("*.json"), key=lambda path: path.stat().st_mtime_ns)
    assert not (tmp_path / ".workrail-cache").exists()
    assert run("check", "--format", "json").out == first
    assert (folder / ".gitignore").read_text() == "*\n"
    for damage in (b"", b"{", b"[]", b'{"format": 2, "entries": {"workflows/example.json": [1, 2]}}', b"\xff"):
        entry.write_bytes(damage)
        assert run("check", "--format", "json").out == first
    write("workflows/example.json", CLEAN)
    assert "loop" not in run("check", "--format", "json").out
    write("workrail-lint.toml", 'ignore = ["LP"]\n')
    path.write_text(json.dumps(WARNED))
    assert "loop-context-controlled" not in run("check", "--format", "json").out
    before = sorted(folder.iterdir())
    run("check", "--no-cache")
    assert sorted(folder.iterdir()) == before


def test_references_are_looked_up_each_time(run: Run, write: Any, tmp_path: Path) -> None:
    reference = {"id": "doc", "title": "Doc", "source": "docs/a.md", "purpose": "p", "authoritative": True}
    write("workflows/example.json", workflow(references=[reference]))
    assert "reference-missing-file" in run("check").out
    write("docs/a.md", "text")
    assert "reference-missing-file" not in run("check").out


def test_many_files_in_several_processes(run: Run, write: Any) -> None:
    for number in range(200):
        document = {**(BROKEN if number % 50 == 0 else CLEAN), "id": f"demo.w{number:03}"}
        write(f"workflows/w{number:03}.json", document)
    single = run("check", "--jobs", "1", "--no-cache", "--format", "json").out
    assert run("check", "--jobs", "3", "--no-cache", "--format", "json").out == single
    assert run("check", "--jobs", "3", "--format", "json").out == single
    assert run("check", "--jobs", "3", "--format", "json").out == single


@pytest.fixture
def while_watched(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """What happens between one look and the next, in order; after it the person interrupts."""
    from workrail_lint.cli import watch

    def prepare(*changes: Callable[[], object]) -> None:
        coming = iter(changes)

        def next_change(_: float) -> None:
            change = next(coming, None)
            if change is None:
                raise KeyboardInterrupt
            change()

        monkeypatch.setattr(watch.time, "sleep", next_change)

    return prepare


def test_watch_checks_again_after_a_change(run: Run, write: Any, while_watched: Any, tmp_path: Path) -> None:
    write("workflows/example.json", CLEAN)
    while_watched(
        lambda: None,
        lambda: write("workflows/example.json", BROKEN),
        lambda: None,
        lambda: (tmp_path / "workflows/example.json").unlink(),
    )
    ran = run("check", "workflows", "--watch", "--format", "concise")
    assert ran.code == 130
    assert ran.err.count("watching for changes") == 3
    assert ran.out.count("workflows/example.json:") >= 1


def test_watch_says_what_is_new_and_what_is_gone(run: Run, write: Any, while_watched: Any, tmp_path: Path) -> None:
    path = "workflows/example.json"
    unset = {**step("second"), "prompt": "Look at {{plan}}."}
    other = {**unset, "prompt": "Look at {{draft}}."}
    write(path, workflow(step("first"), unset))
    while_watched(
        lambda: write(path, workflow(step("zeroth"), step("first"), unset)),  # moved: nothing new
        lambda: write(path, workflow(step("first"), other)),
        lambda: write(path, '{"id": "demo.example", "steps": ['),  # in the middle of typing
        lambda: write(path, workflow(step("first"), other)),
        lambda: write(path, workflow(step("first"), step("second"))),
        lambda: write(path, workflow(step("first"), step("second"), unset | {"id": "third"})),
    )
    ran = run("check", "workflows", "--watch", "--format", "concise", "--select", "CD023,SY")
    said = [line for line in ran.err.splitlines() if "since the last" in line or line.startswith("  ")]
    heading = "workrail-lint: since the last check:"
    marks = [line.partition(heading)[2] or line.split(":")[0] for line in said]
    assert marks == [
        *(" nothing new, nothing gone",),
        *(" 1 changed", f"  ~ {path}"),
        *(" 1 new", f"  + {path}"),  # what is in a file that can't be read is not gone
        *(" 1 gone", f"  - {path}"),
        *(" 1 gone", f"  - {path}"),
        *(" 1 new", f"  + {path}"),
    ]
    assert "draft" in said[2]


def test_watch_shows_what_it_found_at_once(run: Run, write: Any, while_watched: Any, tmp_path: Path) -> None:
    write("workflows/example.json", BROKEN)
    seen: list[str] = []
    with open(tmp_path / "shown.txt", "w", encoding="utf-8") as stdout, pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.stdout", stdout)
        while_watched(lambda: seen.append((tmp_path / "shown.txt").read_text(encoding="utf-8")))
        run("check", "workflows", "--watch", "--format", "concise")
    assert "workflows/example.json:" in seen[0], "nobody waits for a buffer to fill"


def test_watch_sees_what_else_decides(run: Run, write: Any, while_watched: Any) -> None:
    while_watched(
        lambda: write("workrail-lint.toml", 'ignroe = ["LP018"]\n'),
        lambda: write("workrail-lint.toml", 'ignore = ["LP018"]\n'),
        lambda: None,
        lambda: write(".workrail/bindings.json", {"demo.example": {}}),
    )
    write("workflows/example.json", WARNED)
    write("workrail-lint.toml", "")
    ran = run("check", "workflows", "--watch", "--select", "LP018", "--format", "concise")
    assert ran.code == 130
    assert ran.out.count("loop-context-controlled:") == 1
    assert "did you mean 'ignore'?" in ran.err
    assert ran.err.count("watching for changes") == 4


PLUGIN = """
from workrail_lint.project.plugins import hookimpl
from workrail_lint.findings import Severity
from workrail_lint.rules.base import Example
from workrail_lint.systems.workrail.rules.base import WorkflowRule
from workrail_lint.systems.workrail.rules.samples import workflow

class TeamName(WorkflowRule):
    code = "XX001"
    name = "team-name-missing"
    severity = Severity.ERROR
    origin = "product"
    summary = "The description names no team."
    why = "Nobody knows whom to ask."

    def check_workflow(self, workflow, report):
        if "team" not in workflow.definition.get("description", ""):
            report("/description", "name the team")

    def examples(self):
        yield Example(workflow(), workflow(description="Owned by team A."))

@hookimpl
def workrail_lint_rules():
    return [TeamName]
"""


def test_under_parity_nothing_makes_an_error_of_what_the_engine_accepts(
    run: Run, write: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("our_parity_rules.py", PLUGIN)
    monkeypatch.syspath_prepend(str(tmp_path))
    settings = '[severity]\nloop-context-controlled = "error"\nstep-id-duplicate = "error"\n'
    write("workrail-lint.toml", f'plugins = ["our_parity_rules"]\n{settings}')
    write("workflows/example.json", WARNED)
    assert run("check", "--format", "concise").out.count(": error ") == 2
    ran = run("check", "--engine-parity", "--format", "concise")
    assert (ran.code, ran.out.count(": error ")) == (0, 0)
    assert ran.out.count(": warning LP018 ") == 1
    write("workflows/example.json", {**WARNED, "steps": WARNED["steps"] * 2})
    assert run("check", "--engine-parity").code == 1, "what the engine rejects stays an error"


def test_plugins_are_loaded_only_when_configured(
    run: Run, write: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("workflows/example.json", CLEAN)
    write("our_rules.py", PLUGIN)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert run("check").code == 0
    write("workrail-lint.toml", 'plugins = ["our_rules"]\n')
    ran = run("check", "--format", "concise")
    assert ran.code == 1
    assert "XX001 team-name-missing" in ran.out
    assert run("check", "--ignore", "XX").code == 0
    assert "Nobody knows whom to ask." in run("rule", "XX001").out
    assert "XX001  team-name-missing" in run("rule", "xx").out
    write("workrail-lint.toml", 'plugins = ["no_such_module"]\n')
    assert "can't be imported: No module named 'no_such_module'; install it" in run("check").err
    looked_up = run("rule", "LP001")
    assert looked_up.code == 0, "our own rules can be looked up all the same"
    assert "can't be imported" in looked_up.err
    write("bad_rules.py", PLUGIN.replace("XX001", "LP001"))
    write("workrail-lint.toml", 'plugins = ["bad_rules"]\n')
    assert "already used" in run("check").err
    write("worse_rules.py", "1 / 0\n")
    write("workrail-lint.toml", 'plugins = ["worse_rules"]\n')
    assert run("check").code == 2


HOSTILE = {
    "brackets": "[" * 100_000,
    "objects": '{"steps":' * 100_000,
    "long string": json.dumps({**CLEAN, "description": "x" * 900_000}),
    "nul bytes": b'{"steps": ["\x00"]}',
    "escapes": json.dumps(
        workflow(step("first", "\x1b[31mred\x1b]8;;x\x07 ::error::boom <script>alert(1)</script>\r\n::error::x"))
    ),
    "escape in id": json.dumps({**CLEAN, "id": "\x1b[2J::error::"}),
    "exploding regex": json.dumps(
        workflow(step(validationCriteria=[{"type": "regex", "pattern": "(x+x+)+y" * 50, "message": "m"}]))
    ),
    "nested conditions": '{"id":"demo.deep","steps":[{"id":"one-step","title":"t","prompt":"p","runCondition":'
    + '{"not":' * 5000
    + "{}"
    + "}" * 5000
    + "}]}",
    "wrong types": json.dumps({"id": [], "name": {}, "steps": {"a": 1}, "features": 3, "assessments": "x"}),
    "null steps": '{"id": "demo.null", "steps": [null, 1, "x", [], {"type": "loop", "body": [null]}]}',
    "surrogates": '{"id":"demo.lone","name":"\\ud800","steps":[{"id":"one-step","title":"\\udfff","prompt":"p"}]}',
    "many duplicates": "{" + ",".join(['"steps":[]'] * 3000) + "}",
}


@pytest.mark.parametrize("form", ["text", "concise", "json", "jsonl", "sarif", "github", "gitlab", "junit"])
@pytest.mark.parametrize("name", list(HOSTILE))
def test_hostile_input(run: Run, write: Any, name: str, form: str) -> None:
    write("workflows/example.json", HOSTILE[name])
    with patience():
        ran = run("check", "--no-cache", "--format", form, "workflows/example.json")
    assert ran.code in (0, 1)
    assert "\x1b" not in ran.out
    assert "\x00" not in ran.out
    if form != "github":
        assert not [line for line in ran.out.splitlines() if line.startswith("::")]
    if form in ("json", "sarif", "gitlab"):
        json.loads(ran.out)
    if form == "junit":
        from xml.etree import ElementTree

        ElementTree.fromstring(ran.out)


def test_hostile_folders(run: Run, write: Any, tmp_path: Path) -> None:
    write("workflows/example.json", CLEAN)
    (tmp_path / "workflows" / "loop").symlink_to(tmp_path / "workflows")
    (tmp_path / "workflows" / "self.json").symlink_to("self.json")
    (tmp_path / "workflows" / "gone.json").symlink_to("nowhere.json")
    os.mkfifo(tmp_path / "workflows" / "pipe.json")
    ran = run("check", "--format", "json", "--no-cache")
    assert ran.code == 1
    unreadable = [f["path"] for f in json.loads(ran.out)["findings"] if f["name"] == "file-not-readable"]
    assert len(unreadable) == 3


def test_a_huge_file_is_reported_not_read(run: Run, write: Any) -> None:
    write("workflows/example.json", b'{"steps": "' + b"x" * 50_000_000 + b'"}')
    with patience():
        ran = run("check", "--no-cache", "--format", "json")
    assert codes(ran.out) == ["file-too-large"]
