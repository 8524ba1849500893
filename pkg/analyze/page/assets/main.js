// Start: choose the level and the run, and connect the tables with the waterfall.

function start() {
  window.paPage = { ready: false, frames: [] };
  startTheme();
  startTips();
  for (const e of document.querySelectorAll("[data-script]")) e.hidden = false;
  const level = byId("level"), run = byId("run");
  if (level && level.options.length > 0) {
    const waterfall = startWaterfall(), overTime = startOverTime();
    const show = () => {
      const r = Number(run.value), name = level.value;
      const l = data.runs[r].levels.findIndex((x) => x.name === name);
      for (const e of document.querySelectorAll("[data-of]")) e.hidden = e.dataset.of !== r + "/" + l;
      for (const e of document.querySelectorAll("[data-no-level]")) e.hidden = l >= 0;
      byId("shown").hidden = l < 0;
      if (l >= 0) waterfall.show(r, l);
    };
    const both = () => { overTime(level.value); show(); };
    const common = Array.from(level.options).find((o) => data.runs.every((r) => r.levels.some((l) => l.name === o.value)));
    if (common) level.value = common.value;
    level.addEventListener("change", () => {
      const has = (r) => r.levels.some((l) => l.name === level.value);
      if (!has(data.runs[run.value])) run.value = data.runs.findIndex(has); // else most of the page is empty
      both();
    });
    run.addEventListener("change", show);
    both();
    document.addEventListener("click", (e) => {
      const a = e.target.closest("a[data-request], a[data-search]");
      if (!a) return;
      run.value = a.dataset.run;
      level.value = data.runs[a.dataset.run].levels[a.dataset.level].name;
      both();
      if (a.dataset.request) waterfall.find(a.dataset.request); else waterfall.search(a.dataset.search);
      e.preventDefault();
      byId("waterfall").scrollIntoView();
      byId("wf-scroll").focus({ preventScroll: true });
    });
  }
  window.paPage.ready = true;
}

start();
