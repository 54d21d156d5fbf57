"""The question a run asks before it ends: steps were passed over because variables are unset, so set these?"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import Struct

from pytest_workrail.engine.core.conditions import Context
from pytest_workrail.engine.core.errors import InterpreterError, LoopVariableUnset
from pytest_workrail.engine.core.interpreter import Selection
from pytest_workrail.engine.core.skipped import LoopUnset, PassedOver
from pytest_workrail.engine.model.blockers import Unmet
from pytest_workrail.engine.model.reasons import MissingContextKey
from pytest_workrail.engine.model.words import MAX_BLOCKERS
from workrail_lint.base.js import Json
from workrail_lint.base.result import Err, Ok

Select = Callable[[Mapping[str, Json]], Ok[Selection] | Err[InterpreterError]]


class Question(Struct, frozen=True):
    """Which variables would let which step run. `patch` sets each of them to a value under which it does."""

    step_id: str
    patch: dict[str, Json]
    unmet: tuple[Unmet, ...]

    def reasons(self) -> tuple[MissingContextKey, ...]:
        """One reason for each variable; the block as a whole remembers the patch."""
        return tuple(
            MissingContextKey(
                name, self.step_id, self.patch, tuple(each for each in self.unmet if each.variable == name), value
            )
            for name, value in self.patch.items()
        )


def loop_question(unset: LoopUnset, context: Context) -> Question:
    """The question of a loop that can't be entered without its variable."""
    return Question(unset.step_id, {unset.variable: unset.suggested}, unset.unmet(context))


def find_question(selection: Selection, context: Context, declined: frozenset[str], select: Select) -> Question | None:
    """What to ask before a run completes with this selection; None when no variable would change that.

    `select` repeats the selection with a change to the context. `declined` are variables that were asked for before.
    """
    if not selection.is_complete:
        return None
    for passed in selection.passed:
        patch = passed.patch(context, declined) if isinstance(passed, PassedOver) else None
        if not patch or len(patch) > MAX_BLOCKERS:
            continue
        step_id = _reached(select(patch))
        if step_id is not None:
            return Question(step_id, patch, passed.unmet(context))
    return None


def _reached(selected: Ok[Selection] | Err[InterpreterError]) -> str | None:
    """The step that would be pending, or the loop that would be reached and asks for its own variable first."""
    match selected:
        case Ok(selection):
            return None if selection.step is None else selection.step.step_id
        case Err(LoopVariableUnset(unset=unset)):
            return unset.step_id
        case _:
            return None
