// Numbers and differences in words.

/** @param {number} count @param {string} noun */
export function counted(count, noun) {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

/** A share as a whole percentage; 100 only when nothing is missing. @param {number} part @param {number} whole */
export function percent(part, whole) {
  return whole ? Math.floor((100 * part) / whole) : 0;
}

/** @param {number} bytes */
export function size(bytes) {
  return bytes < 1000 ? `${bytes} B` : `${(bytes / 1000).toFixed(1)} kB`;
}

/** How long ago it was, for a time in seconds. @param {number} seconds */
export function age(seconds) {
  const days = Math.floor((Date.now() / 1000 - seconds) / 86400);
  return days < 1 ? "today" : days < 60 ? `${days} d` : days < 730 ? `${Math.floor(days / 30)} months` : `${Math.floor(days / 365)} years`;
}

/** A value as it stands in JSON. @param {unknown} value */
export function json(value) {
  return JSON.stringify(value, null, 1) ?? "";
}

/** A value as JSON, each member of it in a line. @param {unknown} value */
export function memberLines(value) {
  if (value === null || typeof value !== "object" || Array.isArray(value)) return asText(value);
  return `{\n${Object.entries(value).map(([name, member]) => `  ${JSON.stringify(name)}: ${JSON.stringify(member)}`).join(",\n")}\n}`;
}

/**
 * The words of two texts as pieces: kept, gone, come. Long texts are compared by lines first.
 * @param {string} before @param {string} after @returns {{kind: "same" | "gone" | "come", text: string}[]}
 */
export function wordDiff(before, after) {
  const split = before.length + after.length > 20000 ? /(?<=\n)/u : /(?<=\s)|(?=\s)/u;
  const a = before.split(split);
  const b = after.split(split);
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end++;
  /** @type {{kind: "same" | "gone" | "come", text: string}[]} */
  const pieces = [];
  /** @param {"same" | "gone" | "come"} kind @param {string} text */
  const add = (kind, text) => {
    if (!text) return;
    const last = pieces[pieces.length - 1];
    if (last && last.kind === kind) last.text += text;
    else pieces.push({ kind, text });
  };
  add("same", a.slice(0, start).join(""));
  for (const [kind, text] of middleDiff(a.slice(start, a.length - end), b.slice(start, b.length - end))) add(kind, text);
  add("same", a.slice(a.length - end).join(""));
  return pieces;
}

/**
 * The longest common subsequence, as pieces; beyond a size everything counts as replaced.
 * @param {string[]} a @param {string[]} b @returns {["same" | "gone" | "come", string][]}
 */
function middleDiff(a, b) {
  if (a.length * b.length > 400000) return [["gone", a.join("")], ["come", b.join("")]];
  const width = b.length + 1;
  const table = new Uint16Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      table[i * width + j] = a[i] === b[j] ? table[(i + 1) * width + j + 1] + 1
        : Math.max(table[(i + 1) * width + j], table[i * width + j + 1]);
    }
  }
  /** @type {["same" | "gone" | "come", string][]} */
  const found = [];
  let i = 0;
  let j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) { found.push(["same", a[i]]); i++; j++; }
    else if (j >= b.length || (i < a.length && table[(i + 1) * width + j] >= table[i * width + j + 1])) found.push(["gone", a[i++]]);
    else found.push(["come", b[j++]]);
  }
  return found;
}

/** A time in milliseconds as a day and a time of day, in UTC. @param {number | undefined} at */
export function dateOf(at) {
  return at === undefined ? "" : `${new Date(at).toISOString().slice(0, 16).replace("T", " ")}`;
}

/** A value as text: JSON, where it is not text or lines of a text. @param {unknown} value @returns {string} */
export function asText(value) {
  if (value === null || value === undefined) return "";
  const isText = Array.isArray(value) && value.length > 0 && value.every((line) => typeof line === "string");
  return typeof value === "string" ? value : isText ? value.join("") : json(value);
}

/** A name of the engine in words: `TASK_DONE` and `task-done` are both "Task done". @param {unknown} name */
export function wordsOf(name) {
  return String(name ?? "").replace(/[_:-]+/gu, " ").toLowerCase().replace(/^./u, (letter) => letter.toUpperCase());
}

/** @param {string} text */
export function isJson(text) {
  try { JSON.parse(text); return true; } catch { return false; }
}
