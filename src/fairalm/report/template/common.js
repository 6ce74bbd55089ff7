// What every kind of page uses. Text only ever goes in as text.
const $ = (id) => document.getElementById(id);
const facts = JSON.parse($("facts").textContent), charts = JSON.parse($("charts").textContent), views = {};
const percent = (share, digits = 1) => `${(100 * share).toFixed(digits)} %`;
const number = (n) => n.toLocaleString("en");
const capital = (text) => text[0].toUpperCase() + text.slice(1);

function make(tag, text, attributes = {}, children = []) {
  const element = document.createElement(tag);
  if (text !== null && text !== undefined) element.textContent = text;
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

// a cell is text, an element, or [text, smaller lines below it]; head may be null; class "stack" suits narrow screens
function table(caption, head, rows, attributes = {}) {
  const cell = (content, tag, scope) => {
    const made = make(tag, null, scope ? { scope, dir: "auto" } : { dir: "auto" });
    if (Array.isArray(content)) made.append(content[0], ...content.slice(1).filter(Boolean).map((text) => make("small", text)));
    else made.append(content);
    return made;
  };
  const body = rows.map((row) => make("tr", null, {}, row.map((c, i) => cell(c, i ? "td" : "th", i ? null : "row"))));
  const heads = (head || []).map((c) => (Array.isArray(c) ? c.join(" ") : c instanceof Node ? "" : c));
  for (const tr of body) for (const [i, td] of [...tr.children].entries()) if (heads[i]) td.dataset.label = heads[i];
  const parts = [make("tbody", null, {}, body)];
  if (head) parts.unshift(make("thead", null, {}, [make("tr", null, {}, head.map((c) => (c === "" ? cell(c, "td", null) : cell(c, "th", "col"))))]));
  if (caption) parts.unshift(make("caption", caption, { dir: "auto" }));
  return make("table", null, attributes, parts);
}

// a wide table scrolls sideways in its box, which the keyboard must reach
function put(id, ...children) {
  const box = $(id);
  box.replaceChildren(...children);
  if (!box.classList.contains("scroll")) return;
  const scrolls = { tabindex: "0", role: "region", "aria-label": "Table, scrolls" };
  const is_wide = box.scrollWidth > box.clientWidth + 1;
  for (const [name, value] of Object.entries(scrolls))
    if (is_wide) box.setAttribute(name, value); else box.removeAttribute(name);
}

function tip(handler, event, item, value) {
  const box = $("tip");
  box.hidden = !value;
  if (!value) return;
  box.textContent = value;
  const left = Math.min(event.clientX + 12, innerWidth - box.offsetWidth - 8);
  box.style.left = `${Math.max(8, left)}px`;
  box.style.top = `${event.clientY + 14}px`;
}

// draw a chart by name; data: rows by the names that its spec uses
async function draw(name, data, box) {
  const spec = charts[name];
  for (const entry of spec.data) if (entry.name in data) entry.values = data[entry.name];
  const options = { mode: "vega", renderer: "svg", actions: false, tooltip: tip, hover: true };
  const { view } = await vegaEmbed(box, spec, options);
  views[name] = view;
  return view;
}

// how far an axis from 0 must reach, and its ticks
function axis(most) {
  const end = [0.04, 0.08, 0.12, 0.2, 0.4, 0.6, 0.8, 1].find((x) => x >= most) || Math.ceil(10 * most) / 10;
  return [0, 1, 2, 3, 4].map((i) => (i * end) / 4);
}

// A picture of shares in a table, a row per group: an arrow from `before` to `after`, whose interval is the pale bar.
// A row is {name, before, after, text}: the figures {value, low, high}, or null where hidden; `text` is a cell of table().
// The axis reaches `most` at least; `tick` formats its numbers. A dashed line is drawn at the share `limit`, if there is one.
function arrows(caption, head, rows, { most = 0, tick = (x) => percent(x, 0), limit = null } = {}) {
  const svg = (tag, attributes, children = []) => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.append(...children);
    return element;
  };
  const ends = rows.flatMap(({ before, after }) => [before, after].filter(Boolean).flatMap((f) => [f.value, f.high]));
  const ticks = axis(Math.max(most, ...ends.filter((x) => typeof x === "number"))), last = ticks[ticks.length - 1];
  const at = (share) => `${(100 * share) / last}%`;
  const line = (x1, x2, name) => svg("line", { x1: at(x1), x2: at(x2), y1: "50%", y2: "50%", class: name });
  const mark = (x, path, name) => svg("svg", { x: at(x), y: "50%", width: 1, height: 1, overflow: "visible" }, [svg("path", { d: path, class: name })]);
  const picture = ({ before, after }) => {
    const drawn = ticks.map((x) => svg("line", { x1: at(x), x2: at(x), y1: 0, y2: "100%", class: "tick" }));
    if (limit !== null) drawn.push(svg("line", { x1: at(limit), x2: at(limit), y1: 0, y2: "100%", class: "limit" }));
    const from = before ? before.value : null, to = after ? after.value : null, is_both = from !== null && to !== null;
    if (after && typeof after.low === "number") drawn.push(line(after.low, after.high, "interval"));
    if (is_both) drawn.push(line(from, to, "shaft"));
    if (from !== null) drawn.push(mark(from, "M-4,0a4,4 0 1,0 8,0a4,4 0 1,0 -8,0", "from"));
    const tall = 6, back = is_both ? 9 * Math.sign(from - to) : 0;
    if (to !== null) drawn.push(back ? mark(to, `M0,0L${back},${tall}L${back},${-tall}Z`, "to") : mark(to, "M-5,0a5,5 0 1,0 10,0a5,5 0 1,0 -10,0", "to"));
    return svg("svg", { class: "arrow",  "aria-hidden": "true" }, drawn);
  };
  const scale = make("span", null, { class: "scale" }, ticks.map((x) => make("span", tick(x))));
  const body = rows.map((row) => [row.name, picture(row), row.text]);
  return table(caption, [head[0], scale, head[1]], body, { class: "arrows" });
}

function theme() {
  const root = document.documentElement, button = $("theme");
  const isDark = () => root.dataset.theme === "dark" ||
    (!root.dataset.theme && matchMedia("(prefers-color-scheme: dark)").matches);
  const show = () => button.setAttribute("aria-pressed", String(isDark()));
  button.addEventListener("click", () => { root.dataset.theme = isDark() ? "light" : "dark"; show(); });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", show);
  show();
}

// what is folded is opened for print, unless it is marked data-print="no"
function printing() {
  const folded = () => document.querySelectorAll("details:not([data-print=no])");
  let closed = [];
  addEventListener("beforeprint", () => { closed = [...folded()].filter((box) => !box.open); for (const box of closed) box.open = true; });
  addEventListener("afterprint", () => { for (const box of closed) box.open = false; });
}

// the end of each kind's script: the page says when its charts are there
function ready(drawings) {
  theme(); printing();
  Promise.all(drawings).then(() => { document.documentElement.dataset.ready = performance.now(); });
}
