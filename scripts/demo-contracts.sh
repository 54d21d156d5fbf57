#!/bin/sh
# The two other agent contracts, each linted and run. Works on copies of the shipped fixtures, so the checkout stays as
# it is. Every command is printed exactly as it runs.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
demo=$(mktemp -d)
trap 'rm -rf "$demo"' EXIT
cp -R "$here/fixtures/team/full/." "$demo/team"
cp -R "$here/fixtures/blocks/in-lanes/." "$demo/blocks"
mkdir "$demo/scenarios"
cp -R "$here/fixtures/scenarios/team" "$here/fixtures/scenarios/blocks" "$demo/scenarios"
cd "$demo"
touch pytest.ini

say() { printf '\n\033[1m%s\033[0m\n' "$*"; }
run() { printf '$ %s\n' "$1"; sh -c "$1"; }
finds() { printf '$ %s\n' "$1"; sh -c "$1" && { echo "expected it to find something" >&2; exit 1; } || true; }

say "Team: several agents with fixed roles work on one session, and every decision is a file that must fit the others."
run 'workrail-lint check --no-cache team'
run "sed -i.old 's/\"answer\": \"approved\"/\"answer\": null/' team/.agents-work/*/status.json && rm team/.agents-work/*/status.json.old"
finds 'workrail-lint check --no-cache --format concise team'
run 'pytest -q scenarios/team/gate-correction.scenario.json'

say "Blocks: stateless steps in containers, some side by side in lanes, whose outputs are merged into one workspace."
run 'workrail-lint check --no-cache blocks'
output=$(find blocks/.output -name 'block-*.json' | sort | head -n 1)
run "sed -i.old 's/\"filesModified\": \[/\"filesModified\": [\"..\/elsewhere.py\", /; s/, \]/]/' $output && rm $output.old"
finds 'workrail-lint check --no-cache --format concise blocks'
run 'pytest -q scenarios/blocks/first-to-finish-wins.scenario.json'
