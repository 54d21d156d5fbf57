"""A process that writes to a session, for tests that kill it or let several of them compete.

Arguments: data root, session id, run id, root node id, name of the writer, how many appends.
Prints one line per acknowledged append.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from sample_sessions import Story

from pytest_workrail.engine.store.disk import SystemClock, SystemEntropy, on_disk
from pytest_workrail.engine.store.plan import EventBuilder, preferences_plan


def main(root: str, session: str, run: str, node: str, name: str, count: str) -> None:
    home = on_disk(Path(root), SystemClock(), SystemEntropy()).value
    inside = Path(root) / "somebody-is-inside"
    done = 0
    while done < int(count):
        change = Story.preferences(f"{name}-{done}", "guided")

        def write(permit, truth, change=change):
            os.close(os.open(inside, os.O_CREAT | os.O_EXCL))  # fails when another writer is inside
            builder = EventBuilder(
                session,
                run,
                first_index=truth.next_index,
                timestamp_ms=home.clock.now_ms(),
                new_event_id=home.mint.event,
            )
            appended = home.stores.sessions.append(permit, preferences_plan(builder, node, change))
            inside.unlink()
            return appended

        outcome = home.gate.with_healthy_session_lock(session, write)
        if outcome.is_ok and outcome.value.is_ok:
            print(change.change_id, flush=True)
            done += 1
        elif not outcome.is_ok and outcome.error.code == "SESSION_LOCKED":
            time.sleep(0.001)
        else:
            print("VIOLATION", outcome, flush=True)
            return


if __name__ == "__main__":
    main(*sys.argv[1:])
