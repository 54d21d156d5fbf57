// How a run ended, in a sign, a word and a sentence.

import { icon } from "./dom.js";
import { counted } from "./words.js";

/** @typedef {import("../../../tools/studio/page").Run} Run */
/** @typedef {import("../../../tools/studio/page").Tone} Tone */

/** How runs end, the most urgent first: state, title of the group, tone, icon, words for it. @type {[string, string, Tone, string, string][]} */
export const STATES = [["error", "Ended in an error", "err", "error", "ended in an error"], ["failed", "Failed", "err", "cross", "failed"], ["changed", "Golden changed", "warn", "change", "golden changed"], ["flaky", "Passed, but not at once", "warn", "warning", "flaky"],
  ["passed", "Passed", "ok", "check", "passed"], ["skipped", "Skipped", "muted", "minus", "skipped"], ["session", "Sessions", "muted", "person", "session"], ["none", "Not run", "muted", "minus", "not run"]];

/** @param {Run} run */
export function stateOf(run) {
  return run.outcome?.state ?? (run.kind === "session" || run.document?.includes("session") ? "session" : "none");
}

/** A test that failed, or could not run. @param {Run} run */
export function isRed(run) {
  return run.outcome?.state === "failed" || run.outcome?.state === "error";
}

/** @param {Run} run */
export function outcomeIcon(run) {
  const [, , , sign, words] = STATES.find(([name]) => name === stateOf(run)) ?? STATES[STATES.length - 1];
  return icon(sign, words);
}

/** The moment to open a run at: where it failed, else where it first differs from its golden. @param {Run} run */
export function firstMoment(run) {
  return run.outcome?.moment !== null && isRed(run) ? run.outcome?.moment ?? 0 : run.differences.find((item) => item.moment !== null)?.moment ?? 0;
}

const MOST_EDITS = 3;

/** A run in one sentence. @param {Run} run */
export function sentenceOf(run) {
  if (run.edits.length && !isRed(run)) return `${run.edits.slice(0, MOST_EDITS).map((edit) => edit.title).join("; ")}${run.edits.length > MOST_EDITS ? `, and ${run.edits.length - MOST_EDITS} more` : ""}`;
  if (run.outcome && run.outcome.state !== "passed") return (run.outcome.message ?? run.outcome.state).split("; all steps: ")[0];
  if (run.kind === "team") return teamEnd(run);
  if (run.kind === "blocks") return blocksEnd(run);
  if (run.kind === "test") return "passed without a run to show";
  return `${run.kind === "session" && run.goal ? `${run.goal} · ` : ""}${endOf(run)}`;
}

/** @param {Run} run */
export function endOf(run) {
  const end = `ends ${String(run.status ?? "early").replace(/_/gu, " ").toLowerCase()}`;
  return run.blocked ? `${end}; blocked ${run.blocked === 1 ? "once" : `${run.blocked} times`}` : end;
}

/** @param {Run} run */
export function teamEnd(run) {
  const tasks = Object.values(run.tasks);
  const end = String(run.status ?? "not ended").replace(/_/gu, " ").toLowerCase();
  return `${end}${tasks.length ? `, ${tasks.filter((status) => status === "completed").length} of ${counted(tasks.length, "task")} completed` : ""}`;
}

/** @param {Run} run */
export function conflictsOf(run) {
  return run.merges.flatMap((merge) => merge.conflicts.map((/** @type {any} */ item) => ({ ...item, group: merge.group })));
}

/** @param {Run} run */
function blocksEnd(run) {
  const conflicts = conflictsOf(run).length;
  return `${run.status ? String(run.status).replace(/_/gu, " ") : "a definition"}${conflicts ? `; ${counted(conflicts, "conflict")}` : ""}`;
}
