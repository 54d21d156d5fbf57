// Runs as stories: a recorded run played on the graph of its workflow; team sessions and block runs as timelines.

import { filtered, h, icon, link } from "./dom.js";
import { graphOf, listOf } from "./graph.js";
import { chapter, piecesOf, section } from "./panel.js";
import { addressOf, data, runAddress, runs, state, workflows } from "./store.js";
import { counted, json } from "./words.js";

/** @type {Map<string, [string, string]>} */
const KINDS = new Map([["test", ["Tests without a run", "they ended before the engine was called"]], ["workflow", ["Test runs", "what a scenario or a test played against the engine"]], ["session", ["Sessions", "what real agents did"]],
  ["team", ["Team sessions", "states, tasks, decisions and gates"]], ["blocks", ["Block runs", "lanes, merges and conflicts"]]]);

// How a test ended: its sign, its word, its tone; the most urgent first.
/** @type {Map<string, [string, string, string]>} */
const STATES = new Map([["error", ["✗", "error", "error"]], ["failed", ["✗", "failed", "error"]], ["changed", ["~", "golden changed", "warning"]],
  ["flaky", ["~", "flaky", "warning"]], ["passed", ["✓", "passed", "ok"]], ["skipped", ["−", "skipped", "muted"]]]);
const URGENCY = [...STATES.keys()];

/** @param {any} run */
export function isRed(run) {
  return run.outcome?.state === "failed" || run.outcome?.state === "error";
}

/** How the test of a run ended. @param {any} run */
export function outcomeTag(run) {
  const [sign, words, tone] = STATES.get(run.outcome?.state) ?? ["", "", ""];
  return words ? h("span", { class: `tag c-${tone}` }, `${sign} ${words}`) : null;
}

/** Failed tests before changed goldens before the rest. @param {any[]} list */
function byUrgency(list) {
  const rank = (/** @type {any} */ run) => (run.outcome ? URGENCY.indexOf(run.outcome.state) : URGENCY.length);
  return [...list].sort((a, b) => rank(a) - rank(b));
}

/** Why a test failed, with the lines of its file. @param {any} run */
function failureBox(run) {
  const { outcome } = run;
  if (!outcome || outcome.state === "passed") return null;
  const tone = isRed(run) ? "error" : outcome.state === "skipped" ? "info" : "warning";
  const place = outcome.file ? `${outcome.file}:${outcome.line}` : null;
  const lines = outcome.excerpt?.lines.map((/** @type {string} */ text, /** @type {number} */ at) => {
    const number = outcome.excerpt.first + at;
    return h("div", { class: number === outcome.line ? "hit" : null }, h("span", { class: "note" }, String(number).padStart(5), "  "), text);
  });
  return h("div", { class: `finding f-${tone} failure` }, h("strong", {}, outcomeTag(run), outcome.moment === null || outcome.moment === undefined ? null : link(runAddress(run.key, outcome.moment), {}, ` at moment ${outcome.moment + 1}`)),
    h("p", {}, outcome.message ?? ""),
    outcome.expected ? h("dl", { class: "form" }, h("dt", {}, "expected"), h("dd", {}, h("strong", {}, outcome.expected)), h("dt", {}, "found"), h("dd", {}, h("strong", {}, outcome.found ?? ""))) : null,
    lines ? h("pre", { class: "source" }, lines) : null, place ? h("p", { class: "note" }, h("code", {}, place)) : null);
}

export function runsPage() {
  const { field, body } = filtered("runs", state.filters, "Filter by name, workflow or end", () => {
    const words = (state.filters.get("runs") ?? "").toLowerCase();
    const fits = data.runs.filter((/** @type {any} */ run) => `${run.name} ${run.workflow ?? run.mode ?? ""} ${run.status ?? ""} ${run.outcome?.state ?? ""} ${run.path}`.toLowerCase().includes(words));
    const groups = [...KINDS].map(([kind, [title, about]]) => [title, about, fits.filter((/** @type {any} */ run) => run.kind === kind)]).filter(([, , list]) => list.length);
    return groups.length ? groups.map(([title, about, list]) => chapter(title, h("p", { class: "note about" }, about), runTable(byUrgency(list)))) : h("p", { class: "empty" }, "No run fits.");
  });
  return h("main", { class: "page", id: "main" }, h("h1", {}, "Runs"),
    h("p", { class: "lead" }, "What was shown, what was answered, what was blocked. Open one to play it step by step."),
    data.runs.length ? [h("div", { class: "row tools" }, field), body] : h("p", { class: "empty" }, "No runs here. Name the folder of your goldens: workrail-lint studio --goldens tests"));
}

/** @param {any[]} list */
function runTable(list) {
  const tested = list.some((run) => run.outcome);
  const heads = [...(tested ? [["Test", ""]] : []), ["Run", ""], ["Of", ""], ["Turns", "number"], ["Blocked", "number"], ["Ends", ""]];
  return h("table", { class: "workflows plain-table" }, h("thead", {}, h("tr", {}, heads.map(([name, kind]) => h("th", { scope: "col", class: kind }, name)))),
    h("tbody", {}, list.map((run) => h("tr", {}, tested ? h("td", { class: "nowrap" }, outcomeTag(run)) : null, h("td", {}, link(runAddress(run.key, isRed(run) ? run.outcome.moment ?? 0 : 0), { class: "name" }, run.name), h("p", { class: "note" }, h("code", {}, run.path)),
        run.outcome && run.outcome.state !== "passed" ? h("p", { class: "note" }, run.outcome.message ?? "") : null),
      h("td", {}, run.workflow ? workflowLink(run.workflow) : run.kind === "test" ? "" : run.mode ? `${run.mode} team` : "blocks", run.stale ? h("p", { class: "note" }, "another version") : null), h("td", { class: "number", "data-title": "turns" }, String((run.turns ?? run.events ?? []).length)),
      h("td", { class: "number", "data-title": "blocked" }, String(run.blocked)), h("td", {}, run.kind === "test" ? null : statusTag(run.status))))));
}

/** @param {string} ident */
function workflowLink(ident) {
  const workflow = workflows.get(ident);
  return workflow ? link(addressOf(workflow), {}, workflow.name) : ident;
}

/** @param {string | null} status */
function statusTag(status) {
  const words = String(status ?? "not ended").replace(/_/gu, " ");
  const tone = /^(complete|completed|done)$/iu.test(words) ? "ok" : /error|failed|aborted|damaged/iu.test(words) ? "error" : "warning";
  return h("span", { class: `tag c-${tone}` }, icon(tone === "ok" ? "check" : tone), words);
}

export function runPage() {
  const run = runs.get(state.run ?? "");
  if (run.kind === "team") return teamPage(run);
  if (run.kind === "blocks") return blocksPage(run);
  return storyPage(run);
}

/** The turns on the way from the start to a moment. @param {any} run @param {number} moment @returns {number[]} */
function wayTo(run, moment) {
  const way = [];
  for (let at = moment; at >= 0;) {
    way.unshift(at);
    const { parent, tool } = run.turns[at];
    // A call that continues no other, such as a refused one, leaves the run where it was.
    at = parent ?? (tool === "start_workflow" ? -1 : at - 1);
  }
  return way;
}

/** The context at a moment, with the names that are new there. @param {any} run @param {number} moment */
function contextAt(run, moment) {
  const context = new Map();
  let fresh = new Set();
  for (const at of wayTo(run, moment)) {
    fresh = new Set();
    for (const [name, value] of Object.entries(run.turns[at].context ?? {})) {
      if (value === null) context.delete(name);
      else context.set(name, value);
      fresh.add(name);
    }
  }
  return { context, fresh };
}

/** @param {any} run */
function storyPage(run) {
  const workflow = [...workflows.values()].find((item) => item.id === run.workflow);
  if (!run.turns.length) return h("main", { class: "page", id: "main" }, h("h1", {}, run.name), failureBox(run), h("p", { class: "empty" }, "Nothing happened in this run."));
  const moment = Math.max(0, Math.min(state.moment, run.turns.length - 1));
  const turn = run.turns[moment];
  const [visits, rounds] = [new Map(), new Map()];
  for (const at of wayTo(run, moment)) {
    const { step, round } = run.turns[at];
    if (!step) continue;
    visits.set(step, Math.max(round ?? 1, visits.get(step) ?? 0));
    const loop = workflow?.stepById.get(step)?.loop;
    if (loop) rounds.set(loop, round ?? 1);
  }
  const href = (/** @type {string} */ step) => {
    const at = run.turns.findIndex((/** @type {any} */ item) => item.step === step);
    return at >= 0 ? runAddress(run.key, at) : addressOf(workflow, step);
  };
  const diverged = run.turns.filter((/** @type {any} */ item) => item.divergences);
  const marks = new Map(diverged.map((/** @type {any} */ item) => [item.answered, { text: "diverged", tone: "warn" }]));
  const failed = run.turns[run.outcome?.moment ?? -1];
  if (failed?.step) marks.set(failed.step, isRed(run) ? { text: "✗ failed here", tone: "err" } : { text: "~ golden", tone: "warn" });
  const graph = workflow?.layout ? graphOf(workflow, { marks, labels: new Map(), legend: [] }, { visits, rounds, current: turn.step, href }) : h("p", { class: "empty" }, "The workflow of this run is not in this project.");
  const title = turn.title ?? workflow?.stepById.get(turn.step)?.title ?? (turn.kind === "complete" ? "The run is complete" : turn.kind === "error" ? "The engine refused the call" : turn.kind === "gate" ? "The run waits for a person" : turn.step ?? turn.tool);
  return h("main", { class: "split", id: "main" },
    h("header", { class: "view-head" }, h("div", {}, h("h1", {}, run.name), h("p", { class: "note" }, run.kind === "session" ? "session of " : null, workflow ? link(addressOf(workflow), {}, workflow.name) : run.workflow ?? "", [run.mode, run.profile ? `profile ${run.profile}` : null, run.goal].filter(Boolean).map((part) => ` · ${part}`),
      run.stale ? h("strong", { class: "t-warn" }, " · recorded with another version of this workflow") : "")),
    h("div", {}, outcomeTag(run), statusTag(run.status), run.blocked ? h("span", { class: "tag c-error" }, icon("error"), `${run.blocked} blocked`) : null, run.gaps.length ? h("span", { class: "tag c-warning" }, icon("warning"), counted(run.gaps.length, "follow-up")) : null,
      diverged.length ? h("span", { class: "tag c-warning" }, icon("warning"), counted(diverged.length, "divergence")) : null)),
    h("div", { class: `left${run.stale ? " stale" : ""}` }, graph, player(run, moment)),
    h("aside", { class: "panel", "aria-label": "Moment" }, h("div", { class: "panel-body" },
      failureBox(run),
      h("p", { class: "eyebrow" }, `moment ${moment + 1} of ${run.turns.length}`, turn.round && rounds.has(workflow?.stepById.get(turn.step)?.loop) ? [" · ", icon("loop"), ` round ${turn.round} of at most ${workflow.stepById.get(workflow.stepById.get(turn.step).loop)?.rounds}`] : null, turn.branch ? ` · branch ${turn.branch + 1}` : null),
      h("h2", { tabindex: -1, id: "step-title" }, title),
      answerBox(turn),
      (turn.divergences ?? []).map((/** @type {any} */ item) => h("div", { class: "finding f-warning" }, h("strong", {}, icon("warning"), ` Diverged: ${item.reason.replace(/_/gu, " ")}`), h("p", {}, item.summary))),
      turn.blockers.map((/** @type {any} */ blocker) => h("div", { class: "finding f-error" }, h("strong", {}, icon("error"), ` Blocked: ${blocker.code}`), h("p", {}, blocker.message ?? ""), blocker.fix ? h("p", { class: "note" }, blocker.fix) : null)),
      turn.error ? h("div", { class: "finding f-error" }, h("strong", {}, icon("error"), ` Refused: ${turn.error.code ?? ""}`), h("p", {}, turn.error.message ?? ""), h("details", {}, h("summary", { class: "note" }, "the whole answer"), h("pre", { class: "source" }, json(turn.error)))) : null,
      turn.prompt ? section("What the agent reads now", piecesOf(turn.prompt)) : null,
      contextTable(run, moment),
      run.gaps.length && moment === run.tip ? section("Follow-ups", run.gaps.map((/** @type {any} */ gap) => h("div", { class: "finding f-warning" }, h("strong", {}, String(gap.reason ?? "").replace(/_/gu, " ")), gap.step ? [" at ", h("code", {}, gap.step)] : null, h("p", {}, gap.summary ?? "")))) : null)));
}

/** @param {any} turn */
function answerBox(turn) {
  const title = turn.answered ? ["The agent answered at ", h("code", {}, turn.answered)] : turn.intent === "rehydrate" ? ["The agent looked again"] : [`The agent called ${turn.tool}`];
  return h("details", { class: "answer", open: true }, h("summary", {}, title),
    turn.notes ? h("div", { class: "text-box padded" }, turn.notes) : turn.answered ? h("p", { class: "note" }, "without notes") : null,
    turn.artifacts ? h("pre", { class: "source" }, json(turn.artifacts)) : null,
    turn.context ? h("pre", { class: "source" }, json(turn.context)) : null);
}

/** @param {any} run @param {number} moment */
function contextTable(run, moment) {
  const { context, fresh } = contextAt(run, moment);
  if (!context.size) return null;
  return section("Context at this moment", h("table", { class: "vars" }, h("tbody", {}, [...context].map(([name, value]) =>
    h("tr", { class: fresh.has(name) ? "fresh" : null }, h("th", { scope: "row" }, h("code", {}, name)), h("td", {}, h("code", {}, json(value)), fresh.has(name) ? h("span", { class: "mark t-info" }, " new") : null))))));
}

/** Moments as dots: the preferred path first, each branch that was left below it. @param {any} run @param {number} moment */
function player(run, moment) {
  const way = new Set(wayTo(run, run.tip));
  const here = new Set(wayTo(run, moment));
  /** @type {Map<number, number[]>} */
  const rows = new Map([[-1, []]]);
  run.turns.forEach((/** @type {any} */ turn, /** @type {number} */ at) => {
    const row = way.has(at) || turn.parent === undefined ? -1 : turn.branch;
    rows.set(row, [...(rows.get(row) ?? []), at]);
  });
  const step = (/** @type {number} */ by, /** @type {string} */ name, /** @type {string} */ picture) => link(runAddress(run.key, Math.max(0, Math.min(run.turns.length - 1, moment + by))), { class: "button small", "aria-label": name }, icon(picture));
  const row = (/** @type {number[]} */ moments, /** @type {string} */ name, /** @type {string} */ kind) => h("ol", { class: `moments ${kind}`, "aria-label": name }, moments.map((at) => {
    const turn = run.turns[at];
    const title = turn.title ?? turn.step ?? turn.kind;
    return h("li", { class: turn.round > 1 ? "again" : null }, link(runAddress(run.key, at), { class: `moment k-${turn.kind}${run.outcome?.moment === at ? (isRed(run) ? " failed" : " differs") : ""}${at === moment ? " current" : here.has(at) ? " past" : ""}`,
      "aria-label": `moment ${at + 1}: ${title}`, "aria-current": at === moment ? "true" : null, title }));
  }));
  const branches = [...rows].filter(([branch, moments]) => branch >= 0 && moments.length).map(([branch, moments]) => h("div", { class: "branch" }, h("span", { class: "note" }, `left at ${(run.turns[moments[0]].parent ?? 0) + 1}`), row(moments, `branch ${branch + 1}, left behind`, "other")));
  return h("footer", { class: "player" }, h("div", { class: "row" }, step(-1, "previous moment", "left"),
    h("button", { type: "button", class: "button small", "data-play": "1" }, icon(state.playing ? "pause" : "play"), state.playing ? "Pause" : "Play"), step(1, "next moment", "right"),
    h("span", { class: "note" }, `${moment + 1} / ${run.turns.length}`), h("span", { class: "note keys" }, h("i", { class: "moment past" }), "passed", h("i", { class: "moment k-blocked past" }), "blocked", h("i", { class: "moment" }), "to come", run.turns.some((/** @type {any} */ turn) => turn.round > 1) ? [h("i", { class: "again" }), "again in a loop"] : null)),
  row(rows.get(-1) ?? [], "preferred path", ""), branches);
}

/** Both other kinds of runs have a page of chapters. @param {any} run @param {string} kind @param {string} about @param {...any} chapters */
function chaptersPage(run, kind, about, ...chapters) {
  return h("main", { class: "page", id: "main" }, h("p", { class: "eyebrow" }, link("~runs", {}, "Runs"), ` › ${kind}`), h("h1", {}, run.name),
    h("p", { class: "note" }, statusTag(run.status), run.blocked ? h("span", { class: "tag c-error" }, icon("error"), `${run.blocked} blocked`) : null, ` ${about}`), failureBox(run), blockersOf(run), ...chapters);
}

/** @param {any} run */
function teamPage(run) {
  return chaptersPage(run, "team session", `${run.mode ?? "full"} team · ${counted(run.states.length, "state")} · ${counted(run.events.length, "event")}`,
    tasksOf(run),
    run.decisions.length ? chapter("Decisions", h("table", { class: "workflows plain-table" }, h("thead", {}, h("tr", {}, ["Asked in", "Question", "Answer"].map((title) => h("th", { scope: "col" }, title)))),
      h("tbody", {}, run.decisions.map((/** @type {any} */ item) => h("tr", {}, h("td", { class: "nowrap" }, h("code", {}, item.state_context ?? "")), h("td", {}, item.question ?? "", h("p", { class: "note" }, h("code", {}, item.decision_id ?? ""))),
        h("td", {}, item.answer === undefined || item.answer === null ? h("span", { class: "note" }, item.status ?? "open") : h("strong", {}, String(item.answer)))))))) : null,
    chapter("Timeline", h("ol", { class: "phases" }, phasesOf(run.events).map(([name, events]) => h("li", { class: `phase${/ASK|APPROVE|REVIEW_STRATEGY|GATE/u.test(name) ? " gate" : ""}` },
      h("p", { class: "phase-name" }, /ASK|APPROVE|REVIEW_STRATEGY|GATE/u.test(name) ? icon("gate", "a person decides") : null, h("code", {}, name)), eventsOf(events.filter((event) => !QUIET.has(event.event)))))),
      h("p", { class: "note" }, "Reads, writes and checks of the status file are left out.")));
}

/** What each task went through. @param {any} run */
function tasksOf(run) {
  const tasks = Object.entries(run.tasks);
  if (!tasks.length) return null;
  const went = (/** @type {string} */ task) => run.events.filter((/** @type {any} */ event) => event.event === "task_status" && event.task === task).map((/** @type {any} */ event) => event.status);
  return chapter("Tasks", h("dl", { class: "form" }, tasks.map(([task, status]) => [h("dt", {}, h("code", {}, task)), h("dd", {}, h("ol", { class: "timeline" }, [...new Set([...went(task), status])].map((each) =>
    h("li", {}, h("span", { class: `tag ${each === "completed" ? "c-ok" : ""}` }, String(each))))))])));
}

/** The events of each state in turn. @param {any[]} events @returns {[string, any[]][]} */
function phasesOf(events) {
  /** @type {[string, any[]][]} */
  const phases = [];
  for (const event of events) {
    if (event.event === "enter_state" || !phases.length) phases.push([String(event.state ?? ""), []]);
    if (event.event !== "enter_state") phases[phases.length - 1][1].push(event);
  }
  return phases;
}

// What a reader of a session skips.
const QUIET = new Set(["read_status", "write", "verify", "end"]);

/** @param {any} run */
function blocksPage(run) {
  const byNode = new Map(run.nodes.map((/** @type {any} */ item) => [item.node, item]));
  const block = (/** @type {string} */ node) => {
    const { status = "not run", prompt } = byNode.get(node) ?? {};
    return h("div", { class: `lane-card s-${status === "completed" ? "ok" : status === "failed" ? "err" : "muted"}` }, h("strong", {}, node), h("span", { class: "note" }, status), prompt ? h("p", { class: "note" }, prompt) : null);
  };
  return chaptersPage(run, "block run", `${counted(run.plan.length, "stage")} · ${counted(run.nodes.length, "block")} run`,
    chapter("Plan", h("ol", { class: "stages" }, run.plan.map((/** @type {any} */ stage) => h("li", {}, stage.nodeIds ? h("div", { class: "fan" }, h("p", { class: "note" }, h("code", {}, stage.group ?? ""), " side by side"),
      h("div", { class: "lanes" }, stage.nodeIds.map(block)), mergeOf(run, stage)) : block(stage.node ?? ""))))),
    chapter("What happened", eventsOf(run.events)));
}

/** How the lanes of a stage came together. @param {any} run @param {any} stage */
function mergeOf(run, stage) {
  const merge = run.merges.find((/** @type {any} */ item) => item.group === stage.group);
  if (!merge) return h("p", { class: "note" }, `to be merged: ${stage.mergeStrategy ?? ""}`);
  const conflicts = merge.conflicts.map((/** @type {any} */ item) => h("tr", {}, h("td", {}, h("code", {}, item.conflictingFile ?? "")), h("td", {}, (item.lanes ?? []).join(", ")), h("td", {}, [item.resolution, item.appliedFrom ? `taken from ${item.appliedFrom}` : null].filter(Boolean).join(", ") || "open")));
  return [h("p", { class: "note" }, `merged by ${merge.strategy ?? stage.mergeStrategy ?? ""}; finished in the order ${(merge.order ?? []).join(", ")}; `, conflicts.length ? h("strong", { class: "t-warn" }, counted(conflicts.length, "conflict")) : "no conflict"),
    conflicts.length ? h("table", { class: "vars" }, h("thead", {}, h("tr", {}, ["file", "lanes", "decided"].map((title) => h("th", { scope: "col" }, title)))), h("tbody", {}, conflicts)) : null];
}

/** @param {any} run */
function blockersOf(run) {
  return run.blockers.length ? chapter("Blockers", run.blockers.map((/** @type {any} */ blocker) => h("div", { class: "finding f-error" }, h("strong", {}, icon("error"), ` ${blocker.code ?? "blocked"}`), h("p", {}, blocker.message ?? ""), blocker.suggestedFix ? h("p", { class: "note" }, blocker.suggestedFix) : null))) : null;
}

/** @param {any[]} events */
function eventsOf(events) {
  return h("ul", { class: "events" }, events.map((event) => {
    const name = String(event.event ?? event.type ?? "event");
    const { ok, status } = { ...event, ...event.data };
    const tone = ok === false || /(failed|error|blocker|blocked|aborted|exhausted)\b/u.test(`${name} ${status ?? ""}`.replace(/_/gu, " ")) ? "err" : /\b(gate|ask|paused|conflict|retry|revision|correction)\b/u.test(name.replace(/_/gu, " ")) ? "warn" : "";
    const facts = Object.entries({ ...event, ...event.data }).filter(([key, value]) => !["event", "type", "n", "data", "state", "groupId"].includes(key) && value !== null && value !== undefined);
    return h("li", { class: tone ? `e-${tone}` : null }, h("strong", {}, name.replace(/[_:]/gu, " ")), facts.map(([key, value]) => [" ", h("span", { class: "note" }, key === "nodeId" || key === "agent" || key === "task" ? "" : `${key} `, h("code", {}, factText(value)))]));
  }));
}

/** A value of an event: a list of names reads better without brackets. @param {unknown} value */
function factText(value) {
  if (Array.isArray(value) && value.every((item) => typeof item !== "object")) return value.join(", ");
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}
