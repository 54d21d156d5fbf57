"""Stores: sessions that survive, their snapshots and workflows, locks, keys; in memory and on files.

The protocol needs `home.Home`, from `home.in_memory` or `home.on_disk`:

- `home.gate.with_healthy_session_lock(session_id, call)` is the only way to write. It calls `call(permit,
  truth)` as the session's single writer; inside, build a plan (`events.plan`) from `truth.next_index` and hand it
  to `home.stores.sessions.append(permit, plan)`. All of it is stored or nothing. A plan that is there already
  is a success. Store snapshots and workflows before the plan that names them.
- `home.stores.sessions.load(session_id)` gives a `truth.SessionTruth`: `.events`, `.find(dedupe_key)` for replays,
  `.as_of(event_index)` for the log as it stood after the append that holds an event.
- `health.assess(loaded)` judges a load; `load_validated_prefix` salvages what can be read, to look at only.
- `home.issuer` hands out and resolves tokens; `home.mint` makes ids; `home.clock` tells the time.
- `resumable.healthy_summaries` feeds the resume ranking; `transfer.export_session` and `transfer.import_bundle`
  move sessions.

Underneath: `ports` (protocols and errors as data), `files` (the file operations everything durable is built
from, and the place where tests make disks fail), `log` (reading and extending a log without I/O, shared by all
stores), adapters `filesystem`, `memory`, `lock`, `keyring`, `aliases` on `disk.DiskFiles` or `tree.TreeFiles`.
Failures are values; an exception means a bug.
"""
