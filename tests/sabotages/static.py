"""Broken reading, checking and writing of files: each switch gives up a promise that the static side keeps as well."""

from __future__ import annotations

import os
import re

from pytest_workrail.locks.sabotage import breaks

SCHEMA_FINDINGS = "workrail_lint.systems.workrail.schema_findings:schema_findings"


def deaf_to(original, member):
    """Findings of the schema without those about a member."""
    return lambda *arguments, **others: [
        finding for finding in original(*arguments, **others) if not finding.pointer.endswith(f"/{member}")
    ]


@breaks("projection-cache-rebuildable", at="workrail_lint.project.cache:_finding")
def cached_findings_say_less(original):
    """What comes out of the cache knows where, but no longer what."""

    def finding(*arguments):
        found = original(*arguments)
        found.message = "as before"
        return found

    return finding


@breaks("paths-relative-only", at="workrail_lint.report.data:portable")
def reports_name_the_machine(original):
    """A report holds absolute paths."""
    return lambda path: original(os.path.abspath(path))


@breaks("schema-versioned", at="workrail_lint.systems.workrail.lockfile:Lockfile.text")
def lockfiles_have_no_version(original):
    """A lockfile does not say of which version it is."""
    return lambda self: re.sub(r'"lockfileVersion": \d+,\s*', "", original(self))


@breaks("schema-unknown-version-fail-fast", at="workrail_lint.project.baseline:parse_baseline")
def any_baseline_is_read(original):
    """A baseline of a later version is read like this one."""
    return lambda data: original(re.sub(rb'"baselineVersion": \d+', b'"baselineVersion": 1', data))


@breaks("error-self-correcting", at="workrail_lint.report.json:finding_object")
def findings_come_without_advice(original):
    """A finding says what is wrong and nothing else."""
    return lambda *arguments, **others: {**original(*arguments, **others), "help": None}


@breaks("error-budget-details", at="workrail_lint.systems.workrail.compiler.prompt_blocks:_budget_error")
def budgets_are_not_told(original):
    """That too much text is injected is said without a number."""
    return lambda node, what: original(node, "too much text is injected")


@breaks("budget-enforcement", at="workrail_lint.systems.workrail.compiler.prompt_blocks:_over_budget")
def any_amount_is_injected(original):
    """Nobody measures what is put into a prompt."""
    return lambda node, blocks: None


@breaks("autonomy-closed-set", at=SCHEMA_FINDINGS)
def any_autonomy_can_be_recommended(original):
    """A workflow may recommend an autonomy that does not exist."""
    return deaf_to(original, "recommendedAutonomy")


@breaks("risk-policy-closed-set", at=SCHEMA_FINDINGS)
def any_risk_policy_can_be_recommended(original):
    """A workflow may recommend a risk policy that does not exist."""
    return deaf_to(original, "recommendedRiskPolicy")


@breaks("step-instance-key-delimiter-safe", at=SCHEMA_FINDINGS)
def any_step_id_can_be_written(original):
    """An author may put delimiters into the id of a step."""
    return deaf_to(original, "id")
