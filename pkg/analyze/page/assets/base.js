// Elements, numbers, the data of the page, its theme and its tooltips. All scripts of the page are one
// function: see assets.go.

function byId(id) { return document.getElementById(id); }

// make returns a new element. Text is always text: nothing of the data is ever parsed as HTML.
function make(name, attributes, ...children) {
  const e = document.createElement(name);
  for (const k in attributes || {}) e.setAttribute(k, attributes[k]);
  e.append(...children);
  return e;
}

function color(name) { return getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim(); }

// grouped writes an integer with commas: 1,234,567.
function grouped(v) {
  const s = String(Math.round(v));
  return s.replace(/\B(?=(\d{3})+(?!\d))/g, ",");
}

// exact writes nanoseconds for people and exactly: "12.35 ms (12,345,678 ns)".
function exact(ns) { return span(ns) + " (" + grouped(ns) + " ns)"; }

const units = [["ns", 1], ["µs", 1e3], ["ms", 1e6], ["s", 1e9]];

// span writes nanoseconds with about four digits in the unit that suits them.
function span(ns) {
  let u = units[0];
  for (const x of units) if (Math.abs(ns) >= x[1]) u = x;
  return digits(ns / u[1]) + " " + u[0];
}

function digits(v) {
  const a = Math.abs(v);
  if (v === 0 || !isFinite(v)) return String(v);
  if (Number.isInteger(v) && a < 1e6) return grouped(v);
  if (a >= 1e6) return v.toPrecision(4).replace(/e\+/, "e");
  return String(Number(v.toPrecision(4)));
}

// column decodes a column of n numbers. A number or null stands for a column of equal values; null means
// absent, which is NaN here. Any other column is bytes in base64. A number takes one byte or more, the lowest
// bits first: the lowest bit of the first byte is the sign, and the highest bit of a byte says that more bytes
// follow. Negative 0 means absent.
function column(c, n) {
  if (typeof c !== "string") return new Float64Array(n).fill(c === null ? NaN : c);
  const bytes = atob(c), all = new Float64Array(n);
  for (let i = 0, at = 0; i < n; i++) {
    let b = bytes.charCodeAt(at++);
    const negative = b & 1;
    let v = (b & 127) >> 1, scale = 64;
    while (b > 127) {
      b = bytes.charCodeAt(at++);
      v += (b & 127) * scale;
      scale *= 128;
    }
    all[i] = !negative ? v : v === 0 ? NaN : -v;
  }
  return all;
}

const data = JSON.parse(byId("data").textContent);

// onTheme holds the functions that draw canvases again in other colors; with true, they draw at once.
const onTheme = [];

function setTheme(next) {
  const root = document.documentElement;
  if (next === "auto") root.removeAttribute("data-theme"); else root.setAttribute("data-theme", next);
  byId("theme").textContent = "Theme: " + next;
  for (const f of onTheme) f();
}

function startTheme() {
  const order = ["auto", "light", "dark"];
  let at = 0;
  byId("theme").hidden = false;
  byId("theme").addEventListener("click", () => { at = (at + 1) % order.length; setTheme(order[at]); });
  // Paper is light: canvases are drawn in light colors before printing, and as before after it.
  let before = null;
  addEventListener("beforeprint", () => {
    before = document.documentElement.getAttribute("data-theme");
    document.documentElement.setAttribute("data-theme", "light");
    for (const f of onTheme) f(true);
  });
  addEventListener("afterprint", () => {
    if (before === null) document.documentElement.removeAttribute("data-theme"); else document.documentElement.setAttribute("data-theme", before);
    for (const f of onTheme) f();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { for (const f of onTheme) f(); });
}

// place puts a box near a point, within the window.
function place(box, x, y) {
  box.hidden = false;
  const r = box.getBoundingClientRect();
  const left = x + 14 + r.width > innerWidth ? x - r.width - 14 : x + 14;
  const top = y + 14 + r.height > innerHeight ? y - r.height - 14 : y + 14;
  box.style.left = Math.max(4, left) + "px";
  box.style.top = Math.max(4, top) + "px";
}

// startTips shows the definition that a link leads to while the pointer or the focus is on the link.
function startTips() {
  const tip = byId("tip");
  const show = (a) => {
    const of = byId(a.getAttribute("href").slice(1));
    if (!of) return;
    tip.textContent = "";
    tip.append(make("strong", {}, of.querySelector("dt").textContent));
    for (const d of of.querySelectorAll("dd")) tip.append(make("div", {}, d.textContent));
    const r = a.getBoundingClientRect();
    place(tip, r.left, r.bottom - 8);
  };
  const over = (e) => {
    const a = e.target.closest && e.target.closest("a.def");
    if (a) show(a); else tip.hidden = true;
  };
  document.addEventListener("mouseover", over);
  document.addEventListener("focusin", over);
  document.addEventListener("focusout", () => { tip.hidden = true; });
  document.addEventListener("keydown", (e) => { if (e.key === "Escape") tip.hidden = true; });
  addEventListener("scroll", () => { tip.hidden = true; }, { passive: true });
}
