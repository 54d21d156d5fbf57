"""Every closed set a workflow can draw from."""

from __future__ import annotations

from enum import Enum


class StepType(str, Enum):
    """The type of a step, as its `type` member says. A step without one is a standard step."""

    LOOP = "loop"
    PARALLEL = "parallel"
    TEMPLATE_CALL = "template_call"


class ModelTier(str, Enum):
    """How capable a model the work needs."""

    LIGHTWEIGHT = "lightweight"
    MID = "mid"
    HEAVY = "heavy"


class MetricsProfile(str, Enum):
    """Which outcome metrics a run is expected to report."""

    CODING = "coding"
    REVIEW = "review"
    RESEARCH = "research"
    DESIGN = "design"
    TICKET = "ticket"
    NONE = "none"


class LoopType(str, Enum):
    """The way a loop decides whether to repeat."""

    WHILE = "while"
    UNTIL = "until"
    FOR = "for"
    FOR_EACH = "forEach"


class ConditionSourceKind(str, Enum):
    """Where a loop reads its decision: an artifact the agent submits, or the context."""

    ARTIFACT_CONTRACT = "artifact_contract"
    CONTEXT_VARIABLE = "context_variable"


class GateKind(str, Enum):
    """Who must approve before a step counts as confirmed. `true` means the first."""

    COORDINATOR_EVAL = "coordinator_eval"
    HUMAN_APPROVAL = "human_approval"


class ValidationRuleType(str, Enum):
    """How a validation rule checks an output."""

    CONTAINS = "contains"
    REGEX = "regex"
    LENGTH = "length"
    SCHEMA = "schema"


class ConsequenceEffect(str, Enum):
    """An effect that an assessment result can have."""

    REQUIRE_FOLLOWUP = "require_followup"


class FunctionScope(str, Enum):
    """Where a function is meant to be visible."""

    WORKFLOW = "workflow"
    LOOP = "loop"
    STEP = "step"


class ParameterType(str, Enum):
    """The JSON type an argument must have."""

    STRING = "string"
    NUMBER = "number"
    BOOLEAN = "boolean"
    ARRAY = "array"
    OBJECT = "object"


class PromptPartKind(str, Enum):
    """A piece of a prompt: literal text, or a reference the compiler replaces by text."""

    TEXT = "text"
    REF = "ref"


class ReferenceBase(str, Enum):
    """The base of a reference's source path."""

    WORKSPACE = "workspace"
    PACKAGE = "package"


class AcceptedKind(str, Enum):
    """The kind of value that can be bound to an extension point."""

    ROUTINE = "routine"
    WORKFLOW = "workflow"


class Autonomy(str, Enum):
    """How much a run does without asking the user, from least to most."""

    GUIDED = "guided"
    FULL_AUTO_STOP_ON_USER_DEPS = "full_auto_stop_on_user_deps"
    FULL_AUTO_NEVER_STOP = "full_auto_never_stop"


class RiskPolicy(str, Enum):
    """How much risk a run may take, from least to most."""

    CONSERVATIVE = "conservative"
    BALANCED = "balanced"
    AGGRESSIVE = "aggressive"


class Capability(str, Enum):
    """An ability of the agent's environment that a workflow can ask for."""

    DELEGATION = "delegation"
    WEB_BROWSING = "web_browsing"


class CapabilityLevel(str, Enum):
    """How much a workflow depends on a capability."""

    REQUIRED = "required"
    PREFERRED = "preferred"
    DISABLED = "disabled"


class ConditionKind(str, Enum):
    """The kind of decision of a named condition in the design form."""

    ALWAYS_TRUE = "always_true"
    ALWAYS_FALSE = "always_false"
    LOOP_CONTROL = "loop_control"


class LoopDecision(str, Enum):
    """The word of a loop-control artifact on which a named condition goes on."""

    CONTINUE = "continue"
    STOP = "stop"


class DivergenceReason(str, Enum):
    """Why an agent left the path it was given."""

    MISSING_USER_CONTEXT = "missing_user_context"
    CAPABILITY_UNAVAILABLE = "capability_unavailable"
    EFFICIENCY_SKIP = "efficiency_skip"
    SAFETY_STOP = "safety_stop"
    POLICY_CONSTRAINT = "policy_constraint"
