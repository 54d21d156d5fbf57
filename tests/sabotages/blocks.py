"""Broken runs of blocks: each switch gives up one promise of the block contract."""

from __future__ import annotations

from contextlib import contextmanager

from pytest_workrail.locks.sabotage import breaks

BLOCKS = "pytest_workrail.systems.blocks"
ENVIRONMENT = f"{BLOCKS}.attempts:environment"
MERGE = f"{BLOCKS}.lanes:merge"


@breaks("block-output-folder-first", at=f"{BLOCKS}.workspaces:Workspace.make_output_folder")
def the_folder_is_made_when_it_is_needed(original):
    """The output folder comes with the first output."""
    asked = set()

    def make_output_folder(self):
        if self.root in asked:
            original(self)
        asked.add(self.root)

    return make_output_folder


@breaks("block-output-required", at=f"{BLOCKS}.attempts:synthetic_output")
def a_missing_output_is_forgiven(original):
    """What is written in a block's place says that all went well."""
    return lambda *arguments, **others: {**original(*arguments, **others), "status": "completed"}


@breaks("block-output-malformed-fails", at=f"{BLOCKS}.workspaces:Workspace.reject_output")
def broken_outputs_are_thrown_away(original):
    """Nothing is kept of an output that can't be used."""
    return lambda self, node: self.remove_output(node)


@breaks("block-id-equals-node", at=f"{BLOCKS}.attempts:validate_output")
def any_id_will_do(original):
    """An output may name any block."""
    import json

    def validate_output(data, node, **others):
        try:
            return original(data, json.loads(data)["blockId"], **others)
        except (TypeError, ValueError, KeyError):
            return original(data, node, **others)

    return validate_output


@breaks("block-prompt-order", at="workrail_lint.systems.blocks.prompts:joined")
def sections_stand_the_other_way_round(original):
    """The last section of a prompt comes first."""
    return lambda parts: original(list(reversed(list(parts))))


@breaks("block-prompt-omission", at="workrail_lint.systems.blocks.prompts:sections")
def gaps_are_left_in_prompts(original):
    """A section without content leaves its blank lines behind."""
    from workrail_lint.systems.blocks.prompts import Part, Section

    def sections(*arguments, **others):
        there = {section.part: section for section in original(*arguments, **others)}
        return [there.get(part, Section(part, "")) for part in Part if part is not Part.REVISION]

    return sections


@breaks("block-prompt-no-previous", at=f"{BLOCKS}.attempts:Attempt.begin")
def prompts_quote_what_came_before(original):
    """A prompt ends with the summary of the block before."""

    def begin(self):
        earlier = [step.output for step in self.stage.shared.steps if step.output]
        if earlier:
            self.step.prompt += f"\n\n{earlier[-1]['summary']}"
        original(self)

    return begin


@breaks("block-env-nine", at=ENVIRONMENT)
def one_variable_is_missing(original):
    """Blocks are not told where their output belongs."""

    def environment(*arguments):
        made = original(*arguments)
        del made["OUTPUT_DIR"]
        return made

    return environment


@breaks("block-previous-chain", at="workrail_lint.systems.blocks.prompts:previous_block")
def the_first_block_is_everybodys_previous_one(original):
    """Every block is pointed at the first one that ran."""
    return lambda definition, plan, node, ran: next(iter(ran), "") if original(definition, plan, node, ran) else ""


@breaks("block-env-fresh-when-warm", at=ENVIRONMENT)
def variables_are_set_once(original):
    """What belongs to one block stays for the next ones."""
    first = {}

    def environment(*arguments):
        made = original(*arguments)
        stale = first.setdefault("env", made)
        return {**made, "NODE_ID": stale["NODE_ID"]}

    return environment


@breaks("block-stateless", at=f"{BLOCKS}.run_state:Pool.release")
def cold_containers_remember(original):
    """Containers are kept, whatever was asked for."""

    def release(self, container, dormancy_ms):
        self._warm = True
        original(self, container, dormancy_ms)

    return release


@breaks("block-lane-isolation", at=f"{BLOCKS}.lanes:_workspaces")
def lanes_share_a_workspace(original):
    """All lanes work in the workspace of the first one."""

    @contextmanager
    def workspaces(shared, how, numbers):
        with original(shared, how, numbers[:1]) as made:
            yield dict.fromkeys(numbers, made[numbers[0]])

    return workspaces


@breaks("block-lane-identity", at=ENVIRONMENT)
def lanes_have_one_number(original):
    """Every block has the number of the first one."""
    return lambda *arguments: {**original(*arguments), "STEP_INDEX": "0"}


@breaks("block-fan-in-waits", at=f"{BLOCKS}.lanes:_Race._finish")
def the_merge_begins_with_the_first_lane(original):
    """The merge begins as soon as one lane is done."""
    from workrail_lint.systems.blocks.vocabulary import EventType

    def settle(self, lane, verdict, **others):
        original(self, lane, verdict, **others)
        if len(self._settled) == 1:
            data = {"groupId": self._entry.group, "mergeStrategy": self._entry.strategy, "completionOrder": []}
            self._shared.log.emit(EventType.FAN_IN, **data)

    return settle


@breaks("block-concatenate-no-merge", at=MERGE)
def concatenating_merges_too(original):
    """The files of concatenated lanes are applied."""
    from workrail_lint.systems.blocks.vocabulary import MergeStrategy

    def merge(strategy, *arguments):
        is_concatenated = strategy is MergeStrategy.CONCATENATE
        return original(MergeStrategy.WORKSPACE if is_concatenated else strategy, *arguments)

    return merge


@breaks("block-first-complete-wins", at=MERGE)
def the_last_to_finish_wins(original):
    """Lanes are copied one after the other, so that the last one wins."""
    return lambda strategy, outputs, order, *others: original(strategy, outputs, list(reversed(order)), *others)


@breaks("block-non-clashing-kept", at=MERGE)
def losers_lose_everything(original):
    """A lane that loses one file loses all of them."""

    def merge(strategy, outputs, order, *others):
        made = original(strategy, outputs, order, *others)
        losers = {lane for record in made.conflicts for lane in record["lanes"][1:]}
        return made._replace(applied={path: lane for path, lane in made.applied.items() if lane not in losers})

    return merge


@breaks("block-fail-on-conflict-pauses", at=MERGE)
def nobody_is_asked_about_conflicts(original):
    """Conflicts are settled by time under every strategy."""
    from workrail_lint.systems.blocks.vocabulary import MergeStrategy

    def merge(strategy, outputs, order, *others):
        asks = strategy is MergeStrategy.FAIL_ON_CONFLICT
        return original(MergeStrategy.WORKSPACE if asks else strategy, outputs, order)

    return merge


@breaks("block-order-pure", at=f"{BLOCKS}.lanes:fan_in")
def the_order_leaves_a_trace(original):
    """A file that no lane wrote says who came in last."""

    def fan_in(shared, entry, how, outputs, order, workspaces):
        shared.main.put("last.txt", order[-1].encode())
        return original(shared, entry, how, outputs, order, workspaces)

    return fan_in


@breaks("block-gate-revise", at=f"{BLOCKS}.driver:MAX_REVISIONS")
def revisions_never_end(original):
    """A block can be revised a hundred times."""
    return 100


@breaks("block-failed-no-gate", at=f"{BLOCKS}.driver:_run_block")
def failures_are_asked_about(original):
    """A block that failed is offered to a person like any other."""
    from workrail_lint.systems.blocks.vocabulary import NodeStatus

    def run_block(*arguments):
        verdict, aborted = original(*arguments)
        return verdict._replace(status=NodeStatus.COMPLETED), aborted

    return run_block


@breaks("block-restrictions-reported", at="workrail_lint.systems.blocks.paths:is_allowed")
def everything_is_allowed(original):
    """Restrictions restrict nothing."""
    return lambda path, patterns: True
