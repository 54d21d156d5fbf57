#!/bin/sh
# The whole journey on the shipped fixtures: lint, fix, compile, explain, hash, pin, change, notice.
# Works on a copy, so the checkout stays as it is.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
demo=$(mktemp -d)
trap 'rm -rf "$demo"' EXIT
cp -R "$here/fixtures/workflows" "$here/fixtures/routines" "$here/fixtures/.workrail" "$demo"
cd "$demo"

say() { printf '\n\033[1m%s\033[0m\n' "$*"; }
run() { printf '$ %s\n' "$*"; "$@"; }
expect_change() { printf '$ %s\n' "$*"; "$@" && { echo "expected a difference" >&2; exit 1; } || true; }

say "0. A workflow with two mistakes: what is wrong, where, why, and how to fix it"
sed 's/"maxIterations": 5/"maxIteration": 5/; s/"version": "1.0.0",/"version": "1.0.0", \/\/ first/' \
  workflows/refine-until-clean.json > broken.json
expect_change workrail-lint check --no-cache --select SY,SC,LP broken.json
printf '$ workrail-lint check --fix broken.json   # the comment is a safe fix, the misspelled member an unsafe one\n'
workrail-lint check --no-cache --fix --unsafe-fixes --select SY,SC,LP broken.json && rm broken.json

say "1. Compile every workflow: one line each, with its hash"
run workrail-lint compile --routines routines workflows

say "2. The hash the public engine would pin for the same file"
run workrail-lint compile --target engine --emit hash workflows/code-review.json

say "3. Where each injected sentence came from"
workrail-lint compile --explain workflows/migration-plan.json | head -n 16
printf '   ...\n'

say "4. Pin all hashes, then verify them"
run workrail-lint lock --update --routines routines workflows
run workrail-lint lock --check --routines routines workflows

say "5. A loop limit and a prompt change: lock --check fails and shows what changed"
sed -i.old 's/"maxIterations": 5/"maxIterations": 50/; s/Number the findings and give/Give/' workflows/refine-until-clean.json
expect_change workrail-lint lock --check --routines routines workflows
mv workflows/refine-until-clean.json changed.json
mv workflows/refine-until-clean.json.old workflows/refine-until-clean.json

say "6. The same as a diff"
expect_change workrail-lint diff workflows/refine-until-clean.json changed.json

printf '\n\033[1m%s\033[0m\n' "== Workflows as tests: a blocker, its fix, a golden that differs"
sh "$here/scripts/demo-run.sh"

printf '\n\033[1m%s\033[0m\n' "== The two other agent contracts"
sh "$here/scripts/demo-contracts.sh"
