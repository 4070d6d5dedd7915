// @ts-check
/** The page: what is chosen, what is shown of it, and what is asked for. */
import { $, IS_EXPORTED, ask, edit, h, keepState, rounded, setState, some, state } from "./data.js";
import { Pane } from "./code.js";
import {
  blocks, diffPanel, flowPanel, liveAt, loopPanel, loopsPanel, origin, problemsPanel, registersPanel,
  schedulePanel, whatIfPanel,
} from "./panels.js";

/** @typedef {import("./data.js").Answer} Answer */

const TABS = [
  ["loops", "Loops"], ["registers", "Registers"], ["whatif", "What if"], ["schedule", "Schedule"],
  ["flow", "Control flow"], ["diff", "Diff"], ["problems", "Problems"],
];
/** The document of the file, that of the kernel, and what is being done about them.
 * @type {{summary: Answer, kernel: Answer | null, original: string | null, stale: boolean}} */
const now = { summary: { kernels: [] }, kernel: null, original: null, stale: false };
let turn = 0; // of what is asked: an answer to an older question is not shown
const act = { go, loop: chooseLoop };

const panes = {
  ptx: new Pane($("ptx"), "ptx", listeners("ptx")),
  source: new Pane($("source"), "cuda", listeners("source")),
  machine: new Pane($("machine"), "sass", listeners("machine")),
};
/** @type {{line: number, live?: number}[]} */
let machineRows = []; // the PTX line of each line of the machine code
let machineOf = ""; // the kernel that it is of

// ---------------------------------------------------------------- what belongs together

/** @param {"ptx" | "source" | "machine"} name */
function listeners(name) {
  return {
    line: (/** @type {number} */ n) => select(name, n),
    hover: (/** @type {number} */ n) => connect(name, n || anchor(name), false),
    loop: chooseLoop,
    edit: (/** @type {string} */ text) => name === editedPane() && typed(text),
  };
}

const editedPane = () => (now.summary.language === "ptx" || !now.summary.language ? "ptx" : "source");
const line = () => Number(state.get("line") ?? 0);
/** @param {string} name */
const anchor = (name) => (name === "ptx" ? line() : 0);

/** The source file that is shown. */
function sourceFile() {
  const all = now.summary.sources ?? [];
  return all.find((/** @type {Answer} */ s) => s.name === state.get("source")) ?? all[0];
}

/** The lines of the PTX that a line of a pane belongs to. @param {string} name @param {number} n */
function ptxLines(name, n) {
  if (name === "ptx") return n ? [n] : [];
  if (name === "machine") return machineRows[n - 1]?.line ? [machineRows[n - 1].line] : [];
  const k = /** @type {any} */ (now.kernel), file = sourceFile();
  if (!k || !file) return [];
  const hits = new Set(k.places.flatMap((/** @type {number[][]} */ p, /** @type {number} */ i) =>
    p.some((at) => at[0] === file.number && at[1] === n) ? [i] : []));
  return k.rows.line.filter((/** @type {number} */ _, /** @type {number} */ i) => hits.has(k.rows.place[i]));
}

/** The lines of the source that lines of the PTX come from, the kernel's own before those of what
 * was inlined. @param {number[]} lines */
function sourceLines(lines) {
  const k = /** @type {any} */ (now.kernel), file = sourceFile();
  if (!k || !file) return [];
  const wanted = new Set(lines);
  return [...new Set(k.rows.line.flatMap((/** @type {number} */ n, /** @type {number} */ i) =>
    wanted.has(n) ? k.places[k.rows.place[i]].filter((/** @type {number[]} */ p) => p[0] === file.number).map((/** @type {number[]} */ p) => p[1]).reverse() : []))];
}

/** Mark in all panes what belongs to a line of one. @param {string} name @param {number} n @param {boolean} reveal */
function connect(name, n, reveal) {
  const lines = ptxLines(name, n);
  const wanted = new Set(lines);
  const machine = machineRows.flatMap((r, i) => (r.line && wanted.has(r.line) ? [i + 1] : []));
  panes.ptx.link(lines, reveal && name !== "ptx");
  panes.source.link(name === "source" ? [n] : sourceLines(lines), reveal && name !== "source");
  panes.machine.link(machine, reveal && name !== "machine");
}

/** @param {"ptx" | "source" | "machine"} name @param {number} n */
function select(name, n) {
  connect(name, n, true);
  const first = ptxLines(name, n)[0];
  if (name === "ptx") follow(n);
  if (first) {
    setState("line", first);
    if (state.get("tab") === "registers") showPanel();
  }
}

/** Choose the kernel that the cursor went into. @param {number} n */
function follow(n) {
  const inside = now.summary.kernels.find((/** @type {Answer} */ k) => k.first <= n && n <= k.last);
  if (inside && inside.name !== state.get("kernel")) chooseKernel(inside.name, false);
}

/** @param {number} n @param {string} [name] "edited" is the pane that can be edited
 * @param {string} [file] of the pane "source" */
function go(n, name = "ptx", file = "") {
  const pane = name === "edited" ? editedPane() : name === "source" ? name : "ptx";
  if (file && file !== sourceFile()?.name) {
    if (!now.summary.sources?.some((/** @type {Answer} */ s) => s.name === file)) return say(`${file} is not beside the PTX; --source-root says where it is`, true);
    chooseSource(file);
  }
  panes[pane].go(n);
  select(pane, n);
  if (innerWidth < 1180 && name !== "ptx") showPane(pane);
}

// ---------------------------------------------------------------- choosing

/** @param {string} name @param {boolean} [scroll] */
async function chooseKernel(name, scroll = true) {
  if (name !== state.get("kernel")) {
    setState("kernel", name);
    for (const key of ["loop", "cycle", "unroll", "depth", "bounds", "apart"]) state.delete(key);
  }
  await showKernel(scroll);
  background();
}

/** @param {string} header */
function chooseLoop(header) {
  if (header !== state.get("loop")) for (const key of ["cycle", "unroll", "depth", "bounds", "apart"]) state.delete(key);
  setState("loop", header);
  /** @type {HTMLSelectElement} */ ($("loop")).value = header;
  const at = now.kernel?.loops.find((/** @type {Answer} */ x) => x.header === header)?.lines[0]?.[0];
  if (at) panes.ptx.go(at);
  margins();
  showPanel();
}

const chosenKernel = () => now.kernel?.report;

/** Ask for the kernel that is chosen and show it; why that cannot be done.
 * @param {boolean} scroll @returns {Promise<string | undefined>} */
async function showKernel(scroll) {
  const mine = ++turn;
  const name = state.get("kernel") ?? "";
  const got = await ask("kernel", { kernel: name, real: now.summary.by === "ptxas" });
  if (mine !== turn) return undefined;
  if (got.error) {
    say(got.error, true);
    return got.error;
  }
  now.kernel = got;
  const loops = /** @type {HTMLSelectElement} */ ($("loop"));
  loops.replaceChildren(...got.loops.map((/** @type {Answer} */ x) => h("option", { value: x.header }, " ".repeat(2 * (x.depth - 1)) + x.header)));
  loops.disabled = !got.loops.length;
  /** @type {HTMLElement} */ (loops.parentElement).hidden = loops.disabled;
  if (!got.loops.some((/** @type {Answer} */ x) => x.header === state.get("loop"))) {
    const first = got.loops.find((/** @type {Answer} */ x) => x.inner);
    state.set("loop", first?.header ?? "");
  }
  loops.value = state.get("loop") ?? "";
  /** @type {HTMLSelectElement} */ ($("kernel")).value = name;
  showMachine(got.machine);
  figures();
  margins();
  if (scroll) {
    const place = now.summary.kernels.find((/** @type {Answer} */ k) => k.name === name);
    const at = line() >= place.first && line() <= place.last ? line() : got.peak?.line ?? place.first;
    panes.ptx.go(at);
    setState("line", at);
  }
  connect("ptx", line(), scroll);
  if (!scroll) panes.machine.link(panes.machine.linked, true);
  showPanel();
  keepState();
  return undefined;
}

// ---------------------------------------------------------------- showing

/** @param {string} text @param {boolean} [bad] */
function say(text, bad = false) {
  $("status").textContent = text;
  $("status").classList.toggle("bad", bad);
}

/** @param {Answer} made the summary of a file */
function showSummary(made) {
  now.summary = made;
  now.stale = false;
  document.title = `${made.file} · nvir explore`;
  $("file").textContent = made.file;
  $("arch").textContent = made.arch;
  const ptx = made.language === "ptx" ? made.text : made.ptx;
  panes.ptx.show(ptx);
  panes.ptx.title.replaceChildren(made.language === "ptx" ? "PTX" : "PTX (made by nvir)", h("span", { class: "dim hint" }, " registers live at each line · loops purple"));
  const file = sourceFile();
  if (file) panes.source.show(file.text);
  panes.source.title.replaceChildren(...sourceTitle(file));
  document.body.classList.toggle("no-source", !file);
  if (!IS_EXPORTED) panes[editedPane()].allowEdits(true);
  const select = /** @type {HTMLSelectElement} */ ($("kernel"));
  select.replaceChildren(...made.kernels.map((/** @type {Answer} */ k) => h("option", { value: k.name }, k.spoken)));
  if (!made.kernels.some((/** @type {Answer} */ k) => k.name === state.get("kernel"))) {
    state.set("kernel", made.opens ?? "");
  }
}

/** @param {string} name */
function chooseSource(name) {
  setState("source", name);
  panes.source.show(sourceFile().text);
  panes.source.title.replaceChildren(...sourceTitle(sourceFile()));
  margins();
  connect("ptx", line(), true);
}

/** @param {Answer | undefined} file */
function sourceTitle(file) {
  const all = now.summary.sources ?? [];
  if (all.length < 2) return [file?.name ?? "Source"];
  return [h("select", { "aria-label": "Source file", onchange: (/** @type {any} */ e) => chooseSource(e.target.value) }, ...all.map((/** @type {Answer} */ s) => h("option", { selected: s === file }, s.name)))];
}

function figures() {
  const f = chosenKernel(), k = now.kernel;
  if (!f || !k) return;
  const real = f.ptxas;
  /** @type {Node[]} */
  const chips = [];
  const chip = (/** @type {any} */ value, /** @type {string} */ text, /** @type {Node | null} */ by = null) => chips.push(h("li", {}, h("b", {}, value), " ", text, by ? " " : null, by));
  if (f.kind === "entry") chip(real ? real.registers : f.registers.predicted, "registers", origin(f.registers.source));
  if (real && real.spill_stores !== null) chip(real.spill_stores + real.spill_loads, "bytes spilled");
  if (f.occupancy) {
    chip(f.occupancy.blocks_per_sm, blocks(f.occupancy.blocks_per_sm));
    const full = f.occupancy.fraction === 1;
    chip(full ? "full" : `${rounded(100 * f.occupancy.fraction)} %`, `occupancy${f.occupancy.limiter && !full ? `, limited by ${f.occupancy.limiter}` : ""}`);
  }
  chip(f.instructions, "instructions");
  $("figures").replaceChildren(...chips);
  const peak = $("peak");
  peak.hidden = !k.peak;
  if (k.peak) peak.textContent = `Peak: line ${k.peak.line}${k.peak.source ? ` · ${k.peak.source}` : ""}`;
}

/** The machine code as a text, a label before each block. Where there is none yet of an edited
 * text, or ptxas refuses it, the last that there was stays. @param {Answer | null} code */
function showMachine(code) {
  const kernel = state.get("kernel") ?? "";
  const isOld = !code && machineOf === kernel && !now.summary.missing;
  panes.machine.section.classList.toggle("old", isOld);
  panes.machine.title.replaceChildren("Machine code ", ...(isOld ? [oldCode()] : code ? [origin("ptxas")] : []));
  if (isOld) {
    machineRows = machineRows.map(() => ({ line: 0 })); // its lines are not this text's
    return;
  }
  machineOf = code ? kernel : "";
  const text = [];
  machineRows = [];
  for (const b of code?.blocks ?? []) {
    text.push(`${b.label}:${b.to.length ? `    → ${b.to.join(", ")}` : ""}`);
    machineRows.push({ line: 0 });
    for (const [what, at, live] of b.code) {
      text.push(`    ${what}`);
      machineRows.push({ line: at, live });
    }
  }
  document.body.classList.toggle("no-machine", !code);
  panes.machine.show(code ? text.join("\n") : now.summary.missing ?? "");
  const counts = machineRows.map((r) => r.live ?? 0), most = Math.max(1, ...counts);
  const top = machineRows.findIndex((r) => r.live === most && r.line === now.kernel?.peak?.line);
  const heat = new Map(machineRows.flatMap(({ live }, i) => (live === undefined ? [] : [[i + 1, [live, () => `${some(live, "vector register")} live`]]])));
  panes.machine.setMargin({ heat: /** @type {any} */ (heat), most, peak: (top < 0 ? counts.indexOf(most) : top) + 1 });
}

const oldCode = () => h("span", { class: "dim" }, now.summary.note ? "before the edit: ptxas refuses this text" : "before the edit; ptxas is asked …");

/** Heat, loops and what became of them, beside the lines. */
function margins() {
  const k = now.kernel, f = chosenKernel();
  if (!k || !f) return;
  const heat = new Map();
  k.rows.line.forEach((/** @type {number} */ n, /** @type {number} */ i) => {
    const count = k.rows.asm[i]; // of a line without code none: those as written are another measure
    if (count !== null) heat.set(n, [count, () => `${some(count, "register")} live; as written: ${liveAt(k, n).slice(0, 24).map((/** @type {any[]} */ r) => r[0]).join(" ")}`]);
  });
  const most = Math.max(1, ...[...heat.values()].map(([n]) => n));
  const loop = state.get("loop");
  const bands = new Map();
  for (const x of k.loops) {
    for (const [first, last] of x.lines) {
      for (let n = first; n <= last; n++) {
        const edge = n === first ? "first" : n === last ? "last" : "";
        bands.set(n, [...(bands.get(n) ?? []), { depth: x.depth, header: x.header, edge }]);
      }
    }
  }
  const told = f.source_loops.flatMap((/** @type {Answer} */ x) => x.loops.map((/** @type {string} */ header) => ({ header, x })));
  const text = (/** @type {Answer} */ x) => `↻ ${[x.front_end.text, x.assembler.text].filter(Boolean).join("; ")}`;
  const notes = told.map((/** @type {any} */ { header, x }) => ({ header, text: text(x), line: k.loops.find((/** @type {Answer} */ l) => l.header === header)?.lines[0]?.[0] ?? 0 }));
  const file = sourceFile();
  panes.ptx.setMargin({ heat, most, peak: k.peak?.line, bands, notes, loop, tint: tints("ptx") });
  if (!file) return;
  const spots = f.source_loops.filter((/** @type {Answer} */ x) => x.file === file.name && x.line)
    .map((/** @type {Answer} */ x) => ({ header: x.loops[0], text: text(x), line: x.line }));
  panes.source.setMargin({ heat: sourceHeat(heat), most, peak: 0, notes: spots, tint: tints("source") });
}

/** The most registers live at any instruction of each line of the source. @param {Map<number, any>} heat */
function sourceHeat(heat) {
  const k = /** @type {any} */ (now.kernel), file = sourceFile();
  const made = new Map();
  k?.rows.line.forEach((/** @type {number} */ n, /** @type {number} */ i) => {
    for (const [f, at] of k.places[k.rows.place[i]]) {
      const count = heat.get(n)?.[0] ?? -1;
      if (f === file.number && count > (made.get(at)?.[0] ?? -1)) made.set(at, [count, () => `${some(count, "register")} live at most, line ${n} of the PTX`]);
    }
  });
  return made;
}

/** A hue for each line that comes from, or is, a line of the source. @param {"ptx" | "source"} name */
function tints(name) {
  const k = /** @type {any} */ (now.kernel), file = sourceFile();
  const made = new Map();
  if (!k || !file) return made;
  k.rows.line.forEach((/** @type {number} */ n, /** @type {number} */ i) => {
    const at = k.places[k.rows.place[i]].find((/** @type {number[]} */ p) => p[0] === file.number)?.[1];
    if (at) made.set(name === "ptx" ? n : at, (at * 137) % 360);
  });
  return made;
}

// ---------------------------------------------------------------- the panel

/** The tab that the address names; the first where it names none that is there. */
const chosenTab = () => TABS.find(([id]) => id === state.get("tab"))?.[0] ?? TABS[0][0];

async function showPanel() {
  const tab = chosenTab();
  for (const b of document.querySelectorAll('[role="tab"]')) {
    const chosen = b.id === `tab-${tab}`;
    b.setAttribute("aria-selected", String(chosen));
    b.setAttribute("tabindex", chosen ? "0" : "-1");
  }
  const problems = [...(now.summary.diagnostics ?? []), ...(now.stale ? [] : now.kernel?.notes ?? [])];
  $("tab-problems").textContent = problems.length ? `Problems (${problems.length})` : "Problems";
  $("view").setAttribute("aria-labelledby", `tab-${tab}`);
  const mine = `${turn} ${tab} ${state.get("kernel")} ${state.get("loop")}`;
  const current = () => mine === `${turn} ${chosenTab()} ${state.get("kernel")} ${state.get("loop")}`;
  const put = (/** @type {Node[]} */ ...made) => current() && $("view").replaceChildren(...made);
  if (tab === "problems") return put(problemsPanel(problems, act));
  const f = chosenKernel(), kernel = now.kernel;
  if (!f || !kernel) return put(h("p", { class: "dim" }, now.stale ? "The text cannot be read; see Problems." : "No kernel."));
  const about = { kernel: f.name, loop: state.get("loop") ?? "" };
  const wait = h("p", { class: "dim", "aria-busy": "true" }, "Working …");
  if (tab === "registers") return put(registersPanel(kernel, line(), act));
  if (tab === "flow") return put(flowPanel(kernel, act, lineOf));
  if (tab === "diff") {
    put(wait);
    const made = await ask("against");
    return put(diffPanel({ ...made, isOther: made.other || IS_EXPORTED, isEdited: made.ptx !== panes.ptx.text }, now.original !== null, () => {
      now.original = now.original === null ? made.ptx : null;
      panes.ptx.compare(now.original);
      showPanel();
    }));
  }
  if (tab === "whatif") {
    put(wait);
    const told = f.advice.filter((/** @type {Answer} */ a) => a.place === null);
    if (f.kind !== "entry") return put(h("p", { class: "dim" }, "Only kernels are launched."));
    const isReal = now.summary.by === "ptxas";
    if (!IS_EXPORTED && isReal) {
      ask("what_if", { ...about, real: false }).then((quick) => current() && !$("view").querySelector(".by.real") && put(whatIfPanel(quick, about.loop, act, told, true)));
    }
    return put(whatIfPanel(await ask("what_if", { ...about, real: isReal }), about.loop, act, told));
  }
  const table = tab === "loops" ? [loopsPanel(f, act)] : [];
  if (!about.loop) return put(...table, ...(tab === "loops" ? [] : [h("p", { class: "dim" }, "This kernel has no loop.")]));
  put(...table, wait);
  const made = await ask("loop", { ...about, real: now.summary.by === "ptxas" });
  put(...table, tab === "loops" ? loopPanel(made, act) : schedulePanel(made, act));
}

/** The first line of a block in the PTX. @param {string} label */
const lineOf = (label) => now.kernel?.blocks[label] ?? 0;

/** @param {string} tab */
function chooseTab(tab) {
  setState("tab", tab);
  showPanel();
  if (innerWidth < 700) $("panel").scrollIntoView();
}

/** @param {string} name */
function showPane(name) {
  document.body.dataset.pane = name;
  setState("pane", name);
  const shown = name === "ptx" && innerWidth > 700 ? "source" : name; // beside the PTX
  for (const b of document.querySelectorAll("#choose button")) b.setAttribute("aria-pressed", String(/** @type {HTMLElement} */ (b).dataset.pane === shown));
}

// ---------------------------------------------------------------- edits

let timer = 0;
let edits = 0; // of several that are under way only the answer to the last is shown

/** @param {string} text */
function typed(text) {
  clearTimeout(timer);
  timer = setTimeout(() => analyse(text), 200);
}

/** Have a text analysed. @param {string} text */
async function analyse(text) {
  const mine = ++edits;
  const start = performance.now();
  say("analysing …");
  try {
    const made = await edit(text);
    if (mine !== edits) return;
    const why = made.error ?? (await showEdited(made));
    if (mine !== edits) return;
    if (why) return say(why, true);
    say(`analysed in ${Math.round(performance.now() - start)} ms`);
    background();
  } catch (e) {
    say(`The page cannot show it: ${e}`, true);
    throw e;
  }
}

/** Show the summary of an edited text; why that cannot be done. @param {Answer} made */
async function showEdited(made) {
  panes[editedPane()].setProblems(made.diagnostics);
  document.body.classList.toggle("stale", !made.kernels.length);
  if (made.kernels.length) {
    showSummary(made);
    return showKernel(false);
  }
  now.summary.diagnostics = made.diagnostics;
  now.stale = true;
  showPanel();
  return "The text cannot be read; the figures are those of the last one that could.";
}

/** Ask ptxas, and show what it says when it has said it. */
async function background() {
  if (IS_EXPORTED || now.summary.by === "ptxas") return;
  const mine = turn;
  const made = await ask("summary", { real: true });
  if (mine !== turn) return;
  if (made.error) return say(`ptxas: ${made.error}; the figures are predicted`, true);
  if (!made.kernels.length) return;
  now.summary.missing = made.missing;
  if (made.by !== "ptxas") {
    now.summary.note = made.note;
    if (made.note) say(made.note, true);
    if (now.kernel) showMachine(null);
    return;
  }
  now.summary.by = made.by;
  await showKernel(false);
}

// ---------------------------------------------------------------- the start

const KEYS = /** @type {[string, string, () => void][]} */ ([
  ["Alt+P", "Go to the line of the peak", () => now.kernel?.peak && (chooseTab("registers"), go(now.kernel.peak.line))],
  ["Alt+L", "Next loop", () => nextLoop(1)],
  ["Alt+Shift+L", "Previous loop", () => nextLoop(-1)],
  ["Alt+K", "Choose a kernel", () => $("kernel").focus()],
  ["Alt+S", "To the source", () => focusPane("source")],
  ["Alt+X", "To the PTX", () => focusPane("ptx")],
  ["Alt+M", "To the machine code", () => focusPane("machine")],
  ...TABS.map(([id, text], k) => /** @type {[string, string, () => void]} */ ([`Alt+${k + 1}`, text, () => { chooseTab(id); $(`tab-${id}`).focus(); }])),
  ["Alt+H", "These shortcuts (also ?)", () => /** @type {HTMLDialogElement} */ ($("shortcuts")).showModal()],
]);

/** @param {"source" | "ptx" | "machine"} name */
function focusPane(name) {
  showPane(name);
  panes[name].view.focus();
}

/** @param {number} step */
function nextLoop(step) {
  const all = now.kernel?.loops ?? [];
  const at = all.findIndex((/** @type {Answer} */ x) => x.header === state.get("loop"));
  if (all.length) chooseLoop(all[(at + step + all.length) % all.length].header);
}

function prepare() {
  const list = /** @type {HTMLElement} */ (document.querySelector('[role="tablist"]'));
  list.append(...TABS.map(([id, text]) => h("button", { type: "button", role: "tab", id: `tab-${id}`, "aria-controls": "view", onclick: () => chooseTab(id) }, text)));
  list.addEventListener("keydown", (e) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[e.key];
    const at = TABS.findIndex(([id]) => document.activeElement?.id === `tab-${id}`);
    if (!step || at < 0) return;
    const [id] = TABS[(at + step + TABS.length) % TABS.length];
    chooseTab(id);
    $(`tab-${id}`).focus();
  });
  for (const b of document.querySelectorAll("#choose button")) b.addEventListener("click", () => showPane(/** @type {HTMLElement} */ (b).dataset.pane ?? "ptx"));
  $("kernel").addEventListener("change", (e) => chooseKernel(/** @type {HTMLSelectElement} */ (e.target).value));
  $("loop").addEventListener("change", (e) => chooseLoop(/** @type {HTMLSelectElement} */ (e.target).value));
  $("peak").addEventListener("click", () => { chooseTab("registers"); if (now.kernel?.peak) go(now.kernel.peak.line); });
  $("help").addEventListener("click", () => /** @type {HTMLDialogElement} */ ($("shortcuts")).showModal());
  $("shortcuts").querySelector("dl")?.append(...KEYS.flatMap(([key, text]) => [h("dt", {}, h("kbd", {}, key)), h("dd", {}, text)]));
  addEventListener("keydown", (e) => {
    const isTyping = /** @type {HTMLElement} */ (e.target).closest("input, select, [contenteditable=true]:not([aria-readonly])");
    if (e.key === "?" && !isTyping) $("help").click();
    if (!e.altKey || e.ctrlKey || e.metaKey) return;
    const code = e.code.replace(/^(Key|Digit)/, "");
    const found = KEYS.find(([key]) => key === `Alt+${e.shiftKey ? "Shift+" : ""}${code}`);
    if (!found) return;
    e.preventDefault();
    found[2]();
  });
  addEventListener("hashchange", () => location.reload());
  showPane(state.get("pane") ?? "ptx");
}

async function start() {
  prepare();
  if (state.get("tab") !== chosenTab()) state.delete("tab");
  if (Number(state.get("block") ?? 32) % 32 || Number(state.get("block") ?? 32) < 32) state.delete("block");
  keepState();
  const made = await ask("summary");
  if (made.error) {
    $("notice").hidden = false;
    $("notice").textContent = made.error;
    return;
  }
  showSummary(made);
  panes[editedPane()].setProblems(made.diagnostics);
  if (made.kernels.length) await showKernel(true);
  else setState("tab", "problems"), showPanel();
  document.body.dataset.ready = "true";
  background();
}

start();
