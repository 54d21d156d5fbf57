// The entry: starts the client, restarts it when its settings change, and owns the preview.

import * as vscode from "vscode";
import { Client } from "./client";
import { Preview } from "./preview";

let client: Client | undefined;

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  client = new Client();
  const preview = new Preview(() => client);
  context.subscriptions.push(
    preview,
    vscode.commands.registerCommand("workrail.preview", () => preview.show(vscode.window.activeTextEditor)),
    vscode.commands.registerCommand("workrail.restart", () => client?.restart()),
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (["enable", "path", "arguments"].some((name) => event.affectsConfiguration(`workrail.${name}`))) void client?.restart();
    }),
    vscode.workspace.onDidGrantWorkspaceTrust(() => client?.restart()),
    vscode.window.onDidChangeTextEditorSelection((event) => preview.follow(event.textEditor)),
    vscode.workspace.onDidChangeTextDocument((event) => preview.refresh(event.document)),
  );
  await client.start();
}

export async function deactivate(): Promise<void> {
  await client?.stop();
  client = undefined;
}
