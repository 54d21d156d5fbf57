// Scenario files in the Test Explorer. pytest runs them; its report of runs says how each ended.

import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import * as path from "node:path";
import * as vscode from "vscode";
import { sibling } from "./programs";

const SCENARIOS = "**/*.scenario.json";

/** What `pytest --workrail-runs-json` says about one test. */
interface Outcome {
  test: string;
  state: "passed" | "failed" | "changed" | "error" | "skipped";
  seconds: number;
  message?: string;
  line?: number;
}

export class Scenarios implements vscode.Disposable {
  private readonly controller = vscode.tests.createTestController("workrail", "WorkRail scenarios");
  private readonly watcher = vscode.workspace.createFileSystemWatcher(SCENARIOS);

  constructor() {
    this.controller.resolveHandler = async () => {
      for (const uri of await vscode.workspace.findFiles(SCENARIOS, "**/{node_modules,.venv}/**")) this.add(uri);
    };
    this.watcher.onDidCreate((uri) => this.add(uri));
    this.watcher.onDidDelete((uri) => this.controller.items.delete(uri.toString()));
    this.controller.createRunProfile("Run", vscode.TestRunProfileKind.Run, (request, token) => this.run(request, token), true);
  }

  private add(uri: vscode.Uri): void {
    this.controller.items.add(this.controller.createTestItem(uri.toString(), vscode.workspace.asRelativePath(uri), uri));
  }

  private async run(request: vscode.TestRunRequest, token: vscode.CancellationToken): Promise<void> {
    const chosen: vscode.TestItem[] = request.include ? [...request.include] : [];
    if (request.include === undefined) this.controller.items.forEach((item) => chosen.push(item));
    const items = chosen.filter((item) => item.uri !== undefined && !request.exclude?.includes(item));
    const run = this.controller.createTestRun(request);
    for (const item of items) run.started(item);
    try {
      const { outcomes, output } = await runPytest(items.map((item) => item.uri!.fsPath), token);
      run.appendOutput(output.replace(/\r?\n/gu, "\r\n"));
      const own = outcomesOf(items, outcomes);
      for (const item of items) report(run, item, own.get(item) ?? [], output);
    } finally {
      run.end();
    }
  }

  dispose(): void {
    this.watcher.dispose();
    this.controller.dispose();
  }
}

/** The outcomes of each item. A test is named below the folder that pytest takes for the root, so of two files that end alike it is the upper one. */
function outcomesOf(items: vscode.TestItem[], outcomes: Outcome[]): Map<vscode.TestItem, Outcome[]> {
  const found = new Map<vscode.TestItem, Outcome[]>();
  for (const outcome of outcomes) {
    const file = `/${outcome.test.replace(/::.*$/su, "")}`;
    const named = items.filter((item) => item.uri!.fsPath.replaceAll("\\", "/").endsWith(file));
    const [item] = named.sort((one, other) => one.uri!.fsPath.length - other.uri!.fsPath.length);
    if (item !== undefined) found.set(item, [...(found.get(item) ?? []), outcome]);
  }
  return found;
}

function report(run: vscode.TestRun, item: vscode.TestItem, own: Outcome[], output: string): void {
  const bad = own.find((each) => each.state !== "passed" && each.state !== "skipped");
  const milliseconds = own.reduce((sum, each) => sum + 1000 * each.seconds, 0);
  if (own.length === 0) {
    run.errored(item, new vscode.TestMessage(output.trim() || "pytest did not run this scenario"));
  } else if (bad !== undefined) {
    const message = new vscode.TestMessage(bad.message ?? bad.state);
    message.location = new vscode.Location(item.uri!, new vscode.Position(Math.max(0, (bad.line ?? 1) - 1), 0));
    run.failed(item, message, milliseconds);
  } else if (own.every((each) => each.state === "skipped")) {
    run.skipped(item);
  } else {
    run.passed(item, milliseconds);
  }
}

async function runPytest(files: string[], token: vscode.CancellationToken): Promise<{ outcomes: Outcome[]; output: string }> {
  const folder = await mkdtemp(path.join(tmpdir(), "workrail-"));
  const target = path.join(folder, "runs.json");
  const cwd = vscode.workspace.workspaceFolders?.[0]?.uri.fsPath;
  try {
    const output = await new Promise<string>((resolve) => {
      const args = ["-q", "-p", "no:cacheprovider", `--workrail-runs-json=${target}`, "--", ...files];
      const child = execFile(sibling("pytest"), args, { cwd, maxBuffer: 64 << 20 }, (problem, out, errors) => {
        resolve(`${out}${errors}${typeof problem?.code === "string" ? String(problem) : ""}`);
      });
      token.onCancellationRequested(() => child.kill());
    });
    const text = await readFile(target, "utf8").catch(() => '{"tests": []}');
    return { outcomes: (JSON.parse(text) as { tests: Outcome[] }).tests, output };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
