"""Descriptions of the engine's tools for agents. Behaviour first, then common mistakes and what to do instead."""

from __future__ import annotations

from pytest_workrail.engine.core.profiles import Answers
from pytest_workrail.engine.protocol.requests import ToolName

INSTRUCTIONS = """\
These tools guide you through a workflow, one step at a time. You see only the step you are at.

1. list_workflows shows what there is; start_workflow begins a run and gives you its first step.
2. Do what the step asks, with your own tools.
3. Submit it with continue_workflow: the token of the last answer and your output. The answer is the next step,
a block that says what is missing, or the end.

Every answer names the next call in `nextCall`, and in `nextIntent` what to do before it. Copy tokens exactly;
they are not for reading. If you lose your place, call continue_workflow with your last token and `intent:
"rehydrate"`, or resume_session without a token."""

TITLES: dict[ToolName, str] = {
    "list_workflows": "List workflows",
    "inspect_workflow": "Look at a workflow",
    "start_workflow": "Start a workflow",
    "continue_workflow": "Continue a workflow",
    "checkpoint_workflow": "Set a checkpoint",
    "resume_session": "Find an earlier session",
}

# What an accepted step is answered with, in the two forms of answers.
ANSWERS: dict[Answers, str] = {
    "engine": '- kind "ok": the step counts and `pending` is the next one; with isComplete the run is over.',
    "union": (
        '- kind "step": the step counts and `pending` is the next one; `skipped` lists what was passed over.\n'
        '- kind "complete": the step counts and the run is over.'
    ),
}

TOOLS: dict[ToolName, str] = {
    "list_workflows": """\
Lists the workflows that can be started, each with its id, name, description and version. Changes nothing.

Call it when the user names a kind of work and you do not know the id of a workflow for it. A workflow that does
not compile is not startable and is listed apart, with what is wrong.

Right: {"workspacePath": "/home/me/project"}
Wrong: {"workspacePath": "."}  (the path must be absolute)""",
    "inspect_workflow": """\
Shows one workflow before it is started: what it is for and, in preview, its first step. Changes nothing.

Call it to choose between workflows. Do not work from what it shows: steps depend on conditions and on what you
submit, so only start_workflow gives you a step to do.

Right: {"workflowId": "team.code-review", "workspacePath": "/home/me/project"}
Wrong: {"workflowId": "Code review", "workspacePath": "/home/me/project"}  (a name; list_workflows has the id)""",
    "start_workflow": """\
Begins a new run and answers with its first step and the tokens for the next calls. The workflow is pinned:
later changes to its file do not change this run.

Read `nextIntent` of the answer:
- perform_pending_then_continue: do the step in `pending`, then submit it with continue_workflow.
- await_user_confirmation: show the user what the step is about and wait for their answer before you submit it.
- rehydrate_only: you have only looked; nothing was submitted. Do the step, then submit it.
- complete: the run is over. Tell the user the result; there is nothing to submit.

To continue earlier work use resume_session: starting again begins a second run that knows nothing of the first.

Right: {"workflowId": "team.code-review", "workspacePath": "/home/me/project", "goal": "Review the login change"}
Wrong: {"workflowId": "team.code-review", "goal": "Review"}  (workspacePath is missing)""",
    "continue_workflow": """\
Submits the step you were given, or shows it to you again.

Advance (with `output`, or with intent "advance"): checks what you submit. The answer is one of these:
ANSWERS
- kind "blocked": the step does not count. `blockers` say what is missing. If `retryable`, correct it and call
  again with `retryContinueToken`; if not, tell the user what is needed and wait.
- kind "gate_checkpoint": someone else has to decide here. Stop and say so.
Sending the same call twice is safe: the second one gets the first answer. To take a step back and try another
way, rehydrate with an older token and advance with the token of that answer: this makes a branch, and nothing
is lost.

Rehydrate (intent "rehydrate"): shows the step again with what happened so far. It changes nothing. Use it when
you have lost your memory of the run.

What `nextIntent` means:
- perform_pending_then_continue: do the step in `pending`, then submit it.
- await_user_confirmation: ask the user first, then submit it.
- rehydrate_only: you have only looked. Do the step, then submit it with the token of this answer.
- complete: the run is over; make no other call.

Right: {"continueToken": "ct_...", "output": {"notesMarkdown": "Read the diff. Two findings, both in login.py."}}
Right: {"continueToken": "ct_...", "intent": "rehydrate", "workspacePath": "/home/me/project"}
Wrong: {"continueToken": "ct_...", "intent": "rehydrate", "output": {"notesMarkdown": "Done."}}  (looking takes none)
Wrong: {"continueToken": "ct_..."} after doing the step  (without output this only looks at the step again)""",
    "checkpoint_workflow": """\
Marks the step you are at, so that you or someone else can come back to it. It submits nothing and does not
move the run.

Call it before something risky, or before your memory may end. Keep `resumeToken` of the answer:
continue_workflow with it and intent "rehydrate" shows this place again. Setting the same checkpoint twice gives
the same answer.

Right: {"checkpointToken": "ck_..."}
Wrong: {"checkpointToken": "ct_..."}  (that is a continue token; take `checkpointToken` of the last answer)""",
    "resume_session": """\
Finds earlier sessions and answers with candidates, the best first, each with why it fits and the call that
shows it. It changes nothing and enters nothing: make the call of the candidate you choose, with your
workspacePath added.

Call it when the user wants to continue earlier work and you have no token. Say what you know: an id is
surest, then words from the goal or the notes, then the branch. If no candidate fits, ask the user before you
start anew.

Right: {"workspacePath": "/home/me/project", "query": "login review"}
Wrong: {"workspacePath": "/home/me/project", "sessionId": "login"}  (an id begins with sess_; use query)""",
}

_WORKSPACE = "The absolute path of the folder you work in, such as /home/me/project; a relative path is refused."
_WORKFLOW = "The id of a workflow as list_workflows shows it, such as `team.code-review`; not its name."

# By tool and member; members of members are joined by a dot.
MEMBERS: dict[ToolName, dict[str, str]] = {
    "list_workflows": {
        "workspacePath": _WORKSPACE,
        "includeSources": "With true, the answer also says where the workflows come from. Left out: false.",
        "tags": 'Only workflows with one of these tags, such as ["review"]. Left out: all.',
    },
    "inspect_workflow": {
        "workflowId": _WORKFLOW,
        "mode": "`preview` also shows the first step; `metadata` only says what it is for. Left out: preview.",
        "workspacePath": _WORKSPACE,
    },
    "start_workflow": {
        "workflowId": _WORKFLOW,
        "workspacePath": _WORKSPACE,
        "goal": "What the user wants from this run, in one sentence. resume_session finds the run by it.",
        "modelTier": "How capable the model that runs the workflow is. Leave it out if you do not know.",
        "initialContext": (
            "Facts that the run begins with, by name, as a JSON object: the variables that conditions and prompts "
            'of the workflow read, such as {"language": "python"}. Not the conversation. Only this server takes it: '
            "the public engine passes it over."
        ),
        "preferences": (
            "How much the run may do without the user. Leave it out unless the user has said so. Only this server "
            "takes it: the public engine passes it over."
        ),
        "preferences.autonomy": (
            "`guided`: asks the user wherever the workflow says so. `full_auto_stop_on_user_deps`: stops only where "
            "only the user can help. `full_auto_never_stop`: continues and records what was missing as a gap."
        ),
        "preferences.riskPolicy": "How bold the run is where the workflow leaves it open. It never overrides a block.",
    },
    "continue_workflow": {
        "continueToken": (
            "The token from `nextCall` of the last answer, unchanged (ct_...). After a block: `retryContinueToken`. "
            "To only look, a resume token (st_...) works too."
        ),
        "intent": (
            "`advance` submits the step; `rehydrate` only shows it again. Left out: advance if there is output, else "
            "rehydrate. A step that asks for no output needs an explicit `advance`."
        ),
        "context": (
            "What changed in the facts of the run, by name: only new and changed ones; null removes one. It counts "
            'only if the step does. Example: {"testsPass": true}'
        ),
        "output": "What you submit for this step. Not allowed when you only look.",
        "output.notesMarkdown": (
            "What you did and found in this step, for a reader who knows nothing of it. Only this step; earlier ones "
            'have theirs. Wrong: "Done." Right: "Read the diff of login.py; the session id is logged in line 40."'
        ),
        "output.artifacts": (
            "Structured results, if the step asks for some: JSON objects, each with the `kind` that the step names."
        ),
        "workspacePath": f"{_WORKSPACE} Required with intent rehydrate.",
        "contextVariables": "Another name for `context`. Give one of them, not both.",
        "notes": "A short form of `output.notesMarkdown`. Give one of them, not both.",
        "artifacts": "A short form of `output.artifacts`. Give one of them, not both.",
    },
    "checkpoint_workflow": {
        "checkpointToken": "`checkpointToken` of the last answer, unchanged (ck_...); not the continue token.",
    },
    "resume_session": {
        "workspacePath": _WORKSPACE,
        "query": "Words from the goal, the notes or the name of the workflow, such as `login review`.",
        "runId": "The id of a run, if you have one (run_...). It decides alone.",
        "sessionId": "The id of a session, if you have one (sess_...). It decides alone.",
        "gitBranch": "The branch the work was done on. Left out: the one that the workspace is on.",
        "gitHeadSha": "The commit that the work was at: all 40 digits.",
        "sameWorkspaceOnly": "With true, only sessions of this workspace are candidates. Left out: false.",
    },
}
