// Builds nvir/explore/static/vendor/editor.js and the licences of what is in it. Run by `npm ci && npm run build`.
import { build } from "esbuild";
import { copyFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";

const out = "../../nvir/explore/static/vendor/";
const made = await build({
  entryPoints: ["editor.js"], outfile: `${out}editor.js`, bundle: true, minify: true,
  format: "iife", globalName: "NvirEditor", target: "es2022", legalComments: "none", metafile: true, charset: "ascii",
});
copyFileSync("node_modules/uplot/dist/uPlot.min.css", `${out}uplot.css`);

const names = new Set(
  Object.keys(made.metafile.inputs)
    .map((file) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(file)?.[1]).filter(Boolean),
);
const texts = [...names].sort().map((name) => {
  const at = `node_modules/${name}/`;
  const { version, license } = JSON.parse(readFileSync(`${at}package.json`, "utf8"));
  const text = existsSync(`${at}LICENSE`) ? readFileSync(`${at}LICENSE`, "utf8").trim() : license;
  return `${name} ${version} (${license})\n\n${text}\n`;
});
writeFileSync(`${out}LICENSES.txt`, texts.join(`\n${"-".repeat(72)}\n\n`));
