// Series over time: one plot below the other, with one time axis and one cursor.

function startOverTime() {
  const box = byId("ot"), live = byId("ot-live");
  let plots = [], groups = [], at = null;
  let level = "";

  // seriesOf returns the series of all runs at a level: {label, unit, x in seconds, y, run}.
  function seriesOf() {
    const all = [];
    data.runs.forEach((run, r) => {
      const l = run.levels.find((x) => x.name === level);
      if (!l) return;
      for (const s of l.series.concat(run.telemetry)) {
        const t = [], y = [];
        let ns = 0;
        for (let i = 0; i < s.at.length; i++) {
          ns += s.at[i];
          if (ns < l.from_ns || ns > l.to_ns) continue;
          t.push((ns - l.from_ns) / 1e9);
          y.push(s.value[i]);
        }
        if (t.some((_, i) => y[i] !== null)) all.push({ group: s.group, steps: s.steps, label: s.label, unit: s.unit, x: t, y, run: r });
      }
    });
    return all;
  }

  const scaled = (unit, v) => {
    if (v === null || v === undefined) return "–";
    if (unit === "ns") return span(v);
    return digits(v) + (unit ? " " + unit : "");
  };

  // breakable lets a line end between the parts of the name of a metric.
  const breakable = (name) => name.replace(/[{,]/g, "$&\u200b");

  function build() {
    for (const p of plots) p.destroy();
    plots = [];
    box.textContent = "";
    const all = seriesOf();
    groups = data.groups.filter((g) => all.some((s) => s.group === g.key)).map((g) => Object.assign({}, g, { series: all.filter((s) => s.group === g.key) }));
    byId("ot-none").hidden = groups.length > 0;
    const why = data.runs.map((r) => r.levels.find((l) => l.name === level)).filter((l) => l && l.untimed);
    byId("ot-none").textContent = "n/a (" + (why.length ? why[0].untimed : "no series over time at this level") + ")";
    box.hidden = groups.length === 0;
    const missing = data.groups.filter((g) => g.why && !groups.some((x) => x.key === g.key));
    byId("ot-missing").textContent = missing.map((g) => g.title + ": n/a (" + g.why + ")").join("; ");
    let end = 0;
    for (const s of all) end = Math.max(end, s.x[s.x.length - 1] || 0);
    const several = data.runs.length > 1;
    groups.forEach((g, k) => {
      const joined = uPlot.join(g.series.map((s) => [s.x, s.y]));
      const unit = g.series[0].unit;
      const title = g.title + (unit && unit !== "ns" ? " (" + unit + ")" : "");
      const series = [{ label: "time", value: (u, v) => v === null ? "–" : digits(v) + " s" }];
      g.series.forEach((s, i) => {
        series.push({
          label: breakable((several ? data.runs[s.run].short + " " : "") + s.label), stroke: color("s" + i % 8), width: 1.5, spanGaps: true,
          dash: [[], [6, 3], [2, 2], [8, 3, 2, 3]][Math.floor(i / 2) % 4], points: { show: s.x.length < 3 },
          value: (u, v) => scaled(s.unit, v),
          paths: s.steps ? uPlot.paths.stepped({ align: 1 }) : undefined,
        });
      });
      const axis = { stroke: color("text"), grid: { stroke: color("grid"), width: 1 }, ticks: { stroke: color("grid"), width: 1 }, font: "11px system-ui, sans-serif" };
      const last = k === groups.length - 1;
      const holder = make("div");
      box.append(holder);
      plots.push(new uPlot({
        width: Math.max(200, box.clientWidth), height: last ? 150 : 130, title,
        series,
        scales: { x: { time: false, range: (u, a, b) => a === null || a === b ? [0, 1] : [a, b] }, y: { range: (u, a, b) => a === null ? [0, 1] : [Math.min(0, a), b > 0 ? b * 1.05 : 1] } },
        axes: [
          Object.assign({}, axis, { show: true, size: last ? 28 : 6, values: (u, v) => v.map((x) => last ? digits(x) + " s" : "") }),
          Object.assign({}, axis, { size: 68, values: (u, v) => v.map((x) => x === null ? "" : unit === "ns" ? span(x) : digits(x)) }),
        ],
        cursor: { sync: { key: "pa", setSeries: false }, drag: { x: true, y: false } },
        legend: { live: true, markers: { width: 2 } },
        hooks: { setCursor: [(u) => { if (u.cursor.idx !== null && u.cursor.left >= 0) at = joined[0][u.cursor.idx]; }] },
      }, joined, holder));
      if (end > 0) plots[k].setScale("x", { min: 0, max: end });
    });
  }

  // reading lists the values at a time.
  function reading(t) {
    const words = ["at " + digits(t) + " s"];
    for (const g of groups) {
      for (const s of g.series) {
        let best = -1;
        for (let i = 0; i < s.x.length; i++) if (s.y[i] !== null && (best < 0 || Math.abs(s.x[i] - t) < Math.abs(s.x[best] - t))) best = i;
        if (best >= 0) words.push(g.title + " " + s.label + " " + scaled(s.unit, s.y[best]));
      }
    }
    return words.join(", ");
  }

  box.addEventListener("keydown", (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey || plots.length === 0) return;
    const u = plots[0], x = u.scales.x, width = x.max - x.min;
    const scale = (a, b) => { for (const p of plots) p.setScale("x", { min: a, max: b }); };
    if (e.key === "ArrowLeft" || e.key === "ArrowRight") {
      const step = width / 50 * (e.key === "ArrowLeft" ? -1 : 1);
      at = Math.min(x.max, Math.max(x.min, (at === null ? (x.min + x.max) / 2 : at) + step));
      const t = at;
      for (const p of plots) p.setCursor({ left: p.valToPos(t, "x"), top: 10 }, false);
      at = t;
      live.textContent = reading(at);
    } else if (e.key === "+" || e.key === "=" || e.key === "-") {
      const by = e.key === "-" ? 1.6 : 1 / 1.6, m = at === null ? (x.min + x.max) / 2 : at;
      scale(m - (m - x.min) * by, m + (x.max - m) * by);
    } else if (e.key === "0") {
      build();
    } else {
      return;
    }
    e.preventDefault();
  });

  let width = 0;
  new ResizeObserver(() => {
    if (box.clientWidth === width || box.clientWidth === 0) return;
    width = box.clientWidth;
    for (const p of plots) p.setSize({ width: Math.max(200, width), height: p.height });
  }).observe(box);
  onTheme.push(build);
  return (name) => { level = name; build(); };
}
