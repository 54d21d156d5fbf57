"""Durable records: what a session's log, its manifest and its snapshots say, byte for byte.

Pure. A record is a frozen model whose JSON is exact (`to_wire`, `wire.record_line`) and whose reading is
total (`wire.read_record`: a record, or a `CorruptionReason`). JSON made by this program becomes a record
with `from_wire`, which raises, because then it is a bug.

- `ids`: one type per kind of id, `IdMint` for fresh ones, `child_attempt`, `ref_of`
- `vocabulary`: the closed sets and budgets, shared with the engine
- `payloads`, `judgements`: the data of each kind of event; `kinds`: the events themselves, `read_event`
- `keys`: dedupe keys and the ids derived from attempts
- `plan`: `Pen` and the plans `start_plan`, `advance_plan`, `block_plan`, `gate_plan`, `checkpoint_plan`,
  `preferences_plan`: one plan per tool call, in the one order it is written in
- `manifest`: `SegmentClosed`, `SnapshotPinned`
- `snapshot`: `ExecutionSnapshot`, made with `snapshot_of(state)` and turned back with `.execution_state`
- `blockers`: the stored form of blockers and of the reason behind a block
"""
