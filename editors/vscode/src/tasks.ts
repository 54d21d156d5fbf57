// Tasks for the commands that look at a whole project.

import * as vscode from "vscode";
import { programOf, resolved, sibling } from "./programs";

const MATCHER = "$workrail-lint";

export class Tasks implements vscode.TaskProvider {
  provideTasks(): vscode.Task[] {
    const lint = resolved(programOf(vscode.workspace.getConfiguration("workrail")));
    return [
      task("check", lint, ["check", "--format", "concise"], [MATCHER]),
      task("pin the hashes of all workflows", lint, ["lock", "--update"], []),
      task("write scenarios for all workflows", sibling("workrail-test"), ["generate", "."], []),
      task("test", sibling("pytest"), [], []),
    ];
  }

  resolveTask(): undefined {
    return undefined; // tasks of this kind are only offered, never written by hand
  }
}

function task(name: string, program: string, args: string[], matchers: string[]): vscode.Task {
  const run = new vscode.ProcessExecution(program, args);
  const made = new vscode.Task({ type: "workrail", task: name }, vscode.TaskScope.Workspace, name, "workrail", run, matchers);
  made.group = name === "test" ? vscode.TaskGroup.Test : undefined;
  return made;
}
