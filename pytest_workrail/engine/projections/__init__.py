"""Projections: pure functions from the events of a session to what they mean.

All take the events in order, as a tuple; those that can fail return Ok or Err with a `ProjectionError`.
Projections of the same events are equal wherever the events are stored, and clocks decide nothing.

- `dag.project_dag`: runs with their nodes, edges, tips and preferred tip; `Run.lineage`, `.children`,
  `.advance_cause`, `.blocked_chain`
- `facts.Lineage`: context, capability observations, open gaps and artifacts of a node's own past;
  `node_context`: the context a node sees under a profile
- `facts`: workspace, run context, advances, capabilities, divergences, assessments, validation results,
  traces, completions, whether any notes exist; `project_gaps`, `effective_preferences`, `run_status`
- `facts.project_outputs`: outputs per node, and the notes along a path; `recovery_text`: what an agent reads
  when it rehydrates
- `resume.summarize` and `rank`: which session a resume request means
- `incremental`: readings that grow with their log, and the index by kind, node and dedupe key
"""
