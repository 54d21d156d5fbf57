"""One table of the agents of a team: their inputs, deliverables and write permissions."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from workrail_lint.base.patterns import Pattern
from workrail_lint.systems.team.documents import is_artifact_name
from workrail_lint.systems.team.vocabulary import AgentName, OutputStatus, machine_reason, session_parts

A = AgentName

LIST_KEYS = (
    "files_to_create_or_update",
    "files_changed",
    "tests_added_or_updated",
    "commands_to_run",
    "manual_steps",
    "notes",
)
UNIVERSAL_KEYS = (*LIST_KEYS, "review_comments", "findings")
# The artifact keys that name files an agent wrote.
WRITTEN_KEYS = ("files_to_create_or_update", "files_changed", "tests_added_or_updated")


class Reach(str, Enum):
    """Where an agent may write."""

    SESSION = "the session folder"
    REPOSITORY = "the repository"
    TESTS = "test files"
    DOCUMENTATION = "documentation and the session folder"
    NOTHING = "nothing"


class Role(NamedTuple):
    """One row of the contract's tables."""

    reach: Reach
    context: tuple[str, ...] = ()  # session artifacts always listed in its input
    context_if_there: tuple[str, ...] = ()  # the same for those that exist; a name ending in / is a folder
    required: tuple[str, ...] = ()  # artifact keys it must deliver when it reports OK
    keys: tuple[str, ...] = ()  # artifact keys specific to the role
    status: OutputStatus | None = None  # the status it may report besides OK, BLOCKED and FAIL
    usual_next: tuple[AgentName, ...] = ()


ROLES: dict[AgentName, Role] = {
    A.SPEC_AGENT: Role(
        Reach.SESSION, required=("files_to_create_or_update", "notes"), usual_next=(A.ARCHITECT, A.CODER)
    ),
    A.ARCHITECT: Role(
        Reach.SESSION,
        ("spec.md", "acceptance.json"),
        ("research/",),
        ("files_to_create_or_update", "notes"),
        usual_next=(A.PLANNER,),
    ),
    A.PLANNER: Role(
        Reach.SESSION,
        ("spec.md", "acceptance.json", "architecture.md"),
        ("design-specs/", "research/"),
        ("files_to_create_or_update", "notes"),
        usual_next=(A.CODER,),
    ),
    A.DESIGNER: Role(
        Reach.SESSION,
        ("spec.md", "acceptance.json", "architecture.md"),
        (),
        ("notes",),
        ("design_spec_inline", "design_spec_file"),
        usual_next=(A.CODER,),
    ),
    A.RESEARCHER: Role(
        Reach.SESSION,
        ("spec.md",),
        ("acceptance.json", "architecture.md"),
        ("files_to_create_or_update", "notes"),
        ("research_summary", "confidence", "options"),
        OutputStatus.NEEDS_INFO,
        (A.ARCHITECT, A.PLANNER, A.CODER, A.SPEC_AGENT, A.ORCHESTRATOR),
    ),
    A.CODER: Role(
        Reach.REPOSITORY,
        ("spec.md", "tasks.yaml"),
        ("architecture.md", "design-specs/"),
        ("files_changed", "commands_to_run", "notes"),
        ("patch_summary",),
        usual_next=(A.REVIEWER,),
    ),
    A.REVIEWER: Role(
        Reach.NOTHING,
        ("spec.md", "tasks.yaml"),
        ("architecture.md", "design-specs/"),
        ("review_comments",),
        ("checklist_summary",),
        usual_next=(A.QA, A.CODER, A.INTEGRATOR),
    ),
    A.QA: Role(
        Reach.TESTS,
        ("spec.md", "acceptance.json", "tasks.yaml"),
        ("design-specs/",),
        ("tests_added_or_updated", "commands_to_run", "notes"),
        ("test_results", "coverage_gaps"),
        usual_next=(A.INTEGRATOR, A.CODER),
    ),
    A.SECURITY: Role(
        Reach.NOTHING,
        ("tasks.yaml",),
        ("architecture.md",),
        ("findings", "notes"),
        (),
        OutputStatus.NEEDS_DECISION,
        (A.CODER, A.REVIEWER, A.INTEGRATOR, A.ORCHESTRATOR),
    ),
    A.INTEGRATOR: Role(
        Reach.REPOSITORY,
        ("acceptance.json", "tasks.yaml"),
        (),
        ("files_changed", "commands_to_run"),
        ("ci_notes",),
        usual_next=(A.DOCS, A.ORCHESTRATOR),
    ),
    A.DOCS: Role(
        Reach.DOCUMENTATION,
        ("spec.md", "acceptance.json", "tasks.yaml"),
        ("architecture.md",),
        ("files_changed", "notes"),
        usual_next=(A.INTEGRATOR, A.ORCHESTRATOR),
    ),
    A.ORCHESTRATOR: Role(Reach.SESSION),
}
ROLE_KEYS = tuple(dict.fromkeys(key for role in ROLES.values() for key in role.keys))
_LONGEST_PATH = 4096
# These two record what happens to the work itself, so every agent keeps them up to date.
_LEDGERS = ("tasks.yaml", "status.json")
_TEST_FILE = Pattern(
    r"(?:^|/)(?:tests?|__tests__|specs?|e2e|testing|testdata|fixtures)/|(?:^|/)(?:test_|conftest\.)[^/]*$"
    r"|(?:[._-](?:test|tests|spec)|[a-z0-9](?:Test|Tests|Spec))\.[^/]*$"
)
_DOCUMENTATION = Pattern(
    r"(?:^|/)docs?/|\.(?:md|mdx|rst|adoc|txt)$|(?:^|/)(?:README|CHANGELOG|LICENSE|CONTRIBUTING|NOTICE)[^/]*$"
)
_VERDICTS = ("NEEDS FIXES", "PASS WITH NOTES", "PASS")  # the gravest first
_VERDICT = Pattern(rf"(?<!\w)(?:{'|'.join(_VERDICTS)})(?!\w)")
_ANNOUNCED = Pattern(rf"\b(?i:verdict)\W+(?:is\W+)?({'|'.join(_VERDICTS)})(?!\w)")


def review_verdict(summary: object) -> str:
    """Return the verdict that a Reviewer's summary states; empty when it states none.

    Tests pass, too: what is called the verdict counts, and without the word the gravest phrase.
    """
    if type(summary) is not str:
        return ""
    announced = _ANNOUNCED.search(summary)
    verdicts = [announced[1]] if announced else _VERDICT.findall(summary)
    return min(verdicts, key=_VERDICTS.index, default="")


def may_write(agent: AgentName, path: str, session: str | None, *, is_exact: bool = False) -> bool:
    """Return whether an agent may write a path. If the session is unknown, every session folder counts as its own.

    In an output a bare `spec.md` means that of the session; as an exact path it is a file of the repository.
    """
    if machine_reason(path) is not None or len(path) > _LONGEST_PATH:
        return False
    inside = session_parts(path)
    if inside is not None and session is not None and inside[0] != session:
        return False  # older sessions are read-only for all agents
    is_own = inside is not None or (is_artifact_name(path) and not is_exact)
    if is_own and (inside[1] if inside else path.removeprefix("./")) in _LEDGERS:
        return True
    match ROLES[agent].reach:
        case Reach.SESSION:
            return is_own
        case Reach.REPOSITORY:
            return True
        case Reach.TESTS:
            return inside is None and _TEST_FILE.search(path) is not None
        case Reach.DOCUMENTATION:
            return is_own or _DOCUMENTATION.search(path) is not None
        case Reach.NOTHING:
            return False


def known_artifacts(agent: AgentName | None) -> tuple[str, ...]:
    """Return the artifacts that an output may have; those of any role if its agent is unknown."""
    return (*UNIVERSAL_KEYS, *(ROLE_KEYS if agent is None else ROLES[agent].keys))
