"""The frame of the command line, catalog, schema, init."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from cli_types import Run
from jsonschema import Draft7Validator

from workrail_lint.cli import COMMANDS, main
from workrail_lint.systems.workrail.rules.samples import step, workflow


def test_help_and_version(run: Run) -> None:
    assert run("--help").code == 0
    assert all(name in run("--help").out for name in COMMANDS)
    assert run("--version").out.startswith("workrail-lint ")
    assert run().code == 2


@pytest.mark.parametrize("command", list(COMMANDS))
def test_every_command_has_help(run: Run, command: str) -> None:
    ran = run(command, "--help")
    assert ran.code == 0
    assert f"workrail-lint {command}" in ran.out


def test_unknown_command_and_option(run: Run) -> None:
    ran = run("chek")
    assert ran.code == 2
    assert "did you mean 'check'?" in ran.err
    assert run("compile", "a.json", "--nope").code == 2


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (("show",), "required: ID (run workrail-lint catalog show --help for details)"),
        (("import",), "required: DIR"),
        (("list", "--frob"), "--frob"),
        (("export", "--outptu", "x"), "--outptu"),
    ],
)
def test_a_slip_in_an_action_of_catalog_is_a_usage_error(run: Run, arguments: tuple[str, ...], part: str) -> None:
    ran = run("catalog", *arguments)
    assert ran.code == 2
    assert part in ran.err
    assert ran.err.count("\n") == 1
    assert run("catalog", arguments[0], "--help").code == 0


def test_a_bug_in_our_code_is_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.delenv("WORKRAIL_LINT_DEBUG", raising=False)
    monkeypatch.setattr("workrail_lint.cli.schema.main", lambda _: 1 / 0)
    assert main(["schema"]) == 2
    captured = capsys.readouterr()
    assert "internal error: ZeroDivisionError" in captured.err
    assert len(captured.err.splitlines()) == 1


def test_a_closed_pipe_is_no_error() -> None:
    script = f'"{sys.executable}" -m workrail_lint catalog export | head -c 10 >/dev/null; echo "${{PIPESTATUS[0]}}"'
    shown = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "0"
    assert "Traceback" not in shown.stderr


@pytest.mark.parametrize("command", ["--help", "--version", "schema --help"])
def test_help_into_a_closed_pipe_is_no_error(command: str) -> None:
    reader, writer = os.pipe()
    os.close(reader)  # it has gone before the first word is written
    arguments = [sys.executable, "-m", "workrail_lint", *command.split()]
    try:
        ran = subprocess.run(arguments, stdout=writer, stderr=subprocess.PIPE, check=False)
    finally:
        os.close(writer)
    assert (ran.returncode, ran.stderr) == (0, b"")


@pytest.mark.parametrize("command", ["--help", "--version", "schema"])
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_output_that_can_not_be_written_is_one_line(command: str, unbuffered: str) -> None:
    ran = _shell(f"{command} >/dev/full", PYTHONUNBUFFERED=unbuffered)
    assert ran.returncode == 2
    assert len(ran.stderr.splitlines()) == 1
    assert "No space left on device" in ran.stderr
    assert "internal error" not in ran.stderr


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("--version >&-", 0),
        ("schema >&-", 0),
        ("rule >&-", 0),
        ("catalog export >&-", 0),
        ("chek 2>&-", 2),
        ("chek 2>/dev/full", 2),
        ("canonical - <&-", 1),
    ],
)
def test_a_stream_that_is_closed_or_full_leaves_the_exit_code(command: str, code: int) -> None:
    ran = _shell(command)
    assert ran.returncode == code
    assert "Traceback" not in ran.stderr
    assert "internal error" not in ran.stderr


def _shell(command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    script = f'"{sys.executable}" -m workrail_lint {command}'
    env = {**os.environ, **environment}
    return subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=False, env=env)


def test_output_survives_a_narrow_encoding(write: Any, plain: dict[str, Any]) -> None:
    path = write("a.json", {**plain, "name": "Naïve 😀"})
    shown = subprocess.run(
        [sys.executable, "-m", "workrail_lint", "compile", str(path)],
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        check=True,
    )
    assert json.loads(shown.stdout.decode("ascii"))["name"] == "Naïve 😀", "what is escaped is escaped as JSON does it"


@pytest.mark.parametrize("command", ["export", "list --format json", "show wr.refs.narrow --format json"])
def test_a_catalog_is_json_in_every_encoding(run: Run, write: Any, command: str) -> None:
    catalog = json.loads(run("catalog", "export").out)
    del catalog["digest"]
    catalog["catalogId"] = "mine"
    text = "Naïve 😀"
    entry = {**catalog["refs"][0], "id": "wr.refs.narrow", "title": text, "text": text}
    catalog["refs"] = sorted([*catalog["refs"], entry], key=lambda ref: ref["id"])
    path = write("catalog.json", catalog)
    shown = subprocess.run(
        [sys.executable, "-m", "workrail_lint", "catalog", *command.split(), "--catalog", str(path)],
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        check=True,
    )
    assert text in json.dumps(json.loads(shown.stdout), ensure_ascii=False)


def test_no_colours_without_a_terminal(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR")
    assert "\x1b" not in run("catalog", "list").out


def test_catalog_list_show_export(run: Run, tmp_path: Any) -> None:
    listed = run("catalog", "list")
    assert listed.code == 0
    assert "wr.features.capabilities" in listed.out
    assert json.loads(run("catalog", "list", "--format", "json").out)
    shown = run("catalog", "show", "wr.contracts.loop_control")
    assert "decision" in shown.out
    missing = run("catalog", "show", "wr.contracts.loop_contrl")
    assert missing.code == 2
    assert "wr.contracts.loop_control" in missing.err
    exported = run("catalog", "export")
    assert json.loads(exported.out)["catalogId"] == "core"
    assert run("catalog", "export", "--output", "core.json").code == 0
    assert (tmp_path / "core.json").read_text(encoding="utf-8") == exported.out
    assert run("catalog", "list", "--catalog", "core.json").out == listed.out
    assert run("catalog").code == 2


def test_catalog_import_needs_an_engine(run: Run, tmp_path: Any) -> None:
    assert run("catalog", "import", "missing").code == 2
    (tmp_path / "empty").mkdir()
    ran = run("catalog", "import", "empty")
    assert ran.code == 2
    assert "package.json" in ran.err


def test_schema(run: Run) -> None:
    kinds = run("schema").out.split()
    assert "workflow" in kinds
    for kind in kinds:
        Draft7Validator.check_schema(json.loads(run("schema", kind).out))
    ran = run("schema", "workflw")
    assert ran.code == 2
    assert "did you mean 'workflow'?" in ran.err
    assert run("schema", "../core").code == 2


def test_init_makes_a_workflow_that_compiles(run: Run, tmp_path: Any) -> None:
    ran = run("init", "--id", "team.daily_report", "--name", "Daily report")
    assert ran.code == 0
    assert (tmp_path / "workflows" / "daily_report.json").is_file()
    assert run("compile", "workflows/daily_report.json", "--emit", "hash").code == 0
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    again = run("init", "--id", "team.daily_report")
    assert again.code == 0
    assert "created" not in again.out
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_init_says_what_each_file_is_for(run: Run, tmp_path: Any) -> None:
    ran = run("init")
    lines = ran.out.partition("\nnext:")[0].splitlines()
    said = dict(re.fullmatch(r"created  (\S+) +# (.+)", line).groups() for line in lines)  # type: ignore[union-attr]
    written = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()}
    assert said.keys() == written
    assert written >= {
        ".gitattributes",
        ".vscode/settings.json",
        ".github/workflows/workflows.yml",
        "workrail.lock.json",
    }
    ran = run("check", "--strict", "--severity", "info")
    assert (ran.code, ran.out) == (0, "")


@pytest.fixture
def quick_init(run: Run, monkeypatch: pytest.MonkeyPatch) -> Run:
    """`init` without the run of pytest that writes the golden, which takes most of its time."""
    monkeypatch.setattr("workrail_lint.cli.init._golden_written", lambda *_: False)
    return lambda *arguments: run("init", *arguments)


def test_init_makes_the_editor_suggest_what_the_project_has(quick_init: Run, write: Any, tmp_path: Any) -> None:
    write("routines/tidy.json", {**workflow(step("sweep", "Sweep {where}.")), "id": "routine-tidy"})
    write("workrail-lint.toml", 'routines = "routines"\n')
    assert quick_init().code == 0
    associations = json.loads((tmp_path / ".vscode" / "settings.json").read_text())["json.schemas"]
    for each in associations:
        Draft7Validator.check_schema(json.loads((tmp_path / each["url"]).read_text()))
    schema = json.loads((tmp_path / ".workrail" / "schemas" / "workflow.json").read_text())
    assert "wr.templates.routine.tidy" in schema["definitions"]["TemplateCall"]["properties"]["templateId"]["enum"]
    Draft7Validator(schema).validate(json.loads((tmp_path / "workflows" / "first_workflow.json").read_text()))


JOBS = {"github": ".github/workflows/workflows.yml", "gitlab": ".gitlab-ci.yml"}
SCHEMAS = {"github": "vendor.github-workflows", "gitlab": "vendor.gitlab-ci"}


@pytest.mark.parametrize("service", ["github", "gitlab"])
def test_init_writes_a_job_for_the_chosen_service(quick_init: Run, tmp_path: Any, service: str) -> None:
    path, schema = JOBS[service], SCHEMAS[service]
    assert quick_init("--ci", service).code == 0
    checked = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, str(tmp_path / path)]
    assert subprocess.run(checked, capture_output=True, check=False).returncode == 0
    assert quick_init("none", "--ci", "none").code == 0
    assert not (tmp_path / "none" / path).exists()


COMMIT = "0123456789abcdef0123456789abcdef01234567"
UNKNOWN_ORIGINS = [
    None,
    "",
    "[]",
    '{"url": "https://example.invalid/lint"}',
    json.dumps({"url": "file:///home/me/lint", "vcs_info": {"vcs": "git", "commit_id": COMMIT}}),
    json.dumps({"url": "https://me:secret@example.invalid/lint", "vcs_info": {"vcs": "git", "commit_id": COMMIT}}),
    json.dumps({"url": "https://example.invalid/lint", "vcs_info": {"vcs": "git", "commit_id": '0"; reboot; "'}}),
]


class _Installed:
    """A distribution whose installer noted this about its origin."""

    def __init__(self, noted: str | None) -> None:
        self.noted = noted

    def read_text(self, name: str) -> str | None:
        assert name == "direct_url.json"
        return self.noted


@pytest.mark.parametrize("service", ["github", "gitlab"])
def test_the_job_installs_what_init_was_installed_from(
    quick_init: Run, tmp_path: Any, monkeypatch: pytest.MonkeyPatch, service: str
) -> None:
    noted = {"url": "https://example.invalid/team/lint.git", "vcs_info": {"vcs": "git", "commit_id": COMMIT}}
    monkeypatch.setattr("workrail_lint.cli.init.distribution", lambda _: _Installed(json.dumps(noted)))
    ran = quick_init("--ci", service)
    assert "WORKRAIL_LINT" not in ran.out
    text = (tmp_path / JOBS[service]).read_text()
    assert f'pip install "workrail-lint[pytest] @ git+https://example.invalid/team/lint.git@{COMMIT}"' in text
    assert "WORKRAIL_LINT" not in text
    assert "env:" not in text
    checked = [
        sys.executable,
        "-m",
        "check_jsonschema",
        "--builtin-schema",
        SCHEMAS[service],
        str(tmp_path / JOBS[service]),
    ]
    assert subprocess.run(checked, capture_output=True, check=False).returncode == 0


@pytest.mark.parametrize("service", ["github", "gitlab"])
def test_without_a_known_origin_the_job_says_what_to_set(
    quick_init: Run, tmp_path: Any, monkeypatch: pytest.MonkeyPatch, service: str
) -> None:
    for at, noted in enumerate(UNKNOWN_ORIGINS):
        monkeypatch.setattr("workrail_lint.cli.init.distribution", lambda _, noted=noted: _Installed(noted))
        assert (
            "# checks, verifies the lockfile and runs the tests on every push; first set its variable"
            in quick_init(f"p{at}", "--ci", service).out
        )
        job = tmp_path / f"p{at}" / JOBS[service]
        first = next(line.strip() for line in job.read_text().splitlines() if "test -n" in line)
        command = first.removeprefix("- ").removeprefix("run: ")
        for value, code in (("https://example.invalid/lint@v1", 0), ("", 1)):
            environment = {**os.environ, "WORKRAIL_LINT": value}
            step = subprocess.run(["sh", "-c", command], env=environment, capture_output=True, text=True, check=False)
            assert step.returncode == code
            assert ("set the CI variable WORKRAIL_LINT to the address" in step.stdout) == bool(code)


def test_git_keeps_the_bytes_of_goldens_and_lockfile(quick_init: Run, write: Any, tmp_path: Any) -> None:
    assert quick_init().code == 0
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    for path in ("tests/__goldens__/first_workflow.golden.json", "workrail.lock.json"):
        asked = ["git", "-C", str(tmp_path), "check-attr", "eol", path]
        assert subprocess.run(asked, capture_output=True, text=True, check=True).stdout == f"{path}: eol: lf\n"
    write("other/.gitattributes", "*.golden.json text eol=lf\n")
    kept = next(line for line in quick_init("other").out.splitlines() if ".gitattributes" in line)
    assert kept.endswith("add: workrail.lock.json text eol=lf | *.golden.json linguist-generated")


def test_init_tells_to_pin_the_workflows_that_were_there(quick_init: Run, write: Any) -> None:
    assert "lock --update" not in quick_init("alone").out
    write("workflows/old.json", "{}")
    ran = quick_init()
    assert "lock --update" in ran.out
    assert "pre-commit install" in ran.out


def test_init_keeps_the_configuration_that_a_project_has(quick_init: Run, write: Any, tmp_path: Any) -> None:
    write("pyproject.toml", '[tool.workrail-lint]\nignore = ["LC003"]\n')
    ran = quick_init()
    assert ran.code == 0
    assert not (tmp_path / "workrail-lint.toml").exists(), "it would hide the table"
    assert "pyproject.toml" in ran.out
    write("other/pyproject.toml", "[tool.ruff]\n")
    assert quick_init("other").code == 0
    assert (tmp_path / "other" / "workrail-lint.toml").is_file()


def test_init_refuses_a_name_that_is_no_text(run: Run, tmp_path: Any) -> None:
    ran = run("init", "--name", "a\udcff")
    assert ran.code == 2
    assert "--name" in ran.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("ident", ["plain", "wr.mine", "Team.Report", "a.b.c", "x" * 40 + "." + "y" * 40])
def test_init_refuses_bad_ids(run: Run, ident: str, tmp_path: Any) -> None:
    assert run("init", "--id", ident).code == 2
    assert list(tmp_path.iterdir()) == []


def test_init_lets_scenarios_write_themselves(tmp_path: Path) -> None:
    target = tmp_path / "new"
    target.mkdir()
    done = subprocess.run(
        [sys.executable, "-m", "workrail_lint", "init", str(target), "--generate"],
        capture_output=True,
        text=True,
        check=False,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stderr
    assert "workrail-test generate workflows/first_workflow.json --out tests" in done.stdout
    assert (target / "tests" / "first_workflow.blocked-by-missing-notes.scenario.json").exists()


def test_init_for_the_profile_of_the_design(run: Run, tmp_path: Path) -> None:
    assert run("init", ".", "--profile", "locked", "--ci", "none").code == 0
    config = (tmp_path / "workrail-lint.toml").read_text("utf-8")
    assert 'profile = "locked"' in config
    assert 'target = "ir"' in config
    assert json.loads((tmp_path / "tests/first_workflow.scenario.json").read_bytes())["profile"] == "locked"
    golden = json.loads((tmp_path / "tests/__goldens__/first_workflow.golden.json").read_bytes())
    assert golden["profile"] == "locked"
    assert run("check").code == 0
