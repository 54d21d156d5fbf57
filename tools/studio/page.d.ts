// The data of a page, as `workrail_lint/studio/page_data.py` writes it, with what `store.js` adds when it is read.
// Only the type check of the scripts reads this file.

export type Child = Node | string | number | null | undefined | false | Child[];
export type Tone = "ok" | "warn" | "err" | "info" | "muted";
export type Piece = [writer: string, builtin: string | null, text: any];

export interface Finding {
  code: string; name: string; severity: string; message: string; step: string | null; pointer: string;
  range: { start: { line: number; column: number }; end: { line: number; column: number } };
  fix: { title: string; safety: string } | null;
}
export interface Step {
  id: string; title: string; type: string; loop: string | null; writer: string; origin: string | null;
  pieces: Piece[]; notes: string; badges: { kind: string; text: string }[]; reads: string[]; sets: string[];
  bytes: number; guidance: string[]; source: { line: number; indent: number; text: string } | null; blockers: string[];
  condition?: string; fragments?: { text: string; when: string | null }[]; contract?: { ref: string; required?: boolean };
  assessments?: { refs?: string[] }; criteria?: any; rounds?: number; delegations?: Record<string, any>[];
  samples?: Record<string, string>;
}
export interface Variable { name: string; set: string[]; read: string[]; values: unknown[] | null; given: boolean }
export interface Goal { kind: string; place: string; case: string; tests: number[] }
export interface Coverage {
  stale: boolean; total: { covered: number; points: number }; kinds: Record<string, any>; tests: string[]; points: Goal[];
}
export interface Mutant { id: string; operator: string; place: string; change: string; words?: string; missing: any }
export interface Mutation {
  stale?: boolean; workflowHash?: string; mutants: number; killed: number; inert?: number; score?: number; survived: Mutant[];
}
export interface Session {
  id: string; when?: number; status: string; steps: string[]; blocked: [string, string][]; stuck: string | null;
  minutes?: number; version: string;
}
export interface SessionVersion {
  hash: string; version: string; current: boolean; firstSeen?: number; sessions: Session[]; older?: Record<string, number>;
}
export interface Sessions {
  stale?: boolean; sessions?: number; statuses?: Record<string, number>; mend?: string[]; steps?: any[]; each?: SessionVersion[];
  versions: SessionVersion[];
}
export interface Change {
  kind: string; step: string | null; facet?: string; before?: any; after?: any; from?: string; followed?: string | null;
  follows?: string | null; title?: string; text?: string; condition?: string; lane?: { loop: string | null };
}
export interface Changes {
  isNew: boolean; list: Change[];
  version?: { base: string; declared: string; required: string; due: string; ok: boolean };
}
export interface Box { x: number; y: number; w: number; h: number }
/** With the steps that a run comes from and goes to on it, where its ends are no steps; null is the start and the end. */
export interface Rail {
  kind: string; points: [number, number][]; from: string | null; to: string | null; fromSteps?: (string | null)[]; toSteps?: (string | null)[];
}
/** Two steps that follow each other on some ways. */
export interface Pair { from: string | null; to: string | null; ways: Set<number> }
export interface CardBox extends Box { id: string; lines: string[] }
export interface Group extends Box { id: string; kind: string; title: string; note: string; bound: number | null; folded?: string[] }
export interface Label extends Box { kind: string; lines: string[]; text: string; to?: string | null }
export interface Drawing {
  width: number; height: number; start: [number, number]; end: [number, number]; nodes: CardBox[]; groups: Group[];
  rails: Rail[]; labels: Label[]; joints: [number, number][]; bars: Box[];
}
export interface Broken {
  message: string; code?: string; line?: number; column?: number; excerpt?: Excerpt; stale: boolean; commit?: string;
  committed?: number; sketch?: boolean;
}
export interface Excerpt { first: number; lines: string[] }
export interface Workflow {
  id: string; name: string; path: string; about?: string; version?: string; hash: string | null; findings: Finding[];
  features?: string[]; contracts?: Record<string, any>; assessments?: any[]; steps: Step[]; vars: Variable[];
  layout: Drawing | null; tree: any[]; coverage?: Coverage; mutation?: Mutation; sessions?: Sessions; cost?: any;
  committed?: number; changes?: Changes; broken?: Broken;
  key: string; stepById: Map<string, Step>; varByName: Map<string, Variable>; order: Map<string, number>;
}
export interface Turn {
  tool: string; intent?: string; answered?: string; notes?: string; artifacts?: any; context?: Record<string, any>;
  step: string | null; title?: string; prompt?: Piece[]; kind: string; error?: any; branch: number; parent?: number;
  round?: number; blockers: { code: string; message?: string; fix?: string }[]; divergences?: { reason: string; summary: string }[];
}
/** What a golden and a run disagree about, at a moment. */
export interface Difference {
  change: string; step?: string; field?: string; pointer?: string; old?: any; new?: any; moment: number | null; edit: Edit | null;
}
export interface Outcome {
  state: string; seconds: number; message?: string; file?: string; line?: number; pointer?: string; expected?: string;
  found?: string; excerpt?: Excerpt; moment: number | null;
}
export interface Run {
  name: string; path: string; kind: string; workflow?: string; hash?: string; test?: string; profile?: string; mode?: string;
  status: string | null; goal?: string; blocked: number; gaps: any[]; turns: Turn[]; tip: number; stale?: boolean;
  outcome?: Outcome; events: any[]; tasks: Record<string, string | null>; titles?: Record<string, string>; decisions: any[]; states: string[];
  blockers: any[]; plan: any[]; nodes: any[]; merges: any[]; labels?: Record<string, string>; transitions?: any[]; document?: string;
  key: string; differences: Difference[]; edits: Edit[];
}
/** An edit of a workflow and the changes of goldens that it explains; `unexplained` ones are a change without an edit. */
export interface Edit {
  id: string; workflow: string; kind: string; step: string | null; before?: any; after?: any; title: string; goldens: string[];
  changes: GoldenChange[];
}
export interface GoldenChange {
  id: string; title: string; workflow: string; change: string; step?: string; field?: string; pointer?: string; old?: any; new?: any;
  before?: any; after?: any; goldens: string[]; runs: number;
}
export interface Builtin {
  kind: string; id: string; title: string; summary: string; text?: string; schema?: any; example?: any; steps?: any[]; usedBy: string[];
}
export interface Page {
  project: string; tool: string; revision: string | null; workflows: Workflow[]; runs: Run[]; strings: string[];
  reasons: Record<string, string>; catalog: Builtin[]; locks: any; watched?: string; start?: string; views?: string[]; layer?: string;
  goldens: { groups: GoldenChange[]; pending: any[]; edits?: any[]; unexplained?: string[]; base?: string | null } | null;
  live?: { readOnly?: boolean; files?: Record<string, string | null>; scenarios?: string[] } | null;
}
/** A sign on a step. One that is `plain` leaves the card white. */
export interface Mark { text: string; tone: Tone; icon?: string; plain?: boolean; dim?: boolean; share?: number }
export interface Ghost { step: string; title: string; beside: string | null; isBefore: boolean }
export interface Traffic { visits: Map<string, number>; pairs: Pair[]; total: number }
export interface Layer {
  marks: Map<string, Mark>; labels: Map<string, Mark>; legend: any[]; stale?: boolean; quiet?: boolean; ghosts?: Ghost[]; traffic?: Traffic;
}
/** An entry of a worklist: what to look at, and where. */
export interface Entry {
  key: string; step: string | null; steps?: string[]; tone: Tone; icon?: string; sign?: string; code?: string; head: string;
  where: string; share?: number; body: () => any;
}
export interface EntryGroup { tone: Tone; title: string; items: Entry[]; folded?: boolean }
export interface Worklist { title: string; summary: any; groups: EntryGroup[]; empty: string; notice?: any; foot?: any }
