"""Broken tools: each switch gives up one promise about what the six tools do, or about how they fail."""

from __future__ import annotations

from changed import replace

from pytest_workrail.locks.sabotage import breaks
from workrail_lint.base.result import Err, Ok

ENGINE = "pytest_workrail.engine.protocol.engine:Engine"
ERRORS = "pytest_workrail.engine.protocol.errors"


@breaks("rehydrate-pure-no-writes", "advance-append-capable", at=f"{ENGINE}._rehydrate")
def looking_leaves_a_trace(original):
    """Looking at a node appends an event."""

    def rehydrate(self, place, workflow_ref, request):
        from pytest_workrail.engine.model.words import Preferences

        self.operator.prefer(place, Preferences())
        return original(self, place, workflow_ref, request)

    return rehydrate


@breaks("replay-fact-returning", at="pytest_workrail.engine.protocol.sessions:Session.as_of")
def replays_see_what_came_later(original):
    """A replay is told from the log as it is now."""
    return lambda self, event_index: Ok(self)


@breaks("replay-fail-closed", at="pytest_workrail.engine.protocol.advance:replay")
def what_is_lost_is_made_up(original):
    """An advance whose record is incomplete is answered all the same."""

    def replay(loader, response_format, session, recorded):
        from pytest_workrail.engine.protocol.responses import GateReached

        found = original(loader, response_format, session, recorded)
        return Ok(GateReached("ct_made_up", "made-up", "coordinator_eval")) if isinstance(found, Err) else found

    return replay


@breaks(
    "witness-required-for-append",
    "witness-scope-enforced",
    at="pytest_workrail.engine.store.plan:AppendPermit.is_held",
)
def a_witness_lives_for_ever(original):
    """The proof of standing inside the gate is good after the gate has closed."""
    return property(lambda permit: True)


@breaks("context-no-echo", at=f"{ENGINE}._answer")
def responses_repeat_the_context(original):
    """What was sent comes back."""

    def answer(self, request, read, act):
        found = original(self, request, read, act)
        sent = [request[name] for name in ("context", "initialContext") if name in request]
        return Ok(replace(found.value, text=(*found.value.text, *map(str, sent)))) if found.is_ok else found

    return answer


@breaks("context-not-durable", at="pytest_workrail.engine.protocol.recording:_context")
def contexts_are_forgotten(original):
    """An advance that succeeds does not keep its context."""
    return lambda entry: None


@breaks("context-json-only", at="pytest_workrail.engine.protocol.requests:_unusable_value")
def a_context_may_hold_anything(original):
    """What is not JSON is not looked for."""
    return lambda context, tool: None


@breaks("context-budget-256kb", at="pytest_workrail.engine.protocol.requests:MAX_CONTEXT_BYTES")
def a_byte_more_is_allowed(original):
    """A context may be one byte longer."""
    return original + 1


@breaks("execution-gated-by-health", at="pytest_workrail.engine.store.filesystem:FileSessionStore.load")
def damaged_sessions_are_run_as_far_as_they_go(original):
    """What is left of a damaged session passes for all of it."""

    def load(self, session_id):
        found = original(self, session_id)
        if found.is_ok:
            return found
        left = self.load_validated_prefix(session_id)
        return Ok(left.value.truth) if left.is_ok else found

    return load


@breaks("salvage-read-only", at="pytest_workrail.engine.store.filesystem:FileSessionStore.load_validated_prefix")
def salvage_tidies_up(original):
    """Looking for what is left of a session removes the rest."""

    def load(self, session_id):
        self._files.remove(f"sessions/{session_id}/manifest.jsonl")
        return original(self, session_id)

    return load


@breaks("non-tip-advance-creates-fork", at="pytest_workrail.engine.projections.dag:Run.advance_cause")
def forks_are_not_told(original):
    """A branch is recorded like any other step."""
    return lambda self, node: "intentional_fork"


@breaks(
    "output-ordering-deterministic",
    at=("pytest_workrail.engine.core.outputs:collation_key", "pytest_workrail.engine.store.plan:collation_key"),
)
def artifacts_stay_as_they_came(original):
    """Artifacts are stored in the order of the submission."""
    return lambda text: 0


@breaks("token-validation-errors-closed-set", at=f"{ERRORS}:token_error")
def token_errors_have_other_codes(original):
    """A token that is refused is refused with a code of its own."""
    return lambda code, message, suggestion=None: replace(original(code, message, suggestion), code=f"{code}_2")


@breaks("token-validation-errors-closed-set", at="pytest_workrail.engine.tokens.formats:invalid_format")
def malformed_tokens_have_a_new_code(original):
    """A malformed token is refused with a code that is not in the list."""
    return lambda message: replace(original(message), code="TOKEN_MALFORMED")


@breaks("error-envelope-shape", at=f"{ERRORS}:ToolError.to_json")
def errors_are_flat(original):
    """Details stand beside code and message."""

    def to_json(self):
        shown = original(self)
        return {**shown, **shown.pop("details")}

    return to_json


@breaks("error-no-throw-across-mcp", at="pytest_workrail.engine.protocol.engine:_guarded")
def bugs_come_through(original):
    """An exception inside a tool reaches the caller."""
    return lambda call: call()


@breaks("error-retry-via-field", at=f"{ERRORS}:RetryableAfter.to_json")
def waiting_is_left_to_the_reader(original):
    """That a call may be made again is not said in the data."""
    return lambda self: {"kind": "not_retryable"}


@breaks("error-self-correcting", at=f"{ERRORS}:ToolError.to_json")
def errors_leave_the_reader_alone(original):
    """An error says what went wrong and nothing else."""

    def to_json(self):
        shown = original(self)
        return {**shown, "details": {**shown["details"], "suggestion": ""}}

    return to_json


@breaks("error-self-correcting", at="pytest_workrail.engine.protocol.requests:_suggestions")
def nobody_is_told_what_was_meant(original):
    """A misspelt member gets no suggestion."""
    return lambda *arguments, **others: []


@breaks("error-budget-details", at="pytest_workrail.engine.protocol.requests:_MEASURE")
def sizes_have_no_measure(original):
    """How a size was measured is not said."""
    return "characters"


@breaks("no-throws-across-boundaries", at="pytest_workrail.engine.store.filesystem:_io_error")
def disks_fail_with_exceptions(original):
    """A failing disk is an exception for whoever asked."""

    def io_error(problem):
        raise problem

    return io_error


@breaks("bundle-format-single-json", at="pytest_workrail.engine.store.bundle:build")
def bundles_have_no_version(original):
    """A bundle does not say of which version it is."""

    def build(**members):
        made = original(**members)
        del made["bundleSchemaVersion"]
        return made

    return build


@breaks("bundle-tokens-not-portable", at="pytest_workrail.engine.store.bundle:build")
def bundles_hold_a_token(original):
    """A bundle brings a token along."""

    def build(**members):
        made = original(**members)
        made["producer"]["resume"] = "ct_AAAAAAAAAAAAAAAAAAAAAAAA st_AAAAAAAAAAAAAAAAAAAAAAAA"
        return made

    return build


@breaks("bundle-integrity-jcs-sha256", at="pytest_workrail.engine.store.bundle:_integrity_problem")
def digests_of_bundles_are_not_compared(original):
    """A part may differ from its entry."""
    return lambda entries, session: None


@breaks("bundle-import-as-new", at="pytest_workrail.engine.model.ids:IdMint.session")
def imports_take_one_place(original):
    """Every new session has the same id."""
    return lambda self: "sess_" + "a" * 26


@breaks("bundle-import-validates-first", at="pytest_workrail.engine.store.bundle:check")
def imports_write_before_they_look(original):
    """What does not hold together is imported as far as it goes."""

    def check(raw):
        import json

        found = original(raw)
        if isinstance(found, Ok):
            return found
        try:
            document = json.loads(raw)
            from pytest_workrail.engine.store import bundle

            return bundle._records(bundle._BUNDLE.read(document).session)
        except Exception:
            return found

    return check


@breaks("bundle-errors-closed-set", at="pytest_workrail.engine.store.bundle:_refused")
def bundles_are_refused_in_new_ways(original):
    """A bundle is refused with a code that is not in the list."""

    def refused(code, message):
        return Err(replace(original(code, message).error, code="BUNDLE_BROKEN"))

    return refused
