"""What an agent, or somebody around it, can do when it is its turn. Plain data; the driver carries it out."""

from __future__ import annotations

from dataclasses import field
from typing import ClassVar, Literal, TypeAlias

from pytest_workrail.engine.core.modes import Preferences
from pytest_workrail.engine.core.vocabulary import UserOnlyDependency
from pytest_workrail.records import Record
from workrail_lint.base.js import Json

# The symbols that stand for tokens in the request of a `Call`; the driver puts in what they name.
TokenSymbol: TypeAlias = Literal[
    "$continue",  # of the pending step: what the last response proposes to use
    "$checkpoint",  # the checkpoint token that came with it
    "$first",  # the continue token of the first response of the run
    "$previous",  # the continue token that was used last
    "$resume",  # of the last checkpoint, or of the first session that resume_session found
    "$gate",  # of the last gate
    "$garbled",  # the continue token with its last character changed
    "$foreign",  # a continue token of the same node that names another version of the workflow
]


class Submit(Record):
    """Hand in the pending step. `context` is the change to the context, None for none."""

    notes: str | None = None
    artifacts: tuple[Json, ...] = ()
    context: dict[str, Json] | None = None


class Rehydrate(Record):
    """Rehydrate the node the run stands at, as an agent does that lost its memory."""


class Rewind(Record):
    """Go back to a step and go on from there: rehydrate its node. Without a name, the pending step's own node.

    A node can be named instead, by its number in the run: the first one is 1.
    """

    step_id: str | None = None
    node: int | None = None


class Checkpoint(Record):
    """Mark the node to come back to."""


class Resend(Record):
    """Send the last advance again, as an agent does that never saw its answer."""


class Restart(Record):
    """The engine's process ends and another one goes on with the same data."""


class Call(Record):
    """Any call at all. Token symbols in the request are replaced; nothing else is touched."""

    tool: str
    request: dict[str, Json] = field(default_factory=dict)


class Prefer(Record):
    """A person sets the preferences from here on: at the pending step's own node."""

    preferences: Preferences


class Provide(Record):
    """A person provides what the scenario declared to be needed."""

    step_id: str
    detail: UserOnlyDependency


class Rebind(Record):
    """The project fills the slots of the workflow with something else. A run goes on with what it was started with."""

    overrides: dict[str, str]


class Stop(Record):
    """Leave the run as it stands."""

    why: str


class Problem(Record):
    """The agent itself is at fault: its script does not fit the run. `place` is where in the script."""

    kind: ClassVar[str] = "script"
    message: str
    place: str = ""


Action: TypeAlias = (
    Submit | Rehydrate | Rewind | Checkpoint | Resend | Restart | Call | Prefer | Provide | Rebind | Stop | Problem
)
