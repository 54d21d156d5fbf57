"""The result of a run, its outline in a few lines, and matchers for values that may differ between goldens."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from types import FrameType
from typing import Any, Literal, TypeAlias

from msgspec import Struct

from pytest_workrail.agents.agent import Attempt, EngineDefectMark, Exchange, Transcript
from pytest_workrail.engine.model.events import Event
from workrail_lint.base import js
from workrail_lint.base.js import Json
from workrail_lint.base.terminal import printable

_NAME = re.compile(r"[a-z][a-z0-9 -]{0,39}")
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE)


class ValueKind(Struct, frozen=True):
    """A kind of value: what a golden calls it, and which values are of it."""

    name: str
    accepts: Callable[[Any], bool]

    @property
    def symbol(self) -> str:
        """The symbol that stands for the value in a golden."""
        return f"«ANY {self.name}»"


class Matcher(Struct, frozen=True):
    """A path in a golden, and the kind of value that is there. `*` is any one member, `**` any number of them."""

    path: str
    kind: ValueKind

    @property
    def parts(self) -> tuple[str, ...]:
        return tuple(self.path.strip("/").split("/"))


def path(members: str, kind: ValueKind) -> Matcher:
    """Return a matcher for the members at a path, such as `final/context/startedAt` or `**/startedAt`."""
    if not isinstance(members, str) or not members.strip("/"):
        raise TypeError(f"the path of a matcher must be names of members with '/' between them, not {members!r}")
    if not isinstance(kind, ValueKind):
        raise TypeError(f"a matcher needs a kind of value such as any_timestamp, not {kind!r}")
    return Matcher(members, kind)


def any_value(name: str, accepts: Callable[[Any], bool]) -> ValueKind:
    """Return a kind of value of your own: the name that goldens show, and a function that accepts its values."""
    if not isinstance(name, str) or _NAME.fullmatch(name) is None:
        raise ValueError(f"the name of a kind of value must be up to 40 lower-case letters, digits and '-': {name!r}")
    return ValueKind(name, accepts)


def any_text(pattern: str = "", name: str = "text") -> ValueKind:
    """Return the kind of all strings, or of those that match a regular expression from start to end."""
    compiled = re.compile(pattern, re.DOTALL) if pattern else None
    return any_value(
        name, lambda value: isinstance(value, str) and (compiled is None or bool(compiled.fullmatch(value)))
    )


def _is_timestamp(value: Any) -> bool:
    if not isinstance(value, str) or "T" not in value.upper():
        return False
    try:
        datetime.fromisoformat(value)
    except ValueError:
        return False
    return True


any_timestamp = ValueKind("timestamp", _is_timestamp)
any_number = ValueKind("number", js.is_number)
any_uuid = ValueKind("uuid", lambda value: isinstance(value, str) and _UUID.fullmatch(value) is not None)


def check_matchers(matchers: Any) -> tuple[Matcher, ...]:
    """Return the matchers of a call; raise TypeError where something is not a matcher."""
    if isinstance(matchers, list | tuple) and all(isinstance(each, Matcher) for each in matchers):
        return tuple(matchers)
    raise TypeError(f"matchers must be a list of path(...), not {matchers!r}")


Place = Literal["transcript", "final"]
# Where a golden has what a run said. The rest names the workflow.
PLACES: tuple[Place, ...] = ("transcript", "final")


class NoSuchMember(ValueError):  # noqa: N818 - what is wrong with a matcher
    """A matcher whose path leads nowhere."""


class Matching:
    """Applies matchers to the value of a golden."""

    def __init__(self, matchers: tuple[Matcher, ...]) -> None:
        self._matchers = matchers
        self._met: set[Matcher] = set()
        self._texts: dict[str, str] = {}  # by the value that was replaced

    def apply(self, golden: dict[str, Any]) -> dict[str, Any]:
        """Return the golden with the symbol of a kind in place of each value of it.

        A string that was replaced is replaced wherever else it comes up, as in a prompt that shows it. A value of
        another kind stays, so that the golden differs. Raise NoSuchMember where no member is at the path of a matcher.
        """
        marked = {name: self._marked(value, (name,)) if name in PLACES else value for name, value in golden.items()}
        for matcher in self._matchers:
            if matcher not in self._met:
                raise NoSuchMember(f"no member of this run is at '{matcher.path}'")
        if not self._texts:
            return marked
        longest_first = sorted(self._texts, key=lambda text: (-len(text), text))
        known = re.compile("|".join(rf"(?<!\w){re.escape(text)}(?!\w)" for text in longest_first))
        return {name: self._elsewhere(value, known) if name in PLACES else value for name, value in marked.items()}

    def _marked(self, value: Any, at: tuple[str, ...]) -> Any:
        for matcher in self._matchers:
            if _fits(matcher.parts, at):
                self._met.add(matcher)
                if matcher.kind.accepts(value):
                    if isinstance(value, str) and value:
                        self._texts.setdefault(value, matcher.kind.symbol)
                    return matcher.kind.symbol
        if isinstance(value, dict):
            return {name: self._marked(item, (*at, name)) for name, item in value.items()}
        if isinstance(value, list):
            return [self._marked(item, (*at, str(index))) for index, item in enumerate(value)]
        return value

    def _elsewhere(self, value: Any, known: re.Pattern[str]) -> Any:
        if isinstance(value, str):
            return known.sub(lambda match: self._texts[match[0]], value)
        if isinstance(value, dict):
            return {name: self._elsewhere(item, known) for name, item in value.items()}
        if isinstance(value, list):
            return [self._elsewhere(item, known) for item in value]
        return value


def _fits(parts: tuple[str, ...], at: tuple[str, ...]) -> bool:
    """Return whether a path pattern describes a place."""
    if not parts:
        return not at
    if parts[0] == "**":
        return any(_fits(parts[1:], at[count:]) for count in range(len(at) + 1))
    return bool(at) and parts[0] in ("*", at[0]) and _fits(parts[1:], at[1:])


_MOST_EXCHANGES = 30
_LONGEST = 100
_LONGEST_ISSUES = 300
# complete: nothing is left to do. stopped: the agent went no further. refused: the workflow can't be started.
# misplayed: the agent's script does not fit the run. endless: the agent never came to an end.
EndingKind: TypeAlias = Literal["complete", "stopped", "refused", "misplayed", "endless"]
GoldenCheck: TypeAlias = Callable[[Transcript, str | None, tuple[Matcher, ...]], None]
InlineCheck: TypeAlias = Callable[[str, str | None, FrameType], None]


def outline(transcript: Transcript) -> str:
    """Return one line for each attempt at a step, and one for the end. Nothing in it depends on wording."""
    return "\n".join(
        [*(printable(_line(attempt)) for attempt in transcript.attempts), f"-> {transcript.final['status']}"]
    )


def _line(attempt: Attempt) -> str:
    return ": ".join(filter(None, (_where(attempt), ", ".join(_happened(attempt)))))


def _where(attempt: Attempt) -> str:
    passes = ", ".join(f"{loop} {iteration + 1}" for loop, iteration in attempt.loop_path)
    return f"{attempt.step_id} ({passes})" if passes else attempt.step_id


def _happened(attempt: Attempt) -> Iterator[str]:
    if attempt.outcome != "advanced":
        yield f"{attempt.outcome} by {' and '.join(attempt.blockers)}" if attempt.blockers else attempt.outcome
    yield from (f"gap {gap}" for gap in attempt.gaps)


class ExpectationFailure(Exception):  # noqa: N818 - reads as what it is in a test report
    """Something a test expects is not so. Counts like a failed assertion."""


def exchange_lines(transcript: Transcript, most: int = _MOST_EXCHANGES) -> list[str]:
    """One line for each exchange, numbered from 1; of a long run the last ones.

    Where the public engine would have done something else, the line says which of its defects it is.
    """
    marks: dict[int, list[str]] = {}
    for mark in transcript.engine_defects:
        marks.setdefault(mark.exchange + 1, []).append(f"{mark.id} {mark.outcome}")
    left_out = max(0, len(transcript.exchanges) - most)
    numbered = list(enumerate(transcript.exchanges, 1))[left_out:]
    lines = [f"... {left_out} earlier exchanges not shown"] if left_out else []
    width = len(str(len(transcript.exchanges)))
    return lines + [
        f"{number:>{width}}  {_asked(each)} -> {_answered(each)}{_marked(marks.get(number))}"
        for number, each in numbered
    ]


def transcript_lines(run: Run) -> Sequence[str]:
    """Return the transcript of the run so far, and why it ended."""
    transcript = run.transcript
    head = f"transcript so far ({transcript.workflow_id}, profile {transcript.profile}, mode {transcript.mode}):"
    return [head, *(f"  {line}" for line in exchange_lines(transcript)), f"  the run ended: {run.ending.why}"]


def unreached_steps(transcript: Transcript) -> list[str]:
    """Return the steps that no value the agent could set would reach, and why. A branch not taken is not one."""
    why = {
        "unset": "it waits for variables, and the automatic agent found no values under which it runs",
        "never": "no values can make its condition hold",
    }
    return [f"  {step_id}: {why[because]}" for step_id, because in transcript.left_out if because in why]


def _marked(marks: Sequence[str] | None) -> str:
    return f" [public engine: {', '.join(marks)}]" if marks else ""


def _asked(exchange: Exchange) -> str:
    request: Mapping[str, Any] = exchange.request
    name = exchange.tool.removesuffix("_workflow")
    match exchange.tool:
        case "start_workflow":
            parts = _variables(request.get("initialContext"))
        case "continue_workflow" if request.get("intent") == "rehydrate":
            return "rehydrate"
        case "continue_workflow":
            kinds = [_kind(artifact) for artifact in exchange.artifacts]
            parts = [] if exchange.notes is None else [f"notes {_short(repr(printable(exchange.notes)))}"]
            parts += [f"artifacts {', '.join(kinds)}"] if kinds else []
            parts += _variables(request.get("context"))
        case _:
            parts = []
    return f"{name} with {' and '.join(parts)}" if parts else name


def _variables(context: Any) -> list[str]:
    if not isinstance(context, Mapping) or not context:
        return []
    return [f"context {_short(', '.join(map(str, context)))}"]


def _kind(artifact: Any) -> str:
    return str(artifact.get("kind", "without kind")) if isinstance(artifact, Mapping) else type(artifact).__name__


def _answered(exchange: Exchange) -> str:
    response: Mapping[str, Any] = exchange.response
    match exchange.answer:
        case "error":
            return f"error {response['code']}: {_short(printable(str(response['message'])))}"
        case "gated":
            return f"gate {response['gateKind']} at {response['stepId']}"
        case "complete":
            return "complete"
    if exchange.step is None:
        return "ok"
    if exchange.answer == "ok":
        return f"pending {exchange.step}"
    issues = response.get("validation", {}).get("issues", [])
    why = f" ({_short(printable('; '.join(issues)), _LONGEST_ISSUES)})" if issues else ""
    return (
        f"blocked at {exchange.step}: "
        + "; ".join(f"{blocker['code']}: {_short(printable(blocker['message']))}" for blocker in exchange.blockers)
        + why
    )


def _short(text: str, longest: int = _LONGEST) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"


class RunText(str):
    """A text that knows the run it tells about, for whoever has to explain why it is not another one."""

    __slots__ = ("run",)
    run: Run


class RunItems(tuple[str, ...]):
    """Items that know the run they are from."""

    run: Run


def _of(run: Run, items: Iterable[str]) -> tuple[str, ...]:
    of_kind = RunItems(items)
    of_kind.run = run
    return of_kind


class Ending(Struct, frozen=True):
    """Why the run is over. `place` is where in a script the fault lies, if it is the script's."""

    kind: EndingKind
    why: str
    place: str = ""


class Run(Struct, frozen=True, eq=False):
    """One run: its transcript, and the questions that tests ask most."""

    transcript: Transcript
    ending: Ending
    golden: GoldenCheck | None = None
    inline: InlineCheck | None = None
    log: tuple[Event, ...] = ()  # everything that was stored

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Run) and (self.transcript, self.ending) == (other.transcript, other.ending)

    def __repr__(self) -> str:
        parts = [f"done: {', '.join(self.steps) or 'nothing'}"]
        parts += [f"blockers: {', '.join(self.blockers)}"] if self.blockers else []
        parts += [f"gaps: {', '.join(self.gaps)}"] if self.gaps else []
        return f"<Run of {self.transcript.workflow_id}: {self.status} ({'; '.join(parts)})>"

    @property
    def status(self) -> str:
        """`complete`, `complete_with_gaps`, `blocked`, `gated`, `in_progress` or `error`."""
        text = RunText(self.transcript.final["status"])
        text.run = self
        return text

    @property
    def steps(self) -> tuple[str, ...]:
        """The steps in the order they were done; one that was submitted and refused is not among them."""
        return _of(self, (attempt.step_id for attempt in self.transcript.attempts if attempt.outcome == "advanced"))

    @property
    def blockers(self) -> tuple[str, ...]:
        """The codes of all blockers, in the order the agent met them."""
        return _of(self, (code for attempt in self.transcript.attempts for code in attempt.blockers))

    @property
    def gaps(self) -> tuple[str, ...]:
        """The reasons of all gaps on record, such as `missing_required_notes`, in order."""
        return _of(self, (gap["detail"] for gap in self._final_list("gaps")))

    @property
    def divergences(self) -> tuple[str, ...]:
        """Where the agent said that it left the path, or answered for the user: the summaries, in order."""
        return _of(self, (each["summary"] for each in self._final_list("divergences")))

    @property
    def engine_defects(self) -> tuple[EngineDefectMark, ...]:
        """Each point at which the public engine would have failed or answered differently (profile reference)."""
        return self.transcript.engine_defects

    @property
    def skipped(self) -> tuple[dict[str, Any], ...]:
        """The steps and loops that were passed over: `stepId`, `because` (unset, value or never) and `unmet`.

        Each is there once for every reason it was passed over for, as it was met first.
        """
        return tuple(each.to_wire() for each in self.transcript.skipped)

    @property
    def outputs(self) -> dict[str, dict[str, Json]]:
        """The submission of each step, by step id: `notes` and `artifacts`. Of several visits, the last one."""
        return {output["step"]: _without_names(output) for output in self._final_list("outputs")}

    @property
    def context(self) -> dict[str, Json]:
        """The context at the end."""
        context: Any = self.transcript.final["context"]
        return dict(context)

    @property
    def responses(self) -> tuple[dict[str, Json], ...]:
        """Everything the agent was answered, in order."""
        return tuple(exchange.response for exchange in self.transcript.exchanges)

    @property
    def prompts(self) -> dict[str, str]:
        """The prompt of each step as the agent saw it last."""
        by_step: dict[str, str] = {}
        for exchange in self.transcript.exchanges:
            if exchange.pending is not None:
                by_step[exchange.pending["stepId"]] = exchange.pending["prompt"]
        return by_step

    def outline(self) -> str:
        """Return the run in a few lines: each attempt at a step with its blockers and gaps, and how it ended."""
        return outline(self.transcript)

    def match(self, expected: str | None = None) -> None:
        """Compare the outline with a text in the test; `--workrail-golden=update` writes it there."""
        __tracebackhide__ = True
        if self.inline is None:
            raise RuntimeError("an inline golden belongs to a test: use the fixture `workrail` to run the workflow")
        if expected is not None and not isinstance(expected, str):
            raise TypeError(f"an inline golden must be a string, not {expected!r}")
        self.inline(self.outline(), expected, sys._getframe(1))

    def match_golden(self, name: str | None = None, *, matchers: Sequence[Matcher] = ()) -> None:
        """Compare with the golden of the running test; a test with several of them names each.

        `matchers` say which members may have any value of a kind: `path("**/startedAt", any_timestamp)`.
        """
        __tracebackhide__ = True
        if self.golden is None:
            raise RuntimeError("a golden belongs to a test: use the fixture `workrail` to run the workflow")
        if name is not None and not isinstance(name, str):
            raise TypeError(f"the name of a golden must be a string, not {name!r}")
        self.golden(self.transcript, name, check_matchers(matchers))

    def _final_list(self, member: str) -> list[dict[str, Any]]:
        members: Any = self.transcript.final.get(member, ())
        return list(members)


def _without_names(output: dict[str, Json]) -> dict[str, Json]:
    return {name: value for name, value in output.items() if name in ("notes", "artifacts")}
