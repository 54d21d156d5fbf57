"""The engine's tools as an agent calls them: start, continue, checkpoint, resume, list and inspect.

A call goes one way through this package:

- `engine.Engine` takes a plain JSON request and gives back a `Reply` or a `ToolError`; nothing is raised.
- `requests` turns the request into a value that can't contradict itself.
- The tools do the work: `start`, `advance` and `rehydrate` (both are `continue_workflow`; the latter also has
  checkpoint and resume), `library` (list and inspect). `sessions` finds the node that a token names and writes.
- An advance is decided in `advance_outcome`, written by `recording`, and answered from the record, so that sending it
  again gives the same answer.
- `step_response`, `responses` and `text` make the answer.

`ports` names what a host provides: the workflows and facts about the workspace; `library.MemoryLibrary` is one for
tests.
"""
