// Runs as stories: a recorded run played on the graph of its workflow; team sessions and block runs as timelines.

import { h, icon, link } from "./dom.js";
import { graphOf } from "./graph.js";
import { chapter, piecesOf, section } from "./panel.js";
import { addressOf, data, runAddress, runs, state, workflows } from "./store.js";
import { counted, json } from "./words.js";

const KINDS = new Map([["workflow", "Workflows"], ["team", "Team sessions"], ["blocks", "Block runs"]]);

export function runsPage() {
  const groups = [...KINDS].map(([kind, title]) => [title, data.runs.filter((/** @type {any} */ run) => run.kind === kind)]).filter(([, list]) => list.length);
  return h("main", { class: "page", id: "main" }, h("h1", {}, "Runs"),
    h("p", { class: "lead" }, "Recorded runs, from goldens: what was shown, what was answered, what was blocked."),
    groups.length ? groups.map(([title, list]) => chapter(title, h("table", { class: "workflows" }, h("thead", {}, h("tr", {}, ["Run", "Of", "Turns", "Blocked", "Ends"].map((name) => h("th", { scope: "col" }, name)))),
      h("tbody", {}, list.map((/** @type {any} */ run) => h("tr", {}, h("td", {}, link(runAddress(run.key), { class: "name" }, run.name), h("p", { class: "note" }, h("code", {}, run.path))),
        h("td", {}, run.workflow ?? run.mode ?? ""), h("td", { class: "number" }, String((run.turns ?? run.events ?? []).length)),
        h("td", { class: "number" }, String(run.blocked)), h("td", {}, statusTag(run.status))))))))
      : h("p", { class: "empty" }, "No runs here. Name the folder of your goldens: workrail-lint studio --goldens tests"));
}

/** @param {string | null} status */
function statusTag(status) {
  const good = status === "complete" || status === "completed" || status === "DONE";
  return h("span", { class: `tag ${good ? "c-ok" : "c-warning"}` }, icon(good ? "check" : "warning"), status ?? "not ended");
}

export function runPage() {
  const run = runs.get(state.run ?? "");
  if (run.kind === "team") return teamPage(run);
  if (run.kind === "blocks") return blocksPage(run);
  return storyPage(run);
}

/** The turns on the way from the start to a moment. @param {any} run @param {number} moment */
function wayTo(run, moment) {
  const way = [];
  for (let at = moment; at !== undefined && at !== null && at >= 0; at = run.turns[at]?.parent) way.unshift(at);
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
  const moment = Math.max(0, Math.min(state.moment, run.turns.length - 1));
  const turn = run.turns[moment];
  const visits = new Map();
  for (const at of wayTo(run, moment)) {
    const { step, round } = run.turns[at];
    if (step) visits.set(step, Math.max(round ?? 1, visits.get(step) ?? 0));
  }
  const href = (/** @type {string} */ step) => {
    const at = run.turns.findIndex((/** @type {any} */ item) => item.step === step);
    return at >= 0 ? runAddress(run.key, at) : addressOf(workflow, step);
  };
  const graph = workflow?.layout ? graphOf(workflow, { marks: new Map(), labels: new Map(), legend: [] }, { visits, current: turn.step, href }) : h("p", { class: "empty" }, "The workflow of this run is not in this project.");
  const stale = workflow && run.hash !== workflow.hash;
  return h("main", { class: "split", id: "main" },
    h("header", { class: "view-head" }, h("div", {}, h("h1", {}, run.name), h("p", { class: "note" }, workflow ? link(addressOf(workflow), {}, workflow.name) : run.workflow ?? "", ` · ${run.mode ?? ""} · profile ${run.profile ?? ""}`,
      stale ? " · recorded with another version of this workflow" : "")),
    h("div", {}, statusTag(run.status), run.blocked ? h("span", { class: "tag c-error" }, icon("error"), `${run.blocked} blocked`) : null)),
    h("div", { class: `left${stale ? " stale" : ""}` }, graph, player(run, moment)),
    h("aside", { class: "panel", "aria-label": "Moment" }, h("div", { class: "panel-body" },
      h("p", { class: "eyebrow" }, `moment ${moment + 1} of ${run.turns.length}`, turn.round > 1 ? [" · ", icon("loop"), ` round ${turn.round}`] : null, turn.branch ? ` · branch ${turn.branch + 1}` : null),
      h("h2", { tabindex: -1, id: "step-title" }, turn.title ?? (turn.kind === "complete" ? "The run is complete" : turn.kind === "error" ? "Refused" : turn.tool)),
      answerBox(turn),
      turn.blockers.map((/** @type {any} */ blocker) => h("div", { class: "finding f-error" }, h("strong", {}, icon("error"), ` Blocked: ${blocker.code}`), h("p", {}, blocker.message ?? ""), blocker.fix ? h("p", { class: "note" }, blocker.fix) : null)),
      turn.error ? h("div", { class: "finding f-error" }, h("strong", {}, icon("error"), " Refused"), h("pre", { class: "source" }, json(turn.error))) : null,
      turn.prompt ? section("What the agent reads now", piecesOf(turn.prompt)) : null,
      contextTable(run, moment))));
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

/** Moments as dots: the preferred path first, what was left behind below it. @param {any} run @param {number} moment */
function player(run, moment) {
  const way = new Set(wayTo(run, run.turns.length - 1));
  const [path, left] = [true, false].map((wanted) => run.turns.map((/** @type {any} */ _, /** @type {number} */ at) => at)
    .filter((/** @type {number} */ at) => (way.has(at) || run.turns[at].parent === undefined) === wanted));
  const step = (/** @type {number} */ by, /** @type {string} */ name, /** @type {string} */ picture) => link(runAddress(run.key, Math.max(0, Math.min(run.turns.length - 1, moment + by))), { class: "button small", "aria-label": name }, icon(picture));
  const row = (/** @type {number[]} */ moments, /** @type {string} */ name, /** @type {string} */ kind) => h("ol", { class: `moments ${kind}`, "aria-label": name }, moments.map((at) => {
    const turn = run.turns[at];
    return h("li", { class: turn.round > 1 ? "again" : null }, link(runAddress(run.key, at), { class: `moment k-${turn.kind}${at === moment ? " current" : at < moment ? " past" : ""}`,
      "aria-label": `moment ${at + 1}: ${turn.title ?? turn.kind}`, "aria-current": at === moment ? "true" : null, title: turn.title ?? turn.kind }));
  }));
  return h("footer", { class: "player" }, h("div", { class: "row" }, step(-1, "previous moment", "left"),
    h("button", { type: "button", class: "button small", "data-play": "1" }, icon(state.playing ? "pause" : "play"), state.playing ? "Pause" : "Play"), step(1, "next moment", "right"),
    h("span", { class: "note" }, `${moment + 1} / ${run.turns.length}`), h("span", { class: "note keys" }, "● passed  ■ blocked  ○ to come")),
  row(path, "preferred path", ""), left.length ? row(left, "left behind", "other") : null);
}

/** @param {any} run */
function teamPage(run) {
  return h("main", { class: "page", id: "main" }, h("p", { class: "eyebrow" }, link("~runs", {}, "Runs"), " › team session"), h("h1", {}, run.name),
    h("p", { class: "note" }, statusTag(run.status), ` mode ${run.mode ?? "full"}`),
    chapter("States", h("ol", { class: "timeline" }, run.states.map((/** @type {string} */ name) => h("li", {}, h("code", { class: "tag" }, name))))),
    Object.keys(run.tasks).length ? chapter("Tasks", h("dl", { class: "form" }, Object.entries(run.tasks).map(([task, status]) => [h("dt", {}, h("code", {}, task)), h("dd", {}, String(status))]))) : null,
    run.decisions.length ? chapter("Decisions", run.decisions.map((/** @type {any} */ decision) => h("pre", { class: "source" }, json(decision)))) : null,
    blockersOf(run), eventsOf(run));
}

/** @param {any} run */
function blocksPage(run) {
  return h("main", { class: "page", id: "main" }, h("p", { class: "eyebrow" }, link("~runs", {}, "Runs"), " › block run"), h("h1", {}, run.name), h("p", { class: "note" }, statusTag(run.status)),
    chapter("Plan", run.plan.map((/** @type {any} */ group) => h("div", { class: "lanes" }, (group.nodeIds ?? [group.nodeId]).map((/** @type {string} */ node) => {
      const done = run.nodes.find((/** @type {any} */ item) => item.node === node);
      return h("div", { class: "card list-card" }, h("span", { class: "title" }, node ?? ""), h("span", { class: "under" }, done?.status ?? "not run"));
    }), group.mergeStrategy ? h("p", { class: "note" }, `merged: ${group.mergeStrategy}`) : null))),
    run.merges.length ? chapter("Merges", run.merges.map((/** @type {any} */ merge) => h("div", {}, h("p", {}, h("code", { class: "tag" }, merge.group ?? ""), ` ${merge.strategy ?? ""}, finished in the order ${(merge.order ?? []).join(", ")}`),
      merge.conflicts.length ? h("div", { class: "finding f-warning" }, h("strong", {}, counted(merge.conflicts.length, "conflict")), h("pre", { class: "source" }, json(merge.conflicts))) : h("p", { class: "note" }, "no conflict")))) : null,
    blockersOf(run), eventsOf(run));
}

/** @param {any} run */
function blockersOf(run) {
  return run.blockers.length ? chapter("Blockers", run.blockers.map((/** @type {any} */ blocker) => h("div", { class: "finding f-error" }, h("strong", {}, blocker.code ?? "blocked"), h("p", {}, blocker.message ?? "")))) : null;
}

/** @param {any} run */
function eventsOf(run) {
  return chapter("What happened", h("ol", { class: "events" }, run.events.map((/** @type {any} */ event) => h("li", {}, h("code", { class: "tag" }, event.event ?? event.type ?? "event"), " ",
    Object.entries(event).filter(([name]) => !["event", "type", "n"].includes(name)).map(([name, value]) => h("span", { class: "note" }, `${name}: ${typeof value === "object" ? JSON.stringify(value) : value}  `))))));
}
