// What each layer says about steps, conditions and loops. The numbers are those of the reports, never counted anew.

import { h } from "./dom.js";
import { runsOf, state, stepOfPlace } from "./store.js";
import { counted, percent, size } from "./words.js";

/** @typedef {{text: string, tone: "ok" | "warn" | "err" | "info" | "muted", share?: number}} Mark */
/** @typedef {{marks: Map<string, Mark>, labels: Map<string, Mark>, legend: any[], dim?: boolean, stale?: boolean, ghosts?: {after: string | null, steps: string[]}[]}} Layer */

export const LAYERS = ["flow", "findings", "coverage", "cost", "sessions", "mutants", "changes"];
const NAMES = new Map([["flow", "Flow"], ["findings", "Findings"], ["coverage", "Coverage"], ["cost", "Cost"],
  ["sessions", "Sessions"], ["mutants", "Mutants"], ["changes", "Changes"]]);
const RANKS = new Map([["error", 0], ["warning", 1], ["info", 2]]);
/** @type {Map<string, "err" | "warn" | "info">} */
const TONES = new Map([["error", "err"], ["warning", "warn"], ["info", "info"]]);

// How a loop was left: without a round, after one, after several, at its bound.
const ROUNDS = new Map([["zero", "0"], ["one", "1"], ["many", "n"], ["limit", "max"]]);

/** @param {string} name */
export function layerName(name) {
  return NAMES.get(name) ?? name;
}

/** The layers that have something to show, with their number. @param {any} workflow @returns {[string, string][]} */
export function layersOf(workflow) {
  /** @type {[string, string][]} */
  const found = [["flow", ""], ["findings", String(workflow.findings.length)]];
  if (workflow.coverage) found.push(["coverage", `${percent(workflow.coverage.total.covered, workflow.coverage.total.points)}%`]);
  found.push(["cost", size(workflow.steps.reduce((/** @type {number} */ sum, /** @type {any} */ step) => sum + step.bytes, 0))]);
  if (workflow.sessions) found.push(["sessions", String(workflow.sessions.sessions ?? 0)]);
  if (workflow.mutation) found.push(["mutants", `${mutationScore(workflow.mutation)}%`]);
  if (workflow.changes) found.push(["changes", workflow.changes.isNew ? "new" : String(workflow.changes.list.length)]);
  return found;
}

/** The share of mutants that the tests notice. @param {any} mutation */
export function mutationScore(mutation) {
  return mutation.score ?? percent(mutation.killed, mutation.mutants - (mutation.inert ?? 0));
}

/** @param {any} workflow @param {string} name @returns {Layer} */
export function layerOf(workflow, name) {
  switch (name) {
    case "findings": return findingsLayer(workflow);
    case "coverage": return coverageLayer(workflow);
    case "cost": return costLayer(workflow);
    case "sessions": return sessionsLayer(workflow);
    case "mutants": return mutantsLayer(workflow);
    case "changes": return changesLayer(workflow);
    default: return { marks: new Map(), labels: new Map(), legend: [] };
  }
}

/** @param {any} workflow @returns {Layer} */
function findingsLayer(workflow) {
  /** @type {Map<string, any[]>} */
  const byStep = new Map();
  for (const finding of workflow.findings) {
    if (finding.step) byStep.set(finding.step, [...(byStep.get(finding.step) ?? []), finding]);
  }
  /** @type {Map<string, Mark>} */
  const marks = new Map();
  for (const [step, found] of byStep) {
    const worst = found.reduce((a, b) => ((RANKS.get(a.severity) ?? 3) <= (RANKS.get(b.severity) ?? 3) ? a : b));
    marks.set(step, { text: counted(found.length, "finding"), tone: TONES.get(worst.severity) ?? "info" });
  }
  const elsewhere = workflow.findings.filter((/** @type {any} */ finding) => !workflow.stepById.has(finding.step)).length;
  return { marks, labels: new Map(), dim: true, legend: [counted(workflow.findings.length, "finding"),
    elsewhere ? `${elsewhere} about no single step` : ""] };
}

/** The goals of a step: shown and all. @param {any} workflow @param {string} step */
export function goalsOf(workflow, step) {
  return (workflow.coverage?.points ?? []).filter((/** @type {any} */ point) => stepOfPlace(workflow, point.place) === step);
}

/** @param {any} workflow @returns {Layer} */
function coverageLayer(workflow) {
  /** @type {Map<string, Mark>} */
  const marks = new Map();
  /** @type {Map<string, Mark>} */
  const labels = new Map();
  for (const step of workflow.steps) {
    const goals = goalsOf(workflow, step.id);
    if (!goals.length) continue;
    const shown = goals.filter((/** @type {any} */ goal) => goal.tests.length).length;
    const tone = shown === goals.length ? "ok" : shown * 2 >= goals.length ? "warn" : "err";
    const rounds = goals.filter((/** @type {any} */ goal) => goal.kind === "loop");
    const text = rounds.length ? rounds.map((/** @type {any} */ goal) => `${goal.tests.length ? "✓" : "○"}${ROUNDS.get(goal.case) ?? goal.case}`).join(" ") : `${shown}/${goals.length}`;
    marks.set(step.id, { text, tone, share: shown / goals.length });
    const missing = goals.filter((/** @type {any} */ goal) => goal.kind === "condition" && !goal.tests.length);
    if (goals.some((/** @type {any} */ goal) => goal.kind === "condition")) {
      labels.set(step.id, missing.length ? { text: missing.length > 1 ? "untested" : `never ${missing[0].case}`, tone: "err" } : { text: "✓", tone: "ok" });
    }
  }
  const total = workflow.coverage.total;
  return { marks, labels, stale: workflow.coverage.stale, legend: [`${total.covered} of ${counted(total.points, "goal")} shown`,
    h("span", { class: "t-err" }, "never true, never false: no test shows it"), "loops: left after 0, 1, n rounds or at the maximum"] };
}

/** How often recorded runs submitted a step. @param {any} workflow @returns {Map<string, number>} */
export function callsOf(workflow) {
  const calls = new Map();
  for (const run of runsOf(workflow)) {
    for (const turn of run.turns) if (turn.answered) calls.set(turn.answered, (calls.get(turn.answered) ?? 0) + 1);
  }
  return calls;
}

/** @param {any} workflow @returns {Layer} */
function costLayer(workflow) {
  const most = Math.max(1, ...workflow.steps.map((/** @type {any} */ step) => step.bytes));
  const calls = callsOf(workflow);
  /** @type {Map<string, Mark>} */
  const marks = new Map();
  for (const step of workflow.steps) {
    const count = calls.get(step.id);
    if (step.bytes) marks.set(step.id, { text: size(step.bytes) + (count ? ` · ${counted(count, "call")}` : ""), tone: step.bytes * 2 > most ? "warn" : "muted", share: step.bytes / most });
  }
  return { marks, labels: new Map(), legend: [`bytes of the compiled prompt${calls.size ? `, calls in ${counted(runsOf(workflow).length, "recorded run")}` : ""}`, ...costWords(workflow.cost)] };
}

/** What a run costs, from the report. @param {any} cost @returns {string[]} */
export function costWords(cost) {
  const paths = cost?.cost;
  return ["shortest", "typical", "longest"].filter((name) => paths?.[name]?.calls !== undefined)
    .map((name) => `${name} run: ${counted(paths[name].calls, "call")}, ${size(paths[name].bytesRead ?? 0)}`);
}

/** @param {any} workflow @returns {Layer} */
function sessionsLayer(workflow) {
  /** @type {Map<string, Mark>} */
  const marks = new Map();
  for (const entry of workflow.sessions.steps ?? []) {
    const parts = [`${entry.passed ?? 0} passed`];
    if (entry.blocked) parts.push(`${entry.blocked} blocked`);
    if (entry.abandoned) parts.push(`${entry.abandoned} gave up`);
    const tone = entry.abandoned ? "err" : entry.blocked ? "warn" : "ok";
    const ident = String(entry.step).split("/").pop() ?? "";
    if (workflow.stepById.has(ident)) marks.set(ident, { text: parts.join(", "), tone });
  }
  const ends = Object.entries(workflow.sessions.statuses ?? {}).map(([status, count]) => `${count} ${status.replace(/_/gu, " ")}`);
  return { marks, labels: new Map(), stale: workflow.sessions.stale, legend: [counted(workflow.sessions.sessions ?? 0, "session"), ...ends] };
}

/** @param {any} workflow @param {string} step */
export function survivorsOf(workflow, step) {
  return (workflow.mutation?.survived ?? []).filter((/** @type {any} */ mutant) => stepOfPlace(workflow, mutant.place) === step);
}

/** @param {any} workflow @returns {Layer} */
function mutantsLayer(workflow) {
  /** @type {Map<string, Mark>} */
  const marks = new Map();
  for (const step of workflow.steps) {
    const count = survivorsOf(workflow, step.id).length;
    if (count) marks.set(step.id, { text: `${count} unnoticed`, tone: "err" });
  }
  const { mutants, killed } = workflow.mutation;
  return { marks, labels: new Map(), dim: true, stale: workflow.mutation.stale,
    legend: [`${killed} of ${counted(mutants, "mutant")} noticed`, counted(workflow.mutation.survived?.length ?? 0, "survivor")] };
}

/** @param {any} workflow @param {string} step */
export function changesOf(workflow, step) {
  return (workflow.changes?.list ?? []).filter((/** @type {any} */ change) => change.step && change.step.split("/").pop() === step);
}

/** @type {[string, string, "ok" | "warn" | "err" | "info"][]} */
const CHANGES = [["added", "+", "ok"], ["removed", "−", "err"], ["moved", "↕", "info"], ["renamed", "→", "info"], ["changed", "~", "warn"]];

/** @param {any} workflow @returns {Layer} */
function changesLayer(workflow) {
  const { list, isNew } = workflow.changes;
  /** @type {Map<string, Mark>} */
  const marks = new Map();
  for (const step of workflow.steps) {
    const kinds = new Set(changesOf(workflow, step.id).map((/** @type {any} */ change) => change.kind));
    const [kind, sign, tone] = CHANGES.find(([name]) => kinds.has(name)) ?? [];
    if (kind && tone) marks.set(step.id, { text: `${sign} ${kind}`, tone });
  }
  const legend = CHANGES.map(([kind, sign, tone]) => [new Set(list.filter((/** @type {any} */ change) => change.kind === kind).map((/** @type {any} */ change) => change.step)).size, kind, sign, tone])
    .filter(([count]) => count).map(([count, kind, sign, tone]) => h("span", { class: `t-${tone}` }, `${sign} ${count} ${kind}`));
  return { marks, labels: new Map(), dim: true, ghosts: ghostsOf(list), legend: [`since ${state.revision}`, ...(isNew ? ["a new workflow"] : legend.length ? legend : ["no change in behaviour"])] };
}

/** Steps that are gone, after the step that stayed where it was. @param {any[]} list @returns {{after: string | null, steps: string[]}[]} */
function ghostsOf(list) {
  const before = new Map(list.filter((change) => change.kind === "removed" || change.kind === "moved").map((change) => [change.kind === "moved" ? change.from : change.step, change.followed]));
  /** @type {Map<string | null, string[]>} */
  const found = new Map();
  for (const change of list) {
    if (change.kind !== "removed") continue;
    let after = change.followed ?? null;
    while (after !== null && before.has(after)) after = before.get(after) ?? null;
    const at = after === null ? null : after.split("/").pop();
    found.set(at, [...(found.get(at) ?? []), change.step.split("/").pop()]);
  }
  return [...found].map(([after, steps]) => ({ after, steps }));
}
