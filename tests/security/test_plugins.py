"""Plugins: only what declares itself is imported, a failure names its plugin and rule, and the run goes on."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from workrail_lint.cli import main
from workrail_lint.report import FORMATS
from workrail_lint.systems.workrail.rules.samples import loop, step, workflow

pytestmark = pytest.mark.promise("Plugins declare themselves", "plugins that are none, fail or exit")

HEAD = """
from workrail_lint.project.plugins import hookimpl
from workrail_lint.findings import Severity
from workrail_lint.systems.workrail.rules.base import WorkflowRule

class Base(WorkflowRule):
    severity = Severity.ERROR
    origin = "product"
    summary = "Says something."
    why = "Because <it> can."
"""
GOOD = """
class Good(Base):
    code = "XX001"
    name = "xx-good"
    def check_workflow(self, workflow, report):
        report("/description", "a | <b> finding")
"""
BAD = """
class Bad(Base):
    code = "XX002"
    name = "xx-bad"
    def check_workflow(self, workflow, report):
        {body}
"""
HOOK = """
@hookimpl
def workrail_lint_rules():
    return [{rules}]
"""
Install = Callable[[str, str], None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Put a module where installed ones are, in a folder that is not the project's."""
    site = tmp_path / "site"
    site.mkdir()
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.setenv("PYTHONPATH", str(site))
    project = tmp_path / "project"
    project.mkdir()
    monkeypatch.chdir(project)
    (project / "a.json").write_text(json.dumps(workflow(step("first"), step("second"))))

    def installer(name: str, source: str) -> None:
        (site / f"{name}.py").write_text(source)
        (project / "workrail-lint.toml").write_text(f'plugins = ["{name}"]\n')

    yield installer
    for name in [name for name in sys.modules if name.startswith("plug_")]:
        del sys.modules[name]


def codes(report: str) -> list[str]:
    return [finding["code"] for finding in json.loads(report)["findings"]]


def configure(*plugins: str) -> None:
    Path("workrail-lint.toml").write_text(f"plugins = {json.dumps(plugins)}\n")


@pytest.mark.parametrize(
    "name",
    ["venv.__main__", "this", "antigravity", "os", "sys", "workrail_lint.__main__", "", "..", "a b"],
)
def test_a_module_that_is_no_plugin_is_not_imported(
    name: str, install: Install, capsys: pytest.CaptureFixture[str]
) -> None:
    configure(name)
    before = set(sys.modules)
    assert main(["check", "."]) == 2
    shown = capsys.readouterr()
    assert f"plugin {name!r}" in shown.err
    assert name not in set(sys.modules) - before


def test_a_module_of_the_working_folder_is_not_imported(tmp_path: Path) -> None:
    """Not even by `python -m`, which puts that folder first on the path."""
    mark = tmp_path / "it-ran"
    (tmp_path / "plug_here.py").write_text(
        f"open({str(mark)!r}, 'w').close()\n" + HEAD + GOOD + HOOK.format(rules="Good")
    )
    (tmp_path / "workrail-lint.toml").write_text('plugins = ["plug_here"]\n')
    (tmp_path / "a.json").write_text(json.dumps(workflow(step("first"), step("second"))))
    command = [sys.executable, "-m", "workrail_lint", "check", "."]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.returncode == 2
    assert "plugin 'plug_here' can't be imported" in ran.stderr
    assert not mark.exists()


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("raise SystemExit(0)", "failed while it was loaded: SystemExit: 0"),
        ("1 / 0", "failed while it was loaded: ZeroDivisionError: division by zero"),
        ("import no_such_thing", "can't be imported: No module named 'no_such_thing'"),
        (
            "raise Exception('\\x1b[31m\\n::error::x')",
            "failed while it was loaded: Exception: \\u001b[31m\\u000a::error",
        ),
        (HOOK.format(rules="1 / 0"), "failed while it was loaded: ZeroDivisionError"),
        (HOOK.format(rules="int"), "its rule int has no code or name"),
        (GOOD.replace("XX001", "LP001") + HOOK.format(rules="Good"), "has a code or name that is already used"),
    ],
)
def test_a_plugin_that_fails_is_named_and_the_run_goes_on(
    source: str, says: str, install: Install, capsys: pytest.CaptureFixture[str]
) -> None:
    install("plug_good", HEAD + GOOD + HOOK.format(rules="Good"))
    install("plug_bad", HEAD + source)
    configure("plug_bad", "plug_good")
    assert main(["check", "--format", "json", "."]) == 2
    shown = capsys.readouterr()
    assert "XX001" in codes(shown.out)
    assert "workrail-lint: plugin 'plug_bad'" in shown.err
    assert says in shown.err
    assert shown.err.count("\n") == 1


RAISED = [
    "1 / 0",
    "raise SystemExit(0)",
    "self.missing()",
    "raise GeneratorExit",
    "raise type('X', (BaseException,), {})",
]


@pytest.mark.parametrize("body", RAISED)
@pytest.mark.parametrize("options", [[], ["--exit-zero"], ["--diff"], ["--fix"], ["--write-baseline", "b.json"]])
def test_a_rule_that_fails_is_named_and_the_run_goes_on(
    body: str, options: list[str], install: Install, capsys: pytest.CaptureFixture[str]
) -> None:
    install("plug_bad", HEAD + GOOD + BAD.format(body=body) + HOOK.format(rules="Bad, Good"))
    assert main(["check", *options, "."]) == 2
    shown = capsys.readouterr()
    assert shown.err.count("plugin 'plug_bad': rule XX002 xx-bad failed: ") == 1
    assert "internal error" not in shown.err
    if not options:
        assert "XX001" in shown.out


@pytest.mark.parametrize("format_", ["text", "json", "sarif", "junit"])
@pytest.mark.parametrize(
    "said",
    [
        "report('/description', 5)",
        "report(None, 'x')",
        "report('/description', 'x', fix='garbage')",
        "report('/description', 'x', severity='error')",
        "report('/description', 'x', path=5)",
        "report('/description', 'x', details=[5])",
        "report('/description', 'x', at='ab')",
    ],
)
def test_a_rule_that_reports_nonsense_is_named(
    said: str, format_: str, install: Install, capsys: pytest.CaptureFixture[str]
) -> None:
    install("plug_bad", HEAD + GOOD + BAD.format(body=said) + HOOK.format(rules="Bad, Good"))
    assert main(["check", "--format", format_, "."]) == 2
    shown = capsys.readouterr()
    assert "plugin 'plug_bad': rule XX002 xx-bad failed: TypeError: " in shown.err
    assert "XX001" in shown.out


@pytest.mark.parametrize(
    "fact",
    [
        "severity = 'error'",
        "summary = None",
        "why = 5",
        "origin = object()",
        "needs = 5",
        "fix = 1",
        "describes = 5",
        "describes = ([1],)",
    ],
)
def test_a_rule_whose_facts_are_nonsense_is_named(
    fact: str, install: Install, capsys: pytest.CaptureFixture[str]
) -> None:
    install("plug_good", HEAD + GOOD + HOOK.format(rules="Good"))
    install("plug_bad", HEAD + BAD.format(body="pass") + f"    {fact}\n" + HOOK.format(rules="Bad"))
    configure("plug_bad", "plug_good")
    assert main(["check", "--format", "sarif", "."]) == 2
    shown = capsys.readouterr()
    assert f"plugin 'plug_bad': its rule Bad has no valid {fact.split()[0]}" in shown.err
    assert "XX001" in shown.out


DESCRIBING = """
from workrail_lint.documents.operations import Insert
from workrail_lint.findings import unsafe
from workrail_lint.rules.describing import Description

class Limit(Base):
    code = "XX003"
    name = "xx-limit"
    describes = (("LoopConfig", "required", "maxIterations"),)
    default_on = {default_on}
    def describe(self, violation, place):
        {body}
"""
SAYS = """fix = unsafe("set the limit", Insert(violation.pointer, "maxIterations", None, 5))
        return Description("our loops run 5 times", fix=fix)"""


def test_a_rule_of_a_plugin_describes_what_breaks_the_schema(
    install: Install, capsys: pytest.CaptureFixture[str]
) -> None:
    source = HEAD + DESCRIBING.format(body=SAYS, default_on=True) + HOOK.format(rules="Limit")
    install("plug_limit", source)
    Path("a.json").write_text(json.dumps(workflow(step(), loop(maxIterations=...))))
    assert main(["check", "--format", "concise", "."]) == 1
    assert "error XX003 xx-limit: loop 'again': our loops run 5 times" in capsys.readouterr().out
    assert main(["check", "--fix", "--unsafe-fixes", "."]) == 0
    assert json.loads(Path("a.json").read_text())["steps"][1]["loop"]["maxIterations"] == 5


@pytest.mark.parametrize(
    ("body", "default_on", "code"),
    [
        (SAYS, False, 1),
        ("return None", True, 1),
        ("1 / 0", True, 2),
        ("return 'a string'", True, 2),
        ("return Description()", True, 2),
    ],
)
def test_a_violation_that_a_plugin_does_not_describe_is_reported_all_the_same(
    body: str, default_on: bool, code: int, install: Install, capsys: pytest.CaptureFixture[str]
) -> None:
    source = HEAD + DESCRIBING.format(body=body, default_on=default_on) + HOOK.format(rules="Limit")
    install("plug_limit", source)
    Path("a.json").write_text(json.dumps(workflow(step(), loop(maxIterations=...))))
    assert main(["check", "--format", "json", "."]) == code
    shown = capsys.readouterr()
    assert "LP002" in codes(shown.out)
    assert "XX003" not in codes(shown.out)
    assert ("rule XX003 xx-limit failed" in shown.err) is (code == 2)


def test_what_a_plugin_prints_is_no_result(install: Install, capsys: pytest.CaptureFixture[str]) -> None:
    said = "print('::error::' + chr(27) + '[2J')"
    install("plug_loud", f"{HEAD}{said}\n{GOOD}{BAD.format(body=said)}{HOOK.format(rules='Good, Bad')}")
    assert main(["check", "--format", "json", "."]) == 1
    shown = capsys.readouterr()
    assert "XX001" in codes(shown.out)
    assert shown.err.count("\\u003a:error::\\u001b[2J\n") == 2


BAD_SYSTEM = """
from workrail_lint.systems.base import FileResult, System

class Odd(System):
    name = "odd"
    def rules(self):
        return ()
    def rule(self, name):
        raise KeyError(name)
    def may_claim(self, *_):
        return True
    def claims(self, path, *_):
        return "odd" if path.endswith(".odd.json") else None
    def check(self, *_):
        return {answer}
    check_data = check

@hookimpl
def workrail_lint_systems():
    return [Odd()]
"""


@pytest.mark.parametrize("answer", ["5", "FileResult(5)", "FileResult([5])"])
def test_a_system_that_answers_nonsense_is_named(
    answer: str, install: Install, capsys: pytest.CaptureFixture[str]
) -> None:
    install("plug_odd", HEAD + BAD_SYSTEM.format(answer=answer))
    Path("b.odd.json").write_text("[]")
    assert main(["check", "."]) == 2
    shown = capsys.readouterr()
    assert "plugin 'plug_odd': system odd failed: TypeError: " in shown.err
    assert "internal error" not in shown.err


def test_an_entry_point_is_a_plugin(install: Install, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    site = tmp_path / "site"
    install("plug_entry", HEAD + GOOD + HOOK.format(rules="Good"))
    info = site / "plug_entry-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: plug-entry\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[workrail_lint.plugins]\nour-rules = plug_entry\n")
    configure("our-rules")
    assert main(["check", "--format", "json", "."]) == 1
    assert "XX001" in codes(capsys.readouterr().out)


@pytest.mark.parametrize("format_", FORMATS)
def test_rules_of_plugins_work_in_every_format(
    format_: str, install: Install, capsys: pytest.CaptureFixture[str]
) -> None:
    install("plug_good", HEAD + GOOD + HOOK.format(rules="Good"))
    assert main(["check", "--format", format_, "."]) == 1
    shown = capsys.readouterr()
    assert "XX001" in shown.out
    assert "failed" not in shown.err
