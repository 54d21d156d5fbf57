"""The studio's data and page: what they hold, that they are stable, and that no text gets out of its place."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import subprocess
import sys
from base64 import b64encode
from contextlib import redirect_stdout
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from effort import patience
from samples import HOSTILE, branching, hostile, ordinary, write_project

from workrail_lint import Ok, compile_workflow
from workrail_lint.cli import main
from workrail_lint.studio.page import MODULES, STYLES, modules_for, page, script_bytes
from workrail_lint.studio.runs import run_data

ROOT = Path(__file__).resolve().parents[2]
WEB = ROOT / "workrail_lint" / "studio" / "web"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_project(tmp_path)
    return tmp_path


def _data(*arguments: str) -> dict[str, Any]:
    assert main(["studio", *arguments, "--format", "json", "--output", "data.json"]) == 0
    data: dict[str, Any] = json.loads(Path("data.json").read_text())
    return data


def _workflow(data: dict[str, Any], ident: str) -> dict[str, Any]:
    return next(item for item in data["workflows"] if item["id"] == ident)


def test_a_step_has_its_text_its_source_and_its_variables(project: Path) -> None:
    shown = _workflow(_data("workflows"), "demo.branching")
    steps = {step["id"]: step for step in shown["steps"]}
    assert [kind for kind, _, _ in steps["first"]["pieces"]] == ["authored"]
    assert steps["first"]["source"]["line"] > 1
    assert steps["first"]["sets"] == ["size"]
    assert steps["small-way"]["reads"] == ["size"]
    assert steps["small-way"]["condition"] == "size is small"
    assert steps["small-way"]["samples"] == {"size": "small"}
    assert [badge["kind"] for badge in steps["sign-off"]["badges"]] == ["gate"]
    size = next(item for item in shown["vars"] if item["name"] == "size")
    assert (size["set"], size["read"], size["values"]) == (["first"], ["small-way", "large-way"], ["small", "large"])
    assert {node["id"].split("~")[0] for node in shown["layout"]["nodes"]} >= {"first", "small-way", "fan-out"}


def _written(step: dict[str, Any], steps: dict[str, dict[str, Any]]) -> str:
    """Return the source of a step as the page shows it."""

    def part(at: re.Match[str]) -> str:
        text = step["pieces"][int(at[1])][2]
        line = text if at[2] is None else re.sub(r"^(?:- |\d+\. )", "", text.split("\n")[int(at[2])])
        return json.dumps(line, ensure_ascii=False)[1:-1]

    text = re.sub(r"\x01(\d+)(?:/(\d+))?\x01", part, step["source"]["text"])
    return re.sub(r"\x02([^\x02]*)\x02", lambda at: _written(steps[at[1]], steps), text)


def test_the_source_of_a_step_is_its_json(project: Path) -> None:
    """What the data says once, the page puts back."""
    document = branching()
    long = 'Look at it closely, then say what you "see" ü \U0001f600\n' * 3
    short = "One line that is long enough to be said once."
    document["features"] = ["wr.features.capabilities"]
    ref = [{"kind": "ref", "refId": "wr.refs.append_only_truth"}]
    blocks = {"goal": short, "constraints": [ref, short + " \\ "], "procedure": [f"- {short}", long]}
    document["steps"][0]["prompt"] = long
    document["steps"][1] = {"id": "blocks", "title": "Blocks", "promptBlocks": blocks}
    document["steps"][3]["body"][0]["prompt"] = short
    write_project(project, document)
    data = _data("workflows", "--isolated")
    steps = {step["id"]: step for step in _workflow(data, "demo.branching")["steps"]}
    assert "blocks" in steps, "it compiles"
    for step in steps.values():
        for piece in step["pieces"]:
            piece[2] = data["strings"][piece[2]] if isinstance(piece[2], int) else piece[2]
    for wanted in document["steps"]:
        assert json.loads(_written(steps[wanted["id"]], steps)) == wanted
    assert [steps[ident]["source"]["text"].count(short) for ident in ("blocks", "again")] == [0, 0]
    assert steps["again"]["source"]["text"].count("\x02") == 2 * len(document["steps"][3]["body"])


def test_a_step_names_every_blocker_that_a_run_can_show(project: Path) -> None:
    """The goals of coverage know them from the engine, for each profile."""
    from pytest_workrail.coverage.goals import BlockerGoal, goals
    from pytest_workrail.engine.core.profiles import PROFILES

    fixtures = [ROOT / "fixtures" / "workflows", ROOT / "fixtures" / "scenarios" / "workflows"]
    routines = str(ROOT / "fixtures" / "routines")
    shown = {
        (workflow["id"], step["id"], code)
        for workflow in _data(*map(str, fixtures), "--isolated", "--routines", routines)["workflows"]
        for step in workflow["steps"]
        for code in step["blockers"]
    }
    wanted = {
        (made.value.workflow_id, point.place.rpartition("/")[2], point.case)
        for folder in fixtures
        for path in sorted(folder.glob("*.json"))
        if isinstance(made := compile_workflow(path), Ok)
        for profile in PROFILES.values()
        for point in goals(made.value.program, profile)
        if point.kind is BlockerGoal
    }
    assert len(wanted) > 50
    assert wanted <= shown


@pytest.mark.parametrize(
    ("rule", "who"),
    [(True, "a person"), ({"kind": "human_approval"}, "a person"), ({"kind": "coordinator_eval"}, "the coordinator")],
)
def test_a_gate_says_who_confirms(project: Path, rule: Any, who: str) -> None:
    document = branching()
    document["steps"][0]["requireConfirmation"] = rule
    write_project(project, document)
    step = _workflow(_data("workflows"), "demo.branching")["steps"][0]
    assert step["badges"] == [{"kind": "gate", "text": f"confirmed by {who}"}]
    assert ("USER_ONLY_DEPENDENCY" in step["blockers"]) == (who == "a person")


def test_a_workflow_that_does_not_compile_has_its_findings(project: Path) -> None:
    write_project(project, {**branching(), "steps": []})
    shown = _workflow(_data("workflows"), "demo.branching")
    assert (shown["hash"], shown["layout"], shown["steps"]) == (None, None, [])
    assert any(finding["severity"] == "error" for finding in shown["findings"])


def test_a_broken_file_keeps_its_last_good_graph(project: Path) -> None:
    path = project / "workflows" / "branching.json"
    good = path.read_text()
    for command in (["init", "-q"], ["add", "-A"], ["-c", "user.name=x", "-c", "user.email=x@y", "commit", "-qm", "x"]):
        subprocess.run(["git", *command], check=True, capture_output=True)
    path.write_text(good.replace('"prompt": "Plan it."', '"prompt": "Plan it." "'))
    for given in ((), ("--git", "HEAD")):
        told = _workflow(_data("workflows", *given), "demo.branching")
        assert [step["id"] for step in told["steps"]][:2] == ["first", "small-way"]
        assert told["hash"] is None
        assert told["layout"]["nodes"]
        broken = told["broken"]
        assert (broken["stale"], len(broken["commit"])) == (True, 40)
        assert broken["committed"] > 1_500_000_000
        assert "Plan it." in broken["excerpt"]["lines"][broken["line"] - broken["excerpt"]["first"]]
        assert broken["message"]
    assert told.get("changes") is None, "a version that is not the file's is not compared"


def test_without_a_version_that_compiles_the_steps_that_can_be_read_are_drawn(project: Path) -> None:
    document = branching()
    document["steps"][1]["prompt"] = "Keep {{wr.bindings.nothing}} it."
    document["steps"][2] = {"title": "Nameless"}
    write_project(project, document)
    told = _workflow(_data("workflows"), "demo.branching")
    assert told["broken"]["sketch"] is True
    assert [step["id"] for step in told["steps"]][:2] == ["first", "small-way"]
    assert len(told["layout"]["nodes"]) == len(told["steps"]) == 5
    assert "broken" not in _workflow(_data("workflows"), "demo.hostile")


def test_findings_know_their_step(project: Path) -> None:
    document = branching()
    document["steps"][1]["prompt"] = "Use {{missing.thing}}."
    write_project(project, document)
    data = _data("workflows")
    found = [finding for finding in _workflow(data, "demo.branching")["findings"] if finding["step"] == "small-way"]
    assert found
    assert all(data["reasons"][finding["name"]] for finding in found)


def test_reports_of_another_version_are_marked(project: Path) -> None:
    good = _workflow(_data("workflows"), "demo.branching")["hash"]
    point = {"kind": "step", "place": "first", "case": "done", "tests": ["t::a"]}
    total = {"covered": 1, "points": 1, "percent": 100.0}
    for hashed, stale in ((good, False), ("sha256:other", True)):
        report = {
            "workflows": [{"workflowId": "demo.branching", "workflowHash": hashed, "total": total, "points": [point]}]
        }
        Path("coverage.json").write_text(json.dumps(report))
        shown = _workflow(_data("workflows", "--coverage", "coverage.json"), "demo.branching")["coverage"]
        assert (shown["stale"], shown["tests"], shown["points"][0]["tests"]) == (stale, ["t::a"], [0])


def test_the_same_bytes_each_time(project: Path) -> None:
    """In other processes too, where sets have another order."""
    texts = set()
    for seed in ("1", "2"):
        command = [sys.executable, "-m", "workrail_lint", "studio", "workflows", "--output", "page.html"]
        subprocess.run(command, check=True, capture_output=True, env={**os.environ, "PYTHONHASHSEED": seed})
        texts.add(Path("page.html").read_bytes())
    assert len(texts) == 1


@pytest.mark.parametrize(("count", "budget"), [(1, 300_000), (50, 2_000_000)])
def test_a_page_stays_small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int, budget: int) -> None:
    monkeypatch.chdir(tmp_path)
    write_project(tmp_path, *map(ordinary, range(count)))
    with patience():
        assert main(["studio", "workflows", "--output", "page.html"]) == 0
    assert count * 24_000 < Path("page.html").stat().st_size < budget


SESSIONS = ROOT / "fixtures" / "sessions"


def _story(session: str) -> dict[str, Any]:
    """What `workrail-test sessions show --json` prints."""
    from pytest_workrail.cli import main as test_main

    printed = io.StringIO()
    with redirect_stdout(printed):
        assert test_main(["sessions", "show", session, "--data", str(SESSIONS), "--json", "--prompts", "--full"]) == 0
    story: dict[str, Any] = json.loads(printed.getvalue())
    return story


def test_a_session_is_a_story(project: Path) -> None:
    forked = next(path.name for path in sorted((SESSIONS / "sessions").iterdir()) if "m2sl" in path.name)
    Path("session.json").write_text(json.dumps(_story(forked)))
    workflows = str(ROOT / "fixtures" / "workflows" / "release-notes.json")
    data = _data(workflows, "--isolated", "--sessions", "session.json")
    (run,), strings = data["runs"], data["strings"]
    assert (run["kind"], run["name"], run["workflow"]) == ("session", forked, "demo.release_notes")
    assert [turn["branch"] for turn in run["turns"]] == [0, 0, 0, 1, 0, 0]
    assert [turn.get("parent") for turn in run["turns"]] == [None, 0, 1, 2, 2, 4]
    assert (run["tip"], run["turns"][5]["kind"]) == (5, "complete")
    assert run["turns"][5]["context"] == {"upgradeSteps": 1}
    kinds = [(kind, slot) for kind, slot, _ in run["turns"][1]["prompt"]]
    assert strings[run["turns"][1]["prompt"][0][2]].startswith("List every change")
    assert kinds[0] == ("authored", None)
    assert len(kinds) > 1
    assert {kind for kind, _ in kinds[1:]} == {"engine"}
    assert run["stale"] is False, "the engine pins another hash than that of the IR"


def test_text_of_unknown_origin_is_never_the_authors(project: Path) -> None:
    story = _story(next(iter(sorted((SESSIONS / "sessions").iterdir()))).name)
    for node in story["runs"][0]["nodes"]:
        node.get("asked", {}).pop("parts", None)
    Path("session.json").write_text(json.dumps(story))
    (run,) = _data("workflows", "--sessions", "session.json")["runs"]
    assert {piece[0] for turn in run["turns"] for piece in turn.get("prompt", ())} == {"unknown"}
    text = "Say it.\n\n**OUTPUT REQUIREMENTS:**\n- Be short."
    golden = {
        "prompts": [{"step": "a", "text": text}],
        "transcript": [_entry(None, {"pending": {"stepId": "a", "prompt": "⟪PROMPT⟫⟪NOTES_FULL⟫\n\n## Recovery"}})],
    }
    told = run_data(golden, "a", "a.golden.json")
    assert told is not None
    assert [[kind, slot] for kind, slot, _ in told["turns"][0]["prompt"]] == [
        ["authored", None], ["unknown", None], ["engine", "NOTES_FULL"], ["unknown", None],
    ]  # fmt: skip


def test_reports_are_split_by_version(project: Path) -> None:
    now = _workflow(_data("workflows"), "demo.branching")["hash"]
    entry = {"workflowId": "demo.branching", "workflowHash": now, "mutants": 2, "survived": []}
    old = {**entry, "workflowHash": "sha256:old"}
    Path("mutation.json").write_text(json.dumps({"workflows": [entry, old]}))
    Path("old.json").write_text(json.dumps({"workflows": [old]}))
    one = {"id": "s", "status": "complete", "steps": ["first"]}
    each = [{"hash": now, "version": "2.0.0", "sessions": [one]}, {"hash": "sha256:old", "sessions": [one, one]}]
    counts = {"workflowId": "demo.branching", "workflowHashes": [now, "sha256:old"], "sessions": 3, "each": each}
    Path("counts.json").write_text(json.dumps({"workflows": [counts]}))
    told = _workflow(
        _data("workflows", "--mutation", "mutation.json", "--cost", "old.json", "--sessions", "counts.json"),
        "demo.branching",
    )
    assert told["mutation"] == {"workflowHash": now, "others": ["sha256:old"], "mutants": 2, "survived": []}
    assert (told["cost"]["stale"], told["cost"]["workflowHash"]) == (True, "sha256:old")
    assert [(one["current"], len(one["sessions"])) for one in told["sessions"]["each"]] == [(True, 1), (False, 2)]


def test_a_session_of_another_version_is_marked(project: Path) -> None:
    story = _story(next(iter(sorted((SESSIONS / "sessions").iterdir()))).name)
    story["runs"][0]["workflowHash"] = "sha256:other"
    Path("session.json").write_text(json.dumps(story))
    counts = {"workflows": [{"workflowId": "demo.release_notes", "workflowHashes": ["sha256:other"], "sessions": 2}]}
    Path("counts.json").write_text(json.dumps(counts))
    workflows = str(ROOT / "fixtures" / "workflows" / "release-notes.json")
    given = ("--sessions", "session.json", "--sessions", "counts.json")
    data = _data(workflows, "--isolated", *given)
    assert data["runs"][0]["stale"] is True
    assert data["workflows"][0]["sessions"]["stale"] is True


@pytest.mark.parametrize(
    "story",
    [
        {"runs": [{}, 2]},
        {"runs": [{"nodes": [{"node": [], "parent": {}, "loops": [{"iteration": "x"}]}], "beats": [{"to": {}}]}]},
        {"runs": [{"nodes": [{"node": 1, "parent": 2}, {"node": 2, "parent": 1}], "preferredPath": [9, [], 1]}]},
        {"runs": [{"preferences": [], "context": 3, "gaps": {}, "nodes": [{"asked": 1, "blockers": 2}]}]},
    ],
)
def test_a_damaged_session_is_told_as_far_as_it_goes(project: Path, story: dict[str, Any]) -> None:
    Path("session.json").write_text(json.dumps(story))
    for run in _data("workflows", "--sessions", "session.json")["runs"]:
        assert all(turn.get("parent", -1) < at for at, turn in enumerate(run["turns"])), "no way back"


def test_only_what_is_shown_of_a_mutation_report(project: Path) -> None:
    entry = {"workflowId": "demo.branching", "mutants": 4, "killed": 3, "score": 75.0, "survived": [], "results": [1]}
    Path("mutation.json").write_text(json.dumps({"workflows": [entry]}))
    shown = _workflow(_data("workflows", "--mutation", "mutation.json"), "demo.branching")["mutation"]
    assert shown == {"mutants": 4, "killed": 3, "score": 75.0, "survived": []}


def test_stale_scenarios_are_not_a_stale_report(project: Path) -> None:
    """What `workrail-test generate` calls stale are scenarios; the costs beside them are of this version."""
    now = _workflow(_data("workflows"), "demo.branching")["hash"]
    entry = {"workflowId": "demo.branching", "workflowHash": now, "stale": ["old.scenario.json"], "cost": {}}
    Path("cost.json").write_text(json.dumps({"workflows": [entry]}))
    assert _workflow(_data("workflows", "--cost", "cost.json"), "demo.branching")["cost"] == {
        "workflowHash": now,
        "cost": {},
    }


@pytest.mark.parametrize("form", ["html", "json"])
def test_a_page_goes_to_standard_output(project: Path, capsysbinary: Any, form: str) -> None:
    assert main(["studio", "workflows", "--format", form, "--output", "page"]) == 0
    capsysbinary.readouterr()
    assert main(["studio", "workflows", "--format", form, "--output", "-"]) == 0
    printed = capsysbinary.readouterr()
    assert (printed.out, printed.err) == (Path("page").read_bytes(), b"")
    assert not Path("-").exists()


def test_a_run_of_this_suite_says_more_than_its_golden(project: Path) -> None:
    call = _entry(None, {"pending": {"stepId": "first", "prompt": [[None, "Do."], ["NOTES_FULL", "Write notes."]]}})
    ran = {"test": "s/a.scenario.json::a", "workflow": "demo.branching", "transcript": [call], "final": {}}
    Path("runs.json").write_text(json.dumps({"runs": [ran, {**ran}, 3]}))
    Path("s/__goldens__").mkdir(parents=True)
    for name in ("a", "b"):
        Path(f"s/__goldens__/{name}.golden.json").write_text(
            json.dumps({"workflow": "demo.branching", "transcript": []})
        )
    runs = _data("workflows", "--runs", "runs.json", "--goldens", "s")["runs"]
    assert [run["name"] for run in runs] == ["a", "a 2", "b"]
    assert runs[0]["turns"][0]["prompt"] == [["authored", None, "Do."], ["engine", "NOTES_FULL", "Write notes."]]


def test_long_texts_are_said_once(project: Path) -> None:
    document = branching()
    for step in document["steps"][:3]:
        step["prompt"] = "The same long text. " * 20
    write_project(project, document)
    data = _data("workflows")
    assert len(data["strings"]) == 1
    assert json.dumps(data).count("The same long text. The same") < 3 * 20


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--coverage", "missing.json"], "missing.json does not exist"),
        (["--mutation", "text.json"], "text.json is not JSON"),
        (["--sessions", "other.json"], "is not a report about sessions: it has no `workflows`"),
        (["--sessions", "one.json"], "is not a report about sessions: what it holds is of another shape"),
        (["--goldens", "other.json"], "is not a list of pending changes"),
        (["--git", "HEAD"], "is not in a git repository"),
        (["--output", "no/such/folder.html"], "can't be written"),
    ],
)
def test_bad_input_is_a_message(project: Path, capsys: Any, arguments: list[str], words: str) -> None:
    Path("text.json").write_text("{")
    Path("other.json").write_text("{}")
    Path("one.json").write_text('{"runs": 1}')
    assert main(["studio", "workflows", *arguments]) == 2
    assert words in capsys.readouterr().err


def test_no_workflow_is_exit_code_3(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["studio"]) == 3


def test_changes_since_a_revision(project: Path) -> None:
    for command in (["init", "-q"], ["add", "-A"], ["-c", "user.name=x", "-c", "user.email=x@y", "commit", "-qm", "x"]):
        subprocess.run(["git", *command], check=True, capture_output=True)
    document = branching()
    del document["steps"][4]
    document["steps"][0]["prompt"] += " Carefully."
    write_project(project, document, {**hostile(), "id": "demo.fresh"})
    data = _data("workflows", "--git", "HEAD")
    assert _workflow(data, "demo.branching")["committed"] > 1_500_000_000
    assert _workflow(data, "demo.fresh")["committed"] is None
    changes = _workflow(data, "demo.branching")["changes"]
    kinds = {(change["kind"], change["step"]) for change in changes["list"]}
    assert kinds == {("removed", "sign-off"), ("changed", "first")}
    gone = next(change for change in changes["list"] if change["kind"] == "removed")
    assert (gone["followed"], gone["title"]) == ("again/decide", "A step")
    assert gone["text"] == branching()["steps"][4]["prompt"], "what the step said is kept"
    assert gone["lane"] == {"loop": None, "runCondition": None}
    assert gone["after"] == "again", "the nearest remaining step of its lane"
    assert changes["version"] == {
        "base": "1.0.0",
        "declared": "1.0.0",
        "required": "major",
        "due": "2.0.0",
        "ok": False,
    }
    assert _workflow(data, "demo.fresh")["changes"] == {"isNew": True, "list": []}
    assert _workflow(data, "demo.hostile")["changes"]["list"] == []


def test_no_text_leaves_its_place(project: Path) -> None:
    assert main(["studio", "workflows", "--title", HOSTILE, "--output", "page.html"]) == 0
    text = Path("page.html").read_text(encoding="utf-8")
    assert text.count("<script") == text.count("</script") == 2
    assert "<img" not in text
    assert not re.search("[\u2028\u202e\x1b]", text)
    body = re.search(r'id="data">(.*?)</script>', text, re.DOTALL)
    assert body is not None
    assert _workflow(json.loads(body[1]), "demo.hostile")["name"] == HOSTILE


def test_the_policy_allows_this_script_and_style_only() -> None:
    text = page({"workflows": []}, "x")
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)
    script = re.search(r"</script><script>(.*)</script>", text, re.DOTALL)
    style = re.search(r"<style>(.*)</style>", text, re.DOTALL)
    assert policy is not None
    assert script is not None
    assert style is not None
    for part in (script[1], style[1]):
        assert b64encode(sha256(part.encode()).digest()).decode() in policy[1]
    assert "unsafe" not in policy[1]
    assert "default-src 'none'" in policy[1]
    assert "frame-src" not in policy[1]
    assert "frame-src file: 'self'" in page({"workflows": [], "watched": "sha256:1"}, "x")


def test_json_in_a_script_is_the_same_json() -> None:
    value = {"a": ["</script>", "\u2028", "\ud800", "&amp;", 1.5, None]}
    text = script_bytes(value).decode()
    assert text.isascii()
    assert not set("<>&") & set(text)
    assert json.loads(text) == value


def _shell(data: dict[str, Any]) -> tuple[str, str]:
    """Return the script and the style of a page."""
    script, style = (re.search(f"<{name}>(.*)</{name}>", page(data, "x"), re.DOTALL) for name in ("script", "style"))
    assert script is not None
    assert style is not None
    return script[1], style[1]


# Something to show in each view that is left out otherwise.
EVERYTHING = {"runs": [{"kind": "team"}, {"kind": "workflow"}], "goldens": {}, "catalog": [{}], "locks": {}}


def test_the_shell_is_small_and_its_modules_are_all_there() -> None:
    """A page has the views that it has something for: the budget is that of a page of workflows."""
    assert {path.stem for path in WEB.glob("*.js")} == set(MODULES)
    assert {path.stem for path in WEB.glob("*.css")} == {"style", *STYLES}
    assert set(STYLES) < set(MODULES)
    for data, most_script, most_style in (({"catalog": [{}]}, 130_000, 36_000), (EVERYTHING, 167_000, 45_000)):
        script, style = _shell(data)
        assert 60_000 < len(script.encode()) < most_script
        assert 20_000 < len(style.encode()) < most_style
    names: list[str] = []
    for module in MODULES:
        text = (WEB / f"{module}.js").read_text(encoding="utf-8")
        names += re.findall(r"^(?:export )?(?:async )?(?:function|const|let|class) (\w+)", text, re.MULTILINE)
        assert "innerHTML" not in text
        assert "fetch(" not in text
    assert len(names) == len(set(names)), "two modules use one name, and they become one script"


def test_a_view_without_data_is_left_out() -> None:
    left_out = set(MODULES) - set(modules_for({}))
    assert left_out == {"runs", "charts", "goldens", "catalog"}
    assert modules_for(EVERYTHING) == MODULES
    assert set(MODULES) - set(modules_for({"runs": [{"kind": "workflow"}]})) == {"charts", "goldens", "catalog"}
    for name in modules_for({}):
        text = (WEB / f"{name}.js").read_text(encoding="utf-8")
        imported = set(re.findall(r'from "\./(\w+)\.js"', text))
        assert not imported & left_out, f"{name} needs a module that may be missing"


def _quoted(script: str) -> list[str]:
    """The strings and the texts of templates of a script, character by character."""
    found: list[str] = []
    closing: list[int] = []  # of templates around what is read: how many braces are open in each
    at = 0
    while at < len(script):
        char = script[at]
        end = at + 1
        if char == "/" and re.search(r"[(,=:!?&|;]\s*$", script[max(0, at - 9) : at]):
            end = at + re.match(r"/(?:[^/\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+/", script[at:]).end()  # type: ignore[union-attr]
            found.append(script[at:end])
        elif char == '"':
            end = at + re.match(r'"(?:[^"\\]|\\.)*"', script[at:]).end()  # type: ignore[union-attr]
            found.append(script[at:end])
        elif char == "`" or (char == "}" and closing and closing[-1] == 0):
            if char == "}":
                closing.pop()
            end = at + re.match(r"[`}](?:[^`\\$]|\\.|\$(?!\{))*(?:`|\$\{)", script[at:], re.DOTALL).end()  # type: ignore[union-attr]
            found.append(script[at:end])
            if script[end - 1] == "{":
                closing.append(0)
        elif closing and char in "{}":
            closing[-1] += 1 if char == "{" else -1
        at = end
    return found


def test_every_text_of_the_scripts_is_in_the_page_as_it_is_written() -> None:
    """Spaces are taken out of the code, and out of nothing else."""
    unseen = re.compile(r"/\*\*[\s\S]*?\*/ ?|^ *//.*\n|^import [^;]*;\n", re.MULTILINE)
    sources = [unseen.sub("", (WEB / f"{module}.js").read_text(encoding="utf-8")) for module in MODULES]
    script, _ = _shell(EVERYTHING)
    wanted = [text for source in sources for text in _quoted(source)]
    assert len(wanted) > 1000
    assert _quoted(script)[1:] == wanted, "the first one says that the script is strict"


@pytest.mark.skipif(shutil.which("tsc") is None, reason="TypeScript is not installed: npm install --global typescript")
def test_the_types_of_the_scripts_fit() -> None:
    done = subprocess.run(["tsc", "-p", str(ROOT / "tools" / "studio")], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def _entry(token: str | None, answer: dict[str, Any], **request: Any) -> dict[str, Any]:
    """A call as goldens have it: what the engine refuses has an `error` instead of a `response`."""
    sent = {**request, **({"continueToken": token} if token else {})}
    member = "error" if "code" in answer else "response"
    return {"tool": "continue_workflow" if token else "start_workflow", "request": sent, member: answer}


def _at(step: str, token: str, **more: Any) -> dict[str, Any]:
    return {
        "continueToken": token,
        "pending": {"stepId": step, "title": step, "prompt": "⟪PROMPT⟫⟪NOTES_FULL⟫"},
        **more,
    }


def test_a_golden_is_a_story_with_branches_and_rounds() -> None:
    blocked = {"blockers": [{"code": "X"}]}
    golden = {
        "workflow": "w",
        "metadata": {"workflowHash": "sha256:1"},
        "prompts": [{"step": "a", "text": ["One.\n", "Two."]}],
        "transcript": [
            _entry(None, _at("a", "«CT1»")),
            _entry("«CT1»", _at("a", "«CT2»", kind="blocked", blockers=blocked), intent="advance"),
            _entry("«CT2»", _at("b", "«CT3»", kind="ok"), intent="advance", context={"x": 1}),
            _entry("«CT3»", _at("a", "«CT4»", kind="ok"), intent="advance"),
            _entry("«CT1»", _at("a", "«CT5»", kind="ok"), intent="rehydrate"),
            _entry("«CT5»", {"isComplete": True, "kind": "ok"}, intent="advance"),
            _entry("«CT9»", {"code": "TOKEN_UNKNOWN"}, intent="advance"),
        ],
        "final": {"status": "complete"},
    }
    run = run_data(golden, "r", "r.golden.json")
    assert run is not None
    turns = run["turns"]
    assert [turn["kind"] for turn in turns] == ["step", "blocked", "step", "step", "step", "complete", "error"]
    assert [turn.get("round") for turn in turns] == [1, 1, 1, 2, 1, None, None]
    assert [turn["branch"] for turn in turns] == [0, 0, 0, 0, 0, 1, 0]
    assert [turn.get("parent") for turn in turns] == [None, 0, 1, 2, 0, 4, None]
    assert turns[0]["prompt"] == [["authored", None, "One.\nTwo."], ["engine", "NOTES_FULL", "[notes full]"]]
    assert (run["status"], run["blocked"], run["hash"]) == ("complete", 1, "sha256:1")
    assert run["tip"] == 5
    assert turns[6]["error"] == {"code": "TOKEN_UNKNOWN"}


def test_every_golden_of_the_fixtures_is_told_in_full() -> None:
    """No call is lost, and what was refused, blocked or left open is as in the file."""
    for path in sorted((ROOT / "fixtures" / "scenarios").rglob("*.golden.json")):
        golden = json.loads(path.read_text(encoding="utf-8"))
        run = run_data(golden, "x", "x")
        assert run is not None, path
        calls = golden.get("transcript")
        if calls is None:
            continue
        assert len(run["turns"]) == len(calls)
        assert [turn["kind"] == "error" for turn in run["turns"]] == ["error" in call for call in calls], path
        assert len(run["gaps"]) == len(golden["final"]["gaps"])
        assert run["turns"][0]["context"]["goal"] == calls[0]["request"]["goal"] or "goal" not in calls[0]["request"]


@pytest.mark.parametrize("golden", [{}, {"transcript": {}}, {"pack": "other"}])
def test_other_files_are_no_runs(golden: dict[str, Any]) -> None:
    assert run_data(golden, "x", "x") is None


def test_damaged_goldens_are_read_as_far_as_they_go() -> None:
    golden = {"transcript": [None, {}, {"request": [], "response": "x"}, {"response": {"pending": 1, "blockers": 2}}]}
    run = run_data(golden, "x", "x")
    assert run is not None
    assert len(run["turns"]) == 3
    for pack in ("team", "block"):
        assert run_data({"pack": pack, "trace": [1], "events": [1], "steps": [1], "fanIns": [1]}, "x", "x") is not None


def test_a_summary_says_what_changed(project: Path, capsys: Any) -> None:
    for command in (["init", "-q"], ["add", "-A"], ["-c", "user.name=x", "-c", "user.email=x@y", "commit", "-qm", "x"]):
        subprocess.run(["git", *command], check=True, capture_output=True)
    assert main(["studio", "workflows", "--isolated", "--git", "HEAD", "--format", "markdown"]) == 0
    nothing = capsys.readouterr().out
    assert "No workflow changed in behaviour." in nothing
    document = branching()
    gone = document["steps"].pop(4)
    document["steps"][0]["prompt"] += " Use {{nowhere}}."
    document["name"] = "A | B <b>"
    write_project(project, document)
    now = _workflow(_data("workflows"), "demo.branching")["hash"]
    total = {"covered": 2, "points": 5}
    entry = {"workflowId": "demo.branching", "workflowHash": now, "total": total, "points": []}
    Path("coverage.json").write_text(json.dumps({"workflows": [entry]}))
    replayed = [
        {"workflowId": "demo.branching", "verdict": verdict, "at": "sign-off", "reason": "the step is gone"}
        for verdict in ("same", "breaks")
    ]
    Path("replays.json").write_text(json.dumps({"sessions": replayed}))
    failed = {"test": "s/a.scenario.json::a", "state": "failed", "seconds": 1, "message": f"no {gone['id']}"}
    Path("runs.json").write_text(json.dumps({"runs": [], "tests": [failed]}))
    given = ["--coverage", "coverage.json", "--replays", "replays.json", "--runs", "runs.json"]
    command = ["studio", "workflows", "--isolated", "--git", "HEAD", "--format", "markdown", *given]
    assert main([*command, "--output", "-"]) == 0
    told = capsys.readouterr().out
    lines = told.split("\n")
    assert lines[0].endswith("since `HEAD`")
    assert lines[2] == r"## A \| B \<b\>"
    assert "- ❌ a major change needs version 2.0.0, it says 1.0.0" in lines
    assert "- step “A step” is gone" in lines
    assert "- prompt of “A step” changed" in lines
    assert any(line.startswith("- ⚠️ new: `CD023`") and "nowhere" in line for line in lines)
    assert "- 2 of 5 goals shown by tests" in lines
    assert "- ❌ 1 of 2 replayed sessions would break" in lines
    assert "- `sign-off`: the step is gone" in lines
    assert "- ❌ 1 of 1 test failed" in lines
    assert len(lines) < 40
    assert main([*command, "--output", "summary.md"]) == 0
    assert Path("summary.md").read_text(encoding="utf-8") == told
    assert main(["studio", "workflows", "--format", "markdown"]) == 2
    assert "--format markdown needs --git REV" in capsys.readouterr().err


def test_what_ran_inside_of_a_block_is_below_it() -> None:
    golden = json.loads((ROOT / "fixtures/scenarios/blocks/__goldens__/release-train.golden.json").read_text())
    run = run_data(golden, "x", "x")
    assert run is not None
    assert [(item["node"], item.get("inner")) for item in run["plan"]] == [
        ("each", ["make[0]", "check[0]", "make[1]"]), ("allowed", None), ("ship", None),
        ("hold", None), ("tell", ["note", "shout"]), ("party", None),
    ]  # fmt: skip
    statuses = {item["node"]: item["status"] for item in run["nodes"]}
    assert {node: statuses.get(node) for node in ("each", "allowed", "ship", "hold", "tell", "party")} == {
        "each": "", "allowed": "", "ship": "completed", "hold": "skipped", "tell": "", "party": "skipped",
    }  # fmt: skip
    events = [event for event in golden["events"] if event["n"] < 12]
    early = run_data({**golden, "steps": golden["steps"][:3], "events": events}, "x", "x")
    assert early is not None
    statuses = {item["node"]: item["status"] for item in early["nodes"]}
    assert [node for node in ("each", "allowed", "ship", "tell") if node not in statuses] == ["allowed", "ship", "tell"]
