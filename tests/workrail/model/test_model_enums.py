from __future__ import annotations

from enum import Enum

import pytest

from tools.models.workrail import vocabulary as enums

CLOSED_SETS = {
    enums.StepType: "loop parallel template_call",
    enums.ModelTier: "lightweight mid heavy",
    enums.MetricsProfile: "coding review research design ticket none",
    enums.LoopType: "while until for forEach",
    enums.ConditionSourceKind: "artifact_contract context_variable",
    enums.GateKind: "coordinator_eval human_approval",
    enums.ValidationRuleType: "contains regex length schema",
    enums.ConsequenceEffect: "require_followup",
    enums.FunctionScope: "workflow loop step",
    enums.ParameterType: "string number boolean array object",
    enums.PromptPartKind: "text ref",
    enums.ReferenceBase: "workspace package",
    enums.AcceptedKind: "routine workflow",
    enums.Autonomy: "guided full_auto_stop_on_user_deps full_auto_never_stop",
    enums.RiskPolicy: "conservative balanced aggressive",
    enums.Capability: "delegation web_browsing",
    enums.CapabilityLevel: "required preferred disabled",
    enums.ConditionKind: "always_true always_false loop_control",
    enums.LoopDecision: "continue stop",
    enums.DivergenceReason: (
        "missing_user_context capability_unavailable efficiency_skip safety_stop policy_constraint"
    ),
}


@pytest.mark.parametrize(("closed_set", "members"), CLOSED_SETS.items())
def test_closed_sets(closed_set: type[Enum], members: str) -> None:
    assert [member.value for member in closed_set] == members.split()


def test_none_is_missing() -> None:
    defined = {value for value in vars(enums).values() if isinstance(value, type) and issubclass(value, Enum)}
    assert defined - {Enum} == CLOSED_SETS.keys()
