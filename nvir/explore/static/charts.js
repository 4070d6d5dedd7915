// @ts-check
/** Pictures: live registers along the code, and the timeline of a loop. */
import { h, setState, some, state } from "./data.js";

const { uPlot } = /** @type {any} */ (globalThis).NvirEditor;

const probe = document.body.appendChild(h("i", { hidden: true }));

/** A colour of the page as it is now, for what cannot read variables. @param {string} name */
function colour(name) {
  probe.style.color = `var(${name})`;
  return getComputedStyle(probe).color;
}

/**
 * Live registers along the lines of a kernel; a click goes to the line.
 * @param {import("./data.js").Answer} kernel
 * @param {(line: number) => void} go
 */
export function pressure(kernel, go) {
  const { line, live, asm } = kernel.rows;
  const box = h("div", { class: "chart", role: "img", "aria-label": "Live registers along the lines of the PTX" });
  const real = kernel.by === "ptxas";
  const axis = { stroke: colour("--dim"), grid: { stroke: colour("--line"), width: 1 }, ticks: { show: false }, font: "11px system-ui" };
  const plot = new uPlot({
    width: 600, height: 170, cursor: { y: false }, legend: { live: true },
    scales: { x: { time: false } },
    axes: [{ ...axis, size: 24, values: (/** @type {any} */ _, /** @type {number[]} */ at) => at.map((x) => line[Math.round(x)] ?? "") }, { ...axis, size: 36, incrs: [1, 2, 5, 10, 20, 50, 100] }],
    series: [
      { label: "line", value: (/** @type {any} */ _, /** @type {number} */ x) => line[x] ?? "–" },
      { label: real ? "in ptxas's code" : "as ptxas is taken to order it", stroke: colour("--accent"), fill: colour("--wash"), width: 1.5, spanGaps: true, paths: uPlot.paths.stepped({ align: 1 }) },
      { label: "as written", stroke: colour("--dim"), width: 1, dash: [4, 3] },
    ],
  }, [line.map((/** @type {any} */ _, /** @type {number} */ i) => i), asm, live], box);
  plot.over.addEventListener("click", () => plot.cursor.idx != null && go(line[plot.cursor.idx]));
  new ResizeObserver(([e]) => plot.setSize({ width: Math.max(200, e.contentRect.width), height: 170 })).observe(box);
  return box;
}

/**
 * The issues of a loop's warps cycle by cycle, with a slider to go through them.
 * @param {import("./data.js").Answer} run
 * @param {(line: number) => void} show is called with the line of what issues at the chosen cycle
 */
export function timeline(run, show) {
  const row = 26, left = 58, top = 18;
  const canvas = /** @type {HTMLCanvasElement} */ (h("canvas", { role: "img", "aria-label": `Issues of ${run.warps} warps by cycle` }));
  const last = Math.max(...run.events.map((/** @type {any} */ e) => e[4]), 1);
  const slider = /** @type {HTMLInputElement} */ (h("input", {
    type: "range", min: 0, max: last, value: Math.min(last, Number(state.get("cycle") ?? 0)), "aria-label": "Cycle", id: "cycle",
  }));
  const said = h("ol", { class: "issues", "aria-live": "polite" });

  function draw() {
    const width = canvas.parentElement?.clientWidth || 600;
    const height = top + run.warps * row + 4;
    const scale = devicePixelRatio || 1;
    canvas.width = width * scale;
    canvas.height = height * scale;
    canvas.style.height = `${height}px`;
    const g = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
    g.scale(scale, scale);
    const x = (/** @type {number} */ cycle) => left + (cycle / last) * (width - left - 8);
    g.font = "11px system-ui";
    g.fillStyle = colour("--dim");
    const step = 10 ** Math.floor(Math.log10(last)) / (last / 10 ** Math.floor(Math.log10(last)) < 3 ? 5 : 1);
    for (let c = 0, free = 0; c <= last; c += Math.max(1, step)) {
      const text = String(Math.round(c)), end = x(c) + g.measureText(text).width;
      if (x(c) < free || end > width) continue;
      g.fillText(text, x(c), 11);
      free = end + 6;
    }
    for (let w = 0; w < run.warps; w++) g.fillText(`warp ${w}`, 4, top + w * row + 16);
    for (const [warp, , iteration, start, end] of run.events) {
      const y = top + warp * row;
      g.fillStyle = colour(`--iteration${iteration % 4}`);
      g.fillRect(x(start), y + 2, Math.max(1.5, x(start + 1) - x(start) - 0.5), row - 8);
      g.globalAlpha = 0.35;
      g.fillRect(x(start), y + row - 5, Math.max(1, x(end) - x(start)), 3);
      g.globalAlpha = 1;
    }
    g.fillStyle = colour("--hot");
    g.fillRect(x(Number(slider.value)) - 1, top - 4, 2, height - top + 4); // below the numbers
  }

  function move() {
    const cycle = Number(slider.value);
    setState("cycle", cycle);
    draw();
    const lines = [];
    const rows = [];
    for (let w = 0; w < run.warps; w++) {
      const past = run.events.filter((/** @type {any} */ e) => e[0] === w && e[3] <= cycle);
      const next = run.events.find((/** @type {any} */ e) => e[0] === w && e[3] > cycle);
      const e = past.at(-1);
      if (e && e[3] === cycle) lines.push(run.slots[e[1]][1]);
      const what = !e ? "has not begun" : e[3] === cycle ? `issues ${run.slots[e[1]][0]}` : next
        ? `waits ${some(next[3] - cycle, "cycle")} to issue ${run.slots[next[1]][0]}` : "is done";
      const at = e && e[3] === cycle ? run.slots[e[1]][1] : next ? run.slots[next[1]][1] : 0;
      rows.push(h("li", {}, h("b", {}, `warp ${w}`), ` ${what} `, e ? h("span", { class: "dim" }, `iteration ${e[2] + 1} `) : null,
        at ? h("button", { type: "button", class: "link", onclick: () => show(at) }, `line ${at}`) : null));
    }
    said.replaceChildren(...rows);
    slider.setAttribute("aria-valuetext", `cycle ${cycle}`);
    if (lines.length) show(lines[0]);
  }
  slider.addEventListener("input", move);
  canvas.addEventListener("pointerdown", (e) => {
    const to = (/** @type {PointerEvent} */ p) => {
      const box = canvas.getBoundingClientRect();
      slider.value = String(Math.round(((p.clientX - box.left - left) / (box.width - left - 8)) * last));
      move();
    };
    to(e);
    canvas.setPointerCapture(e.pointerId);
    canvas.onpointermove = to;
    canvas.onpointerup = () => (canvas.onpointermove = null);
  });
  const colours = h("p", { class: "dim" }, "A row for each warp, a box for each issue, a thin line until its result is there; iteration");
  for (let k = 0; k < Math.min(4, 1 + Math.max(...run.events.map((/** @type {any} */ e) => e[2]))); k++) {
    const swatch = h("i", { class: "swatch" });
    swatch.style.background = `var(--iteration${k})`;
    colours.append(swatch, String(k + 1));
  }
  const box = h("div", { class: "timeline" }, canvas, slider, colours, said);
  new ResizeObserver(draw).observe(box);
  requestAnimationFrame(() => (state.has("cycle") ? move() : draw()));
  return box;
}
