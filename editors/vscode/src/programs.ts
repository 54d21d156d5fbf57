// The programs of workrail-lint: which files they are, and whether they may be started.

import * as path from "node:path";
import * as vscode from "vscode";

/** The path of the program for the language server, as the user set it. */
export function programOf(settings: vscode.WorkspaceConfiguration): string {
  return settings.get<string>("path", "workrail-lint");
}

/** A bare name is looked up in PATH, an absolute path is the user's; a relative path leads into the workspace. */
export function isOfWorkspace(program: string): boolean {
  return /[\\/]/u.test(program) && !path.isAbsolute(program);
}

/** The program to start: a relative path begins in the workspace folder. */
export function resolved(program: string): string {
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri.fsPath;
  return folder !== undefined && isOfWorkspace(program) ? path.resolve(folder, program) : program;
}

/** A program that is installed beside workrail-lint, such as pytest. */
export function sibling(name: string): string {
  const program = resolved(programOf(vscode.workspace.getConfiguration("workrail")));
  const folder = path.dirname(program);
  return folder === "." ? name : path.join(folder, name);
}
