"""Any sequence of replies, answers, failed writes, kills and resumes keeps what the contract promises."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

from effort import times
from hypothesis import HealthCheck, note, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from pytest_workrail.systems.team import run
from pytest_workrail.systems.team.run_state import TeamLog
from workrail_lint import check
from workrail_lint.documents.json_reader import read_json
from workrail_lint.systems.team.state_machine import GATES, LIMITS
from workrail_lint.systems.team.vocabulary import decision_number

SESSION = "2000-01-01_any-thing"
OLD = {".agents-work/1999-12-01_old-work/status.json": '{"current_state": "DONE"}', "src/kept.txt": "kept\n"}
AGENTS = [
    "SpecAgent",
    "Architect",
    "Planner",
    "Coder",
    "Reviewer",
    "QA",
    "Security",
    "Integrator",
    "Docs",
    "Researcher",
]
LATE = ("IMPLEMENT_LOOP", "INTEGRATE", "RELEASE", "DONE")
REFUSING = ("Reviewer", "QA", "Security")

STATUSES = st.sampled_from(["OK", "OK", "BLOCKED", "BLOCKED", "FAIL", "NEEDS_DECISION", "NEEDS_INFO"])
REPLY = st.one_of(
    st.builds(lambda status: {"output": {"status": status}}, STATUSES),
    st.builds(lambda fault: {"fault": fault}, st.sampled_from(["error", "timeout", "invalid"])),
    st.just({"output": {"summary": "Verdict: PASS WITH NOTES."}}),
    st.just({"text": "I am done."}),
)
KEYS = st.builds(
    lambda agent, task, number: f"{agent}/{task}#{number}",
    st.sampled_from([*AGENTS, *REFUSING, *REFUSING]),
    st.sampled_from(["meta", "T-001"]),
    st.integers(1, 5),
)
ANSWER = st.one_of(
    st.none(),
    st.sampled_from(
        [
            "approved",
            "changes-requested: more",
            "per batch",
            "final",
            "fix-now",
            "fix-later",
            "fix",
            "different approach",
        ]
    ),
    st.sampled_from(["accept", "simplify", "hm", " "]),
    st.just({"cancel": "no more"}),
)
IDS = ["UD-APPROVE-DESIGN", "UD-REVIEW-STRATEGY", *(f"UD-{n}" for n in range(1, 7))]
USER = st.fixed_dictionaries({ident: st.lists(ANSWER, min_size=1, max_size=5) for ident in IDS})
FAULTS = st.lists(
    st.builds(
        lambda file, nth, kind: {"op": "write", "file": file, "nth": nth, "kind": kind},
        st.sampled_from(["status.json", "status.json", "approve-design-history.jsonl", "report.md"]),
        st.integers(1, 8),
        st.sampled_from(["io_error", "lost", "corrupt"]),
    ),
    max_size=5,
    unique_by=lambda fault: (fault["file"], fault["nth"]),
)


class Killed(Exception):  # noqa: N818
    """The process is gone, whatever it was about to do."""


class Sessions(RuleBasedStateMachine):
    """One session, played and broken off again and again."""

    @initialize(mode=st.sampled_from(["full", "full", "lean"]))
    def begin(self, mode: str) -> None:
        self.place = Path(tempfile.mkdtemp(prefix="team-machine-"))
        self.rounds = 0
        self.mode = mode
        self.files: dict[str, str] | None = None
        self.events: list[dict[str, Any]] = []
        self.corrections = 0  # corrections that were sent out, in all rounds
        self.state = ""
        self.ended = False
        self.torn = False
        self.killed = False

    def teardown(self) -> None:
        if hasattr(self, "place"):
            shutil.rmtree(self.place, ignore_errors=True)

    @rule(
        replies=st.dictionaries(KEYS, REPLY, max_size=6),
        user=USER,
        faults=FAULTS,
        kill=st.none() | st.integers(1, 70),
        sensitive=st.booleans(),
        results=st.lists(st.sampled_from(["pass", "fail"]), min_size=1, max_size=5),
    )
    def play(self, **drawn: Any) -> None:
        if self.ended:
            return
        team = self._team(**drawn)
        root = self.place / str(self.rounds)
        self.rounds += 1
        root.mkdir()
        self.events = self._run(team, root, drawn["kill"])
        folder = root / ".agents-work" / SESSION
        self.files = {
            file.relative_to(folder).as_posix(): file.read_text(encoding="utf-8")
            for file in folder.rglob("*")
            if file.is_file()
        }
        self.root = root
        entered = [event["state"] for event in self.events if event["event"] == "enter_state"]
        self.state = next((state for state in reversed(entered) if state not in ("BLOCKED", "ASK_USER")), self.state)
        was_torn, self.torn = self.torn, not read_json(self.files.get("status.json", "{}")).readable
        if was_torn:
            assert entered == ["BLOCKED"], "nobody goes on from a status that can't be read"
            assert self.torn, "it is left for somebody to restore"
        self.ended = was_torn or entered[-1:] == ["DONE"] or "status.json" not in self.files

    def _team(self, replies: Any, user: Any, faults: Any, kill: Any, sensitive: bool, results: Any) -> dict[str, Any]:
        start: Any = "new"
        if self.files is not None:
            start = {"resume": dict(self.files), "as": self.state or "INTAKE"}
        return {
            "mode": self.mode if self.files is None else None,
            "session": SESSION,
            "start": start,
            "repository": OLD,
            "replies": replies,
            "user": user,
            "faults": faults,
            "flags": {"sensitive": ["T-001"] if sensitive else [], "research": not sensitive},
            "checks": {"cmd: make test": results},
        }

    def _run(self, team: dict[str, Any], root: Path, kill: int | None) -> list[dict[str, Any]]:
        seen: list[dict[str, Any]] = []
        self.killed = False
        original = TeamLog.emit

        def emit(recorder: TeamLog, event: str, /, **members: Any) -> None:
            original(recorder, event, **members)
            seen.append(recorder.events[-1])
            if kill is not None and len(seen) == kill:
                raise Killed

        TeamLog.emit = emit  # type: ignore[method-assign]
        try:
            found = run({name: value for name, value in team.items() if value is not None}, keep=root)
            note("\n".join(found.event_lines()))
            broken = [finding for finding in found.findings if finding.code.startswith("TC8")]
            assert broken == [], [finding.message for finding in broken]
        except Killed:
            self.killed = True
            note(f"killed after {len(seen)} events")
        finally:
            TeamLog.emit = original  # type: ignore[method-assign]
        self.corrections += sum(
            1 for e in seen if e["event"] == "dispatch" and e["state"] == "APPROVE_DESIGN" and e["attempt"] == 1
        )
        return seen

    # ------------------------------------------------------------------------------------------- what holds

    def _status(self) -> dict[str, Any]:
        value = read_json((self.files or {}).get("status.json", "{}")).value
        return value if isinstance(value, dict) else {}

    @invariant()
    def other_files_are_as_they_were(self) -> None:
        if getattr(self, "files", None) is not None:
            for path, text in OLD.items():
                assert (self.root / path).read_text(encoding="utf-8") == text

    @invariant()
    def no_gate_is_left_without_its_decision(self) -> None:
        """A state after a gate is entered only when the stored answer says so."""
        if getattr(self, "files", None) is None:
            return
        by_id = {entry.get("decision_id"): entry for entry in self._status().get("user_decisions", [])}
        state = self._status().get("current_state")
        if self.mode == "full" and state in (
            "PLAN",
            "REVIEW_STRATEGY",
            "IMPLEMENT_LOOP",
            "INTEGRATE",
            "RELEASE",
            "DONE",
        ):
            assert str(by_id["UD-APPROVE-DESIGN"]["answer"]).startswith("approved")
        if self.mode == "full" and state in LATE:
            assert by_id["UD-REVIEW-STRATEGY"]["answer"] in ("per-batch", "single-final")

    @invariant()
    def corrections_are_sent_out_once(self) -> None:
        if getattr(self, "files", None) is not None:
            requests = (
                self.files.get("approve-design-history.jsonl", "").count("changes-requested") if self.files else 0
            )
            assert self.corrections <= requests

    @invariant()
    def limits_hold(self) -> None:
        if getattr(self, "files", None) is None:
            return
        for counts in self._status().get("retry_counts", {}).values():
            assert all(0 <= count <= LIMITS.repairs for count in counts.values())
        assert all(e["attempt"] <= LIMITS.dispatch_retries + 1 for e in self.events if e["event"] == "dispatch")

    @invariant()
    def every_decision_has_one_entry(self) -> None:
        if getattr(self, "files", None) is None:
            return
        idents = [entry.get("decision_id") for entry in self._status().get("user_decisions", [])]
        assert len(set(idents)) == len(idents)
        numbers = [number for ident in idents if (number := decision_number(ident)) is not None]
        assert numbers == list(range(1, len(numbers) + 1))
        assert set(idents) - set(GATES) == {f"UD-{number}" for number in numbers}

    @invariant()
    def what_is_on_disk_is_a_valid_session(self) -> None:
        if getattr(self, "files", None) is None or "status.json" not in (self.files or {}):
            return
        found = check([self.root / ".agents-work" / SESSION], options={"team-simulated": True}, jobs=1).errors
        # A broken text is never left behind, and neither is a decision that contradicts itself. A process that is
        # killed between two writes leaves the first one: a torn file, or a gate that is just given up or asked again.
        halfway = (*(["TC0"] if self.torn else []), *(["TC221"] if self.killed else []))
        judged = [each for each in found if each.code.startswith(("TC0", "TC1", "TC2", "TC6"))]
        bad = [each for each in judged if not each.code.startswith(halfway)]
        assert bad == [], [f"{each.code} {each.message}" for each in bad]


TestSessions = Sessions.TestCase
TestSessions.settings = settings(
    max_examples=times(12, deep=200),
    stateful_step_count=6,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
