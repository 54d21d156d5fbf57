// Runs without a flow graph: a team session as a timeline of states, tasks and decisions; blocks as stages and lanes.

import { h, icon, link } from "./dom.js";
import { conflictsOf, outcomeIcon, stateOf, teamEnd } from "./outcomes.js";
import { section } from "./panel.js";
import { charts } from "./runs.js";
import { here, state } from "./store.js";
import { counted, wordsOf } from "./words.js";

/** @typedef {import("../../../tools/studio/page").Run} Run */
/** @typedef {{name: string, from: number, to: number, beats: Beat[], tries?: number}} Phase */
/** @typedef {{kind: string, at: number, phase: Phase, event: string, agent?: string, task?: string, status?: string, set?: string, ok?: boolean, check?: string, decisions?: string[], [fact: string]: any}} Beat */

charts.set("team", teamPage);
charts.set("blocks", blocksPage);

// What a reader of a session skips, and what another event says already.
const QUIET = new Set(["read_status", "write", "verify", "end", "user_reply", "decision"]);
const PERSON = /ASK|APPROVE|REVIEW_STRATEGY|GATE/u;
const BEATS = new Map([["dispatch", "agent"], ["ask", "ask"], ["check_run", "check"], ["task_status", "task"]]);

/** The events of a session as beats: a dispatch and its reply are one. @param {Run} run */
function beatsOf(run) {
  /** @type {Beat[]} */
  const beats = [];
  /** @type {Phase[]} */
  const phases = [];
  for (const event of run.events) {
    if (event.event === "enter_state" || !phases.length) phases.push({ name: String(event.state ?? "start"), from: beats.length, to: beats.length, beats: [] });
    const phase = phases[phases.length - 1];
    if (event.event === "retry_count") phase.tries = event.count;
    if (event.event === "enter_state" || event.event === "retry_count" || QUIET.has(event.event) || isFolded(beats, event)) continue;
    const beat = { kind: BEATS.get(event.event) ?? "other", at: beats.length, phase, ...event };
    beats.push(beat);
    phase.to = beats.length;
    phase.beats.push(beat);
  }
  return { beats, phases: phases.filter((phase) => phase.beats.length) };
}

/** Whether an event says how the work of an agent ended. @param {Beat[]} beats @param {any} event */
function isFolded(beats, event) {
  const last = beats[beats.length - 1];
  if (event.event === "reply") {
    const open = [...beats].reverse().find((beat) => beat.kind === "agent" && beat.agent === event.agent);
    if (open) Object.assign(open, { status: event.status, summary: event.summary ?? open.summary });
    return Boolean(open);
  }
  const isOwn = event.event === "task_status" && last?.kind === "agent" && last.task === event.task;
  if (isOwn) last.set = event.status;
  return isOwn;
}

/** @param {Beat} beat */
function isBad(beat) {
  return beat.ok === false || Boolean(beat.status && !["OK", "completed", "in-progress", "implemented", "not-started"].includes(beat.status));
}

/** @param {Beat} beat */
function beatWords(beat) {
  const of = beat.task && beat.task !== "meta" ? ` (${beat.task})` : "";
  if (beat.kind === "agent") return `${beat.agent} ${beat.set ? `→ ${beat.set}` : beat.status && beat.status !== "OK" ? `answers: ${wordsOf(beat.status).toLowerCase()}` : "answers"}${of}`;
  if (beat.kind === "ask") return "A person is asked";
  if (beat.kind === "check") return `${String(beat.check ?? "check").replace(/^cmd: /u, "")}: ${beat.ok ? "passed" : "failed"}`;
  return beat.kind === "task" ? `${beat.task} is ${beat.status}` : `${wordsOf(beat.event)}${of}`;
}

/** @param {Run} run */
function sectionOfTasks(run) {
  const tasks = Object.entries(run.tasks);
  return tasks.length ? section("Tasks", h("ul.plain.lines", tasks.map(([task, status]) => h("li", icon(status === "completed" ? "check" : "cross", status ?? "open"), " ", h("strong", task), run.titles?.[task] ? ` ${run.titles[task]}` : "", h("span.note", ` ${status ?? "open"}`))))) : null;
}

const [FIRST, WIDEST, NARROWEST, CHART] = [118, 46, 31, 830];
const UPRIGHT = 66;

/** @param {Run} run @param {any} failure */
function teamPage(run, failure) {
  const { beats, phases } = beatsOf(run);
  const tasks = Object.keys(run.tasks);
  const column = Math.max(NARROWEST, Math.min(WIDEST, Math.floor(CHART / Math.max(1, beats.length))));
  const rows = [["person", "Person"], ["meta", "Whole project"], ...tasks.map((task) => [task, task]), ["check", "Checks"]];
  const rowOf = (/** @type {Beat} */ beat) => (beat.kind === "ask" ? "person" : beat.kind === "check" ? "check" : beat.task && tasks.includes(beat.task) ? beat.task : "meta");
  const chosen = beats[Number(state.item ?? -1)] ?? beats.find((beat) => beat.kind === "ask" && beat.phase.name === "ASK_USER") ?? beats.find(isBad) ?? beats[0];
  const cell = (/** @type {Beat} */ beat) => {
    const sign = beat.kind === "ask" ? icon("person") : beat.kind === "check" ? icon(beat.ok ? "check" : "cross") : beat.kind === "task" ? icon(isBad(beat) ? "cross" : "check") : (beat.agent ?? wordsOf(beat.event)).slice(0, 2);
    return link(here({ item: String(beat.at) }), { class: `beat b-${beat.kind}${isBad(beat) ? " bad" : ""}${beat === chosen ? " current" : ""}`, at: { left: beat.at * column + 3, width: column - 6 }, "aria-current": beat === chosen ? "true" : null, "aria-label": `${beat.at + 1}: ${beatWords(beat)}`, title: beatWords(beat) }, sign);
  };
  const band = (/** @type {Phase} */ phase) => {
    const width = (phase.to - phase.from) * column;
    const kind = PERSON.test(phase.name) ? "gate" : /FIX|REPAIR/u.test(phase.name) ? "fix" : "";
    return h("span.phase-band", { class: `${kind}${chosen?.phase === phase ? " current" : ""}`, at: { left: phase.from * column, width: width - 2 }, title: wordsOf(phase.name) }, h("span", { class: width < UPRIGHT ? "upright" : "" }, wordsOf(phase.name)));
  };
  const span = (/** @type {string} */ task) => {
    const own = beats.filter((beat) => rowOf(beat) === task);
    return own.length ? h("span.span", { class: `s-${run.tasks[task] ?? ""}`, at: { left: own[0].at * column, width: (own[own.length - 1].at - own[0].at + 1) * column } }) : null;
  };
  const row = (/** @type {string[]} */ [name, title]) => h("div.chart-row", { class: tasks.includes(name) ? "r-task" : `r-${name}` },
    h("span.chart-name", title, run.tasks[name] ? h("span.note", { class: `t-${run.tasks[name] === "completed" ? "ok" : "err"}` }, run.tasks[name]) : null),
    h("div.chart-lane", tasks.includes(name) ? span(name) : null, phases.map((phase) => h("i.tick", { at: { left: phase.from * column - 1 } })), beats.filter((beat) => rowOf(beat) === name).map(cell)));
  const all = Object.values(run.tasks);
  const isOpen = all.some((status) => status !== "completed") || !/^(DONE|completed?)$/iu.test(run.status ?? "");
  return h("main.split.team", { id: "main" },
    h("header.view-head", h("div", h("p.eyebrow", link("~runs?only=team", "Runs"), " › team session"), h("h1", h("span.sign", { class: `o-${stateOf(run)}` }, outcomeIcon(run)), ` ${run.name}`)),
      h("div.head-acts", h("span.tag", { class: isOpen ? "c-warning" : "c-ok" }, icon(isOpen ? "warning" : "check"), teamEnd(run).replace(/^./u, (letter) => letter.toUpperCase())), h("span.note", `${counted(run.decisions.length, "decision")} · ${counted(phases.length, "state")}`))),
    h("div.left.lanes-view",
      h("div.scroller.plain-ground", { tabindex: 0, role: "region", "aria-label": "Timeline" },
        h("div.chart", { at: { width: FIRST + beats.length * column + 20 } }, h("div.chart-row.phases-row", h("span.chart-name", "State"), h("div.chart-lane", phases.map(band))), rows.filter(([name]) => tasks.includes(name) || beats.some((beat) => rowOf(beat) === name)).map(row)),
        h("ol.team-log", phases.map((phase) => h("li", { class: chosen?.phase === phase ? "current" : "" }, h("strong", wordsOf(phase.name), phase.tries ? h("span.note", ` try ${phase.tries}`) : null),
          h("ul", phase.beats.map((beat) => h("li", { class: isBad(beat) ? "t-err" : "" }, link(here({ item: String(beat.at) }), beat.kind === "ask" ? `asked: ${answersOf(run, beat)}` : beatWords(beat))))))))),
      h("div.legend-bar", h("span", icon("person"), "a person decides"), h("span", h("b.swatch", "Co"), "an agent works"), beats.some((beat) => beat.kind === "agent" && isBad(beat)) ? h("span.t-err", h("b.swatch.bad", "Se"), "did not succeed") : null, h("span", "in order of events; no clock is drawn"))),
    h("aside.panel", { "aria-label": "Event" }, h("div.panel-body", failure, blockersOf(run),
      chosen ? [h("p.eyebrow", `${wordsOf(chosen.phase.name)}${chosen.phase.tries ? ` · try ${chosen.phase.tries}` : ""} · event ${chosen.at + 1} of ${beats.length}`), h("h2", { tabindex: -1, id: "step-title" }, beatWords(chosen)), chosen.kind === "ask" ? asked(run, chosen) : factsOf(chosen)] : h("h2", { id: "step-title" }, "Nothing was recorded"),
      sectionOfTasks(run),
      run.decisions.length ? section("Decisions", h("ol.plain.decisions", run.decisions.map((item) => {
        const beat = beats.find((each) => each.kind === "ask" && each.decisions?.includes(item.decision_id));
        return h("li", { class: beat && beat === chosen ? "current" : "" }, beat ? link(here({ item: String(beat.at) }), wordsOf(item.state_context)) : h("strong", wordsOf(item.state_context)), h("strong.answer-tag", String(item.answer ?? item.status ?? "open")), h("p.note", item.question ?? ""));
      }))) : null)));
}

/** @param {Run} run @param {Beat} beat */
function answersOf(run, beat) {
  return run.decisions.filter((item) => beat.decisions?.includes(item.decision_id)).map((item) => item.answer ?? item.status ?? "open").join(", ");
}

/** @param {Run} run @param {Beat} beat */
function asked(run, beat) {
  return run.decisions.filter((item) => beat.decisions?.includes(item.decision_id)).map((item) => h("div.asked", h("p", item.question ?? ""), h("p", h("span.note", "answered "), h("strong.answer-tag", String(item.answer ?? "not yet")))));
}

/** @param {Record<string, any>} facts */
function factsOf(facts) {
  const shown = Object.entries(facts).filter(([name, value]) => !["kind", "at", "phase", "event", "state", "n"].includes(name) && value !== undefined && value !== null);
  return h("dl.form", shown.map(([name, value]) => [h("dt", name), h("dd", name === "summary" ? String(value) : h("code", typeof value === "object" ? JSON.stringify(value) : String(value)))]));
}

/** @param {Run} run */
function blockersOf(run) {
  return run.blockers.map((blocker) => h("div.notice.bad", icon("error"), h("div", h("strong", blocker.code ?? "blocked"), h("p", blocker.message ?? ""), blocker.suggestedFix ? h("p.note", blocker.suggestedFix) : null)));
}

const PLACES = ["first", "second", "third", "fourth"];
const REASONS = new Map([["user-resolved", "a person decided"], ["first-complete-wins", "it finished first"]]);

/** @param {Run} run @param {any} failure */
function blocksPage(run, failure) {
  const byNode = new Map(run.nodes.map((item) => [item.node, item]));
  const nameOf = (/** @type {string} */ node) => run.labels?.[node] ?? node;
  const conflicts = conflictsOf(run);
  const merge = run.merges.find((item) => `merge:${item.group}` === state.item) ?? (state.item ? null : run.merges.find((item) => item.conflicts.length));
  const chosen = merge ? `merge:${merge.group}` : state.item ?? run.nodes.find((item) => item.status === "failed")?.node ?? run.nodes[0]?.node ?? "";
  const toneOf = (/** @type {string} */ status) => (status === "completed" ? "ok" : status === "failed" ? "err" : "muted");
  const block = (/** @type {string} */ node, /** @type {any} */ extra = null) => {
    const { status = null, prompt = "" } = byNode.get(node) ?? {};
    const words = status ?? (run.status ? "not run" : "");
    const ways = (run.transitions ?? []).filter((way) => way.from === node && way.when !== "always");
    return link(here({ item: node }), { class: `lane-card s-${toneOf(status)}${chosen === node ? " current" : ""}`, "aria-current": chosen === node ? "true" : null },
      h("span.lane-title", h("strong", nameOf(node)), words ? h("span", { class: `t-${toneOf(status)}` }, icon(status === "completed" ? "check" : status === "failed" ? "cross" : "minus"), String(words)) : null), prompt ? h("span.note", prompt) : null, extra,
      ways.map((way) => h("span.note.way", `→ ${nameOf(way.to)} if ${String(way.when).replace(/_/gu, " ")}`)));
  };
  const inside = (/** @type {any} */ { inner }) => (inner?.length ? h("ol.inner", inner.map((/** @type {string} */ node) => {
    const status = String(byNode.get(node)?.status ?? "");
    return h("li", icon(status === "completed" ? "check" : status === "failed" ? "cross" : "minus", status), " ", link(here({ item: node }), { "aria-current": chosen === node ? "true" : null }, nameOf(node)));
  })) : null);
  const files = (/** @type {any} */ joined, /** @type {string} */ node) => Object.entries(joined?.applied ?? {}).flatMap(([file, from]) => {
    const clash = joined.conflicts.find((/** @type {any} */ item) => item.conflictingFile === file);
    if (from !== node && !clash?.lanes?.includes(node)) return [];
    const isLost = clash && from !== node;
    return [h("li", { class: clash ? (isLost ? "lost" : "won") : "" }, icon(clash ? (isLost ? "cross" : "check") : "file"), h("code", file), isLost ? h("span.note", from === "manual" ? "decided by hand" : "not taken") : null)];
  });
  const fan = (/** @type {any} */ item) => {
    const joined = run.merges.find((each) => each.group === item.group);
    const count = joined?.conflicts.length ?? 0;
    const key = `merge:${item.group}`;
    return h("li.stage.fan", h("p.fan-head", h("strong", nameOf(item.group ?? "")), h("span.note", `${counted(item.nodeIds.length, "lane")} side by side${joined?.isolation ? `, each in a ${String(joined.isolation).replace("git-", "git ")}` : ""}`)),
      h("div.lane-row", item.nodeIds.map((/** @type {string} */ node) => h("div.lane", block(node, joined?.order?.includes(node) ? h("span.finish", `finished ${PLACES[joined.order.indexOf(node)] ?? "later"}`) : null), h("ul.files", files(joined, node))))),
      link(here({ item: key }), { class: `merge-bar${count ? " warn" : ""}${chosen === key ? " current" : ""}` }, icon("merge"), h("strong", count ? counted(count, "conflict") : joined ? "merged" : "merge"), h("span.note", joined ? `merged by ${joined.strategy ?? item.mergeStrategy}` : `by ${item.mergeStrategy ?? "workspace"}`)));
  };
  const isDone = run.status === "completed" || !run.status;
  const word = run.status ? String(run.status).replace(/_/gu, " ") : "a definition";
  return h("main.split.blocks", { id: "main" },
    h("header.view-head", h("div", h("p.eyebrow", link("~runs?only=blocks", "Runs"), run.status ? " › block run" : " › blocks"), h("h1", h("span.sign", { class: `o-${stateOf(run)}` }, outcomeIcon(run)), ` ${run.name}`)),
      h("div.head-acts", h("span.tag", { class: isDone ? "c-ok" : "c-error" }, icon(isDone ? "check" : "error"), word), conflicts.length ? h("span.tag.c-warning", icon("merge"), counted(conflicts.length, "conflict")) : null)),
    h("div.left.lanes-view", h("div.scroller", { tabindex: 0, role: "region", "aria-label": "Lanes" }, h("ol.stages", h("li.stage-end", "start"), run.plan.map((item) => (item.nodeIds ? fan(item) : h("li.stage", block(item.node ?? ""), inside(item)))), h("li.stage-end", run.status ? word : "end")))),
    h("aside.panel", { "aria-label": "Block" }, h("div.panel-body", failure, blockersOf(run),
      merge ? mergePart(merge, nameOf) : chosen ? [h("p.eyebrow", "block"), h("h2", { tabindex: -1, id: "step-title" }, nameOf(chosen)), h("div.text-box.padded", byNode.get(chosen)?.prompt || "no prompt")] : h("h2", { id: "step-title" }, "No block"),
      run.events.length ? section("What happened", h("ol.log", run.events.map((event, at) => logLine(event, at, chosen, nameOf)))) : null)));
}

/** How lanes came together: who wrote each file, what was kept, and why. @param {any} merge @param {(node: string) => string} nameOf */
function mergePart(merge, nameOf) {
  const kept = (/** @type {any} */ item) => (merge.applied?.[item.conflictingFile] === "manual" ? "a version by hand" : nameOf(merge.applied?.[item.conflictingFile] ?? item.appliedFrom ?? "open"));
  return [h("p.eyebrow", `group ${nameOf(merge.group)}`), h("h2", { tabindex: -1, id: "step-title" }, merge.conflicts.length ? `${counted(merge.conflicts.length, "file")} written by more than one lane` : "Merged without a conflict"),
    h("p.note", `merged by ${merge.strategy}; finished: ${(merge.order ?? []).map(nameOf).join(", then ")}`),
    h("ol.conflicts", merge.conflicts.map((/** @type {any} */ item) => h("li", h("p", h("code.tag", item.conflictingFile ?? "")),
      h("dl.versus", h("dt", "written by"), h("dd", (item.lanes ?? []).map(nameOf).join(" and ")), h("dt", "kept"), h("dd", h("strong", kept(item))), h("dt", "because"), h("dd", REASONS.get(item.resolution) ?? item.resolution ?? "undecided")))))];
}

/** @param {any} event @param {number} at @param {string} chosen @param {(node: string) => string} nameOf */
function logLine(event, at, chosen, nameOf) {
  const facts = event.data ?? {};
  const of = event.nodeId ?? (facts.groupId ? `merge:${facts.groupId}` : null);
  const name = String(event.type ?? event.event ?? "event");
  const isBadEvent = /failed|conflict|paused|aborted|error/u.test(`${name} ${facts.status ?? ""}`);
  const choices = facts.choices ? Object.entries(facts.choices).map(([file, from]) => `${file.split("/").pop()}: ${from}`).join(", ") : null;
  const note = choices ?? (facts.completionOrder ? facts.completionOrder.join(", ") : facts.conflictingFile ?? (facts.status && facts.status !== "completed" ? facts.status : facts.cause ?? ""));
  return h("li", { class: `${of && of === chosen ? "current" : ""}${isBadEvent ? " bad" : ""}` }, h("span.number", String(event.n ?? at + 1)), h("span", wordsOf(name)), event.nodeId ? link(here({ item: event.nodeId }), nameOf(event.nodeId)) : null, h("span.note", String(note)));
}
