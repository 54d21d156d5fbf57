// Runs: the list, the ones to mend first, and a recorded run played on the graph of its workflow.

import { choices, filtered, h, icon, link } from "./dom.js";
import { graphOf } from "./graph.js";
import { action, isLive, mayWrite, placeLink, send, whatFollows } from "./live.js";
import { STATES, endOf, firstMoment, isRed, outcomeIcon, sentenceOf, stateOf } from "./outcomes.js";
import { codeLink, excerptOf, oneColumn, piecesOf, section } from "./panel.js";
import { addressOf, data, editAddress, edits, here, runAddress, runs, state, stepTitle, views, workflowById } from "./store.js";
import { asText, counted, isJson, json } from "./words.js";

/** @typedef {import("../../../tools/studio/page").Run} Run */
/** @typedef {import("../../../tools/studio/page").Turn} Turn */
/** @typedef {import("../../../tools/studio/page").Workflow} Workflow */

const OTHERS = [["team", "Team"], ["blocks", "Blocks"], ["session", "Sessions"]];
const SHORT = matchMedia("(max-width: 760px)");

/** @param {Run} run @param {string} only */
function belongs(run, only) {
  return only === "all" || stateOf(run) === only || run.kind === only || (only === "failed" && isRed(run));
}

/** The runs that the address asks for, the most urgent first. */
function runsInOrder() {
  const of = state.params.get("of");
  const list = data.runs.filter((run) => belongs(run, state.only) && (!of || run.workflow === of));
  return [...list].sort((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : a.name < b.name ? -1 : 1));
}

views.set("runs", runsPage);
views.set("run", runPage);

/** How a run is drawn that does not follow a flow graph, by its kind; with why it failed. @type {Map<string, (run: Run, failure: any) => HTMLElement>} */
export const charts = new Map();

function runsPage() {
  const { field, body } = filtered("runs", state.filters, "Filter by name, workflow or message", () => {
    const words = (state.filters.get("runs") ?? "").toLowerCase();
    const fits = runsInOrder().filter((run) => `${run.name} ${run.workflow ?? ""} ${sentenceOf(run)} ${run.path}`.toLowerCase().includes(words));
    const groups = STATES.map(([how, title, tone]) => ({ title, tone, list: fits.filter((run) => stateOf(run) === how) })).filter(({ list }) => list.length);
    return groups.length ? groups.map(({ title, tone, list }) => h("section.run-group", h("h2.group-head", { class: `t-${tone}` }, `${title} `, h("span.count", String(list.length))), h("ol.run-list", list.map(runRow)))) : h("p.empty", "No run fits.");
  });
  const counts = [...STATES.filter(([name]) => name !== "session" && name !== "error" && name !== "none"), ...OTHERS].map(([value, title]) => ({ value, title, count: data.runs.filter((run) => belongs(run, value)).length }));
  const of = state.params.get("of");
  return h("main.page", { id: "main" }, h("div.row.tools", h("h1", "Runs"),
    choices("Show", state.only, (only) => here({ only }, "~runs"), [{ value: "all", title: "All", count: data.runs.length }, ...counts.filter(({ count }) => count)]), field,
    of ? link(here({ of: null }, "~runs"), { class: "tag tag-link" }, `only ${of}`, icon("cross")) : null),
  body);
}

const MOST_DOTS = 24;

/** @param {Run} run */
function runRow(run) {
  const kind = run.kind === "team" ? `${run.mode ?? "full"} team` : run.kind === "blocks" ? "blocks" : "";
  const dots = (run.turns ?? []).slice(0, MOST_DOTS).map((turn, at) => h("i", { class: isRed(run) && at === run.outcome?.moment ? "bad" : run.differences.some((item) => item.moment === at) ? "differs" : turn.blockers.length || turn.kind === "error" ? "blocked" : "" }));
  return h("li", link(runAddress(run.key, firstMoment(run)), { class: `run-row s-${stateOf(run)}` }, h("span.sign", { class: `o-${stateOf(run)}` }, outcomeIcon(run)),
    h("span.run-name", h("strong", run.name), h("span.note", workflowById(run.workflow)?.name ?? kind, run.stale ? " · another version" : "")),
    h("span.run-said", sentenceOf(run)), h("span.run-dots", { "aria-hidden": "true" }, dots),
    h("span.run-number", run.turns?.length ? counted(run.turns.length, "turn") : run.events?.length ? counted(run.events.length, "event") : ""), h("span.run-number", run.outcome?.seconds ? `${run.outcome.seconds.toFixed(2)} s` : "")));
}

function runPage() {
  const run = runs.get(state.run ?? "");
  if (!run) return runsPage();
  const chart = charts.get(run.kind);
  return chart ? chart(run, failureBox(run, 0)) : run.turns.length ? storyPage(run) : bareRun(run);
}

/** A test that made no run. @param {Run} run */
function bareRun(run) {
  return h("main.page", { id: "main" }, h("p.eyebrow", link("~runs", "Runs"), " › ", h("code", run.path)), h("h1", h("span.sign", { class: `o-${stateOf(run)}` }, outcomeIcon(run)), ` ${run.name}`),
    failureBox(run, 0), h("p.empty", run.outcome?.state === "passed" ? "It passed; nothing was recorded. Its golden says what happened: show it with --goldens FOLDER." : "Nothing happened in this run."));
}

/** The moments on the way to one, itself the last. @param {Run} run @param {number} moment @returns {number[]} */
function wayTo(run, moment) {
  const way = [];
  for (let at = moment; at >= 0;) {
    way.unshift(at);
    const { parent, tool } = run.turns[at];
    at = parent ?? (tool === "start_workflow" ? -1 : at - 1);
  }
  return way;
}

/** The steps at some moments, from the start, which is null, and to the end if it was reached. @param {Turn[]} turns @param {number[]} moments @returns {(string | null)[]} */
function stepsOn(turns, moments) {
  const shown = moments.map((at) => turns[at]).filter(({ step, kind }) => step || kind === "complete");
  return [null, ...shown.map(({ step }) => step)];
}

/** The context at a moment: a null takes a variable away. @param {Run} run @param {number} moment */
function contextAt(run, moment) {
  /** @type {Map<string, any>} */
  const context = new Map();
  let fresh = new Set();
  for (const at of wayTo(run, moment)) {
    const set = Object.entries(run.turns[at].context ?? {});
    fresh = new Set(set.map(([name]) => name));
    for (const [name, value] of set) {
      if (value === null) context.delete(name);
      else context.set(name, value);
    }
  }
  return { context, fresh };
}

/** The signs of a run on the graph: where it failed, where it differs, where it diverged. @param {Run} run @param {Workflow | undefined} workflow */
function marksOf(run, workflow) {
  /** @type {Map<string, import("../../../tools/studio/page").Mark>} */
  const marks = new Map(run.turns.filter((turn) => turn.divergences && turn.answered).map((turn) => [String(turn.answered), { text: "diverged", tone: "warn" }]));
  for (const { step, change } of run.differences) if (step && workflow?.stepById.has(step)) marks.set(step, { text: change === "added" ? "+ golden" : change === "removed" ? "− golden" : "~ golden", tone: "warn" });
  const failed = isRed(run) ? run.turns[run.outcome?.moment ?? -1]?.step : null;
  if (failed) marks.set(failed, { text: "✗ failed here", tone: "err" });
  return { marks, failed };
}

/** @param {Turn} turn @param {Workflow | undefined} workflow */
function turnTitle(turn, workflow) {
  const ends = new Map([["complete", "The run is complete"], ["error", "The engine refused the call"], ["gate", "The run waits for a person"]]);
  return turn.title ?? workflow?.stepById.get(turn.step ?? "")?.title ?? ends.get(turn.kind) ?? turn.step ?? turn.tool;
}

/** @param {Run} run */
function storyPage(run) {
  const workflow = workflowById(run.workflow);
  const moment = Math.min(state.moment, run.turns.length - 1);
  const turn = run.turns[moment];
  /** @type {[Map<string, number>, Map<string, number>]} */
  const [visits, rounds] = [new Map(), new Map()];
  for (const at of wayTo(run, moment)) {
    const { step, round } = run.turns[at];
    if (!step) continue;
    visits.set(step, Math.max(round ?? 1, visits.get(step) ?? 0));
    const loop = workflow?.stepById.get(step)?.loop;
    if (loop) { rounds.set(loop, round ?? 1); visits.set(loop, 1); }
  }
  let way = stepsOn(run.turns, wayTo(run, moment));
  const { marks, failed } = marksOf(run, workflow);
  const isTrying = Boolean(isLive() && workflow && turn.step && state.panel === "whatif");
  const follows = isTrying && state.tried.size ? followed(run, moment) : null;
  if (follows) {
    marks.clear();
    for (const step of follows.come) marks.set(step, { text: "+ follows now", tone: "ok" });
    for (const step of follows.gone) marks.set(step, { text: "− no longer", tone: "err" });
    for (const step of follows.steps) visits.set(step, visits.get(step) ?? 1);
    if (!follows.error) way = follows.way;
  }
  const href = (/** @type {string} */ step) => {
    const at = run.turns.findIndex((item) => item.step === step);
    return at >= 0 || !workflow ? runAddress(run.key, Math.max(0, at)) : addressOf(workflow, step);
  };
  const bar = [h("span", [run.mode, run.profile ? `profile ${run.profile}` : null, run.goal].filter(Boolean).join(" · ")), h("span", endOf(run)), run.stale ? h("strong.t-warn", "recorded with another version of this workflow") : null];
  const graph = !workflow ? h("p.empty", "The workflow of this run is not in this project.") : SHORT.matches ? null : graphOf(workflow, { marks, labels: new Map(), legend: [] }, { visits, way, rounds, step: turn.step, href, failed }, bar);
  const loop = workflow?.stepById.get(workflow.stepById.get(turn.step ?? "")?.loop ?? "");
  const test = run.test ?? data.live?.scenarios?.find((/** @type {string} */ name) => name === run.path.replace("__goldens__/", "").replace(/\.golden\.json$/u, ".scenario.json"));
  const command = test ? `pytest ${test.includes(" ") ? JSON.stringify(test) : test}` : "";
  return h("main.split.run", { id: "main" },
    h("header.view-head", h("div", h("p.eyebrow", link("~runs", "Runs"), " › ", workflow ? link(addressOf(workflow), workflow.name) : run.workflow), h("h1", h("span.sign", { class: `o-${stateOf(run)}` }, outcomeIcon(run)), ` ${run.name}`)),
      h("div.head-acts", isRed(run) && moment !== run.outcome?.moment && run.outcome?.moment !== null ? link(runAddress(run.key, run.outcome?.moment), { class: "button small" }, "Go to the failure", h("kbd", "f")) : null,
        isLive() && workflow ? link(here({ panel: isTrying ? null : "whatif", what: null }), { class: `button small${isTrying ? " pressed" : ""}` }, icon("bolt"), "What if", h("kbd", "w")) : null,
        command && mayWrite() ? action("Run again", command, "run", { test }) : null)),
    h("div.left", { class: run.stale ? "stale" : "" }, graph, player(run, moment)),
    h("aside.panel", { "aria-label": "Moment" }, h("div.panel-body",
      failureBox(run, moment),
      isTrying && workflow ? whatIf(run, workflow, moment, follows) : null,
      h("p.eyebrow", `moment ${moment + 1} of ${run.turns.length}`, turn.round && loop ? [" · ", icon("loop"), ` round ${turn.round} of at most ${loop.rounds}`] : null, turn.branch ? ` · branch ${turn.branch + 1}` : null),
      h("h2", { tabindex: -1, id: "step-title" }, turnTitle(turn, workflow)),
      run.differences.filter((item) => item.moment === moment).map(goldenHere),
      (turn.divergences ?? []).map((item) => bad("warning", `Diverged: ${item.reason.replace(/_/gu, " ")}`, item.summary)),
      turn.blockers.map((blocker) => bad("error", ["Blocked: ", codeLink(blocker.code ?? "")], blocker.message, blocker.fix)),
      turn.error ? bad("error", `Refused: ${turn.error.code ?? ""}`, turn.error.message, h("details", h("summary.note", "the whole answer"), h("pre.source", json(turn.error)))) : null,
      answerBox(turn),
      turn.prompt ? section("What the agent reads now", piecesOf(turn.prompt)) : null,
      contextTable(run, moment),
      endDifferences(run, moment),
      run.gaps.length && moment === run.tip ? section("Follow-ups", run.gaps.map((gap) => bad("warning", [String(gap.reason ?? "").replace(/_/gu, " "), gap.step ? [" at ", h("code", gap.step)] : null], gap.summary))) : null)));
}

/** @param {string} sign @param {any} title @param {any} [text] @param {any} [more] */
export function bad(sign, title, text, more) {
  return h("div.notice", { class: sign === "error" ? "bad" : "" }, icon(sign), h("div", h("strong", title), text ? h("p", text) : null, more ? h("div.note", more) : null));
}

function redraw() {
  dispatchEvent(new Event("hashchange"));
}

/** What is asked when a reader tries other values. @param {Run} run @param {number} moment */
function trial(run, moment) {
  return { run: run.name, path: run.path, moment, context: Object.fromEntries([...state.tried].map(([name, value]) => [name, JSON.parse(value)])) };
}

/** The steps that follow with other values, and how they differ from those that did. @param {Run} run @param {number} moment */
function followed(run, moment) {
  const answer = whatFollows(trial(run, moment), redraw);
  if (!answer) return null;
  const after = (/** @type {Turn[]} */ turns) => new Set(turns.slice(moment + 1).flatMap((turn) => turn.step ?? []));
  const turns = answer.run?.turns ?? [];
  const [before, steps] = [after(run.turns), after(turns)];
  return { error: answer.error, steps: [...steps], instead: before.size, way: stepsOn(turns, turns.map((/** @type {Turn} */ _, /** @type {number} */ at) => at)), come: answer.error ? [] : [...steps].filter((step) => !before.has(step)), gone: answer.error ? [] : [...before].filter((step) => !steps.has(step)) };
}

/** Why a test failed: the assertion stays on top at all moments. @param {Run} run @param {number} moment */
function failureBox(run, moment) {
  const { outcome } = run;
  if (!outcome || outcome.state === "passed" || outcome.state === "changed" && run.differences.length) return null;
  if (!isRed(run)) return h("section.golden-here", h("p.golden-head", outcomeIcon(run), h("strong", outcome.message ?? outcome.state)));
  const workflow = workflowById(run.workflow);
  const edit = edits.find((item) => item.workflow === run.workflow && item.step && [outcome.expected, outcome.found].includes(item.step));
  const sides = [["expected", outcome.expected], ["found", outcome.found]].filter(([, value]) => value);
  return h("section.failure", h("p.failure-head", icon("cross"), h("strong", outcome.moment === null ? "Failed" : `Failed at moment ${outcome.moment + 1}`), outcome.moment !== null && outcome.moment !== moment ? link(runAddress(run.key, outcome.moment), "show") : null),
    h("p", outcome.message ?? ""),
    sides.length ? h("dl.versus", sides.map(([name, value]) => [h("dt", name), h("dd", stepTitle(workflow, value))])) : null,
    outcome.excerpt ? h("details.where-box", { open: true }, h("summary", `${outcome.file}:${outcome.line}`), excerptOf(outcome.excerpt, outcome.line)) : null,
    edit ? h("p", "Since the edit ", link(editAddress(edit), edit.title), ".") : null,
    outcome.file ? h("div.acts", placeLink(outcome.file, outcome.line ?? 1)) : null);
}

/** What a golden says in another way at this moment. @param {import("../../../tools/studio/page").Difference} item */
function goldenHere(item) {
  const words = item.change === "added" ? "Not in the golden: this is new" : item.change === "removed" ? `The golden has more here${item.step ? `: ${item.step}` : ""}` : "Differs from the golden";
  return h("section.golden-here", h("p.golden-head", icon("change"), h("strong", words), item.edit ? link(editAddress(item.edit), "review") : null), item.edit ? h("p.note", item.edit.title) : null,
    item.change === "changed" ? [item.field ? h("p.note", item.field) : null, oneColumn(asText(item.old), asText(item.new))] : null);
}

/** Differences of no moment, such as those at the end of the run. @param {Run} run @param {number} moment */
function endDifferences(run, moment) {
  const list = run.differences.filter((item) => item.moment === null);
  return list.length && moment === run.turns.length - 1 ? section("At the end of the run", list.map(goldenHere)) : null;
}

/** @param {Turn} turn */
function answerBox(turn) {
  const title = turn.answered ? ["The agent answered at ", h("code", turn.answered)] : turn.intent === "rehydrate" ? ["The agent looked again"] : [`The agent called ${turn.tool}`];
  return h("details.answer", { open: true }, h("summary", title), turn.notes ? h("p.answer-text", turn.notes) : turn.answered ? h("p.note", "without notes") : null,
    turn.artifacts ? h("pre.source", { tabindex: 0 }, json(turn.artifacts)) : null, turn.context ? h("p.note", "set ", Object.keys(turn.context).map((name, number) => [number ? ", " : null, h("code", name)])) : null);
}

/** A value; what was taken out of it when the page was built is said in grey. @param {unknown} value */
function valueText(value) {
  return typeof value === "string" && value.startsWith("[redacted") ? h("span.secret", { title: "taken out when the page was built" }, value) : h("code", json(value));
}

/** @param {Run} run @param {number} moment */
function contextTable(run, moment) {
  const { context, fresh } = contextAt(run, moment);
  if (!context.size) return null;
  return section("Context at this moment", h("table.vars", h("tbody", [...context].map(([name, value]) => h("tr", { class: fresh.has(name) ? "fresh" : null }, h("th", { scope: "row" }, h("code", name)), h("td", valueText(value), fresh.has(name) ? h("span.mark.t-info", " new") : null))))));
}

/** Values to try, for the variables that a step ahead reads; the engine says what follows. @param {Run} run @param {Workflow} workflow @param {number} moment @param {ReturnType<typeof followed>} follows */
function whatIf(run, workflow, moment, follows) {
  const { context } = contextAt(run, moment);
  const from = workflow.order.get(run.turns[moment].step ?? "") ?? 0;
  const ahead = (/** @type {import("../../../tools/studio/page").Variable} */ item) => item.read.filter((step) => (workflow.order.get(step) ?? 0) > from);
  const setTo = (/** @type {string} */ name, /** @type {string} */ value) => {
    const next = new Map(state.tried);
    if (JSON.stringify(context.get(name)) === value) next.delete(name);
    else next.set(name, value);
    return here({ what: [...next].map((pair) => pair.map((part) => part.replace(/[%,:]/gu, encodeURIComponent)).join(":")).join(",") });
  };
  const line = (/** @type {string} */ sign, /** @type {string} */ tone, /** @type {string} */ step) => h("p.way-line", h("b", { class: `t-${tone}` }, sign), " ", stepTitle(workflow, step), h("span.note", ` ${workflow.stepById.get(step)?.condition ?? ""}`));
  const tries = workflow.vars.filter((item) => ahead(item).length).map((item) => {
    const now = state.tried.get(item.name) ?? JSON.stringify(context.get(item.name));
    const values = item.values?.length ? choices(item.name, now ?? "", (value) => setTo(item.name, value), item.values.map((value) => ({ value: JSON.stringify(value), title: String(value), count: JSON.stringify(context.get(item.name)) === JSON.stringify(value) ? "run" : "" })))
      : h("input.filter", { value: now ?? "", "aria-label": item.name, onchange: (/** @type {any} */ event) => { location.hash = setTo(item.name, isJson(event.target.value) ? event.target.value : JSON.stringify(event.target.value)); } });
    return h("div.try", { class: state.tried.has(item.name) ? "changed" : "" }, h("code", item.name), values, h("span.note", `read by ${counted(ahead(item).length, "step")} ahead`));
  });
  return h("section.whatif", h("div.whatif-head", icon("bolt"), h("strong", "What if"), h("span.note", `from “${stepTitle(workflow, run.turns[moment].step)}” on`), state.tried.size ? link(here({ what: null }), { class: "button small" }, "Reset") : null),
    h("div.tries", tries.length ? tries : h("p.note", "No step ahead reads a variable.")),
    !state.tried.size ? h("p.note", "Choose another value; the graph shows the way that follows.") : !follows ? h("p.note", "The engine is asked …") : h("div.ways",
      h("p", follows.error ?? (follows.come.length || follows.gone.length ? `${counted(follows.steps.length, "step")} follow${follows.steps.length === 1 ? "s" : ""} instead of ${follows.instead}.` : "The way stays the same.")),
      follows.come.map((step) => line("+", "ok", step)), follows.gone.map((step) => line("−", "err", step)),
      mayWrite() && !follows.error ? h("div.acts", h("button.button.small.main-act", { type: "button", onclick: () => send("scenario", { kind: "whatif", ...trial(run, moment) }) }, "Keep as a scenario"), h("span.note", "the engine answered; nothing is written yet")) : null));
}

/** Moments as dots: the preferred path first, each branch that was left below it. @param {Run} run @param {number} moment */
function player(run, moment) {
  const way = new Set(wayTo(run, run.tip));
  const behind = new Set(wayTo(run, moment));
  const workflow = workflowById(run.workflow);
  const differs = new Set(run.differences.map((item) => item.moment));
  const failed = isRed(run) ? run.outcome?.moment : null;
  /** @type {Map<number, number[]>} */
  const rows = new Map([[-1, []]]);
  run.turns.forEach((turn, at) => {
    const row = way.has(at) || turn.parent === undefined ? -1 : turn.branch;
    rows.set(row, [...(rows.get(row) ?? []), at]);
  });
  const step = (/** @type {number} */ by, /** @type {string} */ name, /** @type {string} */ picture) => link(runAddress(run.key, Math.max(0, Math.min(run.turns.length - 1, moment + by))), { class: "button small", "aria-label": name }, icon(picture));
  const dot = (/** @type {number} */ at) => {
    const turn = run.turns[at];
    const title = turnTitle(turn, workflow);
    const [kind, sign, words] = at === failed ? [" bad", "✗", ", failed here"] : differs.has(at) ? [" differs", "~", ", differs from the golden"] : ["", "", ""];
    return h("li", { class: (turn.round ?? 1) > 1 ? "again" : null }, link(runAddress(run.key, at), { class: `moment k-${turn.kind}${at === moment ? " current" : behind.has(at) ? " past" : ""}${kind}`, "aria-label": `moment ${at + 1}: ${title}${words}`, "aria-current": at === moment ? "true" : null, title }, sign));
  };
  const row = (/** @type {number[]} */ moments, /** @type {string} */ name, /** @type {string} */ kind) => h("ol.moments", { class: kind, "aria-label": name }, moments.map(dot));
  const branches = [...rows].filter(([branch, moments]) => branch >= 0 && moments.length).map(([branch, moments]) => h("div.branch", h("span.note", `left at ${(run.turns[moments[0]].parent ?? 0) + 1}`), row(moments, `branch ${branch + 1}, left behind`, "other")));
  const key = (/** @type {string} */ kind, /** @type {string} */ text) => [h("i.moment", { class: kind }), text];
  return h("footer.player", h("div.row", step(-1, "previous moment", "left"), h("button.button.small", { type: "button", "data-play": "1" }, icon(state.playing ? "pause" : "play"), state.playing ? "Pause" : "Play"), step(1, "next moment", "right"), h("span.note", `${moment + 1} / ${run.turns.length}`),
    h("span.note.keys", key("past", "passed"), typeof failed === "number" ? key("bad", "failed here") : null, differs.size ? key("differs", "differs from the golden") : null, run.turns.some((turn) => turn.blockers.length) ? key("k-blocked past", "blocked") : null,
      run.turns.some((turn) => (turn.round ?? 1) > 1) ? [h("i.again"), "again in a loop"] : null)),
  row(rows.get(-1) ?? [], "preferred path", ""), branches);
}
