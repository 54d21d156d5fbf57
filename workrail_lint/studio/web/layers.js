// What each layer says about steps, conditions and loops. The numbers are those of the reports, never counted anew.

import { h } from "./dom.js";
import { data, lastPart, state, stepOfPlace } from "./store.js";
import { counted, percent, size } from "./words.js";

/** @typedef {import("../../../tools/studio/page").Workflow} Workflow */
/** @typedef {import("../../../tools/studio/page").Step} Step */
/** @typedef {import("../../../tools/studio/page").Mark} Mark */
/** @typedef {import("../../../tools/studio/page").Layer} Layer */
/** @typedef {import("../../../tools/studio/page").Tone} Tone */
/** @typedef {import("../../../tools/studio/page").Session} Session */

const NAMES = new Map([["flow", "Flow"], ["findings", "Findings"], ["coverage", "Coverage"], ["sessions", "Sessions"], ["mutants", "Mutants"], ["changes", "Changes"], ["cost", "Cost"]]);
export const RANKS = new Map([["error", 0], ["warning", 1], ["info", 2]]);
/** @type {Map<string, Tone>} */
export const TONES = new Map([["error", "err"], ["warning", "warn"], ["info", "info"]]);
// How a loop was left: without a round, after one, after several, at its bound.
const ROUNDS = new Map([["zero", "0"], ["one", "1"], ["many", "n"], ["limit", "max"]]);

/** @param {string} name */
export function layerName(name) {
  return NAMES.get(name) ?? name;
}

/** The layers that have something to show: name, number, tone of the number. @param {Workflow} workflow @returns {[string, string, Tone | ""][]} */
export function layersOf(workflow) {
  const worst = workflow.findings.reduce((rank, finding) => Math.min(rank, RANKS.get(finding.severity) ?? 3), 3);
  /** @type {[string, string, Tone | ""][]} */
  const found = [["flow", "", ""], ["findings", String(workflow.findings.length), /** @type {(Tone | "")[]} */ (["err", "warn", "", ""])[worst]]];
  // A page of one view knows nothing of findings.
  if (data.views) found.pop();
  if (workflow.broken || !workflow.layout) return found;
  if (workflow.coverage) {
    const never = neverRan(workflow).length;
    const { covered, points } = workflow.coverage.total;
    found.push(["coverage", never ? `${never} never ran` : `${percent(covered, points)}%`, never ? "err" : ""]);
  }
  if (workflow.sessions) found.push(["sessions", String(workflow.sessions.each ? sessionsOf(workflow, "this").length : workflow.sessions.sessions ?? 0), ""]);
  if (workflow.mutation) found.push(["mutants", workflow.mutation.stale ? "old" : String(workflow.mutation.survived.length), ""]);
  if (workflow.changes) found.push(["changes", workflow.changes.isNew ? "new" : String(workflow.changes.list.length), ""]);
  if (!data.views) found.push(["cost", size(workflow.steps.reduce((sum, step) => sum + step.bytes, 0)), ""]);
  return found;
}

/** @param {Workflow} workflow @param {string} name @returns {Layer} */
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

/** @param {Workflow} workflow @returns {Layer} */
function findingsLayer(workflow) {
  /** @type {Map<string, import("../../../tools/studio/page").Finding[]>} */
  const byStep = new Map();
  for (const finding of workflow.findings) if (finding.step) byStep.set(finding.step, [...(byStep.get(finding.step) ?? []), finding]);
  /** @type {Map<string, Mark>} */
  const marks = new Map();
  for (const [step, found] of byStep) {
    const worst = found.reduce((a, b) => ((RANKS.get(a.severity) ?? 3) <= (RANKS.get(b.severity) ?? 3) ? a : b));
    marks.set(step, { text: found.length > 1 ? String(found.length) : worst.code, tone: TONES.get(worst.severity) ?? "info", icon: worst.severity });
  }
  return { marks, labels: new Map(), quiet: true, legend: marks.size ? ["at a step: its code, or how many; coloured by the worst"] : [] };
}

/** The goals of each step, found once. @type {WeakMap<Workflow, Map<string | null, import("../../../tools/studio/page").Goal[]>>} */
const goals = new WeakMap();

/** The goals of a step, shown and not. @param {Workflow} workflow @param {string} step */
export function goalsOf(workflow, step) {
  let bySteps = goals.get(workflow);
  if (!bySteps) {
    bySteps = new Map();
    for (const goal of workflow.coverage?.points ?? []) {
      const place = stepOfPlace(workflow, goal.place);
      bySteps.set(place, [...(bySteps.get(place) ?? []), goal]);
    }
    goals.set(workflow, bySteps);
  }
  return bySteps.get(step) ?? [];
}

/** @param {import("../../../tools/studio/page").Goal} goal */
export function isShown(goal) {
  return goal.tests.length > 0;
}

/** A refusal, or a value that is not set: a test may leave it open. @param {import("../../../tools/studio/page").Goal} goal */
export function isRefusal(goal) {
  return goal.kind === "blocker" || goal.kind === "gap" || goal.case === "unset";
}

/**
 * How far tests show a step: it never ran, a way is missing, only refusals are open, everything is shown.
 * @param {Workflow} workflow @param {Step} step
 */
export function coverageOf(workflow, step) {
  const list = goalsOf(workflow, step.id);
  // A loop has no goal of its own; it ran if it was left in any way.
  const own = list.filter((goal) => goal.kind === (step.type === "loop" ? "loop" : "step"));
  const missing = list.filter((goal) => !isShown(goal));
  const ways = missing.filter((goal) => !isRefusal(goal));
  const open = missing.filter(isRefusal);
  const never = own.length > 0 && !own.some(isShown);
  return { step, goals: list, ways, open, state: !list.length ? "none" : never ? "never" : ways.length ? "part" : open.length ? "open" : "all" };
}

/** @param {Workflow} workflow */
export function neverRan(workflow) {
  return workflow.coverage ? workflow.steps.filter((step) => coverageOf(workflow, step).state === "never") : [];
}

/** A way that no test goes, in words. @param {import("../../../tools/studio/page").Goal} goal */
export function wayWords(goal) {
  switch (goal.kind) {
    case "condition": return `never ${goal.case}`;
    case "loop": return new Map([["zero", "never left before the first round"], ["one", "never left after one round"], ["many", "never left after several rounds"], ["limit", "never left at its maximum"]]).get(goal.case) ?? goal.case;
    case "fragment": return `text never ${goal.case}`;
    case "gate": return `gate never ${goal.case}`;
    default: return `${goal.kind} ${goal.case}`;
  }
}

/** @param {Workflow} workflow @returns {Layer} */
function coverageLayer(workflow) {
  /** @type {Map<string, Mark>} */
  const marks = new Map();
  /** @type {Map<string, Mark>} */
  const labels = new Map();
  for (const step of workflow.steps) {
    const { state: how, ways, open, goals: list } = coverageOf(workflow, step);
    const rounds = list.filter((goal) => goal.kind === "loop").map((goal) => `${isShown(goal) ? "✓" : "○"}${ROUNDS.get(goal.case) ?? goal.case}`);
    if (how === "never") marks.set(step.id, { text: "never ran", tone: "err" });
    else if (how === "part") marks.set(step.id, { text: rounds.length ? rounds.join(" ") : `${ways.length} missing`, tone: "warn" });
    else if (how === "open") marks.set(step.id, { text: `${open.length} open`, tone: "muted", plain: true });
    else if (how === "all") marks.set(step.id, { text: "✓", tone: "ok", plain: true });
    const condition = ways.find((goal) => goal.kind === "condition");
    if (how === "part" && condition) labels.set(step.id, { text: `never ${condition.case}`, tone: "warn" });
  }
  return { marks, labels, stale: workflow.coverage?.stale, legend: [h("span.t-err", "■ never ran"), h("span.t-warn", "■ ran, a way is missing"), "n open: only refusals", h("span.t-ok", "✓ all shown")] };
}

/** What a typical run reads at each step, the most first; without such a report, the prompt. @param {Workflow} workflow */
export function costsOf(workflow) {
  const { steps = [], dearestSteps = [] } = workflow.cost?.cost ?? {};
  /** @type {Map<string, any>} */
  const measured = new Map([...dearestSteps, ...steps].map((item) => [lastPart(item.step), item]));
  const isTypical = steps.length > 0;
  const costs = workflow.steps.filter((step) => step.bytes).map((step) => {
    const item = measured.get(step.id);
    return { step, bytes: item ? item.bytesRead ?? item.bytes : isTypical ? 0 : step.bytes, most: item?.bytes, visits: item?.visits, own: step.bytes };
  });
  return costs.sort((a, b) => b.bytes - a.bytes || (b.most ?? 0) - (a.most ?? 0));
}

/** @param {Workflow} workflow @returns {Layer} */
function costLayer(workflow) {
  const costs = costsOf(workflow);
  const most = Math.max(1, ...costs.map((item) => item.bytes));
  return {
    marks: new Map(costs.map(({ step, bytes }) => [step.id, { text: bytes ? size(bytes) : "not read", tone: bytes * 2 > most ? "warn" : "muted", plain: bytes * 2 <= most, share: bytes / most }])),
    labels: new Map(), stale: workflow.cost?.stale, legend: [workflow.cost ? "bytes read at the step in a typical run; bar: share of the dearest step" : "bytes of the compiled prompt"],
  };
}

/** What a run costs, from the report. @param {any} cost @returns {string[]} */
export function costWords(cost) {
  const paths = cost?.cost;
  return ["typical", "shortest", "longest"].filter((name) => paths?.[name]?.calls !== undefined)
    .map((name) => `${name} run: ${counted(paths[name].calls, "call")}, ${size(paths[name].bytesRead ?? 0)}${paths[name].tokensRead === undefined ? "" : `, ${counted(paths[name].tokensRead, "token")}`}`);
}

/** The sessions of some versions: of this one, of the others, of all, or of one by its name. @param {Workflow} workflow @param {string} [of] @returns {Session[]} */
export function sessionsOf(workflow, of = state.of) {
  return versionsShown(workflow, of).flatMap((version) => version.sessions);
}

/** @param {Workflow} workflow @param {string} [of] */
export function versionsShown(workflow, of = state.of) {
  return (workflow.sessions?.versions ?? []).filter((item) => of === "all" || (of === "this" ? item.current : of === "others" ? !item.current : item.version === of));
}

/** A session that ended without an answer, and does not wait for a person. @param {Session} session */
export function hasGivenUp(session) {
  return session.stuck !== null && !isWaiting(session);
}

/** @param {Session} session */
export function isWaiting(session) {
  return session.stuck !== null && session.status === "gate";
}

/** How often something happened at a step: sessions by what they did there. @param {Workflow} workflow @returns {{step: string, left: number, waits: number, blocked: number, visits: number}[]} */
export function countsBySteps(workflow) {
  const { sessions } = workflow;
  if (!sessions) return [];
  if (!sessions.each) return (sessions.steps ?? []).map((entry) => ({ step: lastPart(String(entry.step)), left: entry.abandoned ?? 0, waits: 0, blocked: entry.blocked ?? 0, visits: entry.visits ?? (entry.passed ?? 0) + (entry.abandoned ?? 0) }));
  const list = sessionsOf(workflow);
  const names = new Set(list.flatMap((session) => [...session.steps, session.stuck ?? [], ...session.blocked.map(([step]) => step)].flat()));
  return [...names].map((step) => ({
    step, left: list.filter((session) => session.stuck === step && hasGivenUp(session)).length, waits: list.filter((session) => session.stuck === step && isWaiting(session)).length,
    blocked: list.filter((session) => session.blocked.some(([at]) => at === step)).length, visits: list.filter((session) => session.steps.includes(step)).length,
  }));
}

/** The steps that follow one another on some ways, and which ways these are. @param {(string | null)[][]} ways @returns {import("../../../tools/studio/page").Pair[]} */
export function pairsOf(ways) {
  /** @type {Map<string, import("../../../tools/studio/page").Pair>} */
  const pairs = new Map();
  ways.forEach((way, number) => way.forEach((to, at) => {
    const from = way[at - 1];
    if (!at || from === to) return;
    const key = JSON.stringify([from, to]);
    const pair = pairs.get(key) ?? { from, to, ways: new Set() };
    pair.ways.add(number);
    pairs.set(key, pair);
  }));
  return [...pairs.values()];
}

/** @param {Workflow} workflow @returns {Layer} */
function sessionsLayer(workflow) {
  const list = sessionsOf(workflow);
  const counts = new Map(countsBySteps(workflow).map((item) => [item.step, item]));
  /** @type {Map<string, Mark>} */
  const marks = new Map();
  for (const step of workflow.steps) {
    const { left = 0, waits = 0, blocked = 0, visits = 0 } = counts.get(step.id) ?? {};
    if (left) marks.set(step.id, { text: `${left} gave up`, tone: "err" });
    else if (waits) marks.set(step.id, { text: `${waits} ${waits === 1 ? "waits" : "wait"}`, tone: "warn" });
    else if (blocked) marks.set(step.id, { text: `${blocked} blocked`, tone: "warn" });
    else if (!visits && step.type !== "loop") marks.set(step.id, { text: state.of === "others" && changesOf(workflow, step.id).some((change) => change.kind === "added") ? "new since" : "not reached", tone: "muted", plain: true, dim: true });
  }
  // From the start, which is null, over the steps that are drawn, to the end if it was reached.
  const ways = list.map(({ steps, stuck }) => [null, ...steps.filter((step) => workflow.stepById.has(step)), ...(stuck === null ? [null] : [])]);
  const hasEach = Boolean(workflow.sessions?.each);
  const visits = new Map([...counts.values()].map((item) => [item.step, item.visits]));
  return { marks, labels: new Map(), stale: !hasEach && workflow.sessions?.stale, traffic: { visits, pairs: pairsOf(ways), total: hasEach ? list.length : workflow.sessions?.sessions ?? 0 }, legend: ["on a rail: sessions that took it"] };
}

/** @param {Workflow} workflow @returns {Layer} */
function mutantsLayer(workflow) {
  const { mutants = 0, killed = 0, inert = 0, stale, survived = [] } = workflow.mutation ?? {};
  /** @type {Map<string, Mark>} */
  const marks = new Map();
  for (const step of stale && state.of !== "old" ? [] : workflow.steps) {
    const count = survived.filter((mutant) => stepOfPlace(workflow, mutant.place) === step.id).length;
    if (count) marks.set(step.id, { text: `${count} unnoticed`, tone: "warn" });
  }
  const score = workflow.mutation?.score ?? percent(killed, mutants - inert);
  return { marks, labels: new Map(), quiet: true, stale: stale && state.of === "old", legend: stale ? [] : [`${killed} of ${mutants - inert} noticed, ${score}%`] };
}

/** @param {Workflow} workflow @param {string} step */
export function changesOf(workflow, step) {
  return (workflow.changes?.list ?? []).filter((change) => change.step && lastPart(change.step) === step);
}

/** Kinds of changes in the order in which they are read: name, sign, tone. @type {[string, string, Tone][]} */
export const CHANGES = [["removed", "−", "err"], ["added", "+", "ok"], ["moved", "↕", "info"], ["renamed", "→", "info"], ["changed", "~", "warn"]];

/** @param {Workflow} workflow @returns {Layer} */
function changesLayer(workflow) {
  const { list = [], isNew = false } = workflow.changes ?? {};
  /** @type {Map<string, Mark>} */
  const marks = new Map();
  for (const step of workflow.steps) {
    const kinds = new Set(changesOf(workflow, step.id).map((change) => change.kind));
    const [kind, sign, tone] = CHANGES.find(([name]) => kinds.has(name)) ?? [];
    if (kind && tone) marks.set(step.id, { text: kind === "added" ? "+ new" : `${sign} ${kind}`, tone });
  }
  // The nearest step that is left in the lane of one that is gone, and on which side of it that was.
  const ghosts = list.filter((change) => change.kind === "removed").map((change) => ({ step: lastPart(change.step ?? ""), title: change.title ?? lastPart(change.step ?? ""),
    beside: change.after ?? change.before ?? null, isBefore: !change.after && Boolean(change.before) }));
  return { marks, labels: new Map(), quiet: true, ghosts, legend: [isNew ? "a new workflow" : `since ${state.revision}`] };
}

