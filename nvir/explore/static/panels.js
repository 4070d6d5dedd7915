// @ts-check
/** What stands beside the code: loops, registers, what-ifs, schedule, control flow, diff, problems. */
import { dropState, h, rounded, state, setState } from "./data.js";
import { pressure, timeline } from "./charts.js";

/** @typedef {import("./data.js").Answer} Answer */
/** @typedef {{go: (line: number, pane?: string, file?: string) => void, loop: (header: string) => void}} Actions */

const NONE = "–";

/** On a narrow page a row is a card, each cell with its column's name.
 * @param {string[]} head @param {(Node | string | number | null)[][]} rows @param {Record<string, any>} [attributes] */
function table(head, rows, attributes = {}) {
  const cell = (/** @type {any} */ c, /** @type {number} */ k) => h("td", { "data-name": head[k], class: typeof c === "number" ? "n" : null }, c ?? NONE);
  return h("div", { class: "wide" }, h("table", attributes,
    h("thead", {}, h("tr", {}, ...head.map((x, k) => h("th", { scope: "col", ...(typeof rows[0]?.[k] === "number" ? { class: "n" } : {}) }, x)))),
    h("tbody", {}, ...rows.map((r) => h("tr", {}, ...r.map(cell))))));
}

/** @param {string} text @param {() => void} onclick */
const link = (text, onclick) => h("button", { type: "button", class: "link", onclick }, text);

/** @param {string} by */
export const origin = (by) => by === "ptxas" ? h("span", { class: "by real" }, "ptxas") : h("span", { class: "by" }, "predicted");

/** Blocks that an SM holds. @param {any} n */
export const blocks = (n) => (n === 1 ? "block/SM" : "blocks/SM");

/** A sentence whose code in backquotes is set as code. @param {string} text */
function prose(text) {
  return h("span", {}, ...text.split("`").map((part, k) => (k % 2 ? h("code", {}, part) : part)));
}

/** A piece of the report's advice. @param {Answer} a */
const advised = (a) => h("p", { class: "advice" }, prose(a.text));

/** @param {number | string} n */
const number = (n) => typeof n === "number" ? rounded(n, Math.abs(n) < 1000 ? 1 : 0).toLocaleString("en") : n;

/** @template T @param {T} n a number of cycles, or what stands in its place */
const tenths = (n) => typeof n === "number" ? rounded(n, 1) : n;

// ---------------------------------------------------------------- loops

/** @param {Answer} f the report's entry of the kernel @param {Actions} act */
export function loopsPanel(f, act) {
  const others = f.advice.filter((/** @type {Answer} */ a) => a.place === null).map(advised);
  if (!f.loops.length) return h("div", {}, ...others, h("p", { class: "dim" }, "This kernel has no loop."));
  const chosen = state.get("loop");
  const told = f.source_loops.map((/** @type {Answer} */ x) => h("article", { class: x.loops.includes(chosen) ? "chosen" : "" },
    h("h3", {}, link(x.line ? `${x.file}:${x.line}` : x.loops[0], () => act.loop(x.loops[0])),
      ...x.called_at.map((/** @type {string} */ at) => h("span", { class: "dim" }, ` called at ${at}`)),
      ...x.loops.map((/** @type {string} */ name, /** @type {number} */ k) => h("span", {}, " ", x.line || k ? h("button", {
        type: "button", class: "tag", "aria-pressed": name === chosen, onclick: () => act.loop(name),
      }, name) : null, h("span", { class: "dim" }, x.front_end.roles[k] === "whole" ? "" : ` ${x.front_end.roles[k]}`)))),
    x.front_end.text ? h("p", {}, x.front_end.text) : null,
    x.assembler.text ? h("p", {}, x.assembler.text) : null,
    ...x.advice.map((/** @type {string} */ a) => h("p", { class: "advice" }, prose(a)))));
  const rows = f.loops.map((/** @type {Answer} */ x) => [
    h("span", {}, " ".repeat(2 * (x.depth - 1)), link(x.header, () => act.loop(x.header))), x.line, x.trip_count ?? "unknown",
    x.instructions, x.max_live, x.unroll.action === "partial" ? `×${x.unroll.factor}` : x.unroll.action,
    tenths(x.pipeline.mii),
  ]);
  return h("div", {}, ...told, ...others,
    table(["loop", "line", "trip count", "instructions", "live as written", "ptxas unrolls", "II ≥"], rows, { class: "cards" }),
    h("p", { class: "dim" }, "II ≥: the least cycles an iteration that a modulo schedule could reach; ptxas does not pipeline loops."));
}

/** @param {Answer} made @param {Actions} act */
export function loopPanel(made, act) {
  if (made.error) return h("p", { class: "dim" }, made.error);
  const e = made.explain;
  const rows = e.decisions.flatMap((/** @type {Answer} */ d) => d.remarks.map((/** @type {Answer} */ r) => [
    d.pass, h("span", { class: r.kind }, r.message)]));
  const factors = e.factors.map((/** @type {Answer} */ r) => [
    `${r.chosen ? "→ " : ""}${r.factor === "full" ? "full" : `×${r.factor}`}`, r.instructions, r.at_least ? `≥ ${number(r.ii)}` : tenths(r.ii), r.registers, r.blocks_per_sm,
    tenths(r.cycles["1"] ?? null), tenths(r.cycles["8"] ?? null)]);
  const untried = e.factors.filter((/** @type {Answer} */ r) => r.note);
  const code = e.machine_code;
  return h("div", {},
    h("h3", {}, "Why ", h("code", {}, e.loop.header), " is as it is"),
    h("p", {}, h("b", {}, "Trip count "), e.trip_count.how),
    code ? h("p", {}, origin("ptxas"), ` ${code.instructions} instructions for ${code.copies} ${code.copies === 1 ? "iteration" : "iterations"}, at least ${number(code.res_mii)} cycles an iteration (${code.bottleneck}); simulated ${number(code.cycles["1"])} with 1 warp, ${number(code.cycles["8"])} with 8.`) : null,
    ...e.source_loop.advice.map((/** @type {string} */ a) => h("p", { class: "advice" }, prose(a))),
    h("h3", {}, "Unroll factors ", origin("model")),
    table(["factor", "instructions", "II", "registers", "blocks/SM", "1 warp", "8 warps"], factors, { class: "cards" }),
    ...untried.map((/** @type {Answer} */ r) => h("p", { class: "dim" }, `${r.factor === "full" ? "full" : `×${r.factor}`}: ${r.note}`)),
    h("p", { class: "dim" }, "Cycles of one iteration as written, of this loop alone, with 1 and 8 warps on a sub-partition; What if has those of the whole kernel. The arrow is what ptxas does."),
    h("details", {}, h("summary", {}, `What each pass decided (${rows.length})`), table(["pass", "decision"], rows, { class: "decisions" })),
    e.peak ? h("p", {}, "Most registers of the loop: ", link(`line ${e.peak.line}`, () => act.go(e.peak.line)), ` with ${e.peak.registers} live`, e.peak.source ? ` (${e.peak.source})` : "") : null);
}

// ---------------------------------------------------------------- registers

/** Who is live at the row of a line. @param {Answer} kernel @param {number} line */
export function liveAt(kernel, line) {
  const row = kernel.rows.line.indexOf(line);
  if (row < 0) return [];
  return kernel.live.filter((/** @type {any[]} */ r) => {
    for (let k = 5; k < r.length; k += 2) if (r[k] <= row && row < r[k + 1]) return true;
    return false;
  });
}

/** @param {Answer} kernel @param {number} line @param {Actions} act */
export function registersPanel(kernel, line, act) {
  const row = kernel.rows.line.indexOf(line);
  const peak = kernel.peak;
  const isPeak = peak && peak.line === line;
  const goTo = (/** @type {number} */ n) => (n ? link(String(n), () => act.go(n)) : NONE);
  let who;
  if (isPeak) {
    who = table(["register", "type", "registers", "defined", "last use", "why it is alive"], peak.values.map((/** @type {Answer} */ v) =>
      [h("code", {}, v.name), v.type, v.registers, goTo(v.defined), goTo(v.last_use), v.why]), { id: "live", class: "cards" });
  } else {
    const live = liveAt(kernel, line).sort((/** @type {any[]} */ a, /** @type {any[]} */ b) => b[2] - a[2]);
    who = live.length ? table(["register", "type", "registers", "defined", "last use"], live.map((/** @type {any[]} */ r) =>
      [h("code", {}, r[0]), r[1], r[2], goTo(r[3]), goTo(r[4])]), { id: "live", class: "cards" }) : h("p", { class: "dim" }, "Put the cursor on an instruction of the kernel to see who is live there.");
  }
  const counts = row < 0 ? "" : ` · ${kernel.rows.live[row]} live as written${kernel.rows.asm[row] === null ? "" : `, ${kernel.rows.asm[row]} ${kernel.by === "ptxas" ? "in ptxas's code" : "as ptxas is taken to order it"}`}`;
  return h("div", {}, pressure(kernel, act.go),
    h("h3", {}, isPeak ? `Live at the peak, line ${line}` : `Live at line ${line}`, h("span", { class: "dim" }, counts),
      peak && !isPeak ? h("span", {}, " ", link(`peak: line ${peak.line}`, () => act.go(peak.line))) : null), who);
}

// ---------------------------------------------------------------- what if

/** @param {Answer} c a candidate @param {string} header */
function settingOf(c, header) {
  const s = c.settings.loops[header] ?? {};
  const others = Object.keys(c.settings.loops).filter((x) => x !== header).length;
  const launch = Object.entries(c.settings.launch)[0];
  const unroll = s.free ? "free" : s.unroll ?? "as is";
  return { unroll: String(unroll), depth: String(s.depth ?? 0), apart: s.apart ? "1" : "", bounds: launch ? launch.join(" ") : "none", others };
}

const UNROLLS = /** @type {Record<string, string>} */ ({ "as is": "as it is", free: "left to ptxas", 0: "full", 1: "1 (not unrolled)" });
const rank = (/** @type {string} */ u) => ({ "as is": -2, free: -1, 0: 1e9 })[u] ?? Number(u);


/** What to write, with its place as a link. @param {Answer[]} changes @param {Actions} act */
function written(changes, act) {
  return changes.map((x, k) => h("span", { class: "write" }, k ? "; " : "", prose(x.text),
    x.place ? " at " : "", x.file ? link(x.place, () => act.go(x.line, "source", x.file)) : x.line ? link(x.place, () => act.go(x.line)) : x.place,
    x.note ? h("span", { class: "dim" }, ` (${x.note})`) : null));
}

/**
 * @param {Answer} made @param {string} header @param {Actions} act
 * @param {Answer[]} told the report's advice for the kernel @param {boolean} [waiting] for ptxas
 */
export function whatIfPanel(made, header, act, told, waiting = false) {
  if (made.error) return h("p", { class: "dim" }, made.error);
  const all = made.candidates.map((/** @type {Answer} */ c) => ({ c, s: settingOf(c, header) }))
    .filter((/** @type {any} */ x) => !x.s.others)
    .sort((/** @type {any} */ a, /** @type {any} */ b) => rank(a.s.unroll) - rank(b.s.unroll) || a.s.depth - b.s.depth);
  const options = (/** @type {string} */ key, /** @type {(a: string, b: string) => number} */ order) =>
    [...new Set(/** @type {string[]} */ (all.map((/** @type {any} */ x) => x.s[key])))].sort(order);
  const unrolls = options("unroll", (a, b) => rank(a) - rank(b));
  const depths = options("depth", (a, b) => Number(a) - Number(b));
  const bounds = options("bounds", (a, b) => (a === "none" ? -1 : b === "none" ? 1 : a.localeCompare(b, "en", { numeric: true })));
  const aparts = options("apart", (a, b) => a.localeCompare(b));
  const sizes = made.sizes.filter((/** @type {number} */ n) => n <= made.most);
  const result = h("div", { class: "result", "aria-live": "polite", id: "result" });
  const rows = h("tbody");

  /** Why a setting other than the kernel's own was not tried. @param {string} key @param {string} else_ */
  function only(key, else_) {
    const own = { unroll: "as is", depth: "0", bounds: "none" }[key];
    const why = made.refused.find((/** @type {Answer} */ r) => /** @type {any} */ (settingOf({ settings: r.settings }, header))[key] !== own)?.reason;
    return why && key === "bounds" ? `others were not judged: ${why}` : why ?? else_;
  }

  /** @param {string} key @param {string} text @param {any[]} values @param {(v: any) => string} show @param {any} start @param {string} why it cannot be moved, where it has one value */
  function slider(key, text, values, show, start, why) {
    const stuck = values.length < 2;
    const asked = values.findIndex((v) => String(v) === state.get(key));
    if (asked < 0 && state.has(key) && !waiting) dropState(key);
    const at = asked < 0 ? Math.max(0, values.findIndex((v) => String(v) === String(start))) : asked;
    const out = h("output", {}, show(values[at]));
    const input = /** @type {HTMLInputElement} */ (h("input", {
      type: "range", min: 0, max: values.length - 1, value: at, id: `slide-${key}`, disabled: stuck, "aria-describedby": stuck ? `why-${key}` : null,
      "aria-valuetext": show(values[at]), oninput: () => {
        const value = values[Number(input.value)];
        out.textContent = show(value);
        input.setAttribute("aria-valuetext", show(value));
        setState(key, value);
        update();
      },
    }));
    return { values, input, key, set(/** @type {any} */ value) { input.value = String(values.indexOf(value)); out.textContent = show(value); setState(key, value); },
      get value() { return values[Number(input.value)]; },
      row: h("label", { class: stuck ? "stuck" : "" }, h("span", {}, text), stuck ? h("span", { hidden: true }, input) : input, out,
        stuck ? h("small", { class: "dim", id: `why-${key}` }, why) : null) };
  }
  const bound = (/** @type {string} */ b) => b.startsWith("maxnreg") ? `at most ${b.slice(8)} registers` : `at least ${b.slice(13)} ${blocks(Number(b.slice(13)))}`;
  const own = Object.entries(made.own).map(([k, n]) => bound(`${k} ${n}`)).join(", ");
  const launch = (/** @type {string} */ b) => b === "none" ? own ? `its own: ${own}` : "none" : bound(b);
  const s = {
    block: slider("block", "Threads a block", made.fixed ? [made.block] : sizes, (v) => String(v), made.block, "the kernel asks for so many (.reqntid)"),
    unroll: slider("unroll", "Unroll factor", unrolls, (v) => UNROLLS[v] ?? `×${v}`, "as is", header ? only("unroll", "no other factor is worth a try") : "the kernel has no loop"),
    depth: slider("depth", "Pipelining depth", depths, (v) => (v === "0" ? "0 (none)" : `${v} ahead`), "0", header ? only("depth", "no load of the loop can run ahead of it") : "the kernel has no loop"),
    bounds: slider("bounds", "Launch bounds", bounds, launch, "none", only("bounds", "no limit on registers that is worth a try lets more blocks run")),
    apart: slider("apart", "Operands", aparts, (v) => (v ? "apart (__restrict__)" : "may overlap"), "", ""),
  };
  const figuresAt = (/** @type {Answer} */ c) => c.at[made.sizes.indexOf(Number(s.block.value))] ?? [c.blocks_per_sm, null, c.cycles.full];
  const base = made.candidates[0];

  function update() {
    const found = all.find((/** @type {any} */ x) => x.s.unroll === s.unroll.value && x.s.depth === s.depth.value && x.s.bounds === s.bounds.value && x.s.apart === s.apart.value)?.c;
    result.replaceChildren(...(found ? figures(found) : [h("p", { class: "dim" }, missing())]));
    rows.replaceChildren(...all.map((/** @type {any} */ x) => rowOf(x.c, x.s, x.c === found)));
  }

  function missing() {
    const same = made.refused.find((/** @type {Answer} */ r) => {
      const x = settingOf({ settings: r.settings }, header);
      return x.unroll === s.unroll.value && x.depth === s.depth.value && x.apart === s.apart.value;
    });
    return same ? `Not possible: ${same.reason}.` : "These settings together were not tried.";
  }

  /** @param {Answer} c */
  function figures(c) {
    const now = figuresAt(c), then = figuresAt(base);
    const delta = (/** @type {number} */ a, /** @type {number} */ b, /** @type {boolean} */ more) => a === b ? null
      : h("small", { class: (a > b) === more ? "better" : "worse" }, `${a > b ? "+" : "−"}${number(Math.abs(a - b))}`);
    const item = (/** @type {string} */ name, /** @type {number} */ a, /** @type {number} */ b, more = false) => h("li", {}, h("b", {}, number(a)), " ", delta(a, b, more), h("span", {}, name));
    return [
      h("ul", { class: "figures" }, item("registers", c.registers, base.registers), item("bytes spilled", c.spill_bytes, base.spill_bytes),
        item(blocks(now[0]), now[0], then[0], true), item("warps/SM", now[1], then[1], true),
        item("cycles of a warp alone", c.cycles.one_warp, base.cycles.one_warp), item("cycles at full occupancy", now[2], then[2])),
      h("p", {}, origin(made.by), c.write.length ? " write: " : c === base ? " the kernel as it is" : " change the PTX: ", ...written(c.write, act)),
    ];
  }

  /** @param {Answer} c @param {any} x @param {boolean} chosen */
  function rowOf(c, x, chosen) {
    const at = figuresAt(c);
    const name = named(x), take = () => takes(x);
    const cells = [c.registers, c.spill_bytes, at[0], c.cycles.one_warp, at[2]].map((n) => h("td", { class: "n" }, number(n)));
    return h("tr", { class: chosen ? "chosen" : "", "aria-current": chosen ? "true" : null, "data-id": c.id }, h("td", {}, link(name, take), c.id === made.chosen && c.id ? h("span", { class: "tag" }, isFaster(c) ? "fastest" : "chosen") : null, c.pareto ? h("span", { class: "dim", title: "none is better in one of the two times without being worse in the other" }, " ◆") : null), ...cells);
  }

  /** @param {any} x */
  function named(x) {
    return [x.apart ? "operands apart" : "", x.unroll === "as is" ? "" : `unroll ${UNROLLS[x.unroll] ?? x.unroll}`, x.depth === "0" ? "" : `pipeline ${x.depth}`, x.bounds === "none" ? "" : launch(x.bounds)].filter(Boolean).join(", ") || "as it is";
  }

  /** @param {any} x */
  function takes(x) {
    for (const k of /** @type {("unroll" | "depth" | "bounds" | "apart")[]} */ (["unroll", "depth", "bounds", "apart"])) s[k].set(x[k]);
    update();
  }

  /** By how many percent the whole kernel takes more cycles than as it is. @param {Answer} c @param {string} k */
  const change = (c, k) => rounded(100 * (c.cycles[k] / base.cycles[k] - 1));
  /** @param {Answer} c */
  const isFaster = (c) => change(c, "full") < 0;

  /** What `nvir tune` would take of these, and what to write for it. */
  function best() {
    const won = all.find((/** @type {any} */ x) => x.c.id === made.chosen && x.c.id);
    if (!won) return h("p", { class: "advice" }, "None of these is worth a change: nvir tune would leave the kernel as it is.");
    const percent = (/** @type {string} */ k) => { const d = change(won.c, k); return `${d < 0 ? "−" : d ? "+" : "±"}${Math.abs(d)} %`; };
    return h("p", { class: "advice" }, isFaster(won.c) ? "Fastest: " : "Nothing is faster at full occupancy than as written; of what is as fast there, nvir tune takes ",
      link(named(won.s), () => takes(won.s)), ` (${percent("full")} cycles at full occupancy, ${percent("one_warp")} with one warp)`,
      won.c.write.length ? ": write " : "", ...written(won.c.write, act));
  }
  const head = h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "setting"), ...["registers", "spilled", "blocks/SM", "one warp", "full"].map((x) => h("th", { scope: "col", class: "n" }, x))));
  update();
  const trips = made.loops.filter((/** @type {Answer} */ x) => !header || x.header === header).map((/** @type {Answer} */ x) => `${x.header} runs ${x.trips} iterations (${x.source})`).join("; ");
  return h("div", { class: "whatif" },
    h("p", { class: "dim" }, made.by === "ptxas" ? "Registers, spills and code by ptxas; cycles simulated over that code, loads from " : "Predicted by nvir's model of ptxas, loads from ", made.level.toUpperCase(), trips ? `; ${trips}` : "", made.block_assumed ? `; ${made.block} threads a block are assumed` : "", ".", waiting ? " ptxas is asked …" : ""),
    h("div", { class: "sliders" }, ...Object.values(s).filter((x) => x.values.length > 1 || x.key !== "apart").map((x) => x.row)), result, best(), ...told.map(advised),
    h("div", { class: "wide" }, h("table", { id: "candidates" }, head, rows)),
    h("p", { class: "dim" }, "One warp, full: cycles of the whole kernel, of a warp alone and at full occupancy; Loops has those of one iteration. ◆: none is better in one of the two without being worse in the other."));
}


// ---------------------------------------------------------------- the rest

/** @param {Answer} made @param {Actions} act */
export function schedulePanel(made, act) {
  if (made.error) return h("p", { class: "dim" }, made.error);
  const run = made.timeline, p = made.explain.pipeline;
  const bound = p.mii === null ? h("p", { class: "dim" }, `No modulo schedule: ${p.reason}.`)
    : h("p", {}, `A modulo schedule would need ${p.ii ?? `at least ${number(p.mii)}`} cycles an iteration (bound by ${p.bottleneck}${p.recurrence ? `; recurrence ${p.recurrence}` : ""}). ptxas does not pipeline loops.`);
  if (run.reason) return h("div", {}, h("p", { class: "dim" }, `No timeline: ${run.reason}.`), bound);
  const stalls = Object.entries(run.stalls).filter(([k]) => k !== "selected").sort((a, b) => b[1] - a[1]).slice(0, 5);
  const total = stalls.reduce((n, [, k]) => n + k, 0) || 1;
  return h("div", {},
    h("p", {}, origin(run.by), ` ${number(run.per_iteration)} cycles ${run.copies > 1 ? `for ${run.copies} iterations` : "an iteration"} with ${run.warps} warps on a sub-partition, loads from ${run.memory.toUpperCase()}. Drag through the cycles: the line that issues is shown.`),
    timeline(run, act.go),
    h("p", {}, "Warps wait for ", ...stalls.map(([k, n], i) => h("span", {}, i ? ", " : "", h("b", {}, k.replaceAll("_", " ")), ` ${rounded((100 * n) / total)} %`)), "."), bound);
}

/** @param {Answer} kernel @param {Actions} act @param {(label: string) => number} lineOf */
export function flowPanel(kernel, act, lineOf) {
  if (!kernel.cfg) return h("p", { class: "dim" }, "One block, or too many to draw.");
  const parsed = new DOMParser().parseFromString(kernel.cfg.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" '), "image/svg+xml");
  const picture = document.importNode(parsed.documentElement, true);
  for (const text of picture.querySelectorAll("text")) {
    const line = lineOf(text.textContent?.split(" · ")[0] ?? "");
    if (!line) continue;
    text.setAttribute("class", "to");
    text.setAttribute("tabindex", "0");
    text.setAttribute("role", "link");
    text.addEventListener("click", () => act.go(line));
    text.addEventListener("keydown", (e) => /** @type {KeyboardEvent} */ (e).key === "Enter" && act.go(line));
  }
  return h("div", { class: "wide flow" }, h("p", { class: "dim" }, "A bar for each block, as long as its code, inner loops further in; branches forwards on the left, back on the right. The block of the peak is red."), picture);
}

/** @param {Answer} made @param {boolean} shown @param {() => void} toggle */
export function diffPanel(made, shown, toggle) {
  if (made.error) return h("p", { class: "dim" }, made.error);
  if (!made.isOther && !made.isEdited) return h("p", { class: "dim" }, "Nothing to compare with: edit the code, or start nvir explore with --against OLDER_FILE.");
  const rows = made.functions.flatMap((/** @type {Answer} */ f) => [
    ...(f.status === "added" || f.status === "removed" ? [[made.names[f.name], f.status, null, null]] : []),
    ...f.changes.map((/** @type {Answer} */ c) => [made.names[f.name], c.metric.replaceAll("_", " "), c.before, c.after]),
    ...f.loops.flatMap((/** @type {Answer} */ x) => x.changes.map((/** @type {Answer} */ c) => [`${made.names[f.name]} · ${x.header}`, c.metric.replaceAll("_", " "), c.before, c.after])),
  ]);
  return h("div", {}, h("p", {}, made.before.file === made.after.file ? "As opened → as edited " : `${made.before.file} → ${made.after.file}${made.version ? " as edited" : ""} `, h("button", { type: "button", "aria-pressed": shown, onclick: toggle }, shown ? "Hide the changed lines" : "Show the changed lines")),
    rows.length ? table(["kernel", "figure", "before", "after"], rows) : h("p", { class: "dim" }, "No figure is different."));
}

/** @param {Answer[]} found @param {Actions} act */
export function problemsPanel(found, act) {
  if (!found.length) return h("p", { class: "dim" }, "nvir check finds nothing that ptxas would refuse.");
  return h("ul", { class: "problems" }, ...found.map((d) => h("li", { class: d.severity },
    d.line ? link(d.column ? `${d.line}:${d.column}` : `${d.line}`, () => act.go(d.line, "edited")) : null, ` ${d.severity}: ${d.message} `, h("span", { class: "dim" }, d.code))));
}
