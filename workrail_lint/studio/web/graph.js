// The flow graph: cards over one drawing of rails. All places come from the data; the page only draws.

import { h, hidden, icon, link, svg } from "./dom.js";
import { addressOf, state } from "./store.js";

const RADIUS = 9;

/** A line through points with round corners. @param {[number, number][]} points */
function railPath(points) {
  let path = `M${points[0][0]} ${points[0][1]}`;
  for (let i = 1; i < points.length - 1; i++) {
    const [before, at, after] = [points[i - 1], points[i], points[i + 1]];
    const room = Math.min(RADIUS, distance(before, at) / 2, distance(at, after) / 2);
    const [a, b] = [towards(at, before, room), towards(at, after, room)];
    path += `L${a[0]} ${a[1]}Q${at[0]} ${at[1]} ${b[0]} ${b[1]}`;
  }
  const last = points[points.length - 1];
  return `${path}L${last[0]} ${last[1]}`;
}

/** @param {[number, number]} a @param {[number, number]} b */
function distance(a, b) {
  return Math.abs(a[0] - b[0]) + Math.abs(a[1] - b[1]);
}

/** @param {[number, number]} from @param {[number, number]} to @param {number} length */
function towards(from, to, length) {
  return [from[0] + Math.sign(to[0] - from[0]) * length, from[1] + Math.sign(to[1] - from[1]) * length];
}

/**
 * The graph of a workflow with a layer on it. `visits` says how often a run came to each step, `rounds` in which round
 * of a loop it is, for stories.
 * @param {any} workflow @param {import("./layers.js").Layer} layer
 * @param {{visits?: Map<string, number>, rounds?: Map<string, number>, current?: string | null, href?: (step: string) => string}} [story]
 */
export function graphOf(workflow, layer, story = {}) {
  const drawing = workflow.layout;
  const href = story.href ?? ((/** @type {string} */ step) => addressOf(workflow, step));
  const canvas = h("div", { class: "canvas", at: { width: drawing.width, height: drawing.height } },
    drawing.groups.map((/** @type {any} */ group) => frame(workflow, group, layer, story)),
    rails(drawing, story.visits),
    drawing.groups.map((/** @type {any} */ group) => boundBadge(group, story)),
    drawing.labels.map((/** @type {any} */ label) => labelBox(label, layer)),
    drawing.nodes.map((/** @type {any} */ node) => card(workflow, node, layer, story, href)),
    (layer.ghosts ?? []).map(({ after, steps }) => ghost(drawing, after, steps)));
  const sizer = h("div", { class: "sizer" }, canvas);
  const scroller = h("div", { class: "scroller", tabindex: 0, role: "region", "aria-label": `Flow of ${workflow.name}` }, sizer);
  const zoomed = () => {
    canvas.style.transform = `scale(${state.zoom})`;
    sizer.style.width = `${drawing.width * state.zoom}px`;
    sizer.style.height = `${drawing.height * state.zoom}px`;
    canvas.classList.toggle("far", state.zoom < 0.58);
    scroller.dispatchEvent(new Event("zoomed"));
  };
  zoomed();
  pan(scroller);
  return h("div", { class: "graph" }, scroller, overview(workflow, layer, scroller, story.visits), zoomButtons(drawing, scroller, zoomed));
}

/** @param {any} drawing @param {Map<string, number> | undefined} visits */
function rails(drawing, visits) {
  const order = new Map([["skip", 0], ["main", 1], ["branch", 1], ["back", 2]]);
  const sorted = [...drawing.rails].sort((a, b) => (order.get(a.kind) ?? 1) - (order.get(b.kind) ?? 1));
  const passed = (/** @type {any} */ rail) => visits && (visits.has(rail.to) || visits.has(rail.from)) && rail.kind !== "skip" &&
    (rail.kind !== "back" || (visits.get(rail.to) ?? 0) > 1);
  return svg("svg", { class: "rails", width: drawing.width, height: drawing.height, "aria-hidden": "true" },
    svg("defs", {}, svg("marker", { id: "tip", markerUnits: "userSpaceOnUse", markerWidth: 12, markerHeight: 12, viewBox: "0 0 8 8", refX: 6, refY: 4, orient: "auto" },
      svg("path", { class: "tip", d: "M0 1L7 4L0 7z" }))),
    sorted.map((rail) => svg("path", { class: `rail ${rail.kind}${passed(rail) ? " passed" : ""}`, d: railPath(rail.points),
      "marker-end": rail.to && rail.kind !== "back" ? "url(#tip)" : null })),
    drawing.bars.map((/** @type {any} */ bar) => svg("rect", { class: "bar", x: bar.x, y: bar.y, width: bar.w, height: 4, rx: 2 })),
    drawing.joints.map((/** @type {any} */ at) => svg("circle", { class: "joint", cx: at[0], cy: at[1], r: 4 })),
    svg("circle", { class: "dot", cx: drawing.start[0], cy: drawing.start[1], r: 5 }),
    svg("circle", { class: "joint", cx: drawing.end[0], cy: drawing.end[1], r: 6 }),
    svg("circle", { class: "dot", cx: drawing.end[0], cy: drawing.end[1], r: 3 }));
}

/** @param {any} workflow @param {any} group @param {import("./layers.js").Layer} layer @param {any} story */
function frame(workflow, group, layer, story) {
  const mark = layer.marks.get(group.id);
  const current = !story.visits && state.step === group.id && group.kind !== "template";
  const head = [group.kind === "loop" ? icon("loop") : null, h("strong", {}, group.title),
    mark ? h("span", { class: `mark t-${mark.tone}` }, mark.text) : h("span", { class: "note" }, group.note)];
  // A loop and a parallel step are steps; a template call only groups some.
  const isStep = group.kind !== "template" && !story.visits;
  return h("div", { class: `frame ${group.kind}${current ? " current" : ""}`, at: { left: group.x, top: group.y, width: group.w, height: group.h } },
    isStep ? link(addressOf(workflow, group.id), { class: "frame-head", title: group.note, "data-step": group.id, "aria-current": current ? "step" : null }, head) : h("div", { class: "frame-head", title: group.note }, head));
}

/** How often a loop runs, on its rail. @param {any} group @param {any} story */
function boundBadge(group, story) {
  if (group.bound === null) return null;
  const round = story.rounds?.get(group.id);
  return h("span", { class: "bound", title: `at most ${group.bound} rounds`, at: { left: group.x - 2, top: group.y + group.h / 2 } }, round ? `${round} of ${group.bound}` : `≤ ${group.bound}`);
}

/** Steps that are gone, struck out where they were. @param {any} drawing @param {string | null} after @param {string[]} steps */
function ghost(drawing, after, steps) {
  const box = drawing.nodes.find((/** @type {any} */ node) => node.id === after) ?? drawing.groups.find((/** @type {any} */ group) => group.id === after);
  const [middle, top] = box ? [box.x + box.w / 2, box.y + box.h] : [drawing.start[0], drawing.start[1] + 6];
  return h("div", { class: "ghost", title: `removed: ${steps.join(", ")}`, at: { left: middle - 118, top: top + 2 } }, h("span", {}, "− ", h("del", {}, steps.join(", "))));
}

/** @param {any} label @param {import("./layers.js").Layer} layer */
function labelBox(label, layer) {
  const mark = label.to ? layer.labels.get(label.to) : undefined;
  return h("div", { class: `label l-${label.kind}`, title: label.text, at: { left: label.x, top: label.y, width: label.w, height: label.h } },
    label.kind === "subject" ? icon("split") : null, label.lines.map((/** @type {string} */ line) => h("span", {}, line)),
    mark ? h("span", { class: `mark t-${mark.tone}` }, mark.text) : null);
}

/** @param {any} workflow @param {any} node @param {import("./layers.js").Layer} layer @param {any} story @param {(step: string) => string} href */
function card(workflow, node, layer, story, href) {
  const [ident, delegation] = node.id.split("~");
  const step = workflow.stepById.get(node.id) ?? workflow.stepById.get(ident);
  const isPart = !workflow.stepById.has(node.id);
  const mark = layer.marks.get(node.id);
  const visits = story.visits?.get(step.id) ?? 0;
  const current = story.visits ? story.current === step.id : state.step === step.id;
  const related = state.variable ? (step.sets.includes(state.variable) ? "sets" : step.reads.includes(state.variable) ? "reads" : "") : "";
  const dim = state.variable ? !related : story.visits ? !visits : layer.dim && !mark;
  const under = isPart ? step.delegations?.[Number(delegation)]?.workflowId : step.writer === "template" ? (step.origin ?? "").split("#")[1] || step.id : step.id;
  return link(href(step.id), {
    class: `card w-${step.writer}${current ? " current" : ""}${dim ? " dim" : ""}${mark ? ` m-${mark.tone}` : ""}${isPart ? " delegation" : ""}`,
    at: { left: node.x, top: node.y, width: node.w, height: node.h }, "data-step": step.id, "aria-current": current ? "step" : null,
  },
  h("span", { class: "title" }, node.lines.map((/** @type {string} */ line) => h("span", {}, line))),
  h("span", { class: "under" }, h("code", {}, under ?? ""), h("span", { class: "badges" },
    isPart ? null : step.badges.map((/** @type {any} */ badge) => h("span", { class: `badge b-${badge.kind}`, title: badge.text }, icon(badge.kind))),
    related ? h("span", { class: "mark t-info" }, related) : null,
    visits > 1 ? h("span", { class: "mark t-info" }, `×${visits}`) : null,
    mark && !related ? h("span", { class: `mark t-${mark.tone}` }, mark.text) : null)),
  mark?.share === undefined ? null : h("span", { class: `share t-${mark.tone}`, at: { width: `${Math.round(mark.share * 100)}%` } }),
  hidden([step.condition ? `runs if ${step.condition}` : "", ...step.badges.map((/** @type {any} */ badge) => badge.text)].filter(Boolean).join("; ")));
}

/** The whole drawing in a strip beside it. @param {any} workflow @param {any} layer @param {HTMLElement} scroller @param {Map<string, number> | undefined} visits */
function overview(workflow, layer, scroller, visits) {
  const drawing = workflow.layout;
  const across = 42 / drawing.width;
  const view = svg("rect", { class: "window", x: 0.5, width: 43, rx: 3 });
  const dashes = drawing.nodes.map((/** @type {any} */ node) => {
    const step = node.id.split("~")[0];
    const tone = layer.marks.get(node.id)?.tone ?? (visits?.has(step) || (!visits && state.step === step) ? "info" : "");
    return [node, svg("rect", { class: `dash ${tone ? `t-${tone}` : ""}`, x: 1 + node.x * across, width: Math.max(4, node.w * across), rx: 1 })];
  });
  const strip = svg("svg", { class: "overview", width: 44, "aria-hidden": "true" }, dashes.map((/** @type {any} */ [, dash]) => dash), view);
  let down = 0.1;
  const update = () => {
    const tall = scroller.clientHeight || 1;
    down = Math.max(0.01, Math.min(0.16, (tall - 8) / drawing.height));
    strip.setAttribute("height", String(Math.ceil(drawing.height * down)));
    for (const [node, dash] of dashes) {
      dash.setAttribute("y", String(node.y * down));
      dash.setAttribute("height", String(Math.max(3, node.h * down)));
    }
    const shown = Math.min(drawing.height, tall / state.zoom);
    view.setAttribute("y", String(Math.min(scroller.scrollTop / state.zoom, drawing.height - shown) * down + 0.5));
    view.setAttribute("height", String(Math.max(8, shown * down - 1)));
  };
  scroller.addEventListener("scroll", update, { passive: true });
  scroller.addEventListener("zoomed", update);
  requestAnimationFrame(update);
  strip.addEventListener("pointerdown", (event) => {
    const y = /** @type {PointerEvent} */ (event).clientY - strip.getBoundingClientRect().top;
    scroller.scrollTop = (y / down) * state.zoom - scroller.clientHeight / 2;
  });
  return h("div", { class: "strip" }, strip);
}

/** @param {any} drawing @param {HTMLElement} scroller @param {() => void} zoomed */
function zoomButtons(drawing, scroller, zoomed) {
  const shown = h("span", { class: "zoom-value" }, `${Math.round(state.zoom * 100)}%`);
  /** @param {number} zoom */
  const to = (zoom) => {
    const middle = (scroller.scrollTop + scroller.clientHeight / 2) / state.zoom;
    state.zoom = Math.min(1.6, Math.max(0.25, zoom));
    zoomed();
    scroller.scrollTop = middle * state.zoom - scroller.clientHeight / 2;
    shown.textContent = `${Math.round(state.zoom * 100)}%`;
  };
  const fit = () => to(Math.min(1, (scroller.clientWidth - 20) / drawing.width));
  const button = (/** @type {string} */ text, /** @type {string} */ name, /** @type {() => void} */ act) =>
    h("button", { type: "button", class: "zoom-button", "aria-label": name, "data-zoom": text, onclick: act }, text);
  return h("div", { class: "zoom" }, button("−", "smaller", () => to(state.zoom - 0.12)), shown,
    button("+", "larger", () => to(state.zoom + 0.12)), button("fit", "fit the width", fit));
}

/** Drag the ground to move. @param {HTMLElement} scroller */
function pan(scroller) {
  scroller.addEventListener("pointerdown", (down) => {
    if (down.button !== 0 || (down.target instanceof Element && down.target.closest("a,button"))) return;
    const [left, top] = [scroller.scrollLeft + down.clientX, scroller.scrollTop + down.clientY];
    const move = (/** @type {PointerEvent} */ event) => {
      scroller.scrollLeft = left - event.clientX;
      scroller.scrollTop = top - event.clientY;
    };
    const up = () => { removeEventListener("pointermove", move); removeEventListener("pointerup", up); };
    addEventListener("pointermove", move);
    addEventListener("pointerup", up);
  });
}

/** The same structure as a nested list: for phones, for print, for readers. @param {any} workflow @param {any} layer */
export function listOf(workflow, layer) {
  const entry = (/** @type {any} */ block) => {
    switch (block.kind) {
      case "step": {
        const step = workflow.stepById.get(block.id) ?? workflow.stepById.get(block.id.split("~")[0]);
        const mark = layer.marks.get(block.id);
        const gone = (layer.ghosts ?? []).find((/** @type {any} */ item) => item.after === block.id);
        return h("li", {}, link(addressOf(workflow, step.id), { class: `card w-${step.writer} list-card${mark ? ` m-${mark.tone}` : ""}`, "data-step": step.id },
          h("span", { class: "title" }, h("span", {}, block.title)),
          h("span", { class: "under" }, h("code", {}, step.id), h("span", { class: "badges" },
            step.badges.map((/** @type {any} */ badge) => icon(badge.kind, badge.text)),
            mark ? h("span", { class: `mark t-${mark.tone}` }, mark.text) : null))),
        gone ? h("p", { class: "note t-err" }, "− ", h("del", {}, gone.steps.join(", "))) : null);
      }
      case "branch": return h("li", {}, h("span", { class: "label inline" }, block.text), h("ol", {}, block.items.map(entry)));
      case "switch": return h("li", {}, h("p", { class: "note" }, `${block.complete ? "one" : "at most one"} of ${block.lanes.length}${block.subject ? `, by ${block.subject}` : ""}`),
        h("ol", {}, block.lanes.map((/** @type {any} */ lane) => h("li", {}, h("span", { class: "label inline" }, lane.text), h("ol", {}, lane.items.map(entry))))));
      default: {
        const mark = layer.marks.get(block.id);
        const head = [block.kind === "loop" ? icon("loop") : null, h("strong", {}, block.title), h("span", { class: "note" }, mark?.text ?? block.note)];
        return h("li", { class: `list-group ${block.kind}` }, block.kind === "template" ? h("p", { class: "frame-head" }, head) : link(addressOf(workflow, block.id), { class: "frame-head", "data-step": block.id }, head),
          h("ol", {}, block.items.map(entry)));
      }
    }
  };
  return h("ol", { class: "steps-list" }, workflow.tree.map(entry));
}

/** A tiny picture of a workflow: its boxes from left to right. @param {any} workflow */
export function thumbnail(workflow) {
  if (!workflow.layout) return h("span", { class: "thumb" });
  const drawing = workflow.layout;
  const [along, across] = [Math.min(98 / drawing.height, 0.14), Math.min(32 / drawing.width, 0.05)];
  const top = (34 - drawing.width * across) / 2;
  const path = drawing.nodes.map((/** @type {any} */ node) => {
    const [long, wide] = [Math.max(1.5, node.h * along), Math.max(3, node.w * across)].map((number) => number.toFixed(1));
    return `M${(node.y * along).toFixed(1)} ${(top + node.x * across).toFixed(1)}h${long}v${wide}h-${long}z`;
  }).join("");
  return svg("svg", { class: "thumb", viewBox: "0 0 100 34", "aria-hidden": "true" }, svg("path", { d: path }));
}
