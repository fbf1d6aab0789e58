// Builds src into a directory: node build.mjs [DIR]. The output depends only on the sources and the lock file.
import { build } from "esbuild";
import { copyFile, mkdir } from "node:fs/promises";
import { resolve } from "node:path";

const dist = resolve(process.argv[2] ?? new URL("../dist/", import.meta.url).pathname) + "/";
await mkdir(dist, { recursive: true });
await build({
  entryPoints: [{ in: "src/main.tsx", out: "app" }, { in: "src/page.css", out: "app" }],
  outdir: dist, bundle: true, minify: true, format: "esm", target: "es2022", jsx: "automatic", jsxImportSource: "preact",
  banner: { js: "/*! With Preact (copyright Jason Miller) and uPlot (copyright Leon Sorokin), under the MIT License: https://opensource.org/license/mit */" },
  charset: "utf8", legalComments: "inline", absWorkingDir: new URL(".", import.meta.url).pathname,
});
for (const file of ["index.html", "icon.svg"]) await copyFile(new URL("src/" + file, import.meta.url), dist + file);
