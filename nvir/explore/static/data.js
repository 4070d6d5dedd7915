// @ts-check
/**
 * Where answers come from (the server, or the page itself where it was exported), and the page's
 * state, which is kept in the address.
 */

/** @typedef {Record<string, any>} Answer */

const EMBEDDED = document.getElementById("answers");
/** @type {Promise<Record<string, Answer>> | null} */
const ANSWERS = EMBEDDED && unpacked(/** @type {HTMLScriptElement} */ (EMBEDDED));
export const IS_EXPORTED = ANSWERS !== null;
/** Which text the server is asked about; 0 is the file as it was opened. */
let version = 0;
/** Of several pages of one server each edits a text of its own. */
const PAGE = String(Math.random());
const PATIENCE = 150_000; // ms; the server's own limits are shorter
/** The search that is under way: of what was chosen before, none is wanted. @type {AbortController | null} */
let search = null;
/** @type {Map<string, Promise<Answer>>} */
let known = new Map();

/** The state of the page: what is chosen, by name. */
export const state = new Map(new URLSearchParams(location.hash.slice(1)));
const TOKEN = state.get("token") ?? stored("nvir-token") ?? "";
state.delete("token");

/** The answers of an exported page; those of a large file are compressed.
 * @param {HTMLScriptElement} block */
async function unpacked(block) {
  const text = block.textContent ?? "";
  if (block.type === "application/json") return JSON.parse(text);
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).json();
}

/** What a setting in the address may be; whether it is one of the kernel's says the panel. */
const FORMS = /** @type {[string, RegExp][]} */ ([
  ["unroll", /^(as is|free|\d{1,9})$/], ["depth", /^\d{1,9}$/], ["apart", /^1?$/],
  ["bounds", /^(none|(maxnreg|minnctapersm) \d{1,9})$/], ["block", /^\d{2,4}$/],
]);
for (const [key, form] of FORMS) if (!form.test(state.get(key) ?? "")) state.delete(key);

/** @param {string} key */
function stored(key) {
  try {
    return localStorage.getItem(key);
  } catch {
    return null; // a file opened from disk has none
  }
}

/** Keep the token, which the server took, for pages that are opened without it. */
function keepToken() {
  try {
    localStorage.setItem("nvir-token", TOKEN);
  } catch {
    // a browser may forbid it
  }
}

let isDue = false;

/** Write the state to the address, without a step in the history, once what changes it is done. */
export function keepState() {
  if (!isDue) queueMicrotask(writeState);
  isDue = true;
}

function writeState() {
  isDue = false;
  const text = new URLSearchParams([...state].filter(([, v]) => v !== "")).toString();
  history.replaceState(null, "", `#${text}`);
}

/**
 * @param {string} key
 * @param {string | number} value
 */
export function setState(key, value) {
  state.set(key, String(value));
  keepState();
}

/** Take what is not there out of the address. @param {string} key */
export function dropState(key) {
  state.delete(key);
  keepState();
}

/**
 * Ask for something about a function or a loop. An answer with `error` says why there is none.
 * @param {string} what
 * @param {{kernel?: string, loop?: string, real?: boolean}} [about]
 * @returns {Promise<Answer>}
 */
export function ask(what, about = {}) {
  if (ANSWERS) return ANSWERS.then((all) => embedded(all, what, about));
  const key = JSON.stringify([what, about]);
  const found = known.get(key);
  if (found) return found;
  const stop = new AbortController();
  if (what === "what_if" && about.real) {
    search?.abort();
    search = stop;
  }
  const made = post({ what, version, ...about }, stop);
  known.set(key, made);
  const mine = known;
  made.then((answer) => answer.error && mine.delete(key));
  return made;
}

/**
 * Have an edited text analysed: the summary of the new version, about which is asked from then on.
 * @param {string} text
 */
export async function edit(text) {
  const made = await post({ what: "summary", version, text });
  if (made.version > version && made.kernels?.length) {
    version = made.version;
    known = new Map();
  }
  return made;
}

/**
 * An answer, or why there is none: it always comes.
 * @param {Answer} body
 * @param {AbortController} [stop]
 * @returns {Promise<Answer>}
 */
async function post(body, stop = new AbortController()) {
  const late = setTimeout(() => stop.abort(), PATIENCE);
  try {
    const made = await fetch("/data", {
      method: "POST", body: JSON.stringify({ ...body, page: PAGE }), signal: stop.signal,
      headers: { "content-type": "application/json", "x-nvir-token": TOKEN },
    });
    if (made.status === 403) return { error: "Open the address that nvir explore printed: it has the token." };
    keepToken();
    return await made.json();
  } catch {
    return { error: "The server does not answer; nvir explore may have ended." };
  } finally {
    clearTimeout(late);
  }
}

/**
 * @param {Record<string, Answer>} all
 * @param {string} what
 * @param {{kernel?: string, loop?: string}} about
 */
function embedded(all, what, { kernel, loop }) {
  const parts = [what, kernel, what === "what_if" ? loop ?? "" : loop];
  const key = parts.filter((x) => x !== undefined).join(" ");
  return all[key] ?? {
    error: what === "against" ? "Nothing to compare with: an export with --against OLDER_FILE shows what changed." : "Not in this exported page; nvir explore shows it, or an export with --kernel.",
  };
}

/**
 * An element with attributes and children; texts are texts, never markup.
 * @param {string} tag
 * @param {Record<string, any>} [attributes] `onclick` and the like are listeners
 * @param {...(Node | string | number | null | undefined | false)} children
 * @returns {HTMLElement}
 */
export function h(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value === true) made.setAttribute(key, "");
    else if (value !== false && value != null) made.setAttribute(key, String(value));
  }
  made.append(...children.filter((c) => c != null && c !== false).map((c) => (c instanceof Node ? c : String(c))));
  return made;
}

/** Rounded as all of nvir's texts are, halves to the even digit. @param {number} n @param {number} [digits] */
export function rounded(n, digits = 0) {
  const scaled = n * 10 ** digits;
  const isHalf = Math.abs(scaled % 1) === 0.5 && (n * 2 ** (digits + 1)) % 1 === 0;
  return isHalf ? (2 * Math.round(scaled / 2)) / 10 ** digits : Number(n.toFixed(digits));
}

/** "1 register", "2 registers". @param {number} n @param {string} what */
export const some = (n, what) => `${n} ${what}${n === 1 ? "" : "s"}`;

/** @param {string} id */
export function $(id) {
  return /** @type {HTMLElement} */ (document.getElementById(id));
}
