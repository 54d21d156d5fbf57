"""The settings of a project that concern team sessions, as one object."""

from __future__ import annotations

from collections.abc import Mapping

from workrail_lint.base.closed_sets import is_member
from workrail_lint.base.js import strings_of
from workrail_lint.systems.team.vocabulary import AgentName, Mode, Profile, ProjectType


class TeamOptions:
    """How team documents are judged. An invalid option counts as not set."""

    __slots__ = (
        "agent",
        "aliases",
        "history_baseline",
        "is_simulated",
        "mode",
        "not_from_security",
        "profile",
        "project_type",
    )

    def __init__(
        self,
        profile: Profile = Profile.STRICT,
        mode: Mode | None = None,
        agent: AgentName | None = None,
        aliases: dict[str, list[str]] | None = None,
        history_baseline: str | None = None,
        is_simulated: bool = False,
        not_from_security: frozenset[str] = frozenset(),
        project_type: ProjectType | None = None,
    ) -> None:
        self.profile = profile
        self.mode = mode  # None: inferred from the session
        self.agent = agent  # None: inferred from the name of an exchange
        self.aliases = aliases or {}  # other names of sections, by the name of the section in the contract
        self.is_simulated = is_simulated  # the files come from a simulated run, which knows who asked what
        self.not_from_security = not_from_security  # decisions that such a run knows to come from another agent
        self.project_type = project_type  # None: that of the input which an output replies to
        self.history_baseline = history_baseline  # an earlier version of a history: the file, or a folder that has it


def team_options(options: Mapping[str, object] | None) -> TeamOptions:
    """Read the options of a run, which have the names of a configuration file."""
    given = options or {}
    profile, mode, agent = given.get("team-profile"), given.get("team-mode"), given.get("team-agent")
    project = given.get("team-project-type")
    aliases, baseline = given.get("team-section-aliases"), given.get("team-history-baseline")
    return TeamOptions(
        Profile(profile) if is_member(profile, Profile) else Profile.STRICT,
        Mode(mode) if is_member(mode, Mode) else None,
        AgentName(agent) if is_member(agent, AgentName) else None,
        {str(name): strings_of(names) for name, names in aliases.items()} if isinstance(aliases, dict) else None,
        baseline if isinstance(baseline, str) else None,
        given.get("team-simulated") is True,
        frozenset(strings_of(given.get("team-not-from-security"))),
        ProjectType(project) if is_member(project, ProjectType) else None,
    )
