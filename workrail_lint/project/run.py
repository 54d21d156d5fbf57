"""A run over many files: check each, check them together, and select what is reported."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from workrail_lint.base.files import Unreadable, read_file
from workrail_lint.base.result import Err
from workrail_lint.findings import Finding, unreadable
from workrail_lint.project.baseline import Baseline
from workrail_lint.project.discovery import Discovery, Found
from workrail_lint.project.selection import Selection
from workrail_lint.systems.base import FileResult, RunSettings, System

if TYPE_CHECKING:
    from workrail_lint.project.cache import Cache
    from workrail_lint.project.suppression import Suppressions

# Below this many files a second process costs more than it saves.
_WORTH_A_PROCESS = 64


class Plan:
    """Everything a run needs to know before it starts."""

    def __init__(
        self,
        systems: list[System],
        settings: RunSettings,
        selection: Selection,
        *,
        suppressions: Suppressions | None = None,
        baseline: Baseline | None = None,
        cache: Cache | None = None,
        jobs: int = 1,
        complete: bool = False,
        plugin_problems: list[str] | None = None,
    ) -> None:
        self.systems = systems
        self.settings = settings
        self.selection = selection
        self.suppressions = suppressions
        self.baseline = baseline
        self.cache = cache  # None: nothing is remembered
        self.jobs = jobs
        self.plugin_problems = [] if plugin_problems is None else plugin_problems  # which the run may add to
        self.complete = complete  # a whole project is looked at, not some of its files


class Outcome:
    """The result of a run. `accepted` findings are in the baseline, `suppressed` ones are accepted with a reason."""

    __slots__ = ("accepted", "files", "findings", "suppressed")

    def __init__(
        self, findings: list[Finding], files: list[str], accepted: list[Finding], suppressed: list[tuple[Finding, str]]
    ) -> None:
        self.findings = findings
        self.files = files
        self.accepted = accepted
        self.suppressed = suppressed


class FileOutcome:
    """One file: the system it belongs to (None: none), its result, and the key of its content, if there is a cache."""

    __slots__ = ("content", "is_new", "path", "result", "system")

    def __init__(
        self, path: str, system: int | None, result: FileResult, content: str = "", is_new: bool = True
    ) -> None:
        self.path = path
        self.system = system
        self.result = result
        self.content = content
        self.is_new = is_new  # the cache did not have it


def run(discovery: Discovery, plan: Plan, step: Callable[[int], None] | None = None) -> Outcome:
    """Check the files and return the findings in their final order; `step` hears how many more are done."""
    return combine(_check_all(discovery.files, plan, step), discovery, plan).outcome


class CombinedOutcome:
    """The outcome of a run over many files, with the data needed to check one of the files again."""

    __slots__ = ("cross_findings", "outcome", "records")

    def __init__(self, outcome: Outcome, records: list[dict[str, object]], cross_findings: list[Finding]) -> None:
        self.outcome = outcome
        self.records = records  # of each system, by path
        self.cross_findings = cross_findings  # those of the cross-file rules


def combine(outcomes: list[FileOutcome], discovery: Discovery, plan: Plan) -> CombinedOutcome:
    """Return the outcome of a run, given those of its files."""
    ours = [outcome for outcome in outcomes if outcome.system is not None and outcome.result.ours]
    findings = [finding for outcome in ours for finding in outcome.result.findings]
    findings += [_unreadable(path, f"{path} {reason}", plan) for path, reason in discovery.problems]
    all_records: list[dict[str, object]] = []
    cross_findings: list[Finding] = []
    for number, system in enumerate(plan.systems):
        recorded = [outcome for outcome in ours if outcome.system == number and outcome.result.record is not None]
        records = {outcome.path: outcome.result.record for outcome in recorded}
        all_records.append(records)
        if len(recorded) == 1 and system.pure_alone and recorded[0].content:
            own = _cross_check_alone(recorded[0], system, plan)
        elif records:
            findings = system.reconsider(findings, records)
            own = system.cross_check(records, plan.settings, plan.complete)
        else:
            continue
        cross_findings += own
        findings += own
    if plan.cache is not None:
        plan.cache.save()
    outcome = reported_outcome(findings, [outcome.path for outcome in ours], plan)
    return CombinedOutcome(outcome, all_records, cross_findings)


def _cross_check_alone(file: FileOutcome, system: System, plan: Plan) -> list[Finding]:
    """Return the cross-file findings of the only file, if possible from the cache, without loading anything."""
    assert file.system is not None
    assert plan.cache is not None
    name = f"{file.path}\0{'whole' if plan.complete else 'part'}"
    content = plan.cache.content_key(repr([file.content, file.result.record]).encode("utf-8", "surrogatepass"))
    known = plan.cache.get(name, content, file.path)
    if known is not None:
        return known.result.findings
    findings = system.cross_check({file.path: file.result.record}, plan.settings, plan.complete)
    plan.cache.put(name, content, FileResult(findings), file.system)
    return findings


def reported_outcome(findings: list[Finding], files: list[str], plan: Plan) -> Outcome:
    """Return the findings to report, in order: selected, not suppressed, not in the baseline."""
    kept = [plan.selection.adjusted(finding) for finding in findings if plan.selection.applies(finding)]
    suppressed: list[tuple[Finding, str]] = []
    if plan.suppressions:
        reasons = [plan.suppressions.reason(f, str(f.details.get("place", f.pointer))) for f in kept]
        suppressed = [(f, reason) for f, reason in zip(kept, reasons, strict=True) if reason is not None]
        kept = [f for f, reason in zip(kept, reasons, strict=True) if reason is None]
        kept += plan.suppressions.findings(files if plan.complete else None, plan.selection)
    kept.sort(key=order)
    accepted: list[Finding] = []
    if plan.baseline is not None:
        kept, accepted = plan.baseline.split(kept)
    return Outcome(kept, files, accepted, suppressed)


class CheckedProject:
    """A checked project: its outcome, its plan, whether warnings fail it, and where the docs are served."""

    __slots__ = ("docs_url", "outcome", "plan", "strict")

    def __init__(self, outcome: Outcome, plan: Plan, strict: bool, docs_url: str = "") -> None:
        self.outcome = outcome
        self.plan = plan
        self.strict = strict
        self.docs_url = docs_url


def merged_outcome(outcomes: list[Outcome]) -> Outcome:
    """Return the outcomes of several projects, merged."""
    if len(outcomes) == 1:
        return outcomes[0]
    return Outcome(
        sorted((finding for each in outcomes for finding in each.findings), key=order),
        [file for each in outcomes for file in each.files],
        [finding for each in outcomes for finding in each.accepted],
        [entry for each in outcomes for entry in each.suppressed],
    )


def order(finding: Finding) -> tuple[str, int, int, str, str]:
    """Return the key for sorting by path, position, code."""
    start = (finding.span.start.line, finding.span.start.column) if finding.span else (0, 0)
    return finding.path, *start, finding.code, finding.message


def _unreadable(path: str, message: str, plan: Plan) -> Finding:
    finding = unreadable(Unreadable(path, message))
    rule = plan.selection.known.get("", finding.name)
    finding.code = finding.code if rule is None else rule.code
    return finding


def _check_all(files: list[Found], plan: Plan, step: Callable[[int], None] | None) -> list[FileOutcome]:
    jobs = min(plan.jobs, len(files) // _WORTH_A_PROCESS)
    fresh: list[Found] = []
    outcomes: list[FileOutcome] = []
    if jobs > 1:
        # Cached results are looked up here; only the rest is sent to another process.
        for file in files:
            known = _from_cache(file, plan)
            if known is None:
                fresh.append(file)
            else:
                outcomes.append(known)
        if step is not None:
            step(len(outcomes))
        if len(fresh) >= 2 * _WORTH_A_PROCESS:
            return outcomes + _in_processes(fresh, plan, jobs, step)
    else:
        fresh = files
    if step is None:
        return outcomes + [check_and_keep(file, plan) for file in fresh]
    for file in fresh:
        outcomes.append(check_and_keep(file, plan))
        step(1)
    return outcomes


def check_and_keep(file: Found, plan: Plan) -> FileOutcome:
    """Check one file, and put what it said into the cache."""
    outcome = check_file(file, plan)
    if plan.cache is not None and outcome.system is not None and outcome.content and outcome.is_new:
        plan.cache.put(outcome.path, outcome.content, outcome.result, outcome.system)
    return outcome


def _from_cache(file: Found, plan: Plan) -> FileOutcome | None:
    if plan.cache is None or file.path not in plan.cache.entries:
        return None
    read = read_file(file.path)
    if isinstance(read, Err):
        return None
    return _cached(file, read.value, plan)


def _cached(file: Found, data: bytes, plan: Plan) -> FileOutcome | None:
    if plan.cache is None or file.path not in plan.cache.entries:
        return None
    content = plan.cache.content_key(data)
    known = plan.cache.get(file.path, content)
    if known is None:
        return None
    return FileOutcome(file.path, known.system, known.result, content, is_new=False)


def check_file(file: Found, plan: Plan) -> FileOutcome:
    """Check one file, unless the cache has its result."""
    if not file.named and not any(system.may_claim(file.path) for system in plan.systems):
        return FileOutcome(file.path, None, FileResult([]))
    read = read_file(file.path)
    if isinstance(read, Err):
        return FileOutcome(file.path, 0, FileResult([_unreadable(file.path, read.error.message, plan)]))
    data = read.value
    known = _cached(file, data, plan)
    if known is not None:
        return known
    for number, system in enumerate(plan.systems):
        kind = system.claims(file.path, data, file.named)
        if kind is not None:
            content = "" if plan.cache is None else plan.cache.content_key(data)
            return FileOutcome(file.path, number, system.check(file.path, data, kind, plan.settings), content)
    return FileOutcome(file.path, None, FileResult([]))


_shared_plan: Plan | None = None


def _in_processes(files: list[Found], plan: Plan, jobs: int, step: Callable[[int], None] | None) -> list[FileOutcome]:
    """Check files in several processes. The plan is inherited, not sent: it holds the whole catalog."""
    from workrail_lint.base.pools import can_fork, forked_pool  # not for few files

    if not can_fork():
        return [check_and_keep(file, plan) for file in files]
    global _shared_plan
    _shared_plan = plan
    # What the first file needs is loaded here, once, and inherited.
    outcomes = [check_and_keep(files[0], plan)]
    # Small enough that no process waits long for the last of another.
    size = min(64, max(8, len(files) // (jobs * 32)))
    chunks = [files[at : at + size] for at in range(1, len(files), size)]
    gc.freeze()  # what is there already stays, and looking at it again would copy it for every process
    try:
        with forked_pool(jobs) as pool:
            for chunk in pool.imap(_check_chunk, chunks):
                outcomes += [sent if isinstance(sent, FileOutcome) else _received(sent, plan) for sent in chunk]
                if step is not None:
                    step(len(chunk))
        return outcomes
    finally:
        gc.unfreeze()
        _shared_plan = None


class _Sent:
    """An outcome as the line that the cache keeps of it: made once, and smaller than its objects."""

    __slots__ = ("line", "path")

    def __init__(self, path: str, line: bytes) -> None:
        self.path = path
        self.line = line


def _check_chunk(files: list[Found]) -> list[FileOutcome | _Sent]:
    from workrail_lint.project.cache import encoded  # only several processes exchange results

    assert _shared_plan is not None
    sent: list[FileOutcome | _Sent] = []
    for file in files:
        outcome = check_file(file, _shared_plan)
        line = None
        if outcome.system is not None and outcome.result.ours:
            line = encoded(outcome.content, outcome.result, outcome.system)
        sent.append(outcome if line is None else _Sent(outcome.path, line))
    return sent


def _received(sent: _Sent, plan: Plan) -> FileOutcome:
    from workrail_lint.project.cache import decoded

    known = decoded(sent.path, sent.line)
    if plan.cache is not None and known.content:
        plan.cache.keep(sent.path, sent.line)
    return FileOutcome(sent.path, known.system, known.result, known.content)


def default_jobs() -> int:
    return max(1, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)
