"""One model for the interpreter, the log, snapshots, answers and recorded sessions. Pure.

A record is a frozen value whose JSON is exact (`to_wire`, `base.canonical`) and whose reading is total
(`base.Shape.read_line`: a record, or a `CorruptionReason`). Modules that define records do not postpone the
evaluation of annotations: a decoder needs them as types, and would compile each of them for itself.

- `base`: values, how they are read and written
- `words`: the closed sets and the budgets
- `ids`: one type per kind of id, `IdMint` for fresh ones, `child_attempt`, `ref_of`; `keys`: names derived from them
- `places`: steps, loops and the keys of what is completed
- `reasons`: why a run can't go on; `blockers`: the form of blockers and gaps
- `trace`: how the next step was chosen
- `events`, `manifest`, `snapshot`: the files of a session
- `lenient`: the same files as other engines write them
"""
