#!/bin/sh
# The whole journey on the shipped fixtures: lint, fix, compile, draw, pin, change, notice, test.
# Works on a copy, so the checkout stays as it is. Every command that runs on the copy is printed first, exactly as it runs.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
demo=$(mktemp -d)
trap 'rm -rf "$demo"' EXIT
cp -R "$here/fixtures/workflows" "$here/fixtures/routines" "$here/fixtures/.workrail" "$demo"
sed 's/"maxIterations": 5/"maxIteration": 5/; s/"version": "1.0.0",/"version": "1.0.0", \/\/ first/' \
  "$demo/workflows/refine-until-clean.json" > "$demo/broken.json"
cd "$demo"

say() { printf '\n\033[1m%s\033[0m\n' "$*"; }
# A command line as it is printed is what the shell gets.
run() { printf '$ %s\n' "$1"; sh -c "$1"; }
finds() { printf '$ %s\n' "$1"; sh -c "$1" && { echo "expected it to find something" >&2; exit 1; } || true; }

say "1. A workflow with two slips: what is wrong, where, why, and how to fix it"
finds 'workrail-lint check --no-cache --select SY,SC,LP broken.json'
run 'workrail-lint check --no-cache --fix --unsafe-fixes --select SY,SC,LP broken.json'

say "2. A picture of it: what runs after what, and how often"
run 'workrail-lint graph workflows/refine-until-clean.json'

say "3. Compile it to its hash, and pin the hashes of all workflows"
run 'workrail-lint compile --emit hash workflows/refine-until-clean.json'
run 'workrail-lint lock --update --routines routines workflows'

say "4. A loop limit and a prompt change: the lockfile notices, and diff says what changed in behaviour"
run 'cp workflows/refine-until-clean.json before.json'
run "sed -i.old 's/\"maxIterations\": 5/\"maxIterations\": 50/; s/Number the findings and give/Give/' workflows/refine-until-clean.json"
finds 'workrail-lint lock --check --routines routines workflows'
finds 'workrail-lint diff before.json workflows/refine-until-clean.json'

printf '\n\033[1m%s\033[0m\n' "== Workflows as tests: a blocker, its fix, a golden that differs"
sh "$here/scripts/demo-run.sh"

printf '\n\033[1m%s\033[0m\n' "== The two other agent contracts"
sh "$here/scripts/demo-contracts.sh"

say "The whole project on one page"
page="$(dirname "$demo")/workrail-demo.html"
run "workrail-lint studio workflows --routines routines --goldens $here/fixtures/scenarios --title demo --output $page"
printf 'open %s in a browser\n' "$page"
