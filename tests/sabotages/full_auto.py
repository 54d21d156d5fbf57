"""Broken autonomy: questions that are skipped silently, gaps that stay or vanish, and memories without instructions."""

from __future__ import annotations

from pytest_workrail.locks.sabotage import breaks

FULL_AUTO = "pytest_workrail.engine.core.full_auto"
OUTCOME = "pytest_workrail.engine.protocol.advance_outcome"


@breaks("full-auto-answers-for-user", at="pytest_workrail.engine.core.prompts:full_auto_text")
def the_agent_is_left_alone(original):
    """A prompt that asks the user says nothing about who answers."""
    return lambda full_auto, step_id: ""


@breaks("full-auto-discloses", at=f"{OUTCOME}:_undisclosed")
def silence_is_fine(original):
    """An agent that discloses nothing leaves no trace of it."""
    return lambda attempted, reports, profile: []


@breaks("late-output-resolves-gap", at=f"{OUTCOME}:resolutions")
def nothing_resolves_a_gap(original):
    """No output resolves a gap."""
    return lambda gaps, packs, artifacts, own: ()


@breaks("late-output-resolves-gap", at=f"{FULL_AUTO}:artifact_kind")
def any_artifact_resolves(original):
    """What an artifact calls itself does not matter."""
    return lambda artifact: None


@breaks("missing-notes-validated", at="pytest_workrail.engine.protocol.recording:_lacks_notes")
def missing_notes_are_no_validation(original):
    """Nothing is recorded about notes that are missing."""
    return lambda judgement, profile: None


@breaks("preferred-capability-probed", at=f"{OUTCOME}:_absent_capabilities")
def absence_is_not_said(original):
    """A preferred capability that is not there leaves no record."""
    return lambda attempted, reports, profile: []


@breaks("resume-shows-instructions", at="pytest_workrail.engine.protocol.rehydrate:_instructions")
def only_notes_are_remembered(original):
    """A node that is looked at again shows no instructions."""
    return lambda loader, position, profile: []


@breaks("inspect-is-manifest", at="pytest_workrail.engine.protocol.overview:manifest")
def the_manifest_forgets_its_steps(original):
    """A manifest lists no steps."""
    return lambda program: {**original(program), "steps": []}


@breaks("auto-agent-sets-where-asked", at="pytest_workrail.agents.asked_variables:obedient_context")
def variables_are_set_at_the_end(original):
    """The automatic agent pays no attention to what a prompt asks for."""
    return lambda view: None


@breaks("lock-claim-names-its-test", at="pytest_workrail.locks.evidence:_subjects")
def a_comment_claims_for_the_file(original):
    """A comment claims for every test of its file, wherever it is."""
    return lambda tree, comments: dict.fromkeys(comments, "")


@breaks("lock-claim-needs-its-assertion", at="pytest_workrail.locks.evidence:Evidence.counts")
def passing_is_enough(original):
    """A test that passed enforces its locks, whether it asserted anything or not."""
    return property(lambda self: self.ending.name == "PASSED")
