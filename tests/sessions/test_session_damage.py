"""Sessions with one thing wrong in a log, a snapshot or a pinned workflow, all digests right: what is said of them.

python tests/sessions/test_session_damage.py     # writes `expected/damage.txt` anew
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import tables

sys.path += [str(Path(__file__).parent), str(Path(__file__).parents[1] / "events"), str(Path(__file__).parents[2])]

from session_outputs import EXPECTED, make

from pytest_workrail.engine.model.lenient import read_any_event
from pytest_workrail.sessions.recording import scenario_of
from pytest_workrail.sessions.replay import recorded_runs
from pytest_workrail.sessions.session_log import Snapshots, summarise, trusted_log
from pytest_workrail.sessions.stats import count_sessions
from pytest_workrail.sessions.story import defects_of, stories, story_json
from pytest_workrail.sessions.story_text import story_lines, story_mermaid
from pytest_workrail.sessions.versions import BundleFolder
from tests.fuzz.damage import every_change
from workrail_lint.base.canonical import canonical_bytes, digest
from workrail_lint.base.redaction import RULES, Redactor
from workrail_lint.base.result import Err

FILE = EXPECTED / "damage.txt"
# Each change is tried in this many of the places where it is possible.
TRIED = 1

Contents = dict[str, Any]


def logs(events: list[Contents]) -> Iterator[tuple[str, list[Contents]]]:
    """Yield a log without one of its events, up to it, with it twice, of a kind that nobody knows, or changed."""
    for index, event in enumerate(events):
        before, after, kind = events[:index], events[index + 1 :], event["kind"]
        yield f"{kind} left out", [*before, *after]
        yield f"{kind} last", [*before, event]
        yield f"{kind} twice", [*before, event, {**event, "eventId": f"evt_{index:026}"}, *after]
        yield f"{kind} unknown", [*before, {**event, "kind": "of_tomorrow"}, *after]
        some = {name: event[name] for name in ("data", "scope") if name in event}
        yield from ((what, [*before, {**event, **each}, *after]) for what, each in every_change(some, kind))


def cases(root: Path, session_id: str) -> Iterator[tuple[str, list[Contents], Contents, Contents]]:
    """Yield a session with one thing wrong: what it is, the events, the snapshots and the pinned workflows."""
    files = sorted((root / "sessions" / session_id / "events").iterdir())
    events = [json.loads(line) for path in files for line in path.read_bytes().splitlines()]
    used = json.dumps(events)
    snapshots, pinned = (
        {ref: json.loads(path.read_bytes()) for path in sorted(folder.iterdir()) if (ref := _ref(path)) in used}
        for folder in (root / "snapshots", root / "workflows" / "pinned")
    )
    for what, log in logs(events):
        yield what, log, snapshots, pinned
    for ref, snapshot in snapshots.items():
        yield "snapshot missing", events, {each: snapshots[each] for each in snapshots if each != ref}, pinned
        for what, other in every_change(snapshot, "snapshot"):
            yield what, events, {**snapshots, ref: other}, pinned
    for name, workflow in pinned.items():
        yield "pin missing", events, snapshots, {}
        for what, other in every_change(workflow, "pin"):
            yield what, events, snapshots, {name: other}


def _ref(path: Path) -> str:
    return path.stem.replace("_", ":")


def said(session_id: str, events: list[Contents], snapshots: Contents, pinned: Contents) -> str:
    """How a session stands, and a digest of all that is said of it."""
    read = [read_any_event(canonical_bytes({**event, "eventIndex": index})) for index, event in enumerate(events)]
    errors = [each.error for each in read if isinstance(each, Err)]
    if errors:
        return f"no log: {errors[0].code}"
    log = trusted_log(session_id, [each.value for each in read if not isinstance(each, Err)])
    folder = BundleFolder("nowhere", log, snapshots, pinned)
    summary = summarise(log, Snapshots(folder))
    answers: list[Any] = [summary._asdict(), count_sessions(folder, [session_id], each=True).to_json(each=True)]
    for story in stories(folder, session_id):
        answers += [story_json(story, None, defects_of(folder, story)), [*story_lines(story, full=True)]]
        answers += [story_mermaid(story)]
    runs = recorded_runs(folder, session_id)
    if isinstance(runs, Err):
        answers.append(runs.error)
    else:
        answers += [[run.unplayable, run.step, scenario_of(run, "w.json", Redactor(RULES))] for run in runs.value]
    problem = f" ({summary.damage})" if summary.damage else ""
    return f"{summary.status}{problem}, {digest(json.dumps(answers).encode())[7:19]}"


def lines() -> Iterator[str]:
    """Yield every case, and what is said of it."""
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        make(root)
        tried: Counter[str] = Counter()
        for session_id in sorted(path.name for path in (root / "sessions").iterdir()):
            for what, *contents in cases(root, session_id):
                tried[what] += 1
                if tried[what] <= TRIED:
                    yield f"{what}: {said(session_id, *contents)}"


def test_what_is_said_of_damaged_sessions_is_as_expected() -> None:
    tables.compare_with_file(lines(), FILE)


if __name__ == "__main__":
    FILE.write_text("".join(f"{line}\n" for line in lines()), encoding="utf-8")
