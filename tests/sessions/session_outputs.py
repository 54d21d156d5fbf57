"""What `workrail-test sessions` prints about sessions in which everything happens, kept in `expected/`.

python tests/sessions/session_outputs.py     # writes it anew
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path += [str(Path(__file__).parent), str(Path(__file__).parents[1] / "events")]

from event_samples import sample  # type: ignore[import-not-found]
from session_files import Played, Session, step, workflow
from session_files import write as write_session

from pytest_workrail.cli import main
from pytest_workrail.engine.model.words import Preferences
from pytest_workrail.engine.tokens.issuer import CheckpointGrant
from pytest_workrail.sessions.data_folder import DataFolder
from pytest_workrail.sessions.recorded_session import open_session
from workrail_lint.base.result import Err

EXPECTED = Path(__file__).parent / "expected"
LOOP = {"id": "again", "type": "loop", "title": "Again", "loop": {"type": "for", "count": "n", "maxIterations": 2}}
ROUNDS = workflow({**LOOP, "body": [step("inner", notesOptional=True)]}, step("last"), id="demo.rounds")
CLOSED = [{"type": "contains", "value": "closed", "message": "say closed"}]
MORE = [{"type": "length", "min": 40, "message": "say more"}]
JUDGED = workflow(
    step("verdict", outputContract={"contractRef": "wr.contracts.gate_verdict"}),
    step("extra", runCondition={"var": "wanted"}),
    step("close", validationCriteria=CLOSED),
    id="demo.judged",
)
GOOD = {"kind": "wr.gate_verdict", "version": 1, "verdict": "approved", "confidence": "high", "rationale": "x" * 20}
GATED = workflow(step("first"), step("second", requireConfirmation=True), id="demo.gated")
PLAIN = workflow(step("first"), step("second"), step("third"))
# What a host, a person or a newer engine adds to a log beside the calls.
BESIDE = ("context_set", "observation_recorded", "gap_recorded", "capability_observed", "divergence_recorded")


def make(root: Path) -> None:
    """Write sessions with blocks, contracts, a fork, a checkpoint, preferences, gaps, loops, a gate, other events."""
    judged = Session(JUDGED, seed=1).submit("On build 7.", context={"build": 7, "old": True})
    judged.submit("See.", artifacts=[{**GOOD, "verdict": "maybe"}]).submit("See.", artifacts=[GOOD, {"kind": "a.b"}])
    write(root, judged.submit("open").submit("closed", context={"old": None, "build": 8}).played())
    forked = Session(PLAIN, seed=2).submit().submit("Once.\nTwice.")
    bench, place = forked._bench, forked.address()
    token = bench.home.issuer.checkpoint_token(CheckpointGrant(place, bench.home.mint.attempt()))
    assert not isinstance(token, Err)
    bench.call("checkpoint_workflow", {"checkpointToken": token.value})
    assert not isinstance(bench.engine.prefer(place, Preferences("full_auto_never_stop", "conservative")), Err)
    write(root, forked.submit(node=3).submit("Long. " * 60).submit("Other.", node=3).played())
    for count in (1, 3):
        rounds = Session(ROUNDS, seed=10 + count, n=count).submit()
        for _ in range(min(count, 2)):
            rounds.submit()
        write(root, rounds.played())
    write(root, Session(GATED, seed=4, onboarding=False, is_autonomous="true").submit("One.").submit("Two.").played())
    write(root, _with_events_beside(Session(PLAIN, seed=5).submit().submit("One.").submit("Two.").played()))
    damaged = Session(PLAIN, seed=6).submit().submit().submit("One.").played()
    manifest = write(root, damaged) / "manifest.jsonl"
    manifest.write_bytes(manifest.read_bytes()[:-5])


def _with_events_beside(played: Played) -> Played:
    """Add the other events before the last submission, so that it brings in what they changed."""
    *before, last = played.segments
    here = next(event for segment in reversed(before) for event in segment if event["kind"] == "node_created")
    beside: list[dict[str, Any]] = []
    for kind in (*BESIDE, "context_set", "of_tomorrow"):
        event: dict[str, Any] = sample("observation_recorded" if kind == "of_tomorrow" else kind)
        event |= {"kind": kind, "eventId": f"evt_{len(beside):026}", "sessionId": played.session_id}
        event |= {"timestampMs": here["timestampMs"]}
        if "scope" in event:
            event["scope"] = {name: here["scope"][name] for name in event["scope"]}
        beside.append(event)
    events = [*(event for segment in before for event in segment), *beside, *last]
    return replace(played, segments=[[{**event, "eventIndex": index} for index, event in enumerate(events)]])


def write(root: Path, played: Played) -> Path:
    """Write a session in which every event took a second."""
    for number, event in enumerate(played.events):
        event["timestampMs"] += 1000 * number
    return write_session(root, played)


def outputs(root: Path) -> dict[str, str]:
    """What every command says about them, by the name of its file."""
    data = ["--data", str(root)]
    found = {
        "list.txt": _said("list", *data),
        "list.json": _said("list", *data, "--json"),
        "stats.txt": _said("stats", *data),
        "stats.json": _said("stats", *data, "--json"),
        "stats.page.json": _page(root, "stats", *data),
        "facts.txt": facts(str(root)),
    }
    later = [word for path in versions(root) for word in ("--workflow", path)]
    found["replay.txt"] = _said("replay", *data, *later).replace(str(root), "DATA")
    found["replay.json"] = _said("replay", *data, *later, "--json").replace(str(root), "DATA")
    for number, each in enumerate(sorted(each.session_id for each in DataFolder(str(root)).sessions()), 1):
        found[f"show-{number}.txt"] = _said("show", each, *data, "--full") + _said("show", each, *data, "--mermaid")
        found[f"show-{number}.json"] = _said("show", each, *data, "--json")
        found[f"show-{number}.page.json"] = _page(root, "show", each, *data)
        found[f"facts-{number}.txt"] = facts(str(root), each)
        bundle = root / f"{number}.session.json"
        if main(["sessions", "export", each, *data, "--out", str(bundle)]) == 0:
            assert facts(str(bundle)) == found[f"facts-{number}.txt"], "a bundle says what its session says"
        out = root / "scenarios" / str(number)
        _said("record", each, *data, "--out", str(out))
        for scenario in sorted(out.rglob("*.scenario.json")):
            found[f"record-{number}.json"] = scenario.read_text(encoding="utf-8")
    return found


def versions(root: Path) -> list[str]:
    """Write later versions: one with another prompt, one that asks for more, one as it was, one the engine refuses."""
    again = {**LOOP, "body": [step("inner", notesOptional=True)]}
    later = {
        "plain": workflow(step("first"), step("second", prompt="Do it well."), step("third")),
        "judged": workflow(*JUDGED["steps"][:2], step("close", validationCriteria=[*CLOSED, *MORE]), id="demo.judged"),
        "rounds": workflow(again, step("last"), id="demo.rounds"),
        "gated": {name: value for name, value in GATED.items() if name != "version"},
    }
    (root / "versions").mkdir()
    for name, value in later.items():
        (root / "versions" / f"{name}.json").write_text(json.dumps(value), encoding="utf-8")
    return [str(root / "versions" / f"{name}.json") for name in later]


def facts(path: str, session_id: str | None = None) -> str:
    """What the fixture of pytest says about a session, or why it says nothing."""
    opened = open_session(path, session_id)
    if isinstance(opened, Err):
        return f"{opened.error}\n"
    session = opened.value
    lines: list[tuple[str, Any]] = [
        (name, getattr(session, name))
        for name in ("workflow_id", "status", "pending", "steps", "blockers", "gaps", "forks", "context")
    ]
    for name in dict.fromkeys(session.steps):
        lines += [(f"notes of {name}", session.notes(name)), (f"artifacts of {name}", session.artifacts(name))]
    judged = session.replay()
    lines += [("replayed", (judged.verdict, judged.at, judged.reason))]
    return "".join(f"{name}: {json.dumps(value, sort_keys=True)}\n" for name, value in lines)


def _page(root: Path, *arguments: str) -> str:
    """What the page that a command writes holds of the sessions."""
    page = root / "page.html"
    _said(*arguments, "--html", str(page))
    data = json.loads(page.read_text(encoding="utf-8").partition('id="data">')[2].partition("</script>")[0])
    workflows = [
        {
            "id": each["id"],
            "hash": each["hash"],
            "steps": [step["id"] for step in each["steps"]],
            "sessions": each["sessions"],
        }
        for each in data["workflows"]
    ]
    shown = {"views": data["views"], "start": data.get("start"), "workflows": workflows, "runs": data["runs"]}
    return json.dumps(shown, indent=1) + "\n"


def _said(*arguments: str) -> str:
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        code = main(["sessions", *arguments])
    text = re.sub(r"\d+ d$", "AGE", said.getvalue(), flags=re.MULTILINE)
    return f"{text}(exit code {code})\n"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_CACHE_HOME"] = folder
        make(Path(folder, "data"))
        EXPECTED.mkdir(exist_ok=True)
        for name, text in outputs(Path(folder, "data")).items():
            (EXPECTED / name).write_text(text, encoding="utf-8")
