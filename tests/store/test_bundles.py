"""Bundles: out, in, and refused whole when anything about them is wrong.

@enforces bundle-format-single-json
@enforces bundle-tokens-not-portable
@enforces bundle-integrity-jcs-sha256
@enforces bundle-import-as-new
@enforces bundle-import-validates-first
@enforces bundle-errors-closed-set
@enforces paths-relative-only
@enforces dedupe-key-stable
"""

from __future__ import annotations

import copy
import json
from typing import get_args

import pytest
from drawn_sessions import stories
from effort import times
from hypothesis import given, settings
from hypothesis import strategies as st
from sample_sessions import Story, long_story, tell_short

from pytest_workrail.engine.core.profiles import Recap
from pytest_workrail.engine.model.ids import ref_of
from pytest_workrail.engine.projections.dag import project_dag
from pytest_workrail.engine.projections.session_facts import project_gaps, project_outputs, recovery_text
from pytest_workrail.engine.store import layout
from pytest_workrail.engine.store.bundle import BundleErrorCode, Producer, check
from pytest_workrail.engine.store.filesystem import Holder, on_files
from pytest_workrail.engine.store.gate import Home
from pytest_workrail.engine.store.memory import FixedClock, SeededEntropy, TreeFiles, in_memory
from pytest_workrail.engine.store.ports import ContentError
from pytest_workrail.engine.store.transfer import export_session, import_bundle
from pytest_workrail.engine.tokens.issuer import ContinueGrant, NodeAddress
from workrail_lint.base.canonical import canonical_bytes, digest
from workrail_lint.base.result import Err, Ok

PRODUCER = Producer(app_version="1.2.3")


def exported(story: Story, **options) -> dict:
    return export_session(
        story.home.stores,
        story.session_id,
        producer=PRODUCER,
        clock=FixedClock(),
        entropy=SeededEntropy("bundle"),
        **options,
    ).value


def fresh_home(seed: str = "importer") -> Home:
    return in_memory(FixedClock(), SeededEntropy(seed))


def bring_in(bundle: dict, home: Home):
    return import_bundle(canonical_bytes(bundle), home.stores, home.gate, home.mint)


@pytest.fixture(scope="module")
def story() -> Story:
    return long_story()


@pytest.fixture(scope="module")
def the_bundle(story) -> dict:
    return exported(story)


@pytest.fixture
def bundle(the_bundle) -> dict:
    return copy.deepcopy(the_bundle)


def reseal(bundle: dict) -> dict:
    """Make the entries match whatever the session became."""
    session = bundle["session"]
    parts = {"session/events": session["events"], "session/manifest": session["manifest"]}
    for group in ("snapshots", "pinnedWorkflows"):
        parts |= {f"session/{group}/{name}": session[group][name] for name in sorted(session[group])}
    bundle["integrity"]["entries"] = [
        {"path": path, "sha256": digest(canonical_bytes(part)), "bytes": len(canonical_bytes(part))}
        for path, part in parts.items()
    ]
    return bundle


def test_a_bundle_is_one_document_with_a_digest_for_every_part(story, bundle):
    assert list(bundle) == ["bundleSchemaVersion", "bundleId", "exportedAt", "producer", "integrity", "session"]
    assert bundle["exportedAt"] == "2023-11-14T22:13:20.000Z"
    assert bundle["producer"] == {"appVersion": "1.2.3"}
    session = bundle["session"]
    assert list(session) == ["sessionId", "events", "manifest", "snapshots", "pinnedWorkflows"]
    assert len(session["events"]) == len(story.truth.events)
    paths = [entry["path"] for entry in bundle["integrity"]["entries"]]
    assert paths[:2] == ["session/events", "session/manifest"]
    assert paths[2:] == [
        *(f"session/snapshots/{ref}" for ref in sorted(session["snapshots"])),
        *(f"session/pinnedWorkflows/{name}" for name in sorted(session["pinnedWorkflows"])),
    ]
    sealed = copy.deepcopy(bundle)
    assert reseal(sealed) == bundle


def test_a_bundle_holds_no_tokens_and_no_keys(story):
    run = story.run
    grant = ContinueGrant(
        NodeAddress(story.session_id, story.run_id, story.root),
        story.home.mint.attempt(),
        ref_of(run.started.workflow_hash),
    )
    token = story.home.issuer.continue_token(grant).value
    text = json.dumps(exported(story))
    assert token not in text
    for word in ('"ct_', '"ck_', '"st_', '"st1', "keyBase64Url", "nonceHex", "continueToken"):
        assert word not in text


def test_import_makes_a_new_session_that_says_the_same(story, bundle):
    home = fresh_home()
    session_id = bring_in(bundle, home).value
    assert session_id != story.session_id
    truth = home.stores.sessions.load(session_id).value
    assert len(truth.events) == len(story.truth.events)
    for old, new in zip(story.truth.events, truth.events, strict=True):
        assert new.session_id == session_id
        assert story.session_id not in new.dedupe_key
        assert session_id in new.dedupe_key
        assert (new.event_id, new.data, new.scope) == (old.event_id, old.data, old.scope)
    kinds = [record.kind for record in truth.manifest]
    assert kinds == ["segment_closed"] + ["snapshot_pinned"] * (len(kinds) - 1)
    nodes = project_dag(truth.events).value[story.run_id].nodes
    assert all(home.stores.snapshots.get(node.snapshot_ref).value is not None for node in nodes.values())


def test_importing_twice_makes_two_sessions_and_touches_none(story, bundle):
    home = story.home
    before = story.truth
    first, second = bring_in(bundle, home).value, bring_in(bundle, home).value
    assert len({first, second, story.session_id}) == 3
    assert story.truth == before


def test_an_imported_session_can_be_exported_and_continued(bundle):
    home = fresh_home()
    session_id = bring_in(bundle, home).value
    again = Story(home)
    runs = project_dag(home.stores.sessions.load(session_id).value.events).value
    again.session_id, again.run_id = session_id, next(iter(runs))
    again.root = next(iter(again.run.nodes))
    again.steps = dict.fromkeys(again.run.nodes, 0)
    again.prefer(again.root, "guided", "after-import")
    assert check(canonical_bytes(exported(again))).is_ok


@given(stories())
@settings(deadline=None, max_examples=times(25, deep=160))
def test_projections_do_not_notice_export_and_import(story):
    home = fresh_home()
    session_id = bring_in(exported(story), home).value
    old, new = story.truth.events, home.stores.sessions.load(session_id).value.events
    assert project_dag(new) == project_dag(old)
    assert project_outputs(new) == project_outputs(old)
    assert project_gaps(new) == project_gaps(old)
    for node in story.run.nodes:
        for policy in get_args(Recap):
            texts = [recovery_text(events, story.run_id, node, policy=policy) for events in (old, new)]
            assert texts[0] == texts[1]


def drop(path):
    def edit(bundle):
        *parents, last = path
        place = bundle
        for name in parents:
            place = place[name]
        del place[last]

    return edit


def put(value, *path):
    def edit(bundle):
        *parents, last = path
        place = bundle
        for name in parents:
            place = place[name]
        place[last] = value

    return edit


def sealed(edit):
    def both(bundle):
        edit(bundle)
        reseal(bundle)

    return both


def first_key(group):
    return lambda bundle: next(iter(sorted(bundle["session"][group])))


def without_first(group):
    return sealed(lambda bundle: bundle["session"][group].pop(first_key(group)(bundle)))


def swap_snapshots(bundle):
    snapshots = bundle["session"]["snapshots"]
    one, other = sorted(snapshots)[:2]
    snapshots[one], snapshots[other] = snapshots[other], snapshots[one]


def duplicate_entry(bundle):
    bundle["integrity"]["entries"].append(bundle["integrity"]["entries"][0])


def extra_entry(bundle):
    bundle["integrity"]["entries"].append({**bundle["integrity"]["entries"][0], "path": "session/extra"})


def drop_event(index):
    return sealed(lambda bundle: bundle["session"]["events"].pop(index))


def same_key_twice(bundle):
    events = bundle["session"]["events"]
    events[4]["dedupeKey"] = events[3]["dedupeKey"]


def edge_to_nowhere(bundle):
    edge = next(event for event in bundle["session"]["events"] if event["kind"] == "edge_created")
    edge["data"]["toNodeId"] = "node_" + "a" * 26


def break_snapshot(bundle):
    """A snapshot of a shape nobody knows, under the address it really has, with everything sealed."""
    session = bundle["session"]
    odd = {"v": 1, "kind": "execution_snapshot", "enginePayload": {"v": 1, "engineState": {"kind": "odd"}}}
    ref = digest(canonical_bytes(odd))
    old = next(iter(session["snapshots"]))
    session["snapshots"][ref] = odd
    del session["snapshots"][old]
    text = json.dumps([session["events"], session["manifest"]]).replace(old, ref)
    session["events"], session["manifest"] = json.loads(text)


FORMAT, VERSION, INTEGRITY = "BUNDLE_INVALID_FORMAT", "BUNDLE_UNSUPPORTED_VERSION", "BUNDLE_INTEGRITY_FAILED"
REFUSED = {
    "later version": (put(2, "bundleSchemaVersion"), VERSION),
    "version as text": (put("1", "bundleSchemaVersion"), VERSION),
    "no version": (drop(["bundleSchemaVersion"]), FORMAT),
    "no moment of export": (put("yesterday", "exportedAt"), FORMAT),
    "empty id": (put("", "bundleId"), FORMAT),
    "no producer": (drop(["producer"]), FORMAT),
    "no entries": (put([], "integrity", "entries"), FORMAT),
    "unknown integrity": (put("md5", "integrity", "kind"), FORMAT),
    "path that leads outside": (put("session/../../etc/passwd", "integrity", "entries", 0, "path"), FORMAT),
    "absolute path": (put("/etc/passwd", "integrity", "entries", 0, "path"), FORMAT),
    "drive letter": (put("c:/x", "integrity", "entries", 0, "path"), FORMAT),
    "segment path that leads outside": (
        sealed(put("events/../../x", "session", "manifest", 0, "segmentRelPath")),
        FORMAT,
    ),
    "event of a later version": (sealed(put(2, "session", "events", 3, "v")), FORMAT),
    "event of an unknown kind": (sealed(put("odd", "session", "events", 3, "kind")), FORMAT),
    "manifest record of a later version": (sealed(put(2, "session", "manifest", 0, "v")), FORMAT),
    "event of another session": (sealed(put("sess_" + "a" * 26, "session", "events", 3, "sessionId")), FORMAT),
    "another session altogether": (put("sess_" + "a" * 26, "session", "sessionId"), FORMAT),
    "no events": (sealed(put([], "session", "events")), FORMAT),
    "a digest for a name": (sealed(put({"x": {}}, "session", "snapshots")), FORMAT),
    "the same key twice": (sealed(same_key_twice), FORMAT),
    "an edge to nowhere": (sealed(edge_to_nowhere), FORMAT),
    "altered event": (put("changed", "session", "events", 1, "data", "workflowId"), INTEGRITY),
    "altered manifest": (put(1, "session", "manifest", 0, "bytes"), INTEGRITY),
    "wrong digest": (put("sha256:" + "0" * 64, "integrity", "entries", 0, "sha256"), INTEGRITY),
    "wrong size": (put(1, "integrity", "entries", 0, "bytes"), INTEGRITY),
    "part without an entry": (drop(["integrity", "entries", 2]), INTEGRITY),
    "entry twice": (duplicate_entry, INTEGRITY),
    "entry without a part": (extra_entry, INTEGRITY),
    "content under another address": (sealed(swap_snapshots), INTEGRITY),
    "first event missing": (drop_event(0), "BUNDLE_EVENT_ORDER_INVALID"),
    "event gap": (drop_event(5), "BUNDLE_EVENT_ORDER_INVALID"),
    "manifest gap": (sealed(drop(["session", "manifest", 1])), "BUNDLE_MANIFEST_ORDER_INVALID"),
    "manifest does not start at zero": (sealed(drop(["session", "manifest", 0])), "BUNDLE_MANIFEST_ORDER_INVALID"),
    "snapshot missing": (without_first("snapshots"), "BUNDLE_MISSING_SNAPSHOT"),
    "workflow missing": (without_first("pinnedWorkflows"), "BUNDLE_MISSING_PINNED_WORKFLOW"),
    "snapshot of an unknown shape": (sealed(break_snapshot), "IMPORT_SNAPSHOT_PARSE_ERROR"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_bundle_with_anything_wrong_is_refused_and_nothing_is_written(name, bundle):
    edit, code = REFUSED[name]
    edit(bundle)
    files = TreeFiles()
    home = on_files(files, FixedClock(), SeededEntropy("importer"), Holder(1, "main", "one"))
    error = bring_in(bundle, home).error
    assert error.code == code
    assert error.message
    assert files.contents == {}


def test_what_is_missing_is_named(bundle):
    missing = first_key("snapshots")(bundle)
    without_first("snapshots")(bundle)
    assert check(canonical_bytes(bundle)).error.details == {"missingRef": missing}


def test_the_first_part_that_does_not_match_is_named(bundle):
    entries = bundle["integrity"]["entries"]
    named = sorted(entry["path"] for entry in entries)
    for left_out in (named[:2], named[1:]):
        kept = [entry for entry in entries if entry["path"] not in left_out]
        bundle["integrity"]["entries"] = kept
        assert check(canonical_bytes(bundle)).error.details == {"path": left_out[0]}
    twice = [entry for entry in entries if entry["path"] in named[1:]] * 2
    bundle["integrity"]["entries"] = [*twice, *(entry for entry in entries if entry["path"] == named[0])]
    assert check(canonical_bytes(bundle)).error.details == {"path": named[1]}


@pytest.mark.parametrize("raw", [b"", b"{", b"[]", b"null", b"{}", b"\xff", b"[" * 50_000])
def test_what_is_no_bundle_at_all(raw):
    assert check(raw).error.code == FORMAT


def test_the_closed_set_of_refusals():
    assert set(get_args(BundleErrorCode)) == {
        FORMAT,
        VERSION,
        INTEGRITY,
        "BUNDLE_EVENT_ORDER_INVALID",
        "BUNDLE_MANIFEST_ORDER_INVALID",
        "BUNDLE_MISSING_SNAPSHOT",
        "BUNDLE_MISSING_PINNED_WORKFLOW",
    }


@given(data=st.data())
@settings(deadline=None, max_examples=times(75, deep=600))
def test_no_single_byte_can_be_changed_without_being_noticed_or_harmless(data, the_raw_bundle):
    raw, whole = the_raw_bundle
    place = data.draw(st.integers(0, len(raw) - 1))
    byte = data.draw(st.integers(0, 255).filter(lambda value: value != raw[place]))
    match check(raw[:place] + bytes([byte]) + raw[place + 1 :]):
        case Ok(checked):
            # Only what does not belong to the session may differ: who made the bundle, and when.
            assert checked == whole
        case Err(error):
            assert error.code in get_args(BundleErrorCode)


@pytest.fixture(scope="module")
def the_raw_bundle(the_bundle):
    raw = canonical_bytes(the_bundle)
    return raw, check(raw).value


def test_export_failures_are_values(story):
    options = {"producer": PRODUCER, "clock": FixedClock(), "entropy": SeededEntropy("x")}
    home = fresh_home()
    nobody = export_session(home.stores, home.mint.session(), **options)
    assert nobody.error.code == "BUNDLE_BUILD_EMPTY_EVENTS"

    files = TreeFiles()
    on_disk = on_files(files, FixedClock(), SeededEntropy("x"), Holder(1, "main", "one"))
    told = tell_short(Story(on_disk))

    def failure(path, raw):
        kept = files.contents[path]
        if raw is None:
            del files.contents[path]
        else:
            files.contents[path] = raw
        outcome = export_session(on_disk.stores, told.session_id, **options)
        files.contents[path] = kept
        return outcome.error.code

    run = told.run
    snapshot = layout.snapshot(run.nodes[told.root].snapshot_ref)
    workflow = layout.pinned_workflow(run.started.workflow_hash)
    assert failure(snapshot, None) == "EXPORT_MISSING_SNAPSHOT"
    assert failure(snapshot, b"{") == "EXPORT_SNAPSHOT_STORE_ERROR"
    assert failure(workflow, None) == "EXPORT_MISSING_PINNED_WORKFLOW"
    assert failure(workflow, b"{") == "EXPORT_PINNED_WORKFLOW_STORE_ERROR"
    assert failure(layout.manifest(told.session_id), b"{") == "EXPORT_SESSION_STORE_ERROR"
    assert export_session(on_disk.stores, told.session_id, **options).is_ok


def test_what_can_be_salvaged_can_be_exported_and_imported():
    files = TreeFiles()
    home = on_files(files, FixedClock(), SeededEntropy("x"), Holder(1, "main", "one"))
    story = tell_short(Story(home))
    manifest = layout.manifest(story.session_id)
    whole = files.contents[manifest]
    # The last pin is gone: the session is damaged, its events are not.
    files.contents[manifest] = b"".join(whole.splitlines(keepends=True)[:-1])
    damaged = dict(files.contents)
    options = {"producer": PRODUCER, "clock": FixedClock(), "entropy": SeededEntropy("b")}
    assert not export_session(home.stores, story.session_id, **options).is_ok
    bundle = export_session(home.stores, story.session_id, salvage=True, **options).value
    assert files.contents == damaged
    importer = fresh_home()
    session_id = bring_in(bundle, importer).value
    assert len(importer.stores.sessions.load(session_id).value.events) == 19


def test_import_failures_of_a_store_are_values(bundle):
    home = fresh_home()

    class Full:
        def __init__(self, code):
            self.code = code

        def put(self, content):
            return Err(ContentError(self.code, "full"))

    stores = type(home.stores)
    no_snapshots = stores(home.stores.sessions, Full("SNAPSHOT_STORE_IO_ERROR"), home.stores.workflows)
    no_workflows = stores(home.stores.sessions, home.stores.snapshots, Full("PINNED_WORKFLOW_STORE_IO_ERROR"))
    raw = canonical_bytes(bundle)
    assert import_bundle(raw, no_snapshots, home.gate, home.mint).error.code == "IMPORT_SNAPSHOT_STORE_ERROR"
    assert import_bundle(raw, no_workflows, home.gate, home.mint).error.code == "IMPORT_PINNED_WORKFLOW_STORE_ERROR"
    used = home.mint.session()

    class Again:
        def session(self):
            return used

    assert import_bundle(raw, home.stores, home.gate, Again()).is_ok
    # An id that is taken is never written over; the same plan under it is simply there already.
    other = exported(tell_short(Story(seed="other")))
    taken = import_bundle(canonical_bytes(other), home.stores, home.gate, Again())
    assert taken.error.code == "IMPORT_SESSION_STORE_ERROR"
