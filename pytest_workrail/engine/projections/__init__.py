"""Projections: pure functions from the events of a session to what they mean.

All take the events in order, as a tuple; those that can fail return Ok or Err with a `ProjectionError`.
Projections of the same events are equal wherever the events are stored, and clocks decide nothing.

- `dag.project_dag`: runs with their nodes, edges, tips and preferred tip; `Run.lineage`, `.children`,
  `.advance_cause`, `.blocked_chain`
- `outputs.project_outputs`: outputs per node, and `path_recaps`: the notes along a path
- `lineage.Lineage`: context, capability observations, open gaps and artifacts of a node's own past;
  `lineage.node_context`: the context a node sees under a profile
- `facts`: workspace, run context, advances, capabilities, divergences, assessments, validation results,
  traces, completions, whether any notes exist
- `gaps.project_gaps`, `preferences.effective_preferences`, `status.run_status`
- `recovery.recovery_text`: what a rehydrated agent is told
- `resume.summarize` and `ranking.rank`: which session a resume request means
"""
