"""The compatibility codes with their messages, and the one design-form word that occurs outside workflow documents."""

from __future__ import annotations

from typing import NamedTuple

from workrail_lint.documents import pointer as pointers
from workrail_lint.findings import Finding, Phase, Severity


class Code(NamedTuple):
    """A code, what it is about (a noun phrase), and what to write in the form that the engine accepts."""

    name: str
    what: str
    instead: str


TEMPLATE_CALL = Code(
    "compat-template-call",
    "a step of type `template_call`",
    "write a step with `id`, `title` and `templateCall: {templateId, args}`",
)
LOOP_ID = Code(
    "compat-loop-id",
    "a loop written with `loopId`, `while` and `maxIterations` on the step",
    'write `id`, `title` and `loop: {type: "while", maxIterations, ...}`',
)
CONDITION_REF = Code(
    "compat-condition-ref",
    "a loop's reference to a named condition",
    "write `loop.conditionSource` or `loop.condition`",
)
CONTINUE_WHEN_STOP = Code(
    "compat-continue-when-stop",
    "a loop that continues when the decision is `stop`",
    "swap the two decisions in the prompts and let it continue on `continue`",
)
CONDITIONS = Code(
    "compat-conditions",
    "top-level `conditions`",
    "move each loop's condition into its `loop` and remove the list",
)
CONDITION_UNUSED = Code("compat-condition-unused", "a named condition that no loop refers to", "remove the condition")
OUTPUT_CONTRACT = Code(
    "compat-output-contract", "`output.contractRef` on a step", "write `outputContract: {contractRef}`"
)
OUTPUT_HINTS = Code("compat-output-hints", "`output.hints` on a step", "write the hints as `guidance`")
CAPABILITIES = Code(
    "compat-capabilities",
    "top-level `capabilities`",
    "declare the feature `wr.features.capabilities` and remove `capabilities`",
)
FEATURE_CONFIG = Code("compat-feature-config", "a feature written as an object", "write the feature's id as a string")
AGENT_ROLE = Code("compat-agent-role", "top-level `agentRole`", "write `agentRole` on the steps that need it")
ID_UNDERSCORE = Code("compat-id-underscore", "an underscore in a step id", "use `-` instead of `_`")
VERSION_MISSING = Code(
    "compat-version-missing", "a workflow without `version`", "add a semantic version such as `0.1.0`"
)
EXTENSION_MAP = Code(
    "compat-extension-map",
    "`extensionPoints` as a map of slots",
    "write a list of `{slotId, purpose, default, acceptedKinds}`",
)
EXTENSION_CONTRACT = Code(
    "compat-extension-contract",
    "`kind` or `extensionContract` on a workflow",
    "remove it; the id says whether a workflow is a routine",
)
BARE_RULE = Code("compat-bare-rule", "`validationCriteria` as a single rule", "write a list with that one rule")
RULE_MESSAGE = Code("compat-rule-message", "a validation rule without `message`", "add the `message`")
BODY_OBJECT = Code("compat-body-object", "a loop `body` that is one step", "write a list with that one step")

# How many characters of an author's text a message quotes.
SHOWN = 80

# Not compatibility codes: the rewrite removes these constructs from the document, so they are checked here.
FEATURE_CONFIG_NOT_ALLOWED = "feature-config-not-allowed"
CAPABILITY_UNKNOWN = "capability-unknown"

FEATURE_CAPABILITIES = "wr.features.capabilities"
FEATURE_SUBAGENTS = "wr.features.subagent_guidance"
LOOP_CONTROL = "wr.contracts.loop_control"

CAPABILITY_NAMES = ("delegation", "web_browsing")
CAPABILITY_LEVELS = ("required", "preferred", "disabled")
CONDITION_KINDS = ("always_true", "always_false", "loop_control")
CONTINUE_WHEN = ("continue", "stop")
DOCUMENT_KINDS = ("routine", "workflow")

# The features that may be configured, their members, and the values each member takes.
FEATURE_CONFIGS: dict[str, dict[str, tuple[str, ...]]] = {
    FEATURE_CAPABILITIES: {
        "probeVisibility": ("collapsed", "expanded"),
        "recordObservationsAs": ("artifact", "event"),
    },
    "wr.features.output_contracts": {"enforce": ("block_in_blocking_modes_gap_in_never_stop",)},
    "wr.features.mode_guidance": {},
}


def code_span(text: str) -> str:
    """An author's text in a message of one line."""
    line = "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in " ".join(text.split()))
    return f"`{line if len(line) <= SHOWN else line[:SHOWN] + '…'}`"


def code_list(names: tuple[str, ...]) -> str:
    """Names as part of a sentence."""
    return ", ".join(f"`{name}`" for name in names)


VARIABLES_ALIAS = "compat-variables-alias"


def variables_alias(inputs: object, pointer: str = "") -> Finding | None:
    """The error for an object of run inputs that has `variables` instead of `context` (D20)."""
    if not isinstance(inputs, dict) or "variables" not in inputs:
        return None
    remedy = "merge its members into `context` and remove it" if "context" in inputs else "rename it to `context`"
    return Finding(
        VARIABLES_ALIAS,
        VARIABLES_ALIAS,
        Severity.ERROR,
        f"a run ignores `variables`; {remedy}",
        pointers.child(pointer, "variables"),
        phase=Phase.LINT,
        on_name=True,
    )
