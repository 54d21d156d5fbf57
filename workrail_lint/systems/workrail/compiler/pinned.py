"""The way back from the engine target: a workflow as the public engine pinned it, as an IR, without its source file.

A pinned definition is compiled as far as the engine compiles: prompts are rendered, bindings and injected texts are in
place. What is left to do is what the engine does at run time (steps made for verification, audit and synthesis, loops).
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from workrail_lint.base.result import Err, Ok
from workrail_lint.systems.workrail.catalog.catalog import load_core
from workrail_lint.systems.workrail.compiler.compiled import CompiledWorkflow
from workrail_lint.systems.workrail.compiler.engine_target import ONBOARDING_STEP
from workrail_lint.systems.workrail.compiler.tokens import Bound
from workrail_lint.systems.workrail.settings import Settings

SOURCE_KIND = "v1_pinned"
ONBOARDING_ID = str(ONBOARDING_STEP["id"])
# Applied already: compiling them again would add their text a second time, or ask for slots that are filled.
_APPLIED = ("features", "extensionPoints")


class Onboarding(NamedTuple):
    """The step that the engine puts before the first one, in the words that this run was given."""

    title: str
    prompt: str


class PinnedWorkflow(NamedTuple):
    """What a pin holds: a definition without the onboarding step, compiled, and that step if there was one."""

    definition: dict[str, Any]
    compiled: CompiledWorkflow
    onboarding: Onboarding | None

    @property
    def ir(self) -> dict[str, Any]:
        """The IR without the onboarding step, with the bindings that the engine resolved."""
        return self.compiled.ir

    @property
    def is_source(self) -> bool:
        """Return whether the definition could be a file of a project; the ids of expanded templates could not."""
        return not any("." in step_id for step_id in self.compiled.step_by_id)


def is_pin(value: dict[str, Any]) -> bool:
    """Return whether a pinned document is one of the public engine's."""
    return value.get("sourceKind") == SOURCE_KIND


def compile_pin(pin: dict[str, Any]) -> Ok[PinnedWorkflow] | Err[str]:
    """The workflow of a pin, or why it can't run. A pin comes from a folder that anybody may have written to."""
    # Not at the top: compiling from text stands above the passes.
    from workrail_lint.systems.workrail.compile import compile_document, read_for_compiling

    definition = pin.get("definition")
    steps = definition.get("steps") if isinstance(definition, dict) else None
    if not is_pin(pin) or not isinstance(definition, dict) or not isinstance(steps, list):
        return Err("it is not a pinned workflow of the engine")
    first = steps[0] if steps and isinstance(steps[0], dict) else {}
    onboarding = None
    if first.get("id") == ONBOARDING_ID:
        onboarding = Onboarding(str(first.get("title", "")), str(first.get("prompt", "")))
        steps = steps[1:]
    own = {name: value for name, value in definition.items() if name not in _APPLIED} | {"steps": steps}
    settings = Settings(load_core(), engine=False, pinned=True)
    compiled = compile_document(read_for_compiling(json.dumps(own)), "", settings)
    if isinstance(compiled, Err):
        return Err(f"it does not compile: {compiled.error[0].message}")
    bound = Bound(_texts(pin.get("resolvedBindings")), _texts(pin.get("pinnedOverrides")))
    return Ok(PinnedWorkflow(own, compiled.value.bound_to(bound), onboarding))


def _texts(value: object) -> dict[str, str]:
    if not isinstance(value, dict):
        return {}
    return {str(name): text for name, text in value.items() if isinstance(text, str)}
