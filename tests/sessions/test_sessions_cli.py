"""`workrail-test sessions`: list, show, stats, export, import; what is refused; how much work a list is."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from session_files import Session, step, workflow, write

from pytest_workrail.cli import main
from pytest_workrail.sessions import session_log
from pytest_workrail.sessions.data_folder import DataFolder
from pytest_workrail.sessions.listing import duration, summaries
from pytest_workrail.sessions.stats import WorkflowStats, count_sessions

PLAIN = workflow(step("first"), step("second"), step("third", runCondition={"var": "wanted"}))
OTHER = workflow(step("only", notesOptional=True), id="demo.other")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Three sessions: one done after a block, one under way and blocked, one of another workflow."""
    root = tmp_path / "data"
    write(root, Session(PLAIN, seed=1).submit().submit().submit("One.").submit("Two.").played())
    write(root, Session(PLAIN, seed=2).submit().submit().played())
    write(root, Session(OTHER, seed=3).submit().submit().played())
    return root


def answer(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> Any:
    assert main(["sessions", *arguments]) == code
    return json.loads(capsys.readouterr().out)


def stats_of(root: Path) -> WorkflowStats:
    folder = DataFolder(str(root))
    (stats,) = count_sessions(folder, [each.session_id for each in folder.sessions()]).workflows.values()
    return stats


def test_list_filters_by_workflow_status_and_date(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def statuses(*arguments: str, code: int = 0) -> list[str]:
        found = answer(capsys, "list", "--data", str(data), "--json", *arguments, code=code)
        return sorted(each["status"] for each in found["sessions"])

    assert statuses() == ["blocked", "complete", "complete"]
    assert statuses("--workflow", "demo.other") == ["complete"]
    assert statuses("--status", "blocked") == ["blocked"]
    assert statuses("--status", "blocked", "--status", "complete", "--limit", "2").__len__() == 2
    assert statuses("--since", "2023-11-14", "--until", "2023-11-14").__len__() == 3
    assert statuses("--since", "2023-11-15", code=3) == []
    assert statuses("--until", "2023-11-13", code=3) == []


def test_list_is_a_table_with_the_newest_first(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sessions", "list", "--data", str(data)]) == 0
    head, *rows = capsys.readouterr().out.splitlines()
    assert head.split() == ["session", "workflow", "status", "pending", "steps", "blocks", "gaps", "forks", "age"]
    assert len(rows) == 3
    found = summaries(DataFolder(str(data)), use_cache=False)
    assert [row.split()[0] for row in rows] == [each.session for each in found]
    assert [each.ended_ms for each in found] == sorted((each.ended_ms for each in found), reverse=True)


def test_the_newest_session_is_the_one_that_was_used_last(tmp_path: Path) -> None:
    hours = {"early and long": (1, 9), "late and short": (5, 6)}
    by_name: dict[str, str] = {}
    for seed, (name, (begin, end)) in enumerate(hours.items()):
        played = Session(OTHER, seed=seed).submit().submit().played()
        *before, last = played.events
        for hour, events in ((begin, before), (end, [last])):
            for event in events:
                event["timestampMs"] = hour * 3_600_000
        write(tmp_path, played)
        by_name[played.session_id] = name
    found = summaries(DataFolder(str(tmp_path)), use_cache=False)
    assert [by_name[each.session] for each in found] == list(hours)


def test_a_list_from_the_cache_is_the_same_and_reads_no_log(
    data: Path, own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = DataFolder(str(data))
    first = summaries(folder)
    assert list(own_cache.rglob("*.json"))
    reads: list[str] = []
    real = session_log.read_log

    def counted(folder: DataFolder, session_id: str) -> Any:
        reads.append(session_id)
        return real(folder, session_id)

    monkeypatch.setattr("pytest_workrail.sessions.session_log.read_log", counted)
    assert summaries(folder) == first
    assert reads == []
    # A change in any of its files makes a session be read again, and no other.
    changed = first[1].session
    segment = sorted((data / "sessions" / changed / "events").iterdir())[0]
    segment.write_bytes(segment.read_bytes()[:-1])
    again = {each.session: each for each in summaries(folder)}
    assert reads == [changed]
    assert again[changed].status == "damaged"
    # What is gone is forgotten.
    for name in ("events", "manifest.jsonl"):
        path = data / "sessions" / changed / name
        path.rename(data / f"gone-{name}")
    (data / "sessions" / changed).rmdir()
    assert {each.session for each in summaries(folder)} == {each.session for each in first} - {changed}


def test_a_list_does_not_load_the_engine(data: Path) -> None:
    script = "import sys; from pytest_workrail.cli import main; main(sys.argv[1:]); print(*sorted(sys.modules))"

    def loaded() -> set[str]:
        command = [sys.executable, "-c", script, "sessions", "list", "--data", str(data)]
        run = subprocess.run(command, capture_output=True, text=True, check=True)
        return set(run.stdout.splitlines()[-1].split())

    heavy = {"pydantic", "pydantic_core", "jsonschema", "pytest", "hypothesis"}
    first, again = loaded(), loaded()
    assert "msgspec" in first
    assert not first & heavy
    assert not again & {"msgspec", *heavy}  # every session is in the cache by now


def test_the_work_of_a_list_grows_with_the_sessions_and_no_faster(tmp_path: Path) -> None:
    from effort import lines_run  # type: ignore[import-not-found]

    def work(number: int) -> int:
        root = tmp_path / str(number)
        for seed in range(number):
            write(root, Session(OTHER, seed=seed).submit().submit().played())
        return int(lines_run(lambda: summaries(DataFolder(str(root)), use_cache=False)))

    few, many = work(4), work(16)
    assert many < 4.4 * few


def test_show_tells_the_story(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    done = next(each for each in summaries(DataFolder(str(data))) if each.blocks and each.status == "complete")
    assert main(["sessions", "show", done.session, "--data", str(data), "--prompts", "--full"]) == 0
    shown = capsys.readouterr().out
    assert "#1 wr-system-onboarding" in shown
    assert "    | Do first." in shown
    assert "blocked by MISSING_REQUIRED_NOTES" in shown
    assert "notes: One." in shown
    assert "decided: SKIP: wanted (condition)" in shown
    assert "preferred path: #1 #2 #3 #4 #5" in shown


def page_data(path: Path) -> Any:
    """The data of a page."""
    return json.loads(path.read_text(encoding="utf-8").partition('id="data">')[2].partition("</script>")[0])


def test_show_as_json_diagram_and_page(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    session = summaries(DataFolder(str(data)))[0].session
    found = answer(capsys, "show", session, "--data", str(data), "--json", "--prompts")
    (run,) = found["runs"]
    assert run["nodes"][1]["asked"]["prompt"].startswith("Do ")
    assert main(["sessions", "show", session, "--data", str(data), "--mermaid"]) == 0
    assert capsys.readouterr().out.startswith('flowchart TD\n  n1["')
    page = tmp_path / "story.html"
    assert main(["sessions", "show", session, "--data", str(data), "--prompts", "--html", str(page)]) == 0
    (played,) = page_data(page)["runs"]
    assert (played["name"], played["stale"]) == (session, False)
    # The onboarding step is the engine's, the next one the author's.
    assert [turn["prompt"][0][0] for turn in played["turns"][:2]] == ["engine", "authored"]


def test_stats_say_what_to_mend_first(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = answer(capsys, "stats", "--data", str(data), "--json")
    _, plain = found["workflows"]
    assert plain["workflowId"] == "demo.plain"
    steps = {each["step"]: each for each in plain["steps"]}
    assert plain["statuses"] == {"blocked": 1, "complete": 1}
    first = steps["first"]
    assert (first["visits"], first["calls"], first["passed"], first["blocked"]) == (2, 3, 1, 2)
    assert (first["retries"], first["mostTries"], first["abandoned"]) == (1, 2, 1)
    assert steps["third"]["skipped"] == 1
    assert plain["mend"][0] == "step first was blocked by MISSING_REQUIRED_NOTES 2 times"
    assert main(["sessions", "stats", "--data", str(data)]) == 0
    assert "demo.plain: 2 sessions (1 blocked, 1 complete)" in capsys.readouterr().out
    page = tmp_path / "stats.html"
    assert main(["sessions", "stats", "--data", str(data), "--html", str(page)]) == 0
    other, drawn = page_data(page)["workflows"]
    assert (other["id"], drawn["sessions"]["mend"]) == ("demo.other", plain["mend"])
    assert [version["current"] for version in drawn["sessions"]["each"]] == [True]
    assert "each" not in plain
    _, plain = answer(capsys, "stats", "--data", str(data), "--json", "--each")["workflows"]
    (version,) = plain["each"]
    assert (version["hash"], version["version"]) == (plain["workflowHashes"][0], "1.0.0")
    lines = {each["status"]: each for each in version["sessions"]}
    assert lines["complete"]["steps"] == ["wr-system-onboarding", "first", "second"]
    assert (lines["complete"]["stuck"], lines["blocked"]["stuck"]) == (None, "first")
    assert lines["blocked"]["blocked"] == [["first", "MISSING_REQUIRED_NOTES"]]
    assert version["firstSeen"] == min(each["when"] for each in version["sessions"])
    assert main(["sessions", "stats", "--data", str(data), "--each"]) == 2
    assert "--each needs --json" in capsys.readouterr().err
    only = answer(capsys, "stats", "--data", str(data), "--json", "--workflow", "demo.other")
    assert [each["workflowId"] for each in only["workflows"]] == ["demo.other"]


def test_stats_count_tries_in_a_row(tmp_path: Path) -> None:
    session = Session(PLAIN).submit()
    for _ in range(3):
        session.submit()
    write(tmp_path, session.submit("One.").submit().submit("Two.").played())
    steps = stats_of(tmp_path).steps
    assert (steps["first"].most_tries, steps["second"].most_tries) == (4, 2)


def test_the_time_on_a_step_begins_when_the_agent_comes_to_it(tmp_path: Path) -> None:
    played = Session(PLAIN).submit().submit().submit("One.").played()
    for event in played.events:
        event["timestampMs"] = 1_000 * event["eventIndex"] ** 2 + 1
    write(tmp_path, played)
    nodes, advances = (
        [event["timestampMs"] for event in played.events if event["kind"] == kind]
        for kind in ("node_created", "advance_recorded")
    )
    # The first node is that of the onboarding step, the third one the refusal.
    assert stats_of(tmp_path).steps["first"].longest_ms == advances[2] - nodes[1]


def test_stats_count_the_loops_that_only_their_bound_ended(tmp_path: Path) -> None:
    loop = {"type": "for", "count": "n", "maxIterations": 2}
    inner = step("inner", notesOptional=True)
    again = {"id": "again", "type": "loop", "title": "Again", "loop": loop, "body": [inner]}
    for count in (1, 2, 3):
        session = Session(workflow(again, step("last")), seed=count, n=count).submit()
        for _ in range(min(count, 2)):
            session.submit()
        assert session.answer["pending"]["stepId"] == "last"
        write(tmp_path, session.played())
    (counted,) = stats_of(tmp_path).loops.values()
    assert (counted.runs, counted.passes, counted.most_passes, counted.hit_bound) == (3, 5, 2, 1)


def test_pages_hold_no_markup_of_a_session(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    evil = "</script><script>alert(1)</script><img>\x1b[31m ::error::x ##vso[task]"
    played = Session(workflow(step("first"), name=evil)).submit().submit(evil, context={evil: evil}).played()
    write(tmp_path / "data", played)
    page = tmp_path / "x.html"
    common = ["sessions", "show", played.session_id, "--data", str(tmp_path / "data")]
    assert main([*common, "--html", str(page)]) == 0

    class Tags(HTMLParser):
        def __init__(self) -> None:
            super().__init__()
            self.found: Counter[str] = Counter()

        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            self.found[tag] += 1

    tags = Tags()
    tags.feed(page.read_text(encoding="utf-8"))
    assert tags.found["script"] == 2  # the data and the page's own
    assert "img" not in tags.found
    for options in (["--full"], ["--mermaid"], ["--json"]):
        assert main([*common, *options]) == 0
        shown = capsys.readouterr().out
        assert "\x1b" not in shown
        assert not re.search(r"##\w*\[", shown)
        assert "<script>" not in shown or options == ["--full"]


def test_a_session_goes_out_and_comes_back_as_a_new_one(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = summaries(DataFolder(str(data)))[0]
    file, into = tmp_path / "x.session.json", tmp_path / "ours"
    assert main(["sessions", "export", first.session, "--data", str(data), "--out", str(file)]) == 0
    capsys.readouterr()
    found = answer(capsys, "import", str(file), "--into", str(into), "--json")
    (imported,) = found["imported"]
    assert imported["session"] != first.session
    (again,) = summaries(DataFolder(str(into)))
    assert again.session == imported["session"]
    assert (again.status, again.steps, again.events) == (first.status, first.steps, first.events)
    file.write_text(file.read_text(encoding="utf-8").replace("demo.", "dumm."), encoding="utf-8")
    refused = answer(capsys, "import", str(file), "--into", str(into), "--json", code=1)["refused"]
    assert refused[0]["code"].startswith("BUNDLE_")
    assert len(summaries(DataFolder(str(into)))) == 1


def test_a_damaged_session_is_shown_and_exported_as_far_as_it_goes(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    session = next(each.session for each in summaries(DataFolder(str(data))) if each.blocks)
    manifest = data / "sessions" / session / "manifest.jsonl"
    manifest.write_bytes(manifest.read_bytes()[:-5])
    common = ["--data", str(data)]
    assert main(["sessions", "show", session, *common]) == 1
    assert "damaged: manifest " in capsys.readouterr().out
    assert main(["sessions", "list", *common, "--status", "damaged"]) == 0
    assert f"{session} is damaged: manifest line" in capsys.readouterr().out
    out = str(tmp_path / "x.json")
    assert main(["sessions", "export", session, *common, "--out", out]) == 1
    assert "--salvage" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["list", "--data", "nowhere"], 2, "nowhere holds no sessions"),
        (["list", "--data", "DATA", "--since", "yesterday"], 2, "'yesterday' is not a date like 2026-01-31"),
        (["list", "--data", "DATA", "--status", "odd"], 2, "invalid choice"),
        (["list", "--data", "DATA", "--workflow", "none"], 3, "none of 3 sessions matches"),
        (["list", "--data", "EMPTY"], 3, "no session was found"),
        (["show", "sess_missing", "--data", "DATA"], 2, "there is no session sess_missing"),
        (["show", "sess", "--data", "DATA"], 2, "is the start of 3 sessions"),
        (["show", "../../etc", "--data", "DATA"], 2, "there is no session ../../etc"),
        (["replay", "--data", "DATA", "--workflow", "EMPTY"], 3, "no workflow was found"),
        (["replay", "--data", "DATA", "--workflow", "nowhere.json"], 2, "nowhere.json does not exist"),
        (["replay", "--data", "EMPTY"], 3, "no session was found"),
        (["import", "nowhere.json", "--into", "EMPTY"], 2, "nowhere.json can't be read"),
        ([], 2, "the following arguments are required: COMMAND"),
    ],
)
def test_what_can_t_be_done_is_said_in_one_line(
    data: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    code: int,
    words: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty" / "sessions").mkdir(parents=True)
    names = {"DATA": str(data), "EMPTY": str(tmp_path / "empty")}
    assert main(["sessions", *(names.get(each, each) for each in arguments)]) == code
    shown = capsys.readouterr().err
    assert words in shown
    assert shown.count("\n") == 1


def test_capabilities_divergence_and_follow_ups_are_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    played = Session(PLAIN).submit().submit("One.").played()
    at = next(event for event in played.events if event["kind"] == "advance_recorded")
    added: list[dict[str, Any]] = [
        {
            "kind": "capability_observed",
            "data": {
                "capObsId": "capobs_x_0",
                "capability": "web_browsing",
                "status": "unavailable",
                "provenance": {
                    "kind": "manual_claim",
                    "enforcementGrade": "weak",
                    "detail": {"claimedBy": "agent", "claim": "unavailable"},
                },
            },
        },
        {
            "kind": "divergence_recorded",
            "data": {"divergenceId": "div_x_0", "reason": "safety_stop", "summary": "Left the rest alone."},
        },
        {
            "kind": "assessment_consequence_applied",
            "data": {
                "attemptId": at["data"]["attemptId"],
                "assessmentId": "fitness",
                "trigger": {"dimensionId": "risk", "level": "weak"},
                "effect": {"kind": "require_followup", "guidance": "Say what can go wrong."},
            },
        },
    ]
    place = at["eventIndex"] + 1
    events = [*played.events[:place], *({**at, **event} for event in added), *played.events[place:]]
    numbered = [{**event, "eventIndex": index} for index, event in enumerate(events)]
    write(tmp_path, replace(played, segments=[numbered]))
    assert main(["sessions", "show", played.session_id, "--data", str(tmp_path)]) == 0
    shown = capsys.readouterr().out
    assert "    capability_observed: web_browsing unavailable\n" in shown
    assert "    divergence_recorded: safety_stop Left the rest alone.\n" in shown
    assert "    follow-up: risk weak: Say what can go wrong.\n" in shown


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(-1, "0 s"), (59, "59 s"), (60, "1 min"), (3599, "59 min"), (3600, "1 h"), (86_399, "23 h"), (172_800, "2 d")],
)
def test_a_duration_is_in_the_largest_unit_that_is_full(seconds: int, shown: str) -> None:
    assert (duration(1000 * seconds), duration(1000 * seconds + 999)) == (shown, shown)
