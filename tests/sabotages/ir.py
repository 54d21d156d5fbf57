"""Broken compiled workflows: each switch gives up one promise about the IR."""

from __future__ import annotations

from pytest_workrail.locks.sabotage import breaks

IR = "workrail_lint.systems.workrail.compiler.ir"


@breaks("ir-format-refused-when-unknown", at="pytest_workrail.engine.core.index:FORMAT")
def other_formats_are_run(original):
    """An IR of a format that is not known is indexed like any other."""

    class Anything(str):
        __hash__ = str.__hash__

        def __eq__(self, other):
            return True

        def __ne__(self, other):
            return False

    return Anything(original)


@breaks("ir-only-input-of-the-engine", at="pytest_workrail.engine.protocol.sessions:_canonical")
def the_engine_asks_the_catalog(original):
    """A run looks things up that its IR does not hold."""

    def canonical(ir, onboarding):
        from workrail_lint.systems.workrail.catalog import catalog

        catalog.load_core()
        return original(ir, onboarding)

    return canonical


@breaks("ir-pinned-for-the-run", at="pytest_workrail.engine.protocol.engine:Engine.continue_workflow")
def runs_follow_the_file(original):
    """A run goes on with the newest version of its workflow."""

    def continue_workflow(self, request):
        from pytest_workrail.engine.protocol.sessions import Program

        kept = self._loader.programs._kept
        for pinned, program in list(kept.items()):
            newest = self._library.find(program.ir["workflowId"])
            kept[pinned] = Program(newest.ir, pinned, self.profile)
        return original(self, request)

    return continue_workflow


@breaks("ir-self-contained", at=f"{IR}:_contracts")
def contracts_are_left_outside(original):
    """An IR names contract packs that it does not hold."""
    return lambda steps, catalog: []


@breaks("ir-independent-of-surroundings", at=f"{IR}:render_ir")
def an_ir_says_where_it_was_made(original):
    """The working folder is part of an IR."""
    import os

    def render(*arguments, **others):
        ir = original(*arguments, **others)
        ir["description"] = f"{ir['description']} ({os.getcwd()})"
        return ir

    return render


@breaks("ir-independent-of-surroundings", at=f"{IR}:_features")
def features_stay_in_the_order_of_the_source(original):
    """An IR lists features as the author did."""
    return lambda definition, side: original(definition, side)[::-1]


@breaks("loop-gate-by-construction", at="workrail_lint.systems.workrail.compiler.steps:_gate")
def loops_get_no_gate(original):
    """The compiler adds no decision step."""
    return lambda *arguments: None


@breaks("loop-gate-by-construction", at="pytest_workrail.engine.core.interpreter:body_of")
def every_profile_runs_gates(original):
    """The gate of a loop also runs where the public engine has none."""
    return lambda loop, profile: loop.body


@breaks("loop-gate-by-construction", at="pytest_workrail.engine.core.loops:LoopKernel._is_decided")
def gates_ask_again(original):
    """A gate asks for a decision that the iteration already has."""
    return lambda self: False


@breaks("engine-defects-are-data", at="tools.engine_defects:page")
def the_page_is_written_by_hand(original):
    """The page of defects no longer follows the data."""
    return lambda: original().replace("KD-13", "KD-31")


@breaks("engine-defects-marked", at="pytest_workrail.run.driver:mark_engine_defects")
def defects_stay_unmarked(original):
    """A run goes on without a mark where the public engine would have failed."""
    return lambda *arguments: ()


@breaks("feature-order-authored", at="workrail_lint.systems.workrail.compiler.compiled:apply_features")
def features_add_their_text_by_name(original):
    """Text is injected in the order of the ids, as the member `features` has them."""
    return lambda nodes, features, *others: original(nodes, sorted(features), *others)


@breaks(
    "ir-renders-alike-after-reading-back",
    at=(
        "pytest_workrail.engine.protocol.sessions:frozen_program",
        "pytest_workrail.engine.core.prompts:contract_guidance",
    ),
)
def prompts_follow_the_order_of_members(original):
    """What an agent reads about a contract depends on the order in which its schema was written."""
    from pytest_workrail.engine.protocol.sessions import Program
    from workrail_lint.base.result import Ok

    if original.__name__ == "frozen_program":

        def program(ir, onboarding, profile):
            return Ok(Program(ir, original(ir, onboarding, profile).value.workflow_hash, profile))

        return program

    def guidance(ref, pack, fixed=None):
        order = "" if pack is None else " ".join(pack.schema.get("properties", {}))
        return [*original(ref, pack, fixed), order]

    return guidance


@breaks("ir-virtual-steps-are-steps", at="workrail_lint.systems.workrail.compiler.compiled:expand_virtual")
def generated_steps_stand_anywhere(original):
    """Generated steps come before the step they belong to."""

    def expand(nodes, workflow_id):
        expanded, errors = original(nodes, workflow_id)
        return type(expanded)(sorted(expanded, key=lambda node: "__" not in str(node.step.get("id")))), errors

    return expand


@breaks("ir-probe-before-first-step", at="workrail_lint.systems.workrail.compiler.templates:insert_probes")
def nobody_probes(original):
    """A required capability gets no probe."""
    return lambda nodes, *others: (nodes, [])


@breaks("ir-provenance-kept", at=f"{IR}:_provenance")
def everything_was_authored(original):
    """Every step says that the author wrote it as it is."""
    return lambda node: {"source": "authored", "injected": []}


@breaks("ir-inspect-hash-is-run-hash", at="pytest_workrail.engine.protocol.library:frozen")
def the_shown_hash_is_another(original):
    """The hash shown before a start is not the one of the run."""

    def frozen(ir, onboarding):
        return original({**ir, "name": f"{ir['name']} (preview)"}, onboarding)

    return frozen
