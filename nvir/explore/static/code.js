// @ts-check
/** The three panes of code: editors with live registers, loops and links in their margins. */
import { h } from "./data.js";

const {
  Compartment, Decoration, EditorState, EditorView, GutterMarker, HighlightStyle, RangeSet,
  StateEffect, StateField, StreamLanguage, Transaction, WidgetType, bracketMatching, cppLanguage, defaultKeymap,
  drawSelection, gutter, highlightActiveLine, highlightActiveLineGutter, highlightSelectionMatches,
  history: undoHistory, historyKeymap, keymap, lineNumbers, lintGutter, lintKeymap, searchKeymap, setDiagnostics,
  syntaxHighlighting, tags, unifiedMergeView,
} = /** @type {any} */ (globalThis).NvirEditor;

const NONCE = document.querySelector('meta[name="style-nonce"]')?.getAttribute("content") ?? "";

const LONG = 3000; // characters of a line that are drawn; one as long has no colours

// ---------------------------------------------------------------- languages

// Patterns begin with ^, or each is looked for in the rest of the line.

const PTX = StreamLanguage.define({
  name: "ptx",
  startState: () => ({ comment: false }),
  token(/** @type {any} */ s, /** @type {any} */ state) {
    if (s.string.length > LONG) return s.skipToEnd(), null;
    if (state.comment) {
      state.comment = !s.match(/^.*?\*\//);
      if (state.comment) s.skipToEnd();
      return "comment";
    }
    if (s.eatSpace()) return null;
    if (s.match("//")) return s.skipToEnd(), "comment";
    if (s.match("/*")) return (state.comment = true), "comment";
    if (s.match(/^\.(loc|file)\b/)) return s.skipToEnd(), "comment";
    if (s.match(/^"[^"]*"/)) return "string";
    if (s.match(/^@!?%\w+/)) return "controlKeyword";
    if (s.match(/^%(tid|ntid|ctaid|nctaid|laneid|warpid|clock)\w*(\.[xyz])?/)) return "standard";
    if (s.match(/^%[\w$]+/)) return "variableName";
    if (s.match(/^\$[\w$]+:?/)) return "labelName";
    if (s.match(/^\.[a-zA-Z_]\w*/)) return "typeName";
    if (s.match(/^(?:0[fFdDxX][\da-fA-F]+U?|-?\d+(\.\d+)?U?)/)) return "number";
    if (s.match(/^(bra|ret|exit|call|trap|brx)\b/)) return "controlKeyword";
    if (s.match(/^[a-zA-Z_][\w$]*/)) return s.string.slice(0, s.start).trim() ? "name" : "keyword";
    s.next();
    return null;
  },
  tokenTable: { controlKeyword: tags.controlKeyword, standard: tags.standard(tags.variableName) },
});

const SASS = StreamLanguage.define({
  name: "sass",
  token(/** @type {any} */ s) {
    if (s.eatSpace()) return null;
    if (s.match(/^B\d+:.*/)) return "labelName";
    if (s.match(/^@!?U?P\w+/)) return "keyword";
    if (s.match(/^(?:U?R\d+(\.\w+)*|U?RZ)/)) return "variableName";
    if (s.match(/^(?:U?P\d|U?PT)/)) return "typeName";
    if (s.match(/^(?:-?0x[\da-f]+|-?\d+(\.\d+)?(e[-+]?\d+)?)/)) return "number";
    if (s.match(/^[A-Z][A-Z0-9_]*(\.[\w]+)*/)) return "keyword";
    s.next();
    return null;
  },
});

const COLOURS = syntaxHighlighting(HighlightStyle.define([
  { tag: tags.comment, color: "var(--comment)", fontStyle: "italic" },
  { tag: [tags.keyword, tags.operatorKeyword], color: "var(--keyword)" },
  { tag: tags.controlKeyword, color: "var(--control)" },
  { tag: [tags.typeName, tags.modifier], color: "var(--type)" },
  { tag: tags.standard(tags.variableName), color: "var(--special)" },
  { tag: [tags.labelName, tags.macroName, tags.processingInstruction], color: "var(--label)" },
  { tag: [tags.number, tags.string, tags.bool], color: "var(--number)" },
]));

// ---------------------------------------------------------------- margins

/**
 * What a pane shows beside its lines, by line number from 1.
 * @typedef {{
 *   heat?: Map<number, [number, () => string]>, most?: number, peak?: number,
 *   bands?: Map<number, {depth: number, header: string, edge: string}[]>,
 *   notes?: {line: number, text: string, header: string}[],
 *   tint?: Map<number, number>, loop?: string,
 * }} Margin
 */

const setMargin = StateEffect.define();
const setLinked = StateEffect.define();
const marginField = StateField.define({
  create: () => /** @type {Margin} */ ({}),
  update(/** @type {Margin} */ value, /** @type {any} */ tr) {
    for (const e of tr.effects) if (e.is(setMargin)) return e.value;
    return value;
  },
});

class Heat extends GutterMarker {
  /** @param {number} count @param {number} share @param {() => string} title @param {boolean} peak */
  constructor(count, share, title, peak) {
    super();
    Object.assign(this, { count, share, title, peak });
  }
  eq(/** @type {any} */ x) {
    return x.title === this.title && x.share === this.share && x.peak === this.peak;
  }
  toDOM() {
    const made = h("span", { class: this.peak ? "heat top" : "heat", title: this.title() }, this.count);
    made.style.setProperty("--share", `${Math.round(100 * this.share)}%`);
    return made;
  }
}

class Bands extends GutterMarker {
  /** @param {{depth: number, header: string, edge: string}[]} list @param {string} chosen */
  constructor(list, chosen) {
    super();
    Object.assign(this, { list, chosen });
  }
  eq(/** @type {any} */ x) {
    return x.chosen === this.chosen && JSON.stringify(x.list) === JSON.stringify(this.list);
  }
  toDOM() {
    return h("span", { class: "bands" }, ...this.list.map((/** @type {any} */ b) =>
      h("i", { class: `band ${b.edge} ${b.header === this.chosen ? "chosen" : ""}`, title: `loop ${b.header}`, "data-header": b.header })));
  }
}

class Note extends WidgetType {
  /** @param {string} text @param {string} header @param {(header: string) => void} choose */
  constructor(text, header, choose) {
    super();
    Object.assign(this, { text, header, choose });
  }
  eq(/** @type {any} */ x) {
    return x.text === this.text && x.header === this.header;
  }
  toDOM() {
    return h("button", { type: "button", class: "note", title: this.text, onclick: () => this.choose(this.header) }, this.text);
  }
  ignoreEvent() {
    return true;
  }
}

/** @param {Margin} margin @param {any} doc @param {(header: string) => void} choose */
function decorations(margin, doc, choose) {
  const ranges = [];
  for (const [line, hue] of margin.tint ?? []) {
    if (line > doc.lines) continue;
    const style = `--tint: ${hue}`;
    ranges.push(Decoration.line({ class: "tinted", attributes: { style } }).range(doc.line(line).from));
  }
  for (const { line, text, header } of margin.notes ?? []) {
    if (line < 1 || line > doc.lines) continue;
    const widget = new Note(text, header, choose);
    ranges.push(Decoration.widget({ widget, block: true, side: -1 }).range(doc.line(line).from));
  }
  return Decoration.set(ranges, true);
}

class Rest extends WidgetType {
  /** @param {number} length */
  constructor(length) {
    super();
    this.length = length;
  }
  eq(/** @type {any} */ x) {
    return x.length === this.length;
  }
  toDOM() {
    return h("span", { class: "rest" }, ` … and ${this.length.toLocaleString("en")} characters that are not drawn`);
  }
}

/** What is left out of long lines, such as a table of constants. @param {any} doc */
function rests(doc) {
  const ranges = [];
  let at = 0;
  for (const line of doc.iterLines()) {
    if (line.length > LONG) ranges.push(Decoration.replace({ widget: new Rest(line.length - LONG) }).range(at + LONG, at + line.length));
    at += line.length + 1;
  }
  return Decoration.set(ranges);
}
const longLines = StateField.define({
  create: (/** @type {any} */ state) => rests(state.doc),
  update: (/** @type {any} */ value, /** @type {any} */ tr) => (tr.docChanged ? rests(tr.state.doc) : value),
  provide: (/** @type {any} */ f) => EditorView.decorations.from(f),
});

// ---------------------------------------------------------------- a pane

/**
 * One pane.
 * on.line(n): the cursor went to a line; on.hover(n): the pointer (0: it left);
 * on.loop(header): a loop was chosen; on.edit(text)
 * @typedef {{line: (n: number) => void, hover: (n: number) => void, loop: (header: string) => void, edit: (text: string) => void}} Listeners
 */
export class Pane {
  /**
   * @param {HTMLElement} section
   * @param {"ptx" | "cuda" | "sass"} language
   * @param {Listeners} on
   */
  constructor(section, language, on) {
    this.section = section;
    this.title = /** @type {HTMLElement} */ (section.querySelector("h2"));
    this.on = on;
    this.quiet = false;
    this.writable = new Compartment();
    this.merge = new Compartment();
    /** @type {number[]} */
    this.linked = [];
    const choose = (/** @type {string} */ header) => on.loop(header);
    const shown = StateField.define({
      create: () => Decoration.none,
      update(/** @type {any} */ value, /** @type {any} */ tr) {
        for (const e of tr.effects) if (e.is(setMargin)) return decorations(e.value, tr.state.doc, choose);
        return value.map(tr.changes);
      },
      provide: (/** @type {any} */ f) => EditorView.decorations.from(f),
    });
    const links = StateField.define({
      create: () => Decoration.none,
      update(/** @type {any} */ value, /** @type {any} */ tr) {
        for (const e of tr.effects) {
          if (!e.is(setLinked)) continue;
          const lines = e.value.filter((/** @type {number} */ n) => n > 0 && n <= tr.state.doc.lines);
          return RangeSet.of(lines.map((/** @type {number} */ n) =>
            Decoration.line({ class: "linked" }).range(tr.state.doc.line(n).from)), true);
        }
        return value.map(tr.changes);
      },
      provide: (/** @type {any} */ f) => EditorView.decorations.from(f),
    });
    const languages = { ptx: PTX, cuda: cppLanguage, sass: SASS };
    this.view = new EditorView({
      parent: /** @type {HTMLElement} */ (section.querySelector(".editor")),
      state: EditorState.create({
        extensions: [
          EditorView.cspNonce.of(NONCE), marginField, shown, links, longLines,
          language === "sass" ? [] : [lineNumbers(), lintGutter()],
          this.#margins(), languages[language], COLOURS, undoHistory(), drawSelection(), bracketMatching(),
          highlightActiveLine(), highlightActiveLineGutter(), highlightSelectionMatches(),
          keymap.of([...searchKeymap, ...historyKeymap, ...lintKeymap, ...defaultKeymap]),
          this.writable.of(EditorState.readOnly.of(true)), this.merge.of([]),
          EditorView.contentAttributes.of({ "aria-label": section.getAttribute("aria-label") ?? "" }),
          EditorView.updateListener.of((/** @type {any} */ u) => this.#updated(u)),
          EditorView.domEventHandlers({
            mousemove: (/** @type {any} */ e) => this.#hovered(e),
            mouseleave: () => this.#left(),
          }),
        ],
      }),
    });
  }

  #margins() {
    return [
      gutter({
        class: "cm-bands",
        lineMarker: (/** @type {any} */ view, /** @type {any} */ line) => {
          const margin = view.state.field(marginField);
          const found = margin.bands?.get(view.state.doc.lineAt(line.from).number);
          return found ? new Bands(found, margin.loop ?? "") : null;
        },
        lineMarkerChange: (/** @type {any} */ u) => u.startState.field(marginField) !== u.state.field(marginField),
        domEventHandlers: {
          click: (/** @type {any} */ view, /** @type {any} */ line, /** @type {any} */ e) => {
            const header = e.target.dataset?.header
              ?? view.state.field(marginField).bands?.get(view.state.doc.lineAt(line.from).number)?.at(-1)?.header;
            if (header) this.on.loop(header);
            return Boolean(header);
          },
        },
      }),
      gutter({
        class: "cm-heat",
        lineMarker: (/** @type {any} */ view, /** @type {any} */ line) => {
          const margin = view.state.field(marginField);
          const n = view.state.doc.lineAt(line.from).number;
          const found = margin.heat?.get(n);
          return found ? new Heat(found[0], found[0] / Math.max(1, margin.most), found[1], n === margin.peak) : null;
        },
        lineMarkerChange: (/** @type {any} */ u) => u.startState.field(marginField) !== u.state.field(marginField),
      }),
    ];
  }

  #updated(/** @type {any} */ u) {
    if (this.quiet) return;
    if (u.docChanged) this.on.edit(this.text);
    if (u.selectionSet && !u.docChanged) this.on.line(this.line);
  }

  #hovered(/** @type {any} */ e) {
    const at = this.view.posAtCoords({ x: e.clientX, y: e.clientY });
    const n = at === null ? 0 : this.view.state.doc.lineAt(at).number;
    if (n !== this.hoveredLine) this.on.hover((this.hoveredLine = n));
  }

  #left() {
    this.hoveredLine = 0;
    this.on.hover(0);
  }

  get text() {
    return this.view.state.doc.toString();
  }

  get line() {
    return this.view.state.doc.lineAt(this.view.state.selection.main.head).number;
  }

  /** Show a text; what it has in common with the one that is there stays where it is. It is no
   * edit, which an undo would take back.
   * @param {string} text */
  show(text) {
    const old = this.text;
    if (text === old) return;
    const shorter = Math.min(old.length, text.length);
    let from = 0, rest = 0;
    while (from < shorter && old[from] === text[from]) from++;
    while (rest < shorter - from && old.at(-1 - rest) === text.at(-1 - rest)) rest++;
    this.#quietly({
      changes: { from, to: old.length - rest, insert: text.slice(from, text.length - rest) },
      annotations: Transaction.addToHistory.of(false),
    });
  }

  /** @param {boolean} can */
  allowEdits(can) {
    this.#quietly({ effects: this.writable.reconfigure(EditorState.readOnly.of(!can)) });
  }

  /** @param {Margin} margin */
  setMargin(margin) {
    this.#quietly({ effects: setMargin.of(margin) });
  }

  /** Mark lines as what belongs to a line of another pane; with `reveal` scroll to the first.
   * @param {number[]} lines @param {boolean} [reveal] */
  link(lines, reveal = false) {
    const effects = [];
    if (lines.join() !== this.linked.join()) effects.push(setLinked.of([...new Set(lines)].sort((a, b) => a - b)));
    this.linked = lines;
    if (reveal && lines.length) effects.push(this.#to(lines[0]));
    if (effects.length) this.#quietly({ effects });
  }

  /** Put the cursor on a line and show it. @param {number} n @param {boolean} [focus] */
  go(n, focus = false) {
    const line = this.view.state.doc.line(Math.max(1, Math.min(n, this.view.state.doc.lines)));
    this.#quietly({ selection: { anchor: line.from }, effects: this.#to(line.number) });
    if (focus) this.view.focus();
  }

  #to(/** @type {number} */ n) {
    const doc = this.view.state.doc;
    return EditorView.scrollIntoView(doc.line(Math.max(1, Math.min(n, doc.lines))).from, { y: "center" });
  }

  /** @param {{line: number, column: number, severity: string, message: string, code?: string}[]} found */
  setProblems(found) {
    const doc = this.view.state.doc;
    const made = found.map((d) => {
      const line = doc.line(Math.max(1, Math.min(d.line || 1, doc.lines)));
      const from = Math.min(line.from + Math.max(0, (d.column || 1) - 1), line.to);
      const word = /^[^\s,;[\]{}]+/.exec(doc.sliceString(from, line.to))?.[0].length ?? 0;
      return { from, to: Math.max(from, Math.min(from + word, line.to)), severity: d.severity, message: d.message, source: d.code };
    });
    this.#quietly(setDiagnostics(this.view.state, made));
  }

  /** Show what changed since another text; null: no more. @param {string | null} original */
  compare(original) {
    const view = original === null ? [] : unifiedMergeView({ original, mergeControls: false, gutter: true });
    this.#quietly({ effects: this.merge.reconfigure(view) });
  }

  #quietly(/** @type {any} */ change) {
    this.quiet = true;
    this.view.dispatch(change);
    this.quiet = false;
  }
}
