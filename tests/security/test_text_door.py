"""Hostile strings in every place of every document: no output acts on a terminal, a log or a page."""

from __future__ import annotations

import json
import os
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from effort import times
from forks import shared

from pytest_workrail.golden.golden_records import BUILD_MACHINE
from tests.security.hostile import BAD, HOSTILE, MARKUP, WORKFLOW, acts, places, poisoned
from workrail_lint.base.terminal import neutral
from workrail_lint.cli import PROGRAM, main
from workrail_lint.report import FORMATS

pytestmark = pytest.mark.promise("Text stays text", "hostile strings in every place, every output")

ROOT = Path(__file__).resolve().parents[2]


def documents() -> dict[str, Any]:
    """One of each kind that `check` knows, by the path it stands at."""
    fixtures = ROOT / "fixtures"
    found: dict[str, Any] = {"workflows/a.json": WORKFLOW}
    for pattern in ("scenarios/*.scenario.json", "scenarios/team/*.scenario.json", "scenarios/blocks/*.scenario.json"):
        path = min(fixtures.glob(pattern), key=lambda path: path.stat().st_size, default=None)
        if path is not None:
            found[str(path.relative_to(fixtures))] = json.loads(path.read_text())
    found["my.workflow.json"] = json.loads(next((fixtures / "scenarios/blocks/workflows").glob("*.json")).read_text())
    found["project-bindings.json"] = {"extends": "x", "bindings": {"a": {"slot": "routine"}}}
    found[".agents-work/2026-03-01_login/status.json"] = {"state": "INTAKE", "session": "2026-03-01_login", "tasks": []}
    found[".agents-work/2026-03-01_login/acceptance.json"] = {"acceptance": [{"id": "AC-1", "text": "It works."}]}
    return found


@pytest.fixture
def shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WORKRAIL_LINT_DEBUG", "1")

    def shower(*arguments: str) -> str:
        capsys.readouterr()
        main(list(arguments))
        captured = capsys.readouterr()
        return captured.out + captured.err

    return shower


def put(path: str, value: Any) -> None:
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(value if isinstance(value, str) else json.dumps(value, indent=2), encoding="utf-8")


@pytest.mark.parametrize("path", documents())
def test_every_string_of_every_document_in_every_report(path: str, shown: Callable[..., str]) -> None:
    document = documents()[path]
    for at in list(places(document))[:60]:
        put(path, poisoned(document, at))
        for format_ in ("text", "concise", "json", "github"):
            text = shown("check", "--no-cache", "--severity", "info", "--format", format_, path)
            assert acts(text, github=format_ == "github") == [], (at, format_)


@pytest.mark.parametrize("format_", FORMATS)
def test_all_strings_at_once_in_every_format(format_: str, shown: Callable[..., str]) -> None:
    for number, at in enumerate(places(WORKFLOW)):
        put(f"w{number}.json", poisoned(WORKFLOW, at))
    text = shown("check", "--no-cache", "--severity", "info", "--format", format_, ".")
    assert acts(text, github=format_ == "github") == []
    shown("check", "--no-cache", "--severity", "info", "--format", format_, "--output", "out", ".")
    written = Path("out").read_text()
    assert acts(written, github=format_ == "github") == []
    if format_ == "junit":
        tags = {element.tag for element in ET.fromstring(written).iter()}
        assert tags <= {
            "testsuites",
            "testsuite",
            "testcase",
            "failure",
            "error",
            "properties",
            "property",
            "system-out",
        }
    elif format_ in ("json", "sarif", "gitlab"):
        assert json.loads(written)


COMPILING = [
    ["compile", "{}"],
    ["compile", "--target", "engine", "{}"],
    ["compile", "--explain", "{}"],
    ["compile", "--emit", "hash", "{}"],
    ["compile", "{}", "sound.json"],
    ["graph", "{}"],
    ["graph", "--format", "dot", "{}"],
    ["graph", "--format", "svg", "{}"],
    ["graph", "--format", "html", "{}"],
    ["graph", "--format", "json", "{}"],
    ["compile", "--explain", "--json", "{}"],
    ["diff", "sound.json", "{}"],
    ["diff", "{}", "sound.json"],
    ["diff", "--format", "json", "sound.json", "{}"],
    ["format", "--check", "{}"],
    ["format", "--diff", "{}"],
    ["format", "{}"],
    ["lock", "--update", "{}"],
    ["lock", "--check", "{}"],
    ["check", "--fix", "--unsafe-fixes", "--no-cache", "{}"],
    ["check", "--diff", "--unsafe-fixes", "--no-cache", "{}"],
    ["check", "--statistics", "--no-cache", "{}"],
    ["semver", "--base", "workrail.lock.json", "{}"],
    ["semver", "--base", "workrail.lock.json", "--json", "{}"],
    ["docs", "{}", "--out", "pages"],
    ["docs", "{}", "--out", "pages", "--check"],
]
# They are tried below or in `test_text_door_tools.py`, or read no file of a user.
ELSEWHERE = {"canonical", "studio", "guide", "rule", "explain", "catalog", "schema", "engine", "init", "server"}
ELSEWHERE |= {"completion"}


def test_every_command_is_tried() -> None:
    assert {command[0] for command in COMPILING} | ELSEWHERE == set(PROGRAM.commands)


@pytest.mark.search
@pytest.mark.parametrize("command", COMPILING, ids=" ".join)
def test_every_string_of_a_workflow_in_every_command(command: list[str], shown: Callable[..., str]) -> None:
    put("sound.json", WORKFLOW)
    put("a.json", WORKFLOW)
    shown("lock", "--update", "a.json")
    # What compiles, so that the text gets far: printable commands and markup, besides everything at once.
    # Every day the commands share the places among them.
    every, first = times(3, deep=1), COMPILING.index(command)
    for number, text in enumerate((HOSTILE, f"##vso[x] ::error::y {MARKUP} \u202e\x85")):
        for at in list(places(WORKFLOW))[(first + number) % every :: every]:
            put("a.json", poisoned(WORKFLOW, at, text))
            said = shown(*(part.format("a.json") for part in command))
            assert acts(said) == [], at
            for page in Path("pages").glob("*.md"):
                assert acts(page.read_text()) == [], at
                assert not re.search(r"(?<!\\)<(script|img)", page.read_text()), at
            if "html" in command and said.startswith("<"):
                assert "<script>alert(1)" not in said
                assert "<img src=x" not in said
            if "svg" in command and said.startswith("<"):
                tags = {element.tag.rpartition("}")[2] for element in ET.fromstring(said).iter()}
                assert tags <= {"svg", "style", "defs", "marker", "path", "g", "title", "rect", "circle", "text"}
            if "html" not in command and "--target" not in command and command[:1] == ["compile"] and said[:1] == "{":
                json.loads(said.splitlines()[0] if "sound.json" in command else said)


NAMES = [
    "::error::x.json",
    "a\n::error::b.json",
    "\x1b[2J.json",
    "##vso[x]y.json",
    "##[error].json",
    "\u202e.json",
    "\x9b.json",
]


@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_hostile_file_names(name: str, shown: Callable[..., str]) -> None:
    put(name, WORKFLOW)
    put("sound.json", WORKFLOW)
    put("broken.json", "{")
    Path("broken.json").rename(f"b{name}")
    for command in [
        *COMPILING,
        ["check", "{}"],
        ["canonical", "x{}"],
        ["catalog", "show", "{}"],
        ["rule", "{}"],
        ["{}"],
    ]:
        for path in (f"./{name}", f"./b{name}", f"./missing{name}"):
            said = shown(*(part.format(path) for part in command))
            assert acts(said) == [], (command, path)
    for format_ in FORMATS:
        said = shown("check", "--no-cache", "--format", format_, ".")
        assert acts(said, github=format_ == "github") == [], format_
    for flag in ("--catalog", "--routines", "--bindings", "--config", "--baseline"):
        assert acts(shown("check", flag, f"./missing{name}", "sound.json")) == []


def test_a_new_project_with_a_hostile_name(shown: Callable[..., str]) -> None:
    assert acts(shown("init", "".join(NAMES))) == []


@pytest.mark.parametrize("text", [HOSTILE, f"select = [{json.dumps(MARKUP)}]", 'ignore = ["\\u001b::\\n::error::x"]'])
def test_a_hostile_configuration(text: str, shown: Callable[..., str]) -> None:
    put("sound.json", WORKFLOW)
    Path("workrail-lint.toml").write_bytes(text.encode("utf-8", "surrogatepass"))
    for command in (["check"], ["compile", "sound.json"], ["lock", "--update"], ["rule", "LP001"]):
        assert acts(shown(*command)) == []


@pytest.mark.search
@pytest.mark.parametrize("kind", ["workrail.lock.json", "baseline.json", "catalog.json"])
def test_hostile_companions(kind: str, shown: Callable[..., str]) -> None:
    put("sound.json", WORKFLOW)
    shown("lock", "--update", "sound.json")
    shown("check", "--no-cache", "--write-baseline", "baseline.json", "sound.json")
    shown("catalog", "export", "--output", "catalog.json")
    document = json.loads(Path(kind).read_text())
    command = {
        "workrail.lock.json": ["lock", "--check", "sound.json"],
        "baseline.json": ["check", "--no-cache", "--baseline", kind, "sound.json"],
        "catalog.json": ["check", "--no-cache", "--catalog", kind, "sound.json"],
    }[kind]
    for at in list(places(document))[:: max(1, len(list(places(document))) // times(12, deep=25))]:
        put(kind, poisoned(document, at))
        assert acts(shown(*command)) == [], at


def test_neutral_changes_nothing_else() -> None:
    text = 'plain text\n  {"a": "b: :c", "ü": 1}\n\tindented #[x] a::b\n'
    assert neutral(text) == text
    value = {"a": f"##vso[x] {BAD[:-1]}"}
    assert json.loads(neutral(json.dumps(value, ensure_ascii=False))) == value


# ----------------------------------------------------------------------------------------------------------- pytest

TEST = """
import pytest
from forks import shared
HOSTILE = {hostile!r}

def test_run(workrail):
    run = workrail.run("a.json")
    assert run.status == HOSTILE

def test_text(workrail):
    assert [HOSTILE, "a"] == ["b", HOSTILE]

def test_raised(workrail):
    hidden = HOSTILE
    raise ValueError(HOSTILE)

def test_missing(workrail):
    workrail.run(HOSTILE.replace("\\0", "") + ".json")

def test_broken(workrail):
    workrail.run("broken.json")

def test_golden(workrail):
    workrail.run("a.json").match_golden(HOSTILE)

def test_changed(workrail):
    workrail.run("a.json").match_golden()

def test_inline(workrail):
    workrail.run("a.json").match('''
        second
    ''')

def test_printed(workrail):
    run = workrail.run("a.json")
    assert run == repr(run), run.outline()

def test_skipped(workrail):
    pytest.skip(HOSTILE)

@pytest.mark.xfail(reason="expected")
def test_expected(workrail):
    workrail.compile("broken.json")

@pytest.fixture
def torn_down(workrail):
    yield
    raise ValueError(HOSTILE)

def test_torn_down(torn_down):
    pass
"""


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("suite")
    (folder / "pytest.ini").write_text("[pytest]\nworkrail_auto = auto/*.json nothing\x9b\u202e##[x]\n")
    (folder / "test_it.py").write_text(TEST.format(hostile=HOSTILE.replace("\ud800", "")), encoding="utf-8")
    hostile = poisoned(WORKFLOW, ("steps", 0, "prompt"))
    (folder / "a.json").write_text(json.dumps(hostile))
    (folder / "broken.json").write_text(json.dumps(poisoned(WORKFLOW, ("steps", 0, "id"))))
    scenario = {
        "name": f"it {HOSTILE}".replace(":", "").replace("[", ""),
        "workflow": "a.json",
        "expect": {"status": "blocked"},
    }
    scenarios = [
        scenario,
        {**scenario, "workflow": HOSTILE},
        {**scenario, "skip": HOSTILE},
        {**scenario, "expect": {"status": HOSTILE, HOSTILE: 1}},
        {**scenario, "agent": {"replies": {HOSTILE: {HOSTILE: HOSTILE}}}, HOSTILE: HOSTILE},
        {**scenario, "enforces": [HOSTILE]},
    ]
    for number, each in enumerate(scenarios):
        (folder / f"s{number}.scenario.json").write_text(json.dumps(each))
    (folder / "n\x1b[2J\u202e##vso[x].scenario.json").write_text(json.dumps(scenario))
    auto = folder / "auto"
    auto.mkdir()
    (auto / "n\x1b[2J\u202e##vso[x]\n::error::b.json").write_text(json.dumps(hostile))
    (auto / "broken.json").write_text("{" + HOSTILE.replace("\ud800", ""))
    (auto / "stuck.json").write_text((folder / "broken.json").read_text())
    golden = folder / "__goldens__" / "test_it" / "test_changed.golden.json"
    update = ["--workrail-golden=new", "-k", "test_changed"]
    outside = {
        name: value for name, value in os.environ.items() if name not in BUILD_MACHINE
    }  # no golden is written there
    assert shared().run(["pytest", *update], folder, outside)[0] == 0
    golden.write_text(golden.read_text().replace("Again", "Once more \\u009b31m ##[error]"))
    return folder


@pytest.mark.parametrize(
    "options",
    [
        ["-v", "-rA", "--tb=native"],
        ["-vv", "--tb=long", "--showlocals"],
        ["--tb=short", "--assert=plain"],
        ["--tb=line", "-ra"],
        ["--collect-only"],
        ["-n", "1", "-v"],
        ["--workrail-cov", "--workrail-golden=update"],
    ],
    ids=" ".join,
)
def test_nothing_that_pytest_shows_acts(options: list[str], suite: Path) -> None:
    command = ["pytest", "-p", "no:cacheprovider", "--color=no", "--junitxml=out.xml", *options]
    code, text = shared().run(command, suite, os.environ)
    assert code in (0, 1), text
    assert "failed" in text or "collected" in text
    assert acts(text) == []
    if "--collect-only" in options:
        return
    report = (suite / "out.xml").read_text()
    assert acts(report) == []
    assert {element.tag for element in ET.fromstring(report).iter()} <= {
        "testsuites",
        "testsuite",
        "testcase",
        "failure",
        "error",
        "skipped",
        "properties",
        "property",
        "system-out",
    }
