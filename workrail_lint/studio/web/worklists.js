// A layer is a picture and a worklist: what to look at next, most urgent first. One entry is open, in its place.

import { choices, copyable, h, icon, link } from "./dom.js";
import { CHANGES, RANKS, TONES, costWords, costsOf, countsBySteps, coverageOf, hasGivenUp, isRefusal, isShown, isWaiting, sessionsOf, versionsShown, wayWords } from "./layers.js";
import { action, fixAction, placeLink } from "./live.js";
import { codeLink, excerptOf, findingKey, numbered, oneColumn, piecesOf, sourceLines } from "./panel.js";
import { outcomeIcon, isRed } from "./outcomes.js";
import { data, edits, here, lastPart, runAddress, runOfTest, runs, state, stepOfPlace, stepTitle, whyOf } from "./store.js";
import { asText, counted, dateOf, memberLines, percent, size } from "./words.js";

/** @typedef {import("../../../tools/studio/page").Workflow} Workflow */
/** @typedef {import("../../../tools/studio/page").Finding} Finding */
/** @typedef {import("../../../tools/studio/page").Entry} Entry */
/** @typedef {import("../../../tools/studio/page").EntryGroup} EntryGroup */
/** @typedef {import("../../../tools/studio/page").Worklist} Worklist */
/** @typedef {import("../../../tools/studio/page").Session} Session */
/** @typedef {import("../../../tools/studio/page").Change} Change */

/** The worklist of a layer; the flow has none. @param {Workflow} workflow @param {string} layer @returns {Worklist | null} */
export function worklistOf(workflow, layer) {
  switch (layer) {
    case "findings": return findingsList(workflow);
    case "coverage": return coverageList(workflow);
    case "sessions": return sessionsList(workflow);
    case "mutants": return mutantsList(workflow);
    case "changes": return changesList(workflow);
    case "cost": return costList(workflow);
    default: return null;
  }
}

/** A list without empty groups. @param {Worklist} list @returns {Worklist} */
function trimmed(list) {
  return { ...list, groups: list.groups.filter((group) => group.items.length) };
}

/** @param {Workflow} workflow */
function fileAddress(workflow) {
  return encodeURIComponent(workflow.key);
}

/** The same words at many steps are one entry. @param {Workflow} workflow */
function findingsList(workflow) {
  /** @type {Map<string, Finding[]>} */
  const same = new Map();
  for (const finding of workflow.findings) {
    const key = `${finding.code} ${finding.message.replace(/^step '[^']*'( \(in [^)]*\))?: /u, "")}`;
    same.set(key, [...(same.get(key) ?? []), finding]);
  }
  const rank = (/** @type {Finding} */ finding) => RANKS.get(finding.severity) ?? 3;
  const entries = [...same.values()].sort((a, b) => rank(a[0]) - rank(b[0]) || stepsOf(workflow, b).length - stepsOf(workflow, a).length || a[0].range.start.line - b[0].range.start.line || (a[0].code < b[0].code ? -1 : 1))
    .map((found) => findingEntry(workflow, found));
  const groups = ["error", "warning", "info"].map((severity) => ({ tone: TONES.get(severity) ?? "info", title: counted(workflow.findings.filter((item) => item.severity === severity).length, severity), items: entries.filter((item) => item.icon === severity) }));
  const fixable = workflow.findings.filter((finding) => finding.fix).length;
  return trimmed({ title: "Findings", groups, empty: "No rule found anything.", summary: fixable ? `${fixable} of ${workflow.findings.length} can be fixed automatically` : workflow.findings.length ? `${workflow.findings.length} in all` : "" });
}

/** @param {Workflow} workflow @param {Finding[]} found @returns {string[]} */
function stepsOf(workflow, found) {
  return [...new Set(found.map((finding) => finding.step ?? "").filter((step) => workflow.order.has(step)))];
}

/** @param {Workflow} workflow @param {Finding[]} found @returns {Entry} */
function findingEntry(workflow, found) {
  const [first] = found;
  const steps = stepsOf(workflow, found);
  const at = state.step && steps.includes(state.step) ? state.step : steps[0] ?? null;
  const shown = found.find((finding) => finding.step === at) ?? first;
  const key = findingKey(first);
  const { fix } = first;
  return {
    key, step: at, steps, tone: TONES.get(first.severity) ?? "info", icon: first.severity, code: first.code, head: first.message.replace(/^(step '[^']*'( \(in [^)]*\))?|line \d+, column \d+): /u, ""),
    where: steps.length > 1 ? counted(steps.length, "step") : steps.length ? stepTitle(workflow, steps[0]) : "the file",
    body: () => [
      whyOf(first) ? h("p", whyOf(first)) : null,
      sourceAt(workflow, shown),
      steps.length > 1 ? h("div.chips", steps.map((step) => link(here({ item: key }, `${fileAddress(workflow)}/${encodeURIComponent(step)}`), { class: `chip${step === at ? " current" : ""}` }, stepTitle(workflow, step)))) : null,
      h("div.acts",
        fix ? fixAction(`Apply: ${fix.title}`, `workrail-lint check --fix${fix.safety === "unsafe" ? " --unsafe-fixes" : ""} --select ${first.code} ${workflow.path}`, { path: workflow.path, code: shown.code, pointer: shown.pointer }) : null,
        fix?.safety === "unsafe" ? h("span.note", "may change behaviour; look at the result") : null,
        placeLink(workflow.path, shown.range.start.line), link(`~rule/${first.code}`, { class: "place" }, icon("rule"), `Rule ${first.code}`)),
    ],
  };
}

/** Three lines around a finding. @param {Workflow} workflow @param {Finding} finding */
function sourceAt(workflow, finding) {
  if (workflow.broken) return excerptOf(workflow.broken.excerpt, workflow.broken.line);
  const step = workflow.stepById.get(finding.step ?? "");
  const lines = step ? sourceLines(workflow, step) : [];
  const at = lines.findIndex(([number]) => number === finding.range.start.line);
  return at < 0 ? null : numbered(lines.slice(Math.max(0, at - 1), at + 2), finding.range.start.line, "excerpt");
}

/** @param {Workflow} workflow @returns {Worklist} */
function coverageList(workflow) {
  const { coverage } = workflow;
  const all = workflow.steps.map((step) => coverageOf(workflow, step));
  const goals = (/** @type {import("../../../tools/studio/page").Goal[]} */ points) => h("ul.plain.lines.goals", points.map((goal) => h("li", icon(isShown(goal) ? "check" : "missing", isShown(goal) ? "shown" : "not shown"), " ",
    isRefusal(goal) ? [`${goal.kind} `, h("code", goal.case)] : isShown(goal) ? `${goal.kind} ${goal.case}` : wayWords(goal), goal.tests.map((number) => testLink(coverage?.tests[number] ?? "")))));
  const whole = (/** @type {typeof all[number]} */ item) => h("details", h("summary.note", `all ${counted(item.goals.length, "goal")} of the step`), goals(item.goals));
  const write = (/** @type {typeof all[number]} */ item) => {
    const goal = item.ways[0] ?? item.goals.find((each) => each.kind === "step");
    return h("div.acts", action("Write the missing scenario", `workrail-test generate ${workflow.path} --out scenarios`, "scenario", { kind: "goal", workflow: workflow.id, goal: goal ? `${goal.kind}:${goal.place}:${goal.case}` : "" }, "main-act"));
  };
  const entry = (/** @type {typeof all[number]} */ item, /** @type {Partial<Entry> & {kind: string}} */ more) => ({ key: `${more.kind}:${item.step.id}`, step: item.step.id, icon: "missing", head: item.step.title, where: "", tone: /** @type {any} */ ("err"), body: () => [goals(item.open), whole(item)], ...more });
  const never = all.filter((item) => item.state === "never").map((item) => entry(item, { kind: "never", where: item.step.condition ? `if ${item.step.condition}` : "", body: () => [item.step.condition ? h("p", "No test that passes comes here. It runs if ", h("strong", item.step.condition), ".") : h("p", "No test that passes comes here."), whole(item), write(item)] }));
  const part = all.filter((item) => item.state === "part").map((item) => entry(item, { kind: "way", tone: "warn", icon: "split", where: wayWords(item.ways[0]) + (item.ways.length > 1 ? `, +${item.ways.length - 1}` : ""), body: () => [goals(item.ways), whole(item), write(item)] }));
  const open = all.filter((item) => item.open.length);
  const refusals = open.map((item) => entry(item, { kind: "open", tone: "muted", where: `${item.open.length} open`, body: () => [goals(item.open), whole(item)] }));
  const tests = (coverage?.tests ?? []).flatMap((test) => runOfTest(test) ?? []);
  return trimmed({
    title: "Coverage", summary: `${coverage?.total.covered} of ${counted(coverage?.total.points ?? 0, "goal")} shown; failed tests show nothing`, empty: "Everything is shown by a test.",
    groups: [{ tone: "err", title: `${counted(never.length, "step")} never ran`, items: never }, { tone: "warn", title: `${counted(part.length, "step")} ran, a way is missing`, items: part },
      { tone: "muted", title: `${counted(open.reduce((sum, item) => sum + item.open.length, 0), "refusal")} that no test provokes`, folded: true, items: refusals }],
    foot: tests.length ? h("p.note", "Tests of this workflow: ", tests.map((run, number) => [number ? ", " : null, outcomeIcon(run), " ", link(runAddress(run.key), run.name)])) : null,
  });
}

/** @param {string} test */
function testLink(test) {
  const run = runOfTest(test);
  return [" ", run ? link(runAddress(run.key), run.name) : h("code", test)];
}

const MOST_SESSIONS = 6;

/** @param {Workflow} workflow @returns {Worklist} */
function sessionsList(workflow) {
  const list = sessionsOf(workflow);
  const hasEach = Boolean(workflow.sessions?.each);
  const place = (/** @type {string} */ step) => workflow.order.get(step) ?? 1e6;
  const known = countsBySteps(workflow).filter(({ step }) => workflow.stepById.has(step));
  const entries = (/** @type {"left" | "waits" | "blocked"} */ kind, /** @type {import("../../../tools/studio/page").Tone} */ tone, /** @type {string} */ sign, /** @type {(step: string, count: number, visits: number) => any} */ sentence, /** @type {(session: Session, step: string) => boolean} */ belongs) =>
    known.filter((item) => item[kind]).sort((a, b) => b[kind] - a[kind] || place(a.step) - place(b.step)).map((item) => ({
      key: `${kind}:${item.step}`, step: item.step, tone, icon: sign, head: stepTitle(workflow, item.step), where: `${item[kind]} of ${Math.max(item.visits, item[kind])}`,
      body: () => [h("p", sentence(item.step, item[kind], Math.max(item.visits, item[kind]))), h("ul.plain.lines", list.filter((session) => belongs(session, item.step)).slice(0, MOST_SESSIONS).map((session) => sessionLine(session, item.step)))],
    }));
  const codes = (/** @type {string} */ step) => [...new Set([...list.flatMap((session) => session.blocked.filter(([at]) => at === step).map(([, code]) => code)), ...Object.keys((workflow.sessions?.steps ?? []).find((entry) => lastPart(String(entry.step)) === step)?.blockers ?? {})])];
  const gone = countsBySteps(workflow).filter(({ step }) => !workflow.stepById.has(step) && !step.startsWith("wr-system-"));
  const versions = versionsShown(workflow);
  const done = list.filter((session) => session.stuck === null).length;
  const older = versions.reduce((sum, version) => sum + Object.values(version.older ?? {}).reduce((all, count) => all + count, 0), 0);
  return trimmed({
    title: "Sessions", empty: "No session of this version yet.", summary: hasEach ? [`${done} of ${counted(list.length, "session")} completed`, older ? `; ${older} older ones are only counted` : ""] : counted(workflow.sessions?.sessions ?? 0, "session"),
    notice: !hasEach && workflow.sessions?.stale ? notice("clock", "Of another version of this workflow", ["Count the sessions of each version with"], h("code", "workrail-test sessions stats --json --each")) : null,
    groups: [
      { tone: "err", title: "Gave up here", items: entries("left", "err", "cross", (_, count, visits) => `${count} of the ${counted(visits, "session")} that came here ended here without an answer.`, (session, step) => session.stuck === step && hasGivenUp(session)) },
      { tone: "warn", title: "Wait here", items: entries("waits", "warn", "clock", () => "These sessions wait for a person.", (session, step) => session.stuck === step && isWaiting(session)) },
      { tone: "warn", title: "Blocked, then went on", items: entries("blocked", "warn", "warning", (step) => ["Refused with ", codes(step).map((code) => [codeLink(code), " "])], (session, step) => session.blocked.some(([at]) => at === step)) },
      { tone: "muted", title: "Steps that this version no longer has", items: gone.map(({ step, visits }) => ({ key: `gone:${step}`, step: null, tone: "muted", icon: "minus", head: step, where: counted(visits, "visit"), body: () => h("p", "It was removed since these sessions. ", workflow.changes ? link(here({ layer: "changes", item: `removed:${step}` }, fileAddress(workflow)), "See the change") : null) })) },
      { tone: "muted", title: "All sessions", folded: true, items: versions.map((version) => ({ key: `version:${version.version}`, step: null, tone: "muted", icon: "person", code: version.version, head: `${counted(version.sessions.length, "session")}, ${version.sessions.filter((session) => session.stuck === null).length} completed`, where: version.current ? "this version" : version.firstSeen ? `since ${dateOf(version.firstSeen).slice(0, 10)}` : "", body: () => h("ul.plain.lines", version.sessions.map((session) => sessionLine(session, null))) })) },
    ],
    foot: workflow.sessions?.mend?.length ? h("ul.plain.lines", workflow.sessions.mend.map((line) => h("li", icon("warning"), " ", line))) : null,
  });
}

/** A session in a line, with a link to the moment at a step if this page has its story. @param {Session} session @param {string | null} step */
function sessionLine(session, step) {
  const run = runs.get(session.id);
  const last = (run?.turns.length ?? 1) - 1;
  const found = run && step ? run.turns.findIndex((turn) => turn.step === step && (turn.blockers.length > 0 || session.stuck === step)) : -1;
  const sign = hasGivenUp(session) ? "cross" : isWaiting(session) ? "clock" : "check";
  return h("li", icon(sign, session.status.replace(/_/gu, " ")), " ", run ? link(runAddress(run.key, found < 0 ? last : found), h("code", session.id)) : h("code", session.id),
    h("span.note", ` ${[dateOf(session.when), session.version, counted(session.steps.length, "turn"), session.minutes === undefined ? "" : `${session.minutes} min`].filter(Boolean).join(" · ")}`));
}

/** Which versions the sessions are of. @param {Workflow} workflow */
export function versionsControl(workflow) {
  if (!workflow.sessions?.each) return null;
  const current = workflow.sessions.versions.find((item) => item.current);
  return choices("Versions", state.of, (of) => here({ of, item: null }), [["this", `This version ${current?.version ?? workflow.version ?? ""}`], ["others", "Others"], ["all", "All"]].map(([value, title]) => ({ value, title, count: sessionsOf(workflow, value).length })), "small-tabs");
}

/** @param {string} sign @param {string} title @param {any} text @param {...any} acts */
export function notice(sign, title, text, ...acts) {
  return h("div.notice", icon(sign), h("div", h("strong", title), h("p", text), h("div.acts", acts)));
}

const OPERATORS = new Map([["CND", "Conditions"], ["STP", "Order of steps"], ["LOP", "Loops"], ["CTR", "Contracts"], ["GAT", "Gates"], ["FRG", "Conditional text"], ["PRM", "Prompts"], ["NTS", "Notes"]]);

/** @param {Workflow} workflow @returns {Worklist} */
function mutantsList(workflow) {
  const { survived = [], stale, workflowHash, killed = 0, mutants = 0, inert = 0 } = workflow.mutation ?? {};
  const again = h("div.act", h("span.note", "Measure again"), copyable(`workrail-test mutate ${workflow.path} --json > mutation.json`));
  if (stale && state.of !== "old") {
    return { title: "Mutants", groups: [], summary: "", empty: "", notice: notice("clock", "Measured on another version of this workflow",
      ["Measured: ", h("code", workflowHash?.slice(7, 15) ?? "unknown"), "; now: ", h("code", workflow.hash?.slice(7, 15) ?? "unknown"), ". Nothing of it is drawn."], again, link(here({ of: "old" }), { class: "button small" }, `Show the ${survived.length} old survivors, greyed`)) };
  }
  const names = [...OPERATORS.keys()];
  const kindOf = (/** @type {string} */ operator) => operator.split("-")[0];
  const kinds = [...new Set(survived.map((mutant) => kindOf(mutant.operator)))].sort((a, b) => (names.indexOf(a) + 99) % 99 - (names.indexOf(b) + 99) % 99);
  const place = (/** @type {import("../../../tools/studio/page").Mutant} */ mutant) => workflow.order.get(stepOfPlace(workflow, mutant.place) ?? "") ?? 1e6;
  const groups = kinds.map((kind) => ({ tone: /** @type {any} */ ("warn"), title: OPERATORS.get(kind) ?? kind, items: survived.filter((mutant) => kindOf(mutant.operator) === kind)
    .sort((a, b) => place(a) - place(b) || (a.operator < b.operator ? -1 : 1)).map((mutant) => mutantEntry(workflow, mutant)) }));
  return { title: "Mutants", summary: survived.length ? `${counted(survived.length, "change")} that no test notices` : `${killed} of ${counted(mutants - inert, "change")} noticed`, groups, empty: "Every change is noticed by a test." };
}

/** @param {Workflow} workflow @param {import("../../../tools/studio/page").Mutant} mutant @returns {Entry} */
function mutantEntry(workflow, mutant) {
  const [, before, , after] = /^If (.*?), no scenario would notice(; (.*?) would)?/su.exec(mutant.change) ?? [null, mutant.change, "", ""];
  const step = stepOfPlace(workflow, mutant.place);
  const words = (mutant.words ?? before ?? "").replace(/^step '[^']*' and '([^']*)' change places$/u, (_, other) => `changes places with “${stepTitle(workflow, other)}”`)
    .replace(/^(step|loop) '[^']*' /u, "").replace(/\sof step '[^']*'/u, "").replace(/\sin the condition of (step '[^']*'|fragment)/u, "").replace(/^./u, (letter) => letter.toUpperCase());
  return {
    key: mutant.id, step, tone: "warn", icon: "change", head: words, where: stepTitle(workflow, step),
    body: () => [h("p", "Noticed by ", h("strong", after || "a scenario like this"), ":"), mutant.missing ? h("pre.source", { tabindex: 0 }, memberLines(mutant.missing)) : null,
      h("div.acts", action("Add the missing scenarios", `workrail-test mutate ${workflow.path} --write`, "scenario", { kind: "mutant", workflow: workflow.id, mutant: mutant.id }, "main-act"), h("code.tag", mutant.operator))],
  };
}

/** Facets of a step that only say what an agent reads. */
const READ = new Set(["prompt", "title", "guidance", "fragments"]);
// Facets of a workflow that a run does not notice.
const SILENT = new Set(["version", "about", "description", "name", "examples"]);

/** @param {Workflow} workflow @returns {Worklist} */
function changesList(workflow) {
  const { list = [], isNew = false, version } = workflow.changes ?? {};
  const judged = version ? (version.ok ? h("span.t-ok", `version ${version.declared} is enough`) : h("span.t-err", `needs version ${version.due} (${version.required}), is ${version.declared}`)) : null;
  if (isNew) return { title: "Changes", groups: [], summary: `new since ${state.revision}`, empty: "The whole workflow is new." };
  const rank = (/** @type {Change} */ change) => CHANGES.findIndex(([name]) => name === change.kind);
  const place = (/** @type {Change} */ change) => workflow.order.get(lastPart(change.step ?? change.followed ?? "")) ?? -1;
  const kind = (/** @type {Change} */ change) => (change.kind !== "changed" ? 0 : READ.has(change.facet ?? "") ? 1 : !change.step && SILENT.has(change.facet ?? "") ? 2 : 0);
  const sorted = [...list].sort((a, b) => rank(a) - rank(b) || place(a) - place(b) || ((a.facet ?? "") < (b.facet ?? "") ? -1 : 1));
  const group = (/** @type {number} */ which) => sorted.filter((change) => kind(change) === which).map((change) => changeEntry(workflow, change));
  return trimmed({ title: "Changes", summary: [`since ${state.revision}`, judged ? [list.length ? "; " : ", ", judged] : null], empty: "No change in behaviour.",
    groups: [{ tone: "warn", title: "What a run does", items: group(0) }, { tone: "warn", title: "What an agent reads", items: group(1) }, { tone: "muted", title: "Neither", items: group(2) }] });
}

/** @param {Workflow} workflow @param {Change} change */
function changeWords(workflow, change) {
  switch (change.kind) {
    case "added": return "New step";
    case "removed": return "Step is gone";
    case "moved": return "Moved";
    case "renamed": return `Renamed from ${change.from}`;
    default: break;
  }
  if (change.facet === "version" && !change.step) return `Version ${change.before} → ${change.after}`;
  if (change.facet === "loop.maxIterations") return `Stops after ${change.after} ${change.after === 1 ? "pass" : "passes"}, was ${change.before}`;
  const names = new Map([["prompt", "Prompt changed"], ["runCondition", "Runs under another condition"], ["confirmation", "Waits in another way"], ["title", "Title changed"]]);
  return names.get(change.facet ?? "") ?? `${change.facet} changed`;
}

/** @param {Workflow} workflow @param {Change} change @returns {Entry} */
function changeEntry(workflow, change) {
  const step = change.step ? lastPart(change.step) : null;
  const target = workflow.stepById.get(step ?? "");
  const facet = change.facet ?? "";
  const edit = edits.find((item) => item.workflow === workflow.id && item.step === step && item.kind !== "unexplained" && (change.kind !== "changed" || asText(item.after) === asText(change.after) || item.kind === facet));
  const [, sign, tone] = CHANGES.find(([name]) => name === change.kind) ?? ["", "~", "warn"];
  const where = (/** @type {string | null | undefined} */ place) => (place ? `“${stepTitle(workflow, lastPart(place))}”` : "the start");
  const body = () => {
    switch (change.kind) {
      case "added": return target ? [target.condition ? h("p.note", "runs if ", h("strong", target.condition)) : null, piecesOf(target.pieces)] : null;
      case "removed": return [change.condition ? h("p.note", "ran if ", h("strong", change.condition)) : null, oneColumn(change.text ?? "", "")];
      case "moved": return h("p", `It was after ${where(change.followed)}, and is now after ${where(change.follows)}.`);
      case "renamed": return h("p", `Its id was `, h("code", change.from ?? ""), ".");
      default: return facet === "loop.maxIterations" ? boundChange(change.before, change.after) : oneColumn(asText(change.before), asText(change.after));
    }
  };
  return {
    key: change.kind === "changed" ? `${facet}:${step ?? "file"}` : `${change.kind}:${step}`, tone, sign, head: step ? `${changeWords(workflow, change)}: ${change.title ?? stepTitle(workflow, step)}` : changeWords(workflow, change),
    step: target ? step : change.after ?? change.before ?? null, where: change.kind === "removed" && change.followed ? `was after ${stepTitle(workflow, lastPart(change.followed))}` : "",
    body: () => [body(), edit?.goldens.length ? h("p", icon("change"), " ", link(`~goldens/${encodeURIComponent(edit.id)}`, `${counted(edit.goldens.length, "golden")} ${edit.goldens.length === 1 ? "differs" : "differ"} because of this`)) : null, edit ? brokenBy(edit, workflow) : null],
  };
}

/** @param {unknown} before @param {unknown} after */
export function boundChange(before, after) {
  return h("p.bound-change", h("del", `at most ${before} passes`), " ", h("ins", `at most ${after} passes`));
}

/** Failed tests that name the step of an edit. @param {import("../../../tools/studio/page").Edit} edit @param {Workflow | undefined} workflow */
export function failedBy(edit, workflow) {
  return data.runs.filter((run) => isRed(run) && workflow && edit.step && run.workflow === workflow.id && edit.kind !== "unexplained" && [run.outcome?.expected, run.outcome?.found].some((name) => name === edit.step));
}

/** @param {import("../../../tools/studio/page").Edit} edit @param {Workflow} workflow */
function brokenBy(edit, workflow) {
  return failedBy(edit, workflow).map((run) => h("p.t-err", icon("cross"), " ", link(runAddress(run.key, run.outcome?.moment), `${run.name} fails`)));
}

/** @param {Workflow} workflow @returns {Worklist} */
function costList(workflow) {
  const costs = costsOf(workflow);
  const whole = costs.reduce((sum, item) => sum + item.bytes, 0);
  const hasReport = Boolean(workflow.cost);
  let before = 0;
  const entries = costs.map(({ step, bytes, most, visits, own }) => {
    const isFirstHalf = before * 2 < whole && bytes > 0;
    before += bytes;
    const facts = [["prompt", size(own)], ["read in a typical run", hasReport ? size(bytes) : null], ["visits in it", visits], ["read in the longest run", most ? size(most) : null]];
    return { isFirstHalf, key: `cost:${step.id}`, step: step.id, tone: /** @type {any} */ ("muted"), head: step.title, where: bytes ? `${size(bytes)} · ${percent(bytes, whole)}%` : "not read", share: bytes / Math.max(1, costs[0].bytes),
      body: () => [h("dl.form", facts.filter(([, value]) => value !== null && value !== undefined).map(([name, value]) => [h("dt", name), h("dd", String(value))])),
        bytes > own && own ? h("p.note", `${(bytes / own).toFixed(1)} times the prompt: visits, looks and the engine's text`) : null, piecesOf(step.pieces), step.source ? h("div.acts", placeLink(workflow.path, step.source.line)) : null] };
  });
  const words = costWords(workflow.cost);
  return trimmed({ title: "Cost", summary: words[0] ?? `${size(whole)} of prompts`, empty: "No step has a prompt.", foot: words.length > 1 ? h("p.note", words.slice(1).join(" · ")) : null,
    groups: [{ tone: "muted", title: hasReport ? "Half of what is read" : "Half of all prompts", items: entries.filter((item) => item.isFirstHalf) }, { tone: "muted", title: "The other half", folded: true, items: entries.filter((item) => !item.isFirstHalf) }] });
}

/** All entries in order, and the open one: as the address says, else the first of the chosen step, else the only one. @param {Worklist | null} list */
export function openItem(list) {
  const all = list?.groups.flatMap((group) => group.items) ?? [];
  const named = all.find((item) => item.key === state.item);
  const ofStep = state.step ? all.find((entry) => entry.step === state.step || entry.steps?.includes(state.step ?? "")) : undefined;
  return { all, item: named ?? ofStep ?? (all.length === 1 && !state.step ? all[0] : null) };
}

/** @param {Workflow} workflow @param {Worklist} list */
export function worklist(workflow, list) {
  const { all, item } = openItem(list);
  const row = (/** @type {Entry} */ entry) => {
    const isOpen = entry === item;
    return h("li.work", { class: `${isOpen ? "open " : ""}tone-${entry.tone}` },
      link(here({ item: isOpen ? null : entry.key, panel: null }, fileAddress(workflow)), { class: "work-head", "aria-expanded": String(isOpen), "data-item": entry.key },
        entry.sign ? h("b.sign", { class: `t-${entry.tone}` }, entry.sign) : entry.icon ? h("span.sign", { class: `t-${entry.tone}` }, icon(entry.icon)) : null,
        entry.code ? h("code.work-code", entry.code) : null, h("span.work-text", entry.head), h("span.work-where", entry.where),
        entry.share === undefined ? null : h("span.work-share", { at: { width: `${Math.round(entry.share * 100)}%` } })),
      isOpen ? h("div.work-body", entry.body()) : null);
  };
  const group = (/** @type {EntryGroup} */ { tone, title, items, folded }) => (folded && item && items.includes(item) || !folded ? h("section.work-group", h("h3.group-head", { class: `t-${tone}` }, title), h("ol", items.map(row)))
    : h("details.work-group", h("summary.group-head", { class: `t-${tone}` }, title), h("ol", items.map(row))));
  return h("div.worklist",
    h("div.work-top", h("span", list.summary), all.length ? h("span.walk", item ? `${all.indexOf(item) + 1} of ${all.length}` : `${all.length} to walk`, h("kbd", "j"), h("kbd", "k")) : null),
    list.notice ?? null,
    !all.length && !list.notice && list.empty ? h("p.empty", icon("check"), " ", list.empty) : null,
    state.item && all.length && item?.key !== state.item ? h("p.notice-line", `“${state.item}” is not in this list any more.`) : null,
    state.step && all.length && !item ? h("p.notice-line", `Nothing here about “${stepTitle(workflow, state.step)}”.`) : null,
    list.groups.map(group), list.foot ? h("div.work-foot", list.foot) : null);
}
