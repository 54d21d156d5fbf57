"""Where sessions are stored: append-only logs, snapshots, pinned workflows, locks and keys, in memory or on files.

Callers use a `gate.Home`, made by `memory.in_memory` or `disk.on_disk`:

- Writing: `home.gate.with_healthy_session_lock(session_id, call)` is the only way. It locks the session, checks that
  it is healthy and calls `call(permit, truth)`. Inside, build a plan (`plan`) that starts at
  `truth.next_index` and pass it to `home.stores.sessions.append(permit, plan)`: all of its events are stored, or
  none. Appending the same plan twice is a success. Snapshots and workflows are stored before the plan that names them.
- Reading: `home.stores.sessions.load(session_id)` gives a `plan.SessionTruth`, the verified events of a session:
  `.events`, `.find(dedupe_key)`, `.as_of(event_index)` for the log as it was after an earlier append.
  `gate.assess` says whether a session can be continued; `load_validated_prefix` reads what is left of a damaged one.
- Tokens, ids and time: `home.issuer`, `home.mint`, `home.clock`.
- Finding sessions again: `gate.healthy_summaries` feeds the ranking.
- Moving sessions: `transfer.export_session` and `transfer.import_bundle`.

How it is built: `ports` holds protocols and errors, with the few file operations that everything durable uses, which
is where tests simulate failing disks; `log` reads and extends a log without I/O, shared by all stores;
`filesystem` (with the lock), `memory` and `token_store` are the implementations, on `disk.DiskFiles` or
`memory.TreeFiles`. Expected failures are values; an exception means a bug.
"""
