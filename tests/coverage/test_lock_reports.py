"""Thresholds, reports, the record of lock texts, and how workers are merged."""

from __future__ import annotations

import json

import pytest
from lock_project import LockProject, lock, project

__all__ = ["project"]

FIRST = """
@pytest.mark.enforces("first")
def test_first(request):
    assert request.node.name == "test_first"
"""
BOTH = (
    FIRST
    + """
@pytest.mark.enforces("second")
def test_second(request):
    assert request.node.name == "test_second"
"""
)


def test_citations_that_lead_nowhere_are_warnings(project: LockProject) -> None:
    project.registry(lock("first", source="design.md §1, §2"), lock("second", source="speed"), generatedWarning="w")
    project.tests(BOTH)
    result = project.run("--workrail-locks-check")
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        [
            "2 of 2 locks enforced*",
            "warning: locks.json: 'design.md §1, §2' does not exist (1 lock)",
            "warning: locks.json: 'speed' does not exist (1 lock)",
        ]
    )
    assert len(project.report["warnings"]) == 2


@pytest.mark.parametrize(
    ("options", "fails"),
    [
        ([], False),
        (["--workrail-locks-fail-under=50"], False),
        (["--workrail-locks-fail-under=50.1"], True),
        (["--workrail-locks-check"], True),
        (["--workrail-locks-proven-fail-under=0"], False),
        (["--workrail-locks-proven-fail-under=1"], True),
    ],
)
def test_thresholds(project: LockProject, options: list[str], fails: bool) -> None:
    project.tests(FIRST)
    result = project.run(*options)
    assert result.ret == (pytest.ExitCode.TESTS_FAILED if fails else pytest.ExitCode.OK)
    assert ("FAIL:" in result.stdout.str()) is fails


@pytest.mark.parametrize(
    "option",
    [
        "--workrail-locks-check",
        "--workrail-locks-fail-under=0",
        "--workrail-locks-proven-fail-under=60",
        "--workrail-lock-report=out",
        "--workrail-locks-verify",
        "--workrail-lock-record=record.json",
        "--workrail-locks-prove",
        "--workrail-locks-accept=all",
    ],
)
def test_nothing_can_be_asked_about_locks_without_a_registry(project: LockProject, option: str) -> None:
    project.tests(FIRST)
    result = project.pytester.runpytest(option)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    name = option.partition("=")[0]
    assert f"ERROR: {name} needs --workrail-locks=REGISTRY" in result.errlines
    assert project.pytester.runpytest(option, "--collect-only").ret == pytest.ExitCode.OK


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        '{"lockRecordVersion": 1}',
        '{"lockRecordVersion": 1, "locks": []}',
        '{"lockRecordVersion": 1, "locks": {"first": {"text": "x", "revision": "1", "proofs": []}}}',
        '{"lockRecordVersion": 1, "locks": {"first": {"text": "x", "revision": 1, "proofs": [{"test": 1}]}}}',
    ],
)
def test_a_damaged_record_says_what_to_do(project: LockProject, content: str) -> None:
    project.tests(FIRST)
    (project.pytester.path / "locks.record.json").write_text(content, encoding="utf-8")
    result = project.run()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(
        ["ERROR: locks.record.json can't be used as a lock record, because *. Restore it, or delete it and *"]
    )


def test_what_is_missing_is_listed_and_cut(project: LockProject) -> None:
    project.registry(*(lock(f"lock-{number:02}") for number in range(12)))
    project.tests('@pytest.mark.enforces("lock-11")\n@pytest.mark.skip\ndef test_it(request):\n    assert request\n')
    result = project.run("--workrail-locks-check")
    result.stdout.fnmatch_lines(
        [
            "FAIL: 0 of 12 locks are enforced; 100% are required.",
            "  lock-00: no test claims it (lock-00 holds.)",
            "  lock-09: no test claims it (lock-09 holds.)",
            "  and 2 more",
        ]
    )
    result.stdout.no_fnmatch_line("*lock-10: *")


def test_a_failing_run_keeps_its_exit_code(project: LockProject) -> None:
    project.tests("import nothing_of_that_name\n")
    assert project.run("--workrail-locks-check").ret == pytest.ExitCode.INTERRUPTED


def test_the_json_report(project: LockProject) -> None:
    project.registry(lock("first"), lock("second", category="storage"), lock("third"), lock("gone", obsolete=True))
    project.tests(BOTH)
    project.run()
    text = (project.pytester.path / "out" / "lock-coverage.json").read_text("utf-8")
    assert not text.endswith("\n")
    assert json.loads(text) == {
        "registryVersion": "1.0.0",
        "totalLocks": 3,
        "coveredLocks": 2,
        "uncoveredLocks": 1,
        "coveragePercent": 67,
        "suspectLocks": 0,
        "provenLocks": 0,
        "provenPercent": 0,
        "byCategory": {
            "protocol": {"total": 2, "covered": 1, "proven": 0, "uncovered": ["third"]},
            "storage": {"total": 1, "covered": 1, "proven": 0, "uncovered": []},
        },
        "covered": [
            {"lockId": "first", "tests": ["test_locks.py"], "proofs": []},
            {"lockId": "second", "tests": ["test_locks.py"], "proofs": []},
        ],
        "uncovered": [
            {
                "lockId": "third",
                "source": "design.md",
                "summary": "third holds.",
                "category": "protocol",
                "suspect": False,
                "claims": [],
            }
        ],
        "warnings": [],
    }


def test_the_readable_reports(project: LockProject) -> None:
    project.registry(lock("first"), lock("second", category="storage", summary="One | two."), lock("third"))
    project.tests(FIRST)
    project.run()
    report = (project.pytester.path / "out" / "lock-coverage.md").read_text("utf-8")
    assert "| enforced | 1 | 33 % |" in report
    assert "| storage | 1 | 0 | 0 | 0 % |" in report
    assert "| `second` | storage | One \\| two. | design.md |  |" in report
    assert "| `first` | `test_locks.py` |  |" in report
    plan = (project.pytester.path / "out" / "lock-closure-plan.md").read_text("utf-8")
    assert plan.index("## protocol") < plan.index("## storage"), "protocol is more urgent than storage"
    assert "| `third` | third holds. | `tests/locks/test_protocol_locks.py::test_third` |" in plan


def test_a_category_without_locks_is_shown_empty(project: LockProject) -> None:
    project.registry(lock("first"), lock("gone", category="storage", obsolete=True))
    project.tests(FIRST)
    project.run()
    assert list(project.report["byCategory"]) == ["protocol", "storage"]
    assert project.report["byCategory"]["storage"] == {"total": 0, "covered": 0, "proven": 0, "uncovered": []}
    report = (project.pytester.path / "out" / "lock-coverage.md").read_text("utf-8")
    assert "| storage | 0 | 0 | 0 | 0 % |" in report
    plan = (project.pytester.path / "out" / "lock-closure-plan.md").read_text("utf-8")
    assert "## storage" not in plan


def test_reports_do_not_depend_on_how_the_tests_were_run(project: LockProject) -> None:
    project.registry(*(lock(f"lock-{number}") for number in range(6)))
    for number in range(6):
        project.tests(
            f'@pytest.mark.enforces("lock-{number}")\n@pytest.mark.parametrize("n", range(3))\n'
            f"def test_it(n, request):\n    assert request.node and n < {number}\n",
            f"test_{number}",
        )
    results: set[tuple[str, ...]] = set()
    for run, options in ((project.run, []), (project.run_apart, ["-n", "2"]), (project.run, ["test_5.py", "."])):
        run(*options)
        folder = project.pytester.path / "out"
        results.add(tuple(file.read_text("utf-8") for file in sorted(folder.iterdir())))
    assert len(results) == 1
    assert project.enforced == ["lock-1", "lock-2", "lock-3", "lock-4", "lock-5"]


def test_with_workers_wrong_claims_and_missing_assertions_are_found_too(project: LockProject) -> None:
    project.tests(
        '@pytest.mark.enforces("first")\ndef test_it():\n    assert True\n'
        '@pytest.mark.enforces("wrong")\ndef test_other(request):\n    assert request.node\n'
    )
    result = project.run_apart("-n", "2")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert project.flaws == {"first": "asserted nothing"}
    assert project.report["warnings"] == ['Unknown lock ID "wrong" in test_locks.py:5']


def test_what_every_worker_runs_must_pass_everywhere(project: LockProject) -> None:
    project.tests(
        '@pytest.mark.enforces("first")\ndef test_it(worker_id):\n    assert worker_id == "gw0"\n' + BOTH.split("@")[2]
    )
    project.run_apart("--dist", "each", "--tx", "2*popen")
    assert project.enforced == []


def test_published_reports_are_verified(project: LockProject) -> None:
    project.tests(FIRST)
    assert project.run("--workrail-locks-verify").ret == pytest.ExitCode.TESTS_FAILED
    assert not (project.pytester.path / "out").exists()
    project.run()
    assert project.run("--workrail-locks-verify").ret == pytest.ExitCode.OK
    project.tests(BOTH)
    result = project.run("--workrail-locks-verify")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["FAIL: lock-coverage.json is out of date.*"])
    assert project.enforced == ["first"], "verifying writes nothing"


def test_where_tests_are_only_listed_published_reports_stay_true(project: LockProject) -> None:
    project.tests(BOTH)
    project.run()
    assert project.run("--collect-only", "--workrail-locks-check").ret == pytest.ExitCode.OK
    assert project.enforced == ["first", "second"]


def test_a_folder_that_can_not_be_written_is_reported(project: LockProject) -> None:
    project.tests(FIRST)
    (project.pytester.path / "out").write_text("a file", encoding="utf-8")
    result = project.run()
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["FAIL: lock-coverage.json can't be written: *"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--workrail-locks=nowhere.json"], "*lock registry nowhere.json can't be used*"),
        (["--workrail-locks-accept=nothing"], "*unknown lock: nothing*"),
        (["--workrail-sabotages=nowhere"], "*nowhere is not a file, folder or module*"),
        (["--workrail-lock-record=test_locks.py"], "*test_locks.py can't be used as a lock record*"),
        (["-n1", "--workrail-locks-prove"], "*can't be combined with -n*"),
    ],
)
def test_options_that_make_no_sense(project: LockProject, options: list[str], message: str) -> None:
    project.tests(FIRST)
    result = project.run(*options)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([message])


@pytest.mark.parametrize(
    ("locks", "message"),
    [
        ([lock("first"), lock("first")], "*is defined twice*"),
        ([lock("first", category="new")], "*is not in `categories`*"),
        ([lock("First")], "*pattern*"),
    ],
)
def test_a_broken_registry_is_refused(project: LockProject, locks: list[dict[str, object]], message: str) -> None:
    project.registry(*locks)
    result = project.run()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([message])


def test_a_source_that_leads_nowhere_is_an_error(project: LockProject) -> None:
    project.registry(lock("first", source="design.md#nothing"))
    project.tests(FIRST)
    assert project.run().ret == pytest.ExitCode.TESTS_FAILED
    assert project.report["warnings"] == [
        "locks.json/locks/0/source: 'design.md#nothing' does not exist. Name an existing section."
    ]


class TestChangedTexts:
    """A lock is suspect from the change of its text until somebody says that its tests still fit."""

    @pytest.fixture(autouse=True)
    def recorded(self, project: LockProject) -> None:
        project.tests(BOTH)
        assert project.run("--workrail-locks-prove").ret == pytest.ExitCode.OK
        assert project.enforced == ["first", "second"]
        project.registry(lock("first", summary="Something else holds."), lock("second"))

    def test_a_changed_text_makes_the_lock_suspect(self, project: LockProject) -> None:
        assert project.run("--workrail-locks-fail-under=50").ret == pytest.ExitCode.OK
        assert project.enforced == ["second"]
        assert project.flaws == {"first": "was written for an earlier text of the lock"}
        result = project.run("--workrail-locks-check")
        assert result.ret == pytest.ExitCode.TESTS_FAILED
        result.stdout.fnmatch_lines(["  first: suspect: *"])

    def test_proving_again_does_not_hide_it(self, project: LockProject) -> None:
        project.run("--workrail-locks-prove")
        project.run()
        assert project.report["suspectLocks"] == 1

    def test_it_can_be_accepted(self, project: LockProject) -> None:
        project.run("--workrail-locks-accept=first")
        assert project.enforced == ["first", "second"]
        project.run()
        assert project.enforced == ["first", "second"]

    def test_all_can_be_accepted(self, project: LockProject) -> None:
        project.run("--workrail-locks-accept=all")
        assert project.enforced == ["first", "second"]

    def test_only_a_test_that_enforces_it_can_accept_it(self, project: LockProject) -> None:
        project.run("--workrail-locks-accept=first", "-k", "second")
        project.run()
        assert project.report["suspectLocks"] == 1

    def test_a_failing_run_changes_no_record(self, project: LockProject) -> None:
        project.tests("def test_no(request):\n    assert not request\n", "test_more")
        result = project.run("--workrail-locks-accept=first")
        result.stdout.fnmatch_lines(["FAIL: The lock record was not written, because not all tests passed."])
        project.run()
        assert project.report["suspectLocks"] == 1

    def test_a_test_that_names_the_new_revision_was_written_for_it(self, project: LockProject) -> None:
        project.registry(lock("first", summary="Something else holds.", revision=2), lock("second"))
        project.run()
        assert project.report["suspectLocks"] == 1
        project.tests(BOTH.replace('"first"', '"first@2"'))
        assert project.run().ret == pytest.ExitCode.OK
        assert project.enforced == ["first", "second"]

    def test_a_test_that_names_the_old_revision_is_an_error(self, project: LockProject) -> None:
        project.registry(lock("first", summary="Something else holds.", revision=2), lock("second"))
        project.tests(BOTH.replace('"first"', '"first@1"'))
        assert project.run().ret == pytest.ExitCode.TESTS_FAILED
        assert project.enforced == ["second"]
