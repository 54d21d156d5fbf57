"""Every command and example of the guides works as it is written."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import tomllib
from pathlib import Path

import forks
import pytest
import yaml
from doc_blocks import Block, blocks, commands, missing
from forks import PROGRAMS
from guide_examples import GUIDE, added
from tables import for_each

from pytest_workrail.cli import PROGRAM as TEST_PROGRAM
from pytest_workrail.plugin.fixture import Workrail
from pytest_workrail.run.result import Run
from pytest_workrail.run.start import Options, Sources
from workrail_lint.base.result import Ok
from workrail_lint.cli import PROGRAM as LINT_PROGRAM
from workrail_lint.cli.completion import Command
from workrail_lint.cli.completion import commands as commands_of
from workrail_lint.documents.json_format import restyled
from workrail_lint.project.config import KEYS, load_config, system_keys
from workrail_lint.report import FORMATS

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = [
    *(ROOT / f"{name}.md" for name in ("README", "CONTRIBUTING", "SECURITY")),
    *sorted(DOCS.glob("*.md")),
    *sorted(GUIDE.glob("*.md")),
]
LANGUAGES = {"console", "sh", "python", "json", "toml", "yaml", "text", ""}
each_page = for_each("page", PAGES, key=lambda page: page.relative_to(ROOT))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A project with the fixtures of this repository."""
    for name in ("workflows", "routines", ".workrail"):
        shutil.copytree(ROOT / "fixtures" / name, tmp_path / name)
    (tmp_path / "workrail-lint.toml").write_text('target = "ir"\nroutines = "routines"\n', encoding="utf-8")
    # Links to folders are not followed by a check, so that these are there only for those who name them.
    (tmp_path / "fixtures").symlink_to(ROOT / "fixtures")
    (tmp_path / "docs").symlink_to(ROOT / "docs")
    return tmp_path


def shell(command: str, folder: Path) -> tuple[int, str]:
    """Run a command as a reader would, with the installed programs first on the path.

    A command that needs no shell starts from a process that has imported everything.
    """
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "NO_COLOR": "1",
        "PYTHONPATH": str(folder),
        "WORKRAIL_LINT_DEBUG": "1",
    }
    return forks.shell(command, folder, environment, PROGRAMS)


def run(command: str, folder: Path, code: int, expected: list[str], where: str) -> None:
    found, output = shell(command, folder)
    assert found == code, f"{where}: $ {command}\n{output}"
    absent = missing(output, expected)
    assert absent is None, f"{where}: $ {command}\nis to print {absent!r}, but prints\n{output}"


def examine(block: Block, folder: Path, where: str) -> None:
    """Run, write or parse a block."""
    assert block.language in LANGUAGES, f"{where}: no rule for blocks of {block.language!r}"
    name = block.attributes.get("file")
    if name is not None:
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(block.body, encoding="utf-8")
    if "add" in block.attributes:
        (target,) = (folder / "workflows").glob("*.json")
        workflow = json.loads(target.read_text(encoding="utf-8"))
        added(workflow, block.attributes["add"], json.loads(block.body))
        target.write_text(json.dumps(workflow, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    match block.language:
        case "console":
            assert commands(block), where
            if block.attributes.get("ring") == "deep" and PROGRAMS:
                return
            for command in commands(block):
                run(command.text, folder, int(block.attributes.get("exit", "0")), command.expected, where)
        case "sh":
            targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
            for line in block.body.splitlines():
                program, target, *_ = line.split()
                assert program == "make", f"{where}: {line}"
                assert target in targets, f"{where}: {line}"
        case "python" if name is None:
            (folder / "_block.py").write_text(block.body, encoding="utf-8")
            run("python _block.py", folder, 0, [], where)
        case "python":
            compile(block.body, str(name), "exec")
        case "json":
            json.loads(block.body)
        case "toml":
            tomllib.loads(block.body)
        case "yaml":
            examine_yaml(block, name or "", folder, where)


def examine_yaml(block: Block, name: str, folder: Path, where: str) -> None:
    """Configurations of other tools are validated by these tools' own schemas, and our commands in them are run."""
    content = yaml.safe_load(block.body)
    if name == ".pre-commit-config.yaml":
        from pre_commit.clientlib import load_config as load_hooks

        load_hooks(str(folder / name))
        offered = {hook["id"] for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))}
        assert {hook["id"] for repo in content["repos"] for hook in repo["hooks"]} <= offered
        return
    schema = {".github": "vendor.github-workflows", ".gitlab-ci.yml": "vendor.gitlab-ci"}.get(name.partition("/")[0])
    if schema is None:
        return
    run(f"check-jsonschema --builtin-schema {schema} {name}", folder, 0, [], where)
    run("workrail-lint lock --update", folder, 0, [], where)
    ours = re.findall(r"(?:- run: |- )(workrail-lint .*)", block.body)
    assert ours
    for command in ours:
        run(command, folder, 0, [], where)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_a_page_works_from_top_to_bottom(page: Path, request: pytest.FixtureRequest) -> None:
    # The guide is about a project of the reader's own.
    folder = request.getfixturevalue("tmp_path" if page.parent == GUIDE else "folder")
    for block in blocks(page.read_text(encoding="utf-8")):
        examine(block, folder, f"{page.name}:{block.line}")


@pytest.mark.deep
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_a_page_works_with_the_installed_programs(
    page: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules[__name__], "PROGRAMS", ())
    test_a_page_works_from_top_to_bottom(page, request)


@each_page
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"^```[\s\S]*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    for target, heading in re.findall(r"\]\(([^)#]*)(?:#([^)]+))?\)", text):
        aim = page.parent / target if target else page
        assert aim.exists(), target
        assert not heading or heading in anchors(aim), f"{target}#{heading}"


@each_page
def test_workflows_are_in_the_style_that_format_writes(page: Path) -> None:
    for block in blocks(page.read_text(encoding="utf-8")):
        if block.language == "json" and "steps" in json.loads(block.body):
            assert restyled(block.body) == block.body, f"{page.name}:{block.line}"


def anchors(page: Path) -> set[str]:
    """What the headings of a page can be called by."""
    text = page.read_text(encoding="utf-8")
    headings = re.findall("^#+ (.*)$", text, re.MULTILINE)
    by_heading = {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}
    return by_heading | set(re.findall(r'<a id="([^"]+)"></a>', text))


@each_page
def test_no_address_is_made_up(page: Path) -> None:
    """There is no address that we can promise: a reader is told which one to put in."""
    assert re.findall(r"https?://[^\s`)>\"']+|git@\S+", page.read_text(encoding="utf-8")) == []


@each_page
def test_paths_of_this_repository_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    named = re.findall(r"`((?:workrail_lint|pytest_workrail|tools|scripts|fixtures)/[\w./-]*)`", text)
    assert [path for path in named if not (ROOT / path).exists()] == []


def test_the_index_has_every_page() -> None:
    linked = set(re.findall(r"\]\(([\w/-]+\.md)", page("README")))
    assert {path.name for path in DOCS.glob("*.md")} - {"README.md"} | {
        "authoring/README.md",
        "rules/README.md",
    } <= linked


def test_our_own_workflow_tests_what_is_supported() -> None:
    path = ROOT / ".github" / "workflows" / "ci.yml"
    workflow = yaml.safe_load(path.read_text(encoding="utf-8"))
    jobs = {"test": "test", "deep": "test-deep", "docs": "docs"}
    assert workflow["jobs"].keys() == jobs.keys()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    versions = {line.rpartition(" ")[2] for line in project["classifiers"] if re.search(r":: 3\.\d+$", line)}
    assert set(workflow["jobs"]["test"]["strategy"]["matrix"]["python"]) == versions
    for job, target in jobs.items():
        steps = workflow["jobs"][job]["steps"]
        assert {step["uses"].partition("@")[0] for step in steps if "uses" in step} == {
            "actions/checkout",
            "actions/setup-python",
        }
        assert [step["run"] for step in steps if "run" in step] == [f"make {target} PYTHON=python"]
    assert "schedule" in workflow[True]  # YAML reads the key `on` so
    assert workflow["jobs"]["deep"]["if"] == "github.event_name == 'schedule'"
    run(f"check-jsonschema --builtin-schema vendor.github-workflows {path}", ROOT, 0, [], path.name)


@each_page
def test_fences_are_closed_and_lines_are_readable(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert text.count("\n```") % 2 == 0
    assert sum(1 for _ in re.finditer("^```", text, re.MULTILINE)) == 2 * len(blocks(text))


def test_the_convention_notices_what_is_wrong(folder: Path) -> None:
    good = "```console\n$ echo one; echo two\none\n...\ntwo\n```\n"
    examine(blocks(good)[0], folder, "here")
    for bad in (
        good.replace("\ntwo\n`", "\nthree\n`"),
        good.replace("\none\n...\ntwo\n", "\ntwo\none\n"),
        good.replace("console", "console exit=1"),
        good.replace("$ echo one; echo two", "no command"),
        "```json\n{\n```\n",
        "```toml\na\n```\n",
        "```python\nraise SystemExit(1)\n```\n",
        "```rust\nfn main() {}\n```\n",
    ):
        with pytest.raises((AssertionError, ValueError)):
            examine(blocks(bad)[0], folder, "here")


def page(name: str) -> str:
    return (DOCS / f"{name}.md").read_text(encoding="utf-8")


def options(command: Command) -> set[str]:
    """The long options of a command and of its actions."""
    inner = [each for part in (command, *command.actions) for option in part.options for each in option.names]
    return {name for name in inner if name.startswith("--")} - {"--help"}


LINT, TEST = commands_of(LINT_PROGRAM), commands_of(TEST_PROGRAM)


@pytest.mark.parametrize("command", LINT, ids=lambda command: command.name)
def test_the_command_line_page_has_every_command_and_option(command: Command) -> None:
    text = page("cli")
    assert f"| `{command.name}` |" in text
    assert f"\n## {command.name}\n" in text
    for option in options(command):
        assert option in text, option


def test_the_command_line_page_has_every_command_of_the_test_program() -> None:
    listed = page("cli").partition("\n## workrail-test\n")[2]
    rows = [re.findall("`([a-z]+)[ `]", line.partition("|")[2].partition("|")[0]) for line in listed.splitlines()]
    assert sorted(row[0] for row in rows if row) == sorted(command.name for command in TEST)
    for command in TEST:
        for action in command.actions:
            assert f"`{action.name.rpartition(' ')[2]}`" in listed or f"`{action.name}`" in listed, action.name


def test_the_command_line_page_has_no_option_that_is_none() -> None:
    known = {"--help", *(option for command in (*LINT, *TEST) for option in options(command))}
    assert set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", page("cli"))) <= known


def test_the_readme_has_the_commands_and_extras_of_today() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    tables = re.findall(r"^\| `(workrail-\w+)` \| does \|\n\| --- \| --- \|\n((?:\|.*\n)+)", text, re.MULTILINE)
    listed = {program: re.findall(r"^\| `(\w+)` \|", rows, re.MULTILINE) for program, rows in tables}
    for program in (LINT_PROGRAM, TEST_PROGRAM):
        assert sorted(listed[program.name]) == sorted(program.commands)
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    assert set(re.findall(r"\.\[(\w+)\]", text)) <= extras.keys()


def test_the_first_screen_of_the_readme() -> None:
    """Whom it is for, the problem, one command with what it prints, and a picture."""
    first, _, rest = (ROOT / "README.md").read_text(encoding="utf-8").partition("\n## ")
    assert first.startswith("# workrail-lint\n\nFor people who")
    assert len([block for block in blocks(first) if block.language == "console"]) == 1
    assert re.search(r"^!\[.+\]\(docs/studio\.png\)$", first, re.MULTILINE)
    order = [rest.partition("\n")[0], *re.findall("^## (.*)$", rest, re.MULTILINE)]
    assert order[:4] == ["Install", "Check", "Test", "Pin"]


def test_the_configuration_page_has_every_key_and_choice() -> None:
    text = page("configuration")
    assert sorted(re.findall(r"^\| `([a-z-]+)` \|", text, re.MULTILINE)) == sorted({*KEYS, *system_keys()})
    for key, choices in ((key, setting.allowed) for key, setting in system_keys().items() if setting.allowed):
        row = next(line for line in text.splitlines() if line.startswith(f"| `{key}` |"))
        assert all(f"`{choice}`" in row for choice in choices)


def test_the_configuration_of_the_page_is_valid(tmp_path: Path) -> None:
    for block in blocks(page("configuration")):
        if block.attributes.get("file") == "workrail-lint.toml":
            path = tmp_path / "workrail-lint.toml"
            path.write_text(block.body, encoding="utf-8")
            assert isinstance(load_config(str(path)), Ok)


def test_the_formats_page_has_every_format() -> None:
    assert [line[3:] for line in page("output-formats").splitlines() if line.startswith("## ")] == [
        *FORMATS,
        "Statistics",
    ]


def test_the_testing_page_has_everything_a_test_can_ask_for() -> None:
    text = page("testing-workflows")
    public = {name for kind in (Workrail, Run) for name in vars(kind) if not name.startswith("_")}
    inner = set(Run.__struct_fields__)
    for name in (public - inner) | set(Options.__annotations__) | set(Sources.__annotations__):
        assert re.search(rf"`{name}[`(]", text), name


def test_the_editor_reads_our_lines(folder: Path) -> None:
    """The problem matcher of the editors page understands what `concise` prints."""
    (tasks,) = [block for block in blocks(page("editors")) if block.attributes.get("file") == ".vscode/tasks.json"]
    pattern = json.loads(tasks.body)["tasks"][0]["problemMatcher"]["pattern"]
    _, output = shell("workrail-lint check --format concise workflows/wait-for-green.json", folder)
    match = re.match(pattern["regexp"], output.splitlines()[0])
    assert match is not None
    assert [match[pattern[name]] for name in ("file", "line", "severity", "code")] == [
        "workflows/wait-for-green.json",
        "18",
        "warning",
        "LP018",
    ]


def test_a_schema_for_editors_is_one(folder: Path) -> None:
    """What the editors page tells to save is a schema, and accepts what it is meant for."""
    import jsonschema

    for kind, document in (("workflow", "workflows/code-review.json"), ("bindings", ".workrail/bindings.json")):
        code, text = shell(f"workrail-lint schema {kind}", folder)
        assert code == 0
        schema = json.loads(text)
        validator = jsonschema.validators.validator_for(schema)
        validator.check_schema(schema)
        validator(schema).validate(json.loads((folder / document).read_text(encoding="utf-8")))
        assert schema["title"]
        assert schema["description"]
