// Writes the licences of the packages that esbuild bundled: node licences.js METAFILE OUTPUT
// Fails if a package has no licence text, or a licence that we did not expect.

const fs = require("node:fs");
const path = require("node:path");

const EXPECTED = ["MIT", "ISC"];
const FOLDER = /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//;

const [metafile, output] = process.argv.slice(2);
const { outputs } = JSON.parse(fs.readFileSync(metafile, "utf8"));
const inputs = Object.values(outputs).flatMap((each) => Object.keys(each.inputs));
const folders = new Set(inputs.map((name) => FOLDER.exec(name)?.[1]).filter(Boolean));

const sections = [...folders].map((folder) => {
  const { name, version, license } = JSON.parse(fs.readFileSync(path.join(folder, "package.json"), "utf8"));
  const file = fs.readdirSync(folder).find((each) => /^licen[cs]e/i.test(each));
  if (!file || !EXPECTED.includes(license)) {
    throw new Error(`${name} ${version}: licence ${license}, text ${file ?? "missing"}; see docs/licences.md`);
  }
  const text = fs.readFileSync(path.join(folder, file), "utf8").replaceAll("\r\n", "\n").trim();
  return `${name} ${version} (${license})\n\n${text}\n`;
});
if (sections.length === 0) throw new Error(`${metafile} names no package`);
const rule = `\n${"-".repeat(72)}\n\n`;
fs.writeFileSync(output, `Licences of the packages in extension.js\n${rule}${sections.sort().join(rule)}`);
