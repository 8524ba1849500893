// The waterfall: the kept requests of one level on a canvas. The canvas is as large as what is visible;
// an empty element of the height of all rows makes the scroll bar.

// The parts of a request, from the least important: where several parts share a column of pixels, the
// last in this list is drawn, so that no stall and no failure disappears however many requests a pixel
// holds.
const parts = [
  null,
  { name: "after the last token", color: "end", pattern: "none" },
  { name: "wait before sending", color: "wait", pattern: "slash" },
  { name: "connect", color: "connect", pattern: "dots" },
  { name: "TTFT: queue, by the server", color: "s1", pattern: "dots" },
  { name: "TTFT: prefill, by the server", color: "ttft", pattern: "none" },
  { name: "TTFT: first decode, by the server", color: "decode", pattern: "slash" },
  { name: "decode", color: "decode", pattern: "none" },
  { name: "answer, not streamed", color: "answer", pattern: "horizontal" },
  { name: "TTFT", color: "ttft", pattern: "backslash" },
  { name: "stall", color: "stall", pattern: "vertical" },
  { name: "failed", color: "failure", pattern: "cross" },
];
const END = 1, WAIT = 2, CONNECT = 3, QUEUE = 4, PREFILL = 5, FIRST_DECODE = 6, DECODE = 7, ANSWER = 8, TTFT = 9, STALL = 10, FAILED = 11;

// The parts of a TTFT at the server, in the order of time: columns of the rows and names.
const atServer = [["queue", "queue, by the server", QUEUE], ["prefill", "prefill, by the server", PREFILL], ["first_decode", "first decode, by the server", FIRST_DECODE]];

// patternOf returns the color of a part with its pattern, which tells parts apart without color.
function patternOf(ctx, part) {
  const fill = color(part.color);
  if (part.pattern === "none") return fill;
  const c = make("canvas", { width: 8, height: 8 }), p = c.getContext("2d");
  p.fillStyle = fill;
  p.fillRect(0, 0, 8, 8);
  p.strokeStyle = p.fillStyle = color("paper");
  p.lineWidth = 1.5;
  p.beginPath();
  if (part.pattern === "slash" || part.pattern === "cross") { p.moveTo(-2, 10); p.lineTo(10, -2); }
  if (part.pattern === "backslash" || part.pattern === "cross") { p.moveTo(-2, -2); p.lineTo(10, 10); }
  if (part.pattern === "vertical") { p.moveTo(4, 0); p.lineTo(4, 8); }
  if (part.pattern === "horizontal") { p.moveTo(0, 4); p.lineTo(8, 4); }
  p.stroke();
  if (part.pattern === "dots") { p.fillRect(1, 1, 2, 2); p.fillRect(5, 5, 2, 2); }
  return ctx.createPattern(c, "repeat");
}

// decodeRows turns the columns of a level into arrays of times from the origin of the run. NaN is absent.
function decodeRows(level) {
  if (level.decoded) return level.decoded;
  const r = level.rows, n = r.n, m = r.stalls;
  const rows = { n, strings: r.strings };
  for (const k of ["lane", "input", "cached", "output", "status", "excluded", "class", "error", "model", "timed", "begin", "connect", "start", "first", "last", "end", "ttft", "e2el", "queue", "prefill", "first_decode", "stalls_left_out"]) rows[k] = column(r.columns[k], n);
  rows.id = r.id_text || sums(column(r.columns.id, n));
  sums(rows.begin);
  for (let i = 0; i < n; i++) {
    for (const k of ["connect", "start", "first", "last", "end"]) rows[k][i] += rows.begin[i];
    const answer = rows.first[i] - rows.start[i], whole = rows.end[i] - rows.start[i];
    rows.ttft[i] += isNaN(answer) ? 0 : answer;
    rows.e2el[i] += isNaN(whole) ? 0 : whole;
    if (isNaN(rows.end[i])) rows.end[i] = rows.begin[i];
  }
  const stallRow = column(r.columns.stall_row, m), stallAt = column(r.columns.stall_at, m);
  rows.stallFrom = new Uint32Array(n + 1);
  rows.stallAt = new Float64Array(m);
  rows.stallNS = column(r.columns.stall_ns, m);
  rows.stallPosition = column(r.columns.stall_position, m);
  rows.longest = new Float64Array(n);
  let row = 0;
  for (let k = 0; k < m; k++) {
    row += stallRow[k];
    rows.stallFrom[row + 1]++;
    rows.stallAt[k] = rows.begin[row] + stallAt[k];
    rows.longest[row] = Math.max(rows.longest[row], rows.stallNS[k]);
  }
  for (let i = 0; i < n; i++) rows.stallFrom[i + 1] += rows.stallFrom[i];
  rows.lanes = 0;
  for (let i = 0; i < n; i++) rows.lanes = Math.max(rows.lanes, rows.lane[i] + 1);
  level.decoded = rows;
  return rows;
}

// sums replaces differences by their sums.
function sums(c) {
  for (let i = 1; i < c.length; i++) c[i] += c[i - 1];
  return c;
}

function startWaterfall() {
  const box = byId("wf-scroll"), canvas = byId("wf-canvas"), space = byId("wf-space"), tip = byId("wf-tip");
  const ctx = canvas.getContext("2d");
  const head = 22, high = 18;
  let styles = [], flat = [];
  let rows = null, level = null;
  let lanes = [];         // rows of each lane, by begin
  let order = [];         // rows of the list, sorted and filtered
  let matches = null;     // 1 for each row that the search finds; null: all
  let from = 0, to = 1;   // visible time
  let low = 0, top = 1;   // all times
  let selected = -1;      // a row
  let waiting = false;
  let version = 0;        // of what the lines hold: the level, the search, the order

  const mode = () => byId("wf-mode").value;
  const aligned = () => mode() === "aligned";
  const inLanes = () => mode() === "lanes";
  const zero = (i) => !aligned() ? 0 : isNaN(rows.start[i]) ? rows.begin[i] : rows.start[i];
  const gutter = () => box.clientWidth < 500 ? 44 : 72;
  const plotWidth = () => Math.max(40, box.clientWidth - gutter() - 4);

  function theme(now) {
    styles = parts.map((p) => p && patternOf(ctx, p));
    flat = parts.map((p) => p && color(p.color));
    const legend = byId("wf-legend");
    legend.textContent = "";
    for (let k = 1; k < parts.length; k++) {
      if (rows && !uses(k)) continue;
      const c = make("canvas", { width: 28, height: 14, "aria-hidden": "true" }), x = c.getContext("2d");
      x.fillStyle = patternOf(x, parts[k]);
      x.fillRect(0, 0, 28, 14);
      legend.append(make("li", {}, c, parts[k].name + (k === TTFT && (used.has(QUEUE) || used.has(PREFILL)) ? ": client, network and rest" : "")));
    }
    if (now === true && rows) paint(); else draw();
  }

  // uses reports whether some request has a part.
  const used = new Set();
  function uses(k) { return used.has(k); }
  function noteParts() {
    used.clear();
    for (let i = 0; i < rows.n; i++) eachPart(i, (a, b, k) => used.add(k));
  }

  // eachPart calls f with the ends and the kind of each part of a row.
  function eachPart(i, f) {
    if (!rows.timed[i]) return;
    const begin = rows.begin[i], start = rows.start[i], end = rows.end[i];
    if (isNaN(start)) { // never sent
      f(begin, end, failed(i) ? FAILED : WAIT);
      return;
    }
    const connect = isNaN(rows.connect[i]) ? start : rows.connect[i];
    if (connect > begin) f(begin, connect, WAIT);
    if (start > connect) f(connect, start, CONNECT);
    if (failed(i)) {
      f(start, end, FAILED);
    } else if (isNaN(rows.first[i])) {
      f(start, end, ANSWER);
    } else {
      const first = rows.first[i], last = rows.last[i] > first ? rows.last[i] : first;
      // Nothing shows at which time of the client the server was at work: its parts end at the first token.
      let at = first - serverTime(i);
      if (at < start) at = first; // more time than passed
      f(start, at, TTFT);
      if (at < first) for (const [k, , part] of atServer) if (rows[k][i] > 0) f(at, at += rows[k][i], part);
      if (last > first) f(first, last, DECODE);
      if (end > last) f(last, end, END);
    }
    for (let k = rows.stallFrom[i]; k < rows.stallFrom[i + 1]; k++) f(rows.stallAt[k], rows.stallAt[k] + rows.stallNS[k], STALL);
  }
  // serverTime returns the sum of the parts of a TTFT at the server.
  const serverTime = (i) => atServer.reduce((sum, [k]) => sum + (rows[k][i] || 0), 0);
  const failed = (i) => rows.class[i] > 0;
  const noRows = byId("wf-none").textContent; // of a level without times, unless it says why

  function show(run, lev) {
    level = data.runs[run].levels[lev];
    rows = decodeRows(level);
    level.run = data.runs[run];
    selected = -1;
    lanes = Array.from({ length: rows.lanes }, () => []);
    for (let i = 0; i < rows.n; i++) if (rows.lane[i] >= 0) lanes[rows.lane[i]].push(i);
    noteParts();
    byId("wf-left").textContent = level.sampling || "";
    byId("wf-left").hidden = !level.sampling;
    byId("wf-none").hidden = rows.n > 0;
    byId("wf-none").textContent = level.untimed ? "n/a (" + level.untimed + ")" : noRows;
    box.hidden = rows.n === 0;
    filter();
    fit();
    detail();
    theme();
  }

  function fit() {
    low = Infinity; top = -Infinity;
    for (let i = 0; i < rows.n; i++) {
      if (!rows.timed[i]) continue;
      const z = zero(i);
      low = Math.min(low, rows.begin[i] - z);
      top = Math.max(top, rows.end[i] - z);
    }
    if (!(top > low)) { low = isFinite(low) ? low : 0; top = low + 1000; }
    const margin = (top - low) * 0.01;
    low -= margin; top += margin;
    from = low; to = top;
    draw();
  }

  // filter applies search, choice and order.
  function filter() {
    const words = byId("wf-search").value.trim().toLowerCase();
    const only = byId("wf-show").value;
    const number = /^#?\d+$/.test(words) ? words.replace("#", "") : "";
    const hit = rows.strings.map((s) => s.toLowerCase().includes(words));
    matches = null;
    let count = rows.n;
    if (words || only !== "all") {
      matches = new Uint8Array(rows.n);
      count = 0;
      for (let i = 0; i < rows.n; i++) {
        if (only === "failed" && !failed(i) || only === "stalled" && rows.longest[i] === 0) continue;
        if (number ? String(rows.id[i]) !== number : words && !hit[rows.class[i]] && !hit[rows.error[i]] && !hit[rows.model[i]] && !hit[rows.status[i]]) continue;
        matches[i] = 1;
        count++;
      }
    }
    order = [];
    for (let i = 0; i < rows.n; i++) if (!matches || matches[i]) order.push(i);
    const key = {
      start: (i) => rows.begin[i],
      ttft: (i) => isNaN(rows.ttft[i]) ? Infinity : -rows.ttft[i],
      e2el: (i) => isNaN(rows.e2el[i]) ? Infinity : -rows.e2el[i],
      stall: (i) => -rows.longest[i],
    }[byId("wf-sort").value];
    const keys = new Float64Array(rows.n);
    for (const i of order) keys[i] = key(i);
    order.sort((a, b) => keys[a] - keys[b] || a - b);
    version++;
    byId("wf-count").textContent = grouped(count) + " of " + grouped(rows.n) + (level.left_out ? " kept" : "") + (rows.n === 1 ? " request" : " requests");
    if (number && order.length === 1) select(order[0], true);
    size();
    draw();
  }

  const lines = () => inLanes() ? lanes.length : order.length;

  function size() {
    const all = head + lines() * high + 4;
    space.style.height = all + "px";
    box.style.height = Math.max(110, all + 2) + "px"; // the style sheet bounds it
  }

  // say puts text into the line that screen readers read.
  function say(text) { byId("wf-live").textContent = text; }

  function draw() {
    if (waiting || !rows) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      const begin = performance.now();
      paint();
      const frames = window.paPage.frames;
      frames.push(performance.now() - begin);
      if (frames.length > 2000) frames.shift();
    });
  }

  // Lines of the last frames, as columns of pixels: scrolling draws most of them again.
  const cache = new Map();
  let cached = "";

  // pixels returns a line as columns of pixels: the parts of the requests that the search finds, of the
  // others, and the ends of failures.
  function pixels(line, columns) {
    const known = cache.get(line);
    if (known) return known;
    const l = { found: null, others: null, marks: null };
    const per = columns / (to - from);
    let buf = null;
    const put = (a, b, k) => {
      let x0 = Math.round(a * per), x1 = Math.round(b * per);
      if (x1 <= x0) { if (k < DECODE) return; x1 = x0 + 1; }
      if (x0 < 0) x0 = 0;
      if (x1 > columns) x1 = columns;
      for (let x = x0; x < x1; x++) if (buf[x] < k) buf[x] = k;
    };
    const request = (i) => {
      const z = zero(i) + from;
      if (rows.end[i] < z || rows.begin[i] - z > to - from || !rows.timed[i]) return;
      if (matches && !matches[i]) buf = l.others = l.others || new Uint8Array(columns);
      else buf = l.found = l.found || new Uint8Array(columns);
      eachPart(i, (a, b, k) => put(a - z, b - z, k));
      if (failed(i)) (l.marks = l.marks || []).push(rows.end[i] - z);
    };
    if (inLanes()) for (const i of lanes[line]) request(i); else request(order[line]);
    if (cache.size > 400) cache.clear();
    cache.set(line, l);
    return l;
  }

  function paint() {
    const scale = window.devicePixelRatio || 1;
    const w = box.clientWidth, h = box.clientHeight;
    if (w === 0 || h === 0) return;
    if (canvas.width !== Math.round(w * scale) || canvas.height !== Math.round(h * scale)) {
      canvas.width = Math.round(w * scale);
      canvas.height = Math.round(h * scale);
      canvas.style.width = w + "px";
      canvas.style.height = h + "px";
    }
    ctx.setTransform(scale, 0, 0, scale, 0, 0);
    ctx.fillStyle = color("paper");
    ctx.fillRect(0, 0, w, h);
    const g = gutter(), pw = plotWidth();
    const columns = Math.round(pw * scale);
    const key = [from, to, columns, mode(), version].join(" ");
    if (key !== cached) { cache.clear(); cached = key; }
    drawAxis(g, pw, w, h);
    const line0 = Math.max(0, Math.floor(box.scrollTop / high));
    const line1 = Math.min(lines(), Math.ceil((box.scrollTop + h - head) / high));
    ctx.save();
    ctx.beginPath();
    ctx.rect(0, head, w, h - head);
    ctx.clip();
    const batches = [];
    const marks = [];
    for (let line = line0; line < line1; line++) {
      const y = head + line * high - box.scrollTop;
      const l = pixels(line, columns);
      if (l.others) runs(batches, 1, l.others, columns, g, y, scale);
      if (l.found) runs(batches, 0, l.found, columns, g, y, scale);
      if (l.marks) marks.push([l.marks, y]);
    }
    for (const key in batches) { // one style after the other: changing styles is slow
      const b = batches[key];
      ctx.globalAlpha = b.faint ? 0.25 : 1;
      ctx.fillStyle = b.style;
      for (let i = 0; i < b.at.length; i += 3) ctx.fillRect(b.at[i], b.at[i + 1] + b.inset, b.at[i + 2], high - 2 * b.inset);
    }
    ctx.globalAlpha = 1;
    crosses(marks, g, pw);
    ctx.font = "11px system-ui, sans-serif";
    ctx.textBaseline = "middle";
    ctx.fillStyle = color("text");
    ctx.textAlign = "right";
    for (let line = line0; line < line1; line++) {
      const label = inLanes() ? String(line) : "#" + rows.id[order[line]];
      ctx.fillText(label.length > 10 ? "…" + label.slice(-9) : label, g - 6, head + line * high - box.scrollTop + high / 2, g - 8);
    }
    outline(g, pw);
    ctx.restore();
  }

  // outline marks the selected request.
  function outline(g, pw) {
    const line = selected < 0 ? -1 : lineOf(selected);
    if (line < 0 || !rows.timed[selected]) return;
    const z = zero(selected) + from, per = pw / (to - from);
    const x0 = Math.max(0, (rows.begin[selected] - z) * per), x1 = Math.min(pw, (rows.end[selected] - z) * per);
    if (x1 < x0) return;
    ctx.strokeStyle = color("focus");
    ctx.lineWidth = 2;
    ctx.strokeRect(g + x0 - 2, head + line * high - box.scrollTop + 1, Math.max(4, x1 - x0 + 4), high - 2);
  }

  // runs adds the columns of a line to the rectangles of each style: equal neighbors are one.
  function runs(batches, faint, buf, columns, g, y, scale) {
    for (let x = 0; x < columns;) {
      const k = buf[x];
      let e = x + 1;
      while (e < columns && buf[e] === k) e++;
      if (k) {
        const plain = (e - x) / scale < 5;
        const key = k * 4 + faint * 2 + (plain ? 1 : 0);
        const b = batches[key] || (batches[key] = { style: plain ? flat[k] : styles[k], faint, inset: k === STALL || k === FAILED ? 2 : 4, at: [] });
        b.at.push(g + x / scale, y, (e - x) / scale);
      }
      x = e;
    }
  }

  // crosses marks the ends of failed requests, a few pixels apart at least.
  function crosses(marks, g, pw) {
    const per = pw / (to - from);
    ctx.strokeStyle = color("failure");
    ctx.lineWidth = 2;
    ctx.beginPath();
    for (const [ends, y] of marks) {
      let before = -Infinity;
      for (const t of ends.sort((a, b) => a - b)) {
        const x = t * per;
        if (x < 0 || x > pw || x - before < 6) continue;
        before = x;
        ctx.moveTo(g + x - 4, y + high / 2 - 4); ctx.lineTo(g + x + 4, y + high / 2 + 4);
        ctx.moveTo(g + x + 4, y + high / 2 - 4); ctx.lineTo(g + x - 4, y + high / 2 + 4);
      }
    }
    ctx.stroke();
  }

  function drawAxis(g, pw, w, h) {
    ctx.font = "11px system-ui, sans-serif";
    ctx.textBaseline = "middle";
    const want = Math.max(2, Math.floor(pw / 110));
    const rough = (to - from) / want;
    const power = Math.pow(10, Math.floor(Math.log10(rough)));
    const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough) || rough;
    let unit = units[0];
    for (const u of units) if (Math.max(Math.abs(from), Math.abs(to)) >= u[1] && step >= u[1] / 1000) unit = u;
    ctx.strokeStyle = color("grid");
    ctx.lineWidth = 1;
    ctx.fillStyle = color("soft");
    ctx.textAlign = "center";
    const places = Math.max(0, -Math.floor(Math.log10(step / unit[1]) + 1e-9));
    for (let t = Math.ceil(from / step) * step; t <= to; t += step) {
      const x = g + (t - from) / (to - from) * pw;
      ctx.beginPath();
      ctx.moveTo(x + 0.5, head - 4);
      ctx.lineTo(x + 0.5, h);
      ctx.stroke();
      if (x > g + 20 && x < g + pw - 20) ctx.fillText((t / unit[1]).toFixed(places) + " " + unit[0], x, head / 2);
    }
    ctx.textAlign = "right";
    ctx.fillText(inLanes() ? "lane" : "request", g - 6, head / 2, g - 8);
    ctx.beginPath();
    ctx.moveTo(0, head - 0.5);
    ctx.lineTo(w, head - 0.5);
    ctx.stroke();
  }

  // at returns the row at a point of the window; -1 for none.
  function at(x, y) {
    const r = box.getBoundingClientRect();
    const px = x - r.left - box.clientLeft - gutter(), py = y - r.top - box.clientTop;
    if (py < head || px < 0) return -1;
    const line = Math.floor((py - head + box.scrollTop) / high);
    if (line < 0 || line >= lines()) return -1;
    if (!inLanes()) return order[line];
    const t = from + px / plotWidth() * (to - from), slack = 4 / plotWidth() * (to - from);
    let best = -1, distance = slack;
    for (const i of lanes[line]) {
      const d = Math.max(rows.begin[i] - t, t - rows.end[i], 0);
      if (d < distance || d === 0 && best < 0) { best = i; distance = d; }
    }
    return best;
  }

  // facts lists what is known of a row: names, and texts with exact nanoseconds.
  function facts(i) {
    const all = [["request", "#" + rows.id[i]], ["status", text("status", i) + (failed(i) ? " (" + text("class", i) + ")" : "")]];
    const begin = rows.begin[i], start = rows.start[i];
    if (text("excluded", i) && !failed(i)) all.push(["does not count", text("excluded", i)]);
    if (rows.timed[i]) all.push(["begin", exact(begin) + " after the start of the run"]);
    const connect = isNaN(rows.connect[i]) ? start : rows.connect[i];
    if (connect > begin) all.push(["wait", exact(connect - begin)]);
    if (start > connect) all.push(["connect", exact(start - connect)]);
    if (!isNaN(rows.ttft[i])) all.push(["TTFT", exact(rows.ttft[i])]);
    for (const [k, name] of atServer) if (!isNaN(rows[k][i])) all.push([name, exact(rows[k][i])]);
    if (rows.last[i] >= rows.first[i]) all.push(["decode", exact(rows.last[i] - rows.first[i])]);
    if (!isNaN(rows.e2el[i])) all.push(["E2EL", exact(rows.e2el[i])]);
    else if (rows.end[i] > start) all.push(["until the end", exact(rows.end[i] - start)]);
    for (const [k, name] of [["input", "input tokens"], ["cached", "cached tokens"], ["output", "output tokens"]]) if (rows[k][i] >= 0) all.push([name, grouped(rows[k][i])]);
    const stalls = rows.stallFrom[i + 1] - rows.stallFrom[i];
    const hidden = rows.stalls_left_out[i];
    if (stalls) all.push(["stalls", grouped(stalls + hidden) + ", the longest " + exact(rows.longest[i]) + (hidden ? "; the " + grouped(stalls) + " longest are drawn" : "")]);
    if (rows.lane[i] >= 0) all.push(["lane", String(rows.lane[i])]);
    if (text("model", i)) all.push(["model", text("model", i)]);
    if (text("error", i)) all.push(["error", text("error", i)]);
    return all;
  }
  const text = (k, i) => rows.strings[rows[k][i]] || "";

  function table(i) {
    const t = make("table");
    for (const [k, v] of facts(i)) t.append(make("tr", {}, make("th", { scope: "row" }, k), make("td", { class: "left" }, v)));
    return t;
  }

  function hover(e) {
    const i = at(e.clientX, e.clientY);
    if (i < 0 || e.pointerType === "touch") { tip.hidden = true; return; }
    tip.replaceChildren(table(i));
    place(tip, e.clientX, e.clientY);
  }

  function detail() {
    const d = byId("wf-detail");
    d.replaceChildren();
    if (selected < 0) { say(""); return; }
    for (const [k, v] of facts(selected)) d.append(make("dt", {}, k), make("dd", {}, v));
  }

  // lineOf returns the line that shows a row; -1 if the search hides it.
  const lineOf = (i) => inLanes() ? rows.lane[i] : order.indexOf(i);

  function select(i, quiet) {
    selected = i;
    detail();
    if (i >= 0) {
      const line = lineOf(i);
      const y = line * high;
      if (line >= 0 && (y < box.scrollTop || y + high > box.scrollTop + box.clientHeight - head)) box.scrollTop = y - (box.clientHeight - head) / 2;
      const z = zero(i), a = rows.begin[i] - z, b = rows.end[i] - z;
      if (b < from || a > to || (b - a < to - from && (a < from || b > to))) {
        const middle = (a + b) / 2, half = (to - from) / 2;
        setTime(middle - half, middle + half);
      }
      const place = inLanes() ? "lane " + line : "row " + (line + 1) + " of " + order.length;
      say(place + ": " + facts(i).slice(0, -1).map(([k, v]) => k + " " + v).join(", "));
    }
    if (!quiet) draw();
  }

  function setTime(a, b) {
    let width = Math.min(Math.max(b - a, 100), top - low);
    if (a < low) a = low;
    if (a + width > top) a = top - width;
    from = a;
    to = a + width;
    draw();
  }

  // zoom changes the width of the visible time; the time at fraction f stays where it is.
  function zoom(by, f) {
    const t = from + f * (to - from), width = (to - from) * by;
    setTime(t - f * width, t + (1 - f) * width);
  }

  const middle = () => {
    if (selected < 0) return 0.5;
    const z = zero(selected), t = (rows.begin[selected] + rows.end[selected]) / 2 - z;
    return t < from || t > to ? 0.5 : (t - from) / (to - from);
  };

  // neighbor returns the row that an arrow key leads to.
  function neighbor(dx, dy) {
    if (!inLanes()) {
      if (order.length === 0) return -1;
      const line = selected < 0 ? (dy > 0 ? -1 : order.length) : order.indexOf(selected);
      return order[Math.min(order.length - 1, Math.max(0, line + dy))];
    }
    if (selected < 0) return order.length ? order[0] : -1;
    if (rows.lane[selected] < 0) return order[0];
    const lane = lanes[rows.lane[selected]];
    if (dx) return lane[Math.min(lane.length - 1, Math.max(0, lane.indexOf(selected) + dx))];
    let l = rows.lane[selected] + dy;
    l = Math.min(lanes.length - 1, Math.max(0, l));
    while (lanes[l] && lanes[l].length === 0) l += Math.sign(dy);
    if (!lanes[l]) return selected;
    const t = rows.begin[selected];
    let best = lanes[l][0];
    for (const i of lanes[l]) if (Math.abs(rows.begin[i] - t) < Math.abs(rows.begin[best] - t)) best = i;
    return best;
  }

  const page = () => Math.max(1, Math.floor((box.clientHeight - head) / high) - 1);
  const keys = {
    ArrowDown: () => select(neighbor(0, 1)),
    ArrowUp: () => select(neighbor(0, -1)),
    ArrowRight: () => inLanes() ? select(neighbor(1, 0)) : setTime(from + (to - from) / 10, to + (to - from) / 10),
    ArrowLeft: () => inLanes() ? select(neighbor(-1, 0)) : setTime(from - (to - from) / 10, to - (to - from) / 10),
    PageDown: () => select(neighbor(0, page())),
    PageUp: () => select(neighbor(0, -page())),
    Home: () => { if (order.length) select(order[0]); },
    End: () => { if (order.length) select(order[order.length - 1]); },
    "+": () => zoom(0.6, middle()),
    "=": () => zoom(0.6, middle()),
    "-": () => zoom(1 / 0.6, middle()),
    "0": fit,
    Escape: () => { select(-1); tip.hidden = true; },
  };
  box.addEventListener("keydown", (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey || !keys[e.key]) return;
    e.preventDefault();
    keys[e.key]();
  });

  box.addEventListener("wheel", (e) => {
    if (!e.ctrlKey && !e.shiftKey && !e.metaKey) return; // it scrolls the rows
    e.preventDefault();
    const r = box.getBoundingClientRect();
    const d = e.deltaY || e.deltaX;
    zoom(Math.exp(Math.max(-100, Math.min(100, d)) / 200), Math.min(1, Math.max(0, (e.clientX - r.left - gutter()) / plotWidth())));
  }, { passive: false });

  let drag = null;
  box.addEventListener("pointerdown", (e) => {
    if (e.button !== 0 || e.clientX > box.getBoundingClientRect().left + box.clientWidth) return;
    drag = { x: e.clientX, y: e.clientY, from, to, moved: false };
  });
  box.addEventListener("pointermove", (e) => {
    if (drag && Math.abs(e.clientX - drag.x) > 3) {
      if (!drag.moved) { box.setPointerCapture(e.pointerId); box.classList.add("drag"); }
      drag.moved = true;
    }
    if (drag && drag.moved) {
      const d = (drag.x - e.clientX) / plotWidth() * (drag.to - drag.from);
      setTime(drag.from + d, drag.to + d);
      tip.hidden = true;
    } else {
      hover(e);
    }
  });
  box.addEventListener("pointerup", (e) => {
    if (drag && !drag.moved) { const i = at(e.clientX, e.clientY); select(i); }
    drag = null;
    box.classList.remove("drag");
  });
  box.addEventListener("pointercancel", () => { drag = null; box.classList.remove("drag"); });
  box.addEventListener("pointerleave", () => { tip.hidden = true; });
  box.addEventListener("scroll", () => { tip.hidden = true; draw(); }, { passive: true });
  box.addEventListener("focus", () => {
    if (selected < 0) say("Arrow keys select a request, plus and minus zoom, 0 shows all times.");
  });
  new ResizeObserver(draw).observe(box);

  byId("wf-search").addEventListener("input", filter);
  byId("wf-sort").addEventListener("change", filter);
  byId("wf-show").addEventListener("change", filter);
  byId("wf-mode").addEventListener("change", () => { box.scrollTop = 0; byId("wf-sort").disabled = inLanes(); size(); fit(); });
  byId("wf-sort").disabled = inLanes();
  byId("wf-in").addEventListener("click", () => zoom(0.6, middle()));
  byId("wf-out").addEventListener("click", () => zoom(1 / 0.6, middle()));
  byId("wf-reset").addEventListener("click", fit);
  onTheme.push(theme);

  return {
    show,
    // find selects the request of an id and brings it into view.
    find(id) {
      byId("wf-search").value = "";
      byId("wf-show").value = "all";
      filter();
      for (let i = 0; i < rows.n; i++) if (String(rows.id[i]) === id) { select(i); break; }
    },
    // search looks for text, in the list.
    search(words) {
      byId("wf-search").value = words;
      byId("wf-show").value = "all";
      if (inLanes()) { byId("wf-mode").value = "rows"; byId("wf-sort").disabled = false; }
      filter();
      fit();
    },
  };
}
