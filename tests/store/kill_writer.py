"""A process that writes to one session until it is killed. Arguments: the data root, and the name of the writer.

Prints one line for each acknowledged append. Without a name it prints what the session holds, as a reader that also
enters the gate once.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from sample_sessions import Story

from pytest_workrail.engine.model.events import PreferencesChanged
from pytest_workrail.engine.store.disk import SystemClock, SystemEntropy, on_disk
from pytest_workrail.engine.store.plan import EventBuilder, preferences_plan


def main(root: str, name: str | None = None) -> None:
    home = on_disk(Path(root), SystemClock(), SystemEntropy()).value
    note = Path(root, "story.json")
    if not note.exists():
        story = Story(home)
        story.start()
        note.write_text(json.dumps([story.session_id, story.run_id, story.root]))
    session, run, node = json.loads(note.read_text())
    if name is None:
        home.gate.with_healthy_session_lock(session, lambda permit, truth: None)
        events = home.stores.sessions.load(session).value.events
        print(*[event.data.change_id for event in events if isinstance(event, PreferencesChanged)][1:])
        return
    for number in range(10_000):
        change = Story.preferences(f"{name}-{number}", "guided")

        def write(permit, truth, change=change):
            builder = EventBuilder(
                session,
                run,
                first_index=truth.next_index,
                timestamp_ms=home.clock.now_ms(),
                new_event_id=home.mint.event,
            )
            return home.stores.sessions.append(permit, preferences_plan(builder, node, change))

        outcome = home.gate.with_healthy_session_lock(session, write)
        assert outcome.is_ok, outcome
        assert outcome.value.is_ok, outcome
        print(change.change_id, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
