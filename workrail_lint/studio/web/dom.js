// Elements from text, never from markup: what a document says can only ever become a text node.

/** @typedef {Node | string | number | null | undefined | false} Child */

const SVG = "http://www.w3.org/2000/svg";
// Control, bidirectional and zero-width characters, which hide or reorder what is around them.
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]/gu;

/** Text with hidden characters shown by their numbers. @param {unknown} text */
export function visible(text) {
  return String(text).replace(HIDDEN, (found) => `U+${found.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}`);
}

/** @param {Element} element @param {Child[]} children */
function append(element, children) {
  for (const child of children.flat(4)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : visible(child));
  }
}

/** @param {Element} element @param {Record<string, any>} props */
function set(element, props) {
  for (const [name, value] of Object.entries(props)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    // What the script reads back has to stay as it is.
    else element.setAttribute(name, value === true ? "" : name.startsWith("data-") ? value : visible(value));
  }
}

/** What follows the tag: properties, if the first of it is a plain object, then children. @param {any[]} rest @returns {[Record<string, any>, Child[]]} */
function split(rest) {
  const [first, ...others] = rest;
  const isProps = first !== null && typeof first === "object" && !Array.isArray(first) && !(first instanceof Node);
  return isProps ? [first, others] : [{}, rest];
}

/**
 * An HTML element, with its classes behind the tag: `h("p.note", "text")`. `at` places it, in pixels.
 * @param {string} tag @param {...any} rest @returns {HTMLElement}
 */
export function h(tag, ...rest) {
  const [name, ...classes] = tag.split(".");
  const element = document.createElement(name);
  const [{ at, ...props }, children] = split(rest);
  if (classes.length) props.class = [...classes, props.class || []].flat().join(" ");
  set(element, props);
  if (at) for (const [place, value] of Object.entries(at)) element.style.setProperty(place, typeof value === "number" ? `${value}px` : value);
  append(element, children);
  return element;
}

/** An SVG element. @param {string} tag @param {Record<string, any>} [props] @param {...any} children @returns {SVGElement} */
export function svg(tag, props = {}, ...children) {
  const element = document.createElementNS(SVG, tag);
  set(element, props);
  append(element, children);
  return element;
}

const ICONS = new Map(Object.entries({
  search: "M7 2a5 5 0 1 1 0 10A5 5 0 0 1 7 2zM11 11l3 3",
  moon: "M13 10A6 6 0 0 1 6 3a6 6 0 1 0 7 7z",
  gate: "M4.5 8V4.5M7 8V3M9.5 8V4M4.5 8.5c-1.5-1.2-3 .3-2 1.5l3 3.5h4.5l2.5-5V6",
  contract: "M3.5 1.5h6l3 3v10h-9zM5.5 9l2 2 3.5-4",
  assessment: "M1.5 12a6.5 6.5 0 0 1 13 0zM8 12l3-4",
  fragments: "M2 4.5h12M2 8h7M2 11.5h12",
  loop: "M13 6a5.5 5.5 0 1 0 .5 3M13.5 2v4h-4",
  check: "M2.5 8.5l3.5 3.5 7.5-8",
  error: "M8 1.5a6.5 6.5 0 1 1 0 13 6.5 6.5 0 0 1 0-13zM8 4.5v4M8 11v.5",
  warning: "M8 2l6.5 12h-13zM8 6.5v3.5M8 12v.3",
  info: "M8 1.5a6.5 6.5 0 1 1 0 13 6.5 6.5 0 0 1 0-13zM8 7.5v4M8 4.5v.5",
  missing: "M8 2a6 6 0 1 1 0 12A6 6 0 0 1 8 2z",
  left: "M10 3L5 8l5 5",
  right: "M6 3l5 5-5 5",
  play: "M4.5 3v10l8-5z",
  pause: "M5 3v10M11 3v10",
  split: "M4 2v5h8v5M4 7v7",
  copy: "M5.5 5.5h8v8h-8zM2.5 10.5v-8h8",
  cross: "M4 4l8 8M12 4l-8 8",
  change: "M2 9c2-5 4-5 6-2s4 3 6-2",
  edit: "M3 13l1-4 7-7 3 3-7 7z",
  bolt: "M9 1.5L3.5 9H8l-1 5.5L12.5 7H8z",
  clock: "M8 1.5a6.5 6.5 0 1 1 0 13 6.5 6.5 0 0 1 0-13zM8 4.5V8l2.5 2",
  person: "M8 2.5a2.7 2.7 0 1 1 0 5.4 2.7 2.7 0 0 1 0-5.4zM2.5 14c.6-3 2.8-4.3 5.5-4.3s4.9 1.3 5.5 4.3",
  plus: "M8 3v10M3 8h10",
  minus: "M3 8h10",
  merge: "M4 2v3c0 3 4 3 4 6v3M12 2v3c0 3-4 3-4 6",
  file: "M3.5 1.5h6l3 3v10h-9zM9.5 1.5v3h3",
  rule: "M2.5 3h11M2.5 8h11M2.5 13h6",
  text: "M3 3.5h10M8 3.5v9",
  dot: "M8 6a2 2 0 1 1 0 4 2 2 0 0 1 0-4z",
  logo: "M5 14V6M5 6a2 2 0 1 0 0-4 2 2 0 0 0 0 4zM11 14V9L5 6",
}));

/** A small picture; `label` when it says something that no text beside it does. @param {string} name @param {string} [label] */
export function icon(name, label) {
  const props = label ? { role: "img", "aria-label": label } : { "aria-hidden": "true" };
  return svg("svg", { class: `icon i-${name}`, viewBox: "0 0 16 16", width: 16, height: 16, ...props },
    label ? svg("title", {}, label) : null, svg("path", { d: ICONS.get(name) ?? "" }));
}

/** A link inside of the page. @param {string} hash @param {...any} rest */
export function link(hash, ...rest) {
  const [props, children] = split(rest);
  return h("a", { href: `#${hash}`, ...props }, ...children);
}

/** @typedef {{value: string, title: any, count?: any, tone?: string | null}} Choice */

/** Links of which one is chosen, as in a row of tabs. @param {string} name @param {string} chosen @param {(value: string) => string} to @param {Choice[]} choices @param {string} [kind] */
export function choices(name, chosen, to, choices, kind = "") {
  return h("div.tabs", { class: kind, role: "group", "aria-label": name }, choices.map(({ value, title, count, tone }) =>
    link(to(value), { class: "choice-tab", "aria-current": chosen === value ? "true" : null, "data-choice": value }, title,
      count === undefined || count === "" ? null : h("span.count", { class: tone ? `t-${tone}` : "" }, String(count)))));
}

/** Text only for readers of the page's structure. @param {string} text */
export function hidden(text) {
  return h("span.hidden", text);
}

/** A button that copies a command. @param {string} text */
export function copyable(text) {
  const button = h("button.button.small", { type: "button", onclick: () => {
    navigator.clipboard?.writeText(text).then(() => { button.lastChild?.replaceWith("copied"); }, () => {});
  } }, icon("copy"), "copy");
  return h("div.command", h("code", text), button);
}

/**
 * A field that filters a list as the reader types; the list is drawn anew, the field is not.
 * @param {string} name @param {Map<string, string>} filters @param {string} words @param {() => any} list
 */
export function filtered(name, filters, words, list) {
  const body = h("div", list());
  const field = h("input.filter", { type: "search", placeholder: words, "aria-label": words, value: filters.get(name) ?? "", oninput: (/** @type {any} */ event) => {
    filters.set(name, event.target.value);
    body.replaceChildren();
    append(body, [list()]);
  } });
  return { field, body };
}
