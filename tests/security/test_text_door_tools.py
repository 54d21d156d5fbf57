"""The same for what is drawn, searched, recorded and served: colours, pages, searches, sessions, an editor."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_workrail import cli as testing
from tests.security.hostile import HOSTILE, WORKFLOW, acts, places, poisoned
from tests.sessions.session_files import Played, Session, step, workflow, write, write_log
from workrail_lint import cli as linting
from workrail_lint.base.canonical import canonical_bytes, digest

pytestmark = pytest.mark.promise("Text stays text", "the same in the other tools")

# What compiles, so that the text gets far.
GENTLE = "##vso[x] ::error::y <script>alert(1)</script><img src=x>]]> \u202e\x85\n::warning::z"
NAMES = ["a\n::error::b.json", "\x1b[2J\u202e##vso[x].json"]


@pytest.fixture
def shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WORKRAIL_LINT_DEBUG", "1")

    def shower(main: Callable[[list[str]], int], *arguments: str) -> str:
        capsys.readouterr()
        assert main(list(arguments)) in (0, 1, 2, 3)
        captured = capsys.readouterr()
        assert "Traceback" not in captured.err, captured.err
        return captured.out + captured.err

    return shower


def hostile_workflow() -> dict[str, Any]:
    """Hostile text wherever a workflow still compiles with it."""
    made: dict[str, Any] = dict(WORKFLOW)
    for at in (("name",), ("description",), ("metaGuidance", 0), ("preconditions", 0)):
        made = poisoned(made, at, GENTLE)
    for number in (0, 1):
        for member in ("title", "prompt"):
            made = poisoned(made, ("steps", number, member), GENTLE)
    made = poisoned(made, ("steps", 0, "runCondition", "equals"), GENTLE)
    return poisoned(made, ("steps", 1, "validationCriteria", 0, "message"), GENTLE)


def is_inert(page: str) -> bool:
    """No markup of a document is markup of the page."""
    return "<script>alert(1)" not in page and "<img src=x" not in page and "]]>" not in page


# ------------------------------------------------------------------------------------------------------------ colours

STYLED = "\x1b[35mpurple\x1b[8mhidden\x1b]8;;https://evil.example/\x1b\\link\x1b]8;;\x1b\\"
OWN = re.compile(r"\x1b\[(?:0|1|2|3[12346])(?:;(?:1|2|3[12346]))*m|\x1b\]8;;(?:file://[!-~]*)?\x1b\\")


@pytest.mark.parametrize(
    "command",
    [
        ["check", "--no-cache", "--severity", "info", "a.json"],
        ["check", "--no-cache", "--diff", "--unsafe-fixes", "a.json"],
        ["check", "--no-cache", "--statistics", "a.json"],
        ["compile", "--explain", "a.json"],
        ["diff", "sound.json", "a.json"],
        ["lock", "--check", "a.json"],
        ["graph", "a.json"],
        ["format", "--diff", "a.json"],
    ],
    ids=" ".join,
)
def test_no_colour_is_from_a_document(
    command: list[str], shown: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.delenv("NO_COLOR", raising=False)
    Path("sound.json").write_text(json.dumps(WORKFLOW))
    shown(linting.main, "lock", "--update", "sound.json")
    for at in places(WORKFLOW):
        Path("a.json").write_text(json.dumps(poisoned(WORKFLOW, at, STYLED)))
        said = shown(linting.main, *command)
        assert acts(OWN.sub("", said)) == [], at


# -------------------------------------------------------------------------------------------------------------- pages


def test_the_studio(shown: Callable[..., str]) -> None:
    Path("a.json").write_text(json.dumps(hostile_workflow()))
    report = {"workflowId": WORKFLOW["id"], "points": [], "survived": [{"change": HOSTILE, "place": HOSTILE}]}
    Path("report.json").write_text(json.dumps({"workflows": [report]}))
    Path("pending.json").write_text(json.dumps({"groups": [{"title": HOSTILE, "goldens": [HOSTILE]}]}))
    for output in (["--format", "html"], ["--format", "json"]):
        files = ["--mutation", "report.json", "--sessions", "report.json", "--goldens", "pending.json"]
        said = shown(linting.main, "studio", "a.json", "--title", GENTLE, "--output", "out.html", *files, *output)
        assert acts(said) == []
        page = Path("out.html").read_text()
        assert "evil" in page or "alert(1)" in page
        assert is_inert(page)
    forged = {"groups": [{"id": "x; rm -rf ~", "goldens": []}]}  # people copy it into a shell
    Path("pending.json").write_text(json.dumps(forged))
    assert shown(linting.main, "studio", "a.json", "--goldens", "pending.json").endswith("of another shape\n")


@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_hostile_names_and_folders(name: str, shown: Callable[..., str]) -> None:
    Path(name).write_text(json.dumps(hostile_workflow()))
    Path("broken.json").write_text("{")
    for path in (f"./{name}", f"./missing{name}", "broken.json"):
        for command in (
            ["studio", path, "--output", f"o{name}"],
            ["studio", ".", "--coverage", path],
            ["format", path],
        ):
            assert acts(shown(linting.main, *command)) == [], command
        for command in (
            ["generate", path],
            ["mutate", path, "--scenarios", f"in{name}"],
            ["explore", path, "--runs", "1", "--scheduler", f"tcp://{name}"],
            ["serve", path, "--data", f"./missing{name}/x\0y"],
            ["sessions", "list", "--data", path],
            ["sessions", "import", path],
            ["combine", path],
            ["golden", "diff", path],
        ):
            if command[0] != "serve" or "missing" in path or "broken" in path:
                assert acts(shown(testing.main, *command)) == [], command


# ----------------------------------------------------------------------------------------------------------- searches


@pytest.mark.parametrize(
    "command",
    [
        ["generate", "a.json"],
        ["generate", "a.json", "--json", "--out", "made"],
        ["mutate", "a.json", "--no-cache", "--html", "out.html", "--report", "out.json"],
        ["mutate", "a.json", "--no-cache", "--json"],
        ["explore", "a.json", "--runs", "2", "--profile", "locked"],
        ["explore", "a.json", "--runs", "2", "--profile", "locked", "--json"],
    ],
    ids=" ".join,
)
def test_every_search(command: list[str], shown: Callable[..., str]) -> None:
    Path("a.json").write_text(json.dumps(hostile_workflow()))
    assert linting.main(["compile", "--emit", "hash", "a.json"]) == 0
    said = shown(testing.main, *command)
    assert acts(said) == []
    if "--json" in command:
        assert json.JSONDecoder().raw_decode(said)[0]["workflows"]
    for page in Path().glob("out.*"):
        # A page is for browsers; what it would do in a log is that of its file.
        assert is_inert(page.read_text()) if page.suffix == ".html" else acts(page.read_text()) == []


# ----------------------------------------------------------------------------------------------------------- sessions


def hostile_sessions(root: Path) -> list[str]:
    """Sessions of an agent that writes hostile text, and the same with hostile text wherever events hold any."""
    definition = workflow(step("first", prompt=f"Do it. {GENTLE}", title=GENTLE), step("second"), name=GENTLE)
    session = Session(definition, seed=1, size=HOSTILE.replace("\ud800", ""))
    text = HOSTILE.replace("\ud800", "")
    session.submit(text, artifacts=[{"kind": "x", text: text}], context={text: text})
    played = session.played()
    write(root, played)
    return [played.session_id, *_forged(root, played)]


def _forged(root: Path, played: Played) -> Iterator[str]:
    """One session for each string of the events, with hostile text in its place."""
    ways = [at for at in places(played.events) if at[-1] not in (None, "eventId", "sessionId", "kind")]
    for number, at in enumerate(ways[::3]):
        name = f"sess_{number:026}"
        events = json.loads(json.dumps(poisoned(played.events, at)).replace(played.session_id, name))
        write_log(root, name, [events])
        yield name
    snapshots = [at for at in places(played.snapshots) if at[-1] is not None]
    for number, at in enumerate(snapshots[::4]):
        name = f"sess_{number + 500:026}"
        made = poisoned(played.snapshots, at)
        text = json.dumps(played.events).replace(played.session_id, name)
        for old, content in made.items():
            new = digest(canonical_bytes_of(content))
            (root / "snapshots" / f"{new.replace(':', '_')}.json").write_bytes(canonical_bytes_of(content))
            text = text.replace(old, new)
        write_log(root, name, [json.loads(text)])
        yield name


def canonical_bytes_of(value: Any) -> bytes:
    return canonical_bytes(json.loads(json.dumps(value).replace("\\ud800", "")))


def test_every_look_at_a_hostile_session(shown: Callable[..., str], tmp_path: Path) -> None:
    data = tmp_path / "data"
    sessions = hostile_sessions(data)
    assert len(sessions) > 20
    here = ("--data", str(data))
    for command in (["list", "--no-cache"], ["list", "--no-cache", "--json"], ["stats"], ["stats", "--json"]):
        assert acts(shown(testing.main, "sessions", *command, *here)) == [], command
    shown(testing.main, "sessions", "stats", *here, "--html", "stats.html")
    assert is_inert(Path("stats.html").read_text())
    for name in sessions:
        for options in ([], ["--full", "--prompts"], ["--mermaid"], ["--json"]):
            assert acts(shown(testing.main, "sessions", "show", name, *here, *options)) == [], (name, options)
        shown(testing.main, "sessions", "show", name, *here, "--html", "show.html")
        assert is_inert(Path("show.html").read_text())
        assert acts(shown(testing.main, "sessions", "record", name, *here, "--out", "made")) == []
        assert acts(shown(testing.main, "sessions", "export", name, *here, "--out", "out.session.json")) == []
    Path("a.json").write_text(json.dumps(workflow(step("first"), step("third"))))
    assert acts(shown(testing.main, "sessions", "replay", *here, "--workflow", "a.json")) == []


# ------------------------------------------------------------------------------------------------- editors and agents


def test_an_editor_gets_text_and_markdown_that_is_text(shown: Callable[..., str]) -> None:
    """Diagnostics and titles are plain text on one line; a hover is Markdown, which may load or run nothing."""
    from tests.server.opened import opened
    from workrail_lint.server import actions, outline
    from workrail_lint.server.hover import hover

    for at in places(WORKFLOW):
        document = opened(json.dumps(poisoned(WORKFLOW, at, HOSTILE + MARKDOWN), indent=1))
        for finding in document.checked.findings:
            assert finding.message.isprintable(), at
        offered = actions.actions(document, 0, len(document.text), lambda _: "")
        assert all(action.title.isprintable() for action in offered), at
        assert all(symbol.name.isprintable() for symbol in outline.symbols(document)), at
        for offset in range(0, len(document.text), 97):
            found = hover(document, offset)
            assert found is None or is_plain(found.text), (at, found)


def test_an_editor_shows_a_catalog_as_text(shown: Callable[..., str]) -> None:
    from tests.server.opened import opened
    from workrail_lint.server.hover import hover
    from workrail_lint.systems.workrail.catalog.catalog import Ref, load_core

    document = opened({**WORKFLOW, "steps": [{"id": "a", "title": "A", "promptBlocks": {"goal": [REFERENCE]}}]})
    catalog = load_core()
    ref = catalog.refs[REFERENCE["refId"]]
    texts = dict.fromkeys(("title", "summary", "text"), MARKDOWN)
    hostile = Ref({"id": ref.id, "phase": ref.phase.value, "placements": ref.placements, **texts})
    evil = SimpleNamespace(refs={ref.id: hostile}, contracts={})
    assert document.is_workflow
    place = document.text.index(ref.id) + 2
    assert hover(document, place) is not None  # what is read of the document is kept from here on
    document.project.settings = SimpleNamespace(catalog=evil)
    found = hover(document, place)
    assert found is not None
    assert "evil" in found.text
    assert is_plain(found.text)


REFERENCE = {"kind": "ref", "refId": "wr.refs.notes_first_durability"}
MARKDOWN = "![x](https://evil.example/a.png) [y](command:z) <img src=x>\n\n# z"


def is_plain(markdown: str) -> bool:
    """No link, no picture, no markup and no heading in Markdown, besides what is escaped or code."""
    text = re.sub(r"```.*?```|`[^`\n]*`|\\.", "", markdown, flags=re.DOTALL)
    return not re.search(r"\]\(|<|^ {0,3}#", text, re.MULTILINE)
