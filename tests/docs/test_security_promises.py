"""The page about security promises what tests show: its table comes from their markers."""

from __future__ import annotations

import ast
from pathlib import Path

from tools.promises import PAGE, ROOT, page_with_table, promises, sentences, shown_by_tests

# How each sentence of the page begins, and the test that fails when it is no longer true (in `tests/security`).
SENTENCES = {
    "Programs are looked up": "child_processes::search_paths_lose_what_depends_on_the_current_folder",
    "Python starts with `-P`": "hostile_folder::processes_that_a_command_starts_run_nothing_of_the_folder",
    "A child gets a list": "child_processes::a_child_gets_the_variables_on_the_list_and_no_others",
    "The workers of `--jobs`": "child_processes::workers_of_a_pool_have_a_limit_of_memory",
    "The exceptions are what": "child_processes::only_two_modules_start_programs",
    "Git never reads the": "hostile_git::no_command_runs_what_a_repository_names",
    "Each call works on": "hostile_git::references_that_are_a_link_are_not_read",
    "Of the real repository": "git_door::every_revision_is_what_git_says",
    "So there are no hooks": "hostile_git::no_command_runs_what_a_repository_names",
    "The repository is found": "hostile_git::an_embedded_repository_is_not_the_projects",
    "Two kinds of names": "git_door::what_only_the_configuration_knows_is_explained",
    "`@{upstream}` and": "git_door::what_only_the_configuration_knows_is_explained",
    "To list the files": "hostile_git::the_limits_of_a_listing",
    "Where git is stopped": "hostile_git::dates_that_git_did_not_come_to_are_said_to_be_unknown",
    "Only regular files": "files_door::what_is_no_regular_file_is_refused_at_once",
    "A file link that": "files_door::nothing_outside_is_shown",
    "A configuration or a scenario": "files_door::no_word_of_a_file_that_a_repository_names_is_shown",
    "No output follows a link": "linked_folders::no_command_writes_through_a_linked_folder",
    "This holds for everything": "linked_folders::no_output_of_the_table_goes_through_a_linked_folder",
    "The project root is": "linked_folders::the_root_of_an_output",
    "Where the system allows": "linked_folders::a_folder_that_becomes_a_link_meanwhile_is_not_followed",
    "No golden is read": "tests/golden/test_golden_links.py::test_a_golden_that_is_a_link",
    "A record of another": "tests/plugin/test_combine.py::test_a_damaged_or_hostile_record_is_refused",
    "Every write replaces": "files_door::mode_and_owner_stay",
    "A killed run leaves": "kills::kills_while_goldens_are_written",
    "When a disk is full": "faults::a_disk_that_fails",
    "A temporary file stays": "faults::a_disk_that_fails",
    "Only the cache may": "faults::a_disk_that_fails",
    "A command that is interrupted": "interrupts::every_command_ends_when_it_is_interrupted",
    "It names the files": "faults::a_disk_that_fails",
    "What an interrupted search": "interrupts::a_search_over_processes_ends_without_their_tracebacks",
    "All hooks end": "hostile_names::every_hook_ends_its_options",
    "Every command takes": "hostile_names::no_command_takes_a_path_with_a_dash_before_the_separator",
    "In scripts, write": "hostile_names::a_hostile_name_hides_no_finding",
    "Results are in your own": "cache_trust::a_committed_cache_does_not_make_a_broken_workflow_pass",
    "A user without a home": "cache_trust::without_a_home_nothing_in_the_project_takes_its_place",
    "It has at most 1 MB": "numbers_and_keys::excesses_are_named_with_their_line",
    "More is an error": "numbers_and_keys::excesses_are_named_with_their_line",
    "A list or table": "numbers_and_keys::lists_of_patterns_have_an_end",
    "Numbers in JSON": "numbers_and_keys::numbers_of_documents_have_no_length",
    "A configuration can name": "plugins::an_entry_point_is_a_plugin",
    "Anything else is": "plugins::a_module_that_is_no_plugin_is_not_imported",
    "A plugin that raises": "plugins::a_plugin_that_fails_is_named_and_the_run_goes_on",
    "Recorded scenarios, `sessions": "tests/sessions/test_redacted_reports.py::test_lists_and_counts",
    "The terminal and": "tests/sessions/test_redacted_reports.py::test_a_terminal_shows_what_happened",
    "Every HTML page": "pages::a_page_has_a_policy_for_its_own_style_and_script_only",
    "Control characters, escape": "text_door::every_string_of_every_document_in_every_report",
    "A report of another shape": "text_door_tools::the_studio",
    "One exception by": "tests/cli/test_cli_compile.py::test_emit_hash_and_canonical_agree",
    "`canonical` and": "tests/cli/test_cli_compile.py::test_emit_hash_and_canonical_agree",
    "The playground runs": "tests/site/test_site.py::test_the_playground_says_what_the_terminal_says_and_sends_nothing",
    "Text of a workflow": "tests/site/test_site.py::test_the_playground_survives_hostile_text",
    "A workflow in a link": "tests/site/test_site.py::test_a_link_is_unpacked_up_to_a_limit",
    "The VS Code extension": "tests/server/test_editors.py::test_the_extension_starts_the_server",
    "A workspace can't name": "tests/server/test_editors.py::test_a_workspace_can_not_name_the_program_to_start",
    "The language server reads": "tests/server/test_server_doors.py::test_requests_about_files_that_are_not_open",
    "A request with parameters": "tests/server/test_server_doors.py::test_positions_that_are_none",
    "A message has": (
        "tests/server/test_server_doors.py::test_where_no_message_can_begin_the_server_ends_with_a_sentence"
    ),
    "Tokens are signed": "tests/tokens/test_tokens.py::test_a_payload_can_not_be_moved_to_another_signature",
    "The lock can't be": "session_lock::a_copy_of_the_process_neither_writes_nor_unlocks",
    "The lock file names": "session_lock::the_file_names_the_machine_the_boot_the_namespace_and_the_start",
    "NFS and similar": "session_lock::without_the_kernels_locks_no_lock_is_taken_over",
    "There the lock file": "session_lock::without_the_kernels_locks_no_lock_is_taken_over",
    "The patterns of": "tests/mcp/test_serve_limits.py::test_searches_share_the_time_there_is",
    "SIGTERM and SIGINT": "tests/mcp/test_serve_limits.py::test_a_signal_ends_the_server_at_any_time",
    "A configuration, a repository": "foreign_configuration::what_another_user_put_above_the_project_does_not_count",
    "Your project is": "foreign_configuration::what_is_in_the_project_counts_whoever_owns_it",
    "A configuration that is not used": "foreign_configuration::what_another_user_put_above_the_project_does_not_count",
    "Only you can read": "private_folders::what_is_recorded_exported_and_imported",
    "Folders that are made": "private_folders::a_new_data_folder",
    "A data folder or cache": "private_folders::a_data_folder_that_others_could_look_into",
    "A folder of your project": "private_folders::a_folder_of_the_project_that_is_recorded_into_stays_as_it_is",
    "A cache key that": "cache_trust::a_key_that_others_may_know_is_not_used",
}


def test_every_promise_of_the_page_has_a_test_and_every_marker_a_promise() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert len(promises(page)) > 12
    assert {each.promise for each in shown_by_tests()} == set(promises(page))


def test_the_table_is_what_the_markers_say() -> None:
    """Otherwise: `python -m tools.promises`."""
    page = PAGE.read_text(encoding="utf-8")
    assert page_with_table(page) == page


def test_every_sentence_of_the_page_has_a_test() -> None:
    """A sentence that promises something nobody tries is taken out, or gets its test."""
    found = sentences(PAGE.read_text(encoding="utf-8"))
    begun = {sentence: [start for start in SENTENCES if sentence.startswith(start)] for sentence in found}
    assert [sentence for sentence, starts in begun.items() if len(starts) != 1] == []
    assert SENTENCES.keys() - {start for starts in begun.values() for start in starts} == set()


def test_every_test_of_a_sentence_is_there() -> None:
    missing = []
    for name in sorted(set(SENTENCES.values())):
        file, _, test = name.partition("::")
        if not file.startswith("tests/"):
            file, test = f"tests/security/test_{file}.py", f"test_{test}"
        tree = ast.parse(Path(ROOT, file).read_text(encoding="utf-8"))
        if test not in {each.name for each in ast.walk(tree) if isinstance(each, ast.FunctionDef)}:
            missing.append(name)
    assert missing == []
