"""`normalize`: a cheap test of every document, the rewrite for the few that need it, and the codes of the rewrites.

The test may be true for a document in which the rules find nothing; it is never false if a rule would find something.
On the path of every check, so what only a rewrite needs is imported there.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import TYPE_CHECKING, Any

from workrail_lint.base import js
from workrail_lint.documents import pointer as pointers
from workrail_lint.findings import Finding

if TYPE_CHECKING:
    from workrail_lint.systems.workrail.compat.draft import CompatWarning


class Code:
    """A code, what it is about (a noun phrase), and what to write in the form that the engine accepts."""

    __slots__ = ("instead", "name", "what")

    def __init__(self, name: str, what: str, instead: str) -> None:
        self.name = name
        self.what = what
        self.instead = instead


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

CODES = {
    code.name: code
    for code in (
        TEMPLATE_CALL,
        LOOP_ID,
        CONDITION_REF,
        CONTINUE_WHEN_STOP,
        CONDITIONS,
        CONDITION_UNUSED,
        OUTPUT_CONTRACT,
        OUTPUT_HINTS,
        CAPABILITIES,
        FEATURE_CONFIG,
        AGENT_ROLE,
        ID_UNDERSCORE,
        VERSION_MISSING,
        EXTENSION_MAP,
        EXTENSION_CONTRACT,
        BARE_RULE,
        RULE_MESSAGE,
        BODY_OBJECT,
    )
}

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
    """Return an author's text in a message of one line."""
    line = "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in " ".join(text.split()))
    return f"`{line if len(line) <= SHOWN else line[:SHOWN] + '…'}`"


def code_list(names: tuple[str, ...]) -> str:
    """Return names as part of a sentence."""
    return ", ".join(f"`{name}`" for name in names)


class Policy(str, Enum):
    """How to treat the design form: reject it, rewrite it, or rewrite it only where nothing is lost."""

    REJECT = "reject"
    NORMALIZE = "normalize"
    LOSSLESS = "normalize-lossless"


class SideModel:
    """The members of the design form that the shipping form has no place for."""

    __slots__ = (
        "agent_role",
        "capabilities",
        "conditions",
        "extension_contract",
        "extension_contracts",
        "feature_configs",
        "kind",
    )

    def __init__(self) -> None:
        self.agent_role: str | None = None
        self.capabilities: dict[str, str] = {}
        self.feature_configs: dict[str, dict[str, str]] = {}
        self.conditions: list[dict[str, str]] = []
        # slot id -> the slot's inputContract and outputContract, those that were written
        self.extension_contracts: dict[str, dict[str, Any]] = {}
        self.kind: str | None = None
        self.extension_contract: dict[str, Any] | None = None


class PointerMap:
    """From a place in the normalized document to its place in the original.

    Everything below a `moved` place moves with it; everything below a derived place maps to its one origin.
    """

    __slots__ = ("_derived", "_moved")

    def __init__(self) -> None:
        self._moved: dict[str, str] = {}
        self._derived: dict[str, str] = {}

    def add_moved(self, pointer: str, origin: str) -> None:
        self._moved[pointer] = origin

    def add_derived(self, pointer: str, origin: str) -> None:
        self._derived[pointer] = origin

    def __call__(self, pointer: str) -> str:
        prefix = pointer
        while prefix:
            if prefix in self._derived:
                return self._derived[prefix]
            if prefix in self._moved:
                return self._moved[prefix] + pointer[len(prefix) :]
            prefix = prefix.rpartition("/")[0]
        return pointer


class Normalized:
    """A document in shipping form, or as written where it was valid or could not be rewritten.

    `refused` lists the places left as written because of an error: a schema finding there would repeat that error. It
    is empty under the rejecting policy, where the schema checks the document as written. `step_codes` holds, for each
    step of the normalized document that is not as authored, the codes of the rewrites in order.
    """

    __slots__ = ("document", "errors", "pointer_map", "refused", "side", "step_codes", "warnings")

    def __init__(
        self,
        document: Any,
        *,
        warnings: list[CompatWarning] | None = None,
        errors: list[Finding] | None = None,
        side: SideModel | None = None,
        pointer_map: PointerMap | None = None,
        step_codes: dict[str, tuple[str, ...]] | None = None,
        refused: tuple[str, ...] = (),
    ) -> None:
        self.document = document
        self.warnings = warnings or []
        self.errors = errors or []
        self.side = side or SideModel()
        self.pointer_map = pointer_map or PointerMap()
        self.step_codes = step_codes or {}
        self.refused = refused

    def is_refused(self, original_pointer: str) -> bool:
        """Return whether a place of the original is at or below one that an error already covers."""
        return any(original_pointer == place or original_pointer.startswith(place + "/") for place in self.refused)


CRITERIA = "validationCriteria"
_CONNECTIVES = ("and", "or", "not")
# What each kind of rule demands: the member that goes into the message, and the message.
_MESSAGES: dict[str, tuple[str | None, str]] = {
    "contains": ("value", "Output must include: "),
    "regex": ("pattern", "Pattern mismatch: "),
    "length": (None, "Output length out of bounds"),
    "schema": (None, "Output does not match the schema"),
}


def is_bare_rule(criteria: object) -> bool:
    """Return whether this is one rule where a list of rules or a composition belongs."""
    return isinstance(criteria, dict) and _is_rule(criteria)


def _has_criteria_work(criteria: object) -> bool:
    """Return whether a criterion is a bare rule or a rule lacks its message."""
    return is_bare_rule(criteria) or next(rules_without_message(criteria), None) is not None


_Unworded = tuple[tuple[pointers.Token, ...], dict[str, Any], str]


def rules_without_message(criteria: object) -> Iterator[_Unworded]:
    """Yield each rule that lacks a message, in document order: where it is, itself, and what it should say."""
    stack: list[tuple[tuple[pointers.Token, ...], object]] = [((), criteria)]
    while stack:
        tokens, value = stack.pop()
        if isinstance(value, list):
            stack += [((*tokens, index), item) for index, item in reversed(list(enumerate(value)))]
        elif not isinstance(value, dict):
            continue
        elif _is_rule(value):
            message = _message(value)
            if message is not None:
                yield tokens, value, message
        elif "type" not in value:
            inner = [name for name in value if name in _CONNECTIVES]
            stack += [((*tokens, name), value[name]) for name in reversed(inner)]


def _is_rule(value: dict[str, Any]) -> bool:
    return "type" in value and not any(connective in value for connective in _CONNECTIVES)


def _message(rule: dict[str, Any]) -> str | None:
    """Return the message a rule should have; None if it has one, or if its kind or text is not known."""
    kind = js.string_in(rule, "type")
    if "message" in rule or kind not in _MESSAGES:
        return None
    member, text = _MESSAGES[kind]
    if member is None:
        return text
    wanted = js.string_in(rule, member)
    return None if wanted is None else text + wanted


TOP_LEVEL_MEMBERS = frozenset({"agentRole", "capabilities", "conditions", "extensionContract", "kind"})
STEP_MEMBERS = frozenset({"loopId", "output", "while"})
_SUSPECT = STEP_MEMBERS | {"body", "type", "validationCriteria"}


def is_design_form(document: dict[str, Any]) -> bool:
    """Return whether a rewrite may change something."""
    if "version" not in document or not TOP_LEVEL_MEMBERS.isdisjoint(document):
        return True
    if js.object_in(document, "extensionPoints") is not None:
        return True
    if any(type(feature) is dict for feature in js.list_in(document, "features") or ()):
        return True
    for step in js.list_in(document, "steps") or ():
        if type(step) is dict and (_marks_members(step) or ("body" in step and _marks_body(step["body"]))):
            return True
    return False


def _marks_body(body: object) -> bool:
    match body:
        case list():
            return any(type(inner) is dict and _marks_members(inner) for inner in body)
        case _:
            return type(body) is dict


def _marks_members(step: dict[str, Any]) -> bool:
    identifier = step.get("id")
    if type(identifier) is str and "_" in identifier:
        return True
    names = step.keys()
    if names.isdisjoint(_SUSPECT):
        return False
    if (
        not names.isdisjoint(STEP_MEMBERS)
        or step.get("type") == "template_call"
        or js.object_in(step, "body") is not None
    ):
        return True
    criteria = step.get("validationCriteria")
    return criteria is not None and _has_criteria_work(criteria)


def normalize(document: Any, policy: Policy | str = Policy.NORMALIZE) -> Normalized:
    """Return the shipping form of a document, which is never changed itself.

    A document without design-form constructs is returned as the same object.
    """
    policy = Policy(policy)
    if not isinstance(document, dict) or not is_design_form(document):
        return Normalized(document)
    from workrail_lint.systems.workrail.compat.rewrite import rewrite

    return rewrite(document, policy)
