// Drives pages of pa-analyze html in a headless browser. make test-browser runs it.
//
// Environment: PA_BIN, the folder of pa-record and pa-analyze (bin); CHROMIUM, the browser (chromium);
// ARTIFACTS, the folder for runs, pages and screenshots (out/browser); LARGE, the number of requests of
// the large run (100000; 0 for none).

import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { chromium } from 'playwright-core';
import { bin, command, figuresOf, hostile, largeRun, makeRuns } from './runs.mjs';
import { inside, shape } from './checks.mjs';
import { decode, marks } from './pixels.mjs';

const artifacts = resolve(process.env.ARTIFACTS || 'out/browser');
const large = Number(process.env.LARGE || 100000);
const axe = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const widths = { narrow: { width: 360, height: 740 }, usual: { width: 1280, height: 900 }, wide: { width: 2560, height: 1440 } };

// The runs are recorded before the tests are declared: there is a group of tests for each page.
const cases = await makeRuns(join(artifacts, 'runs'));
await mkdir(join(artifacts, 'screens'), { recursive: true });

let browser;
before(async () => {
  browser = await chromium.launch({
    executablePath: process.env.CHROMIUM || '/usr/bin/chromium',
    args: ['--no-sandbox', '--host-resolver-rules=MAP * ~NOTFOUND'],
  });
});
after(() => browser.close());

// open opens a file in a context of its own. problems collects what the browser's log holds: messages
// of the console, errors, and requests to anything but the file itself.
async function open(file, options = {}) {
  const context = await browser.newContext({ viewport: widths.usual, reducedMotion: 'reduce', ...options });
  const page = await context.newPage();
  const url = pathToFileURL(file).href, problems = [];
  const session = await context.newCDPSession(page);
  await session.send('Network.enable');
  await session.send('Log.enable');
  session.on('Network.requestWillBeSent', (e) => { if (e.request.url !== url && !e.request.url.startsWith('data:')) problems.push('request: ' + e.request.url); });
  session.on('Network.webSocketCreated', (e) => problems.push('socket: ' + e.url));
  session.on('Log.entryAdded', (e) => problems.push('log: ' + e.entry.text));
  page.on('console', (m) => problems.push('console: ' + m.text()));
  page.on('pageerror', (e) => problems.push('error: ' + e.message));
  page.on('dialog', (d) => { problems.push('dialog: ' + d.message()); void d.dismiss(); });
  await page.goto(url, { waitUntil: 'load' });
  if (options.javaScriptEnabled !== false) await page.waitForFunction(() => window.paPage && window.paPage.ready);
  return { page, context, session, problems, close: () => context.close() };
}

// opened runs f with an opened page, which must leave nothing in the browser's log.
async function opened(file, options, f) {
  const p = await open(file, options);
  try {
    await f(p.page, p);
    assert.deepEqual(p.problems, [], 'log of the browser');
  } finally {
    await p.close();
  }
}

// violations returns what axe finds against WCAG 2, levels A and AA.
async function violations(page) {
  await page.evaluate(axe);
  const found = await page.evaluate(() => window.axe.run(document, {
    runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'], resultTypes: ['violations'],
  }));
  return found.violations.map((v) => `${v.id}: ${v.help}: ${v.nodes.length} nodes: ${v.nodes.slice(0, 3).map((n) => n.target.join(' ') + ' ' + n.html.slice(0, 120)).join(' | ')}`);
}

const screenshot = async (page, name) => page.screenshot({ path: join(artifacts, 'screens', name + '.png'), fullPage: true });

// drawn fails unless each visible chart and canvas has marks. It returns their number.
async function drawn(page) {
  const boxes = await page.locator('main figure svg, #ot canvas, #wf-canvas').evaluateAll((all) => all.map((e) => {
    const r = e.getBoundingClientRect();
    return { name: e.id || e.textContent.slice(0, 60), x: r.left + scrollX, y: r.top + scrollY, width: r.width, height: r.height };
  }).filter((r) => r.width > 0));
  const picture = decode(await page.screenshot({ fullPage: true }));
  const blank = boxes.map((box) => ({ name: box.name, ...marks(picture, box) })).filter((m) => m.pixels < 200 || m.colors < 3);
  assert.deepEqual(blank, [], 'blank pictures');
  return boxes.length;
}

// pictures fails unless the charts of each level are drawn.
async function pictures(page, c) {
  const levels = await page.locator('#level option').count();
  assert.equal(levels, c.has.levels);
  let n = 0;
  for (let i = 0; i < levels; i++) {
    await page.locator('#level').selectOption({ index: i });
    n = await drawn(page);
    await inside(page);
    assert.ok(await page.locator('#shown').isVisible(), `level ${i} shows a run that has it`);
    if (c.has.requests) assert.ok(n >= 2, `${n} pictures of level ${i}`);
  }
}

// sections fails unless the page has all sections, each with more than its heading.
async function sections(page, c) {
  const all = await page.locator('main > section').evaluateAll((found) => found.map((s) => ({
    id: s.id, empty: s.innerText.trim() === (s.querySelector('h2') || { innerText: '' }).innerText.trim(),
  })));
  for (const id of ['strip', 'sweep', 'pareto', 'distributions', 'overtime', 'waterfall', 'itl', 'prompts', 'problems', 'facts', 'definitions']) {
    assert.ok(all.some((s) => s.id === id), `section ${id}`);
  }
  assert.equal(all.some((s) => s.id === 'sessions'), Boolean(c.has.sessions), 'section of sessions');
  assert.deepEqual(all.filter((s) => s.empty).map((s) => s.id), [], 'sections with nothing but their heading');
}

// get follows a path such as experiments[0].metrics.ttft_ns.p99.9, whose last name holds a point.
function get(root, path) {
  const names = path.replace(/\[(\d+)\]/g, '.$1').split('.');
  let v = root;
  while (names.length > 0 && v !== undefined && v !== null) {
    const rest = names.join('.');
    if (Object.hasOwn(Object(v), rest)) return v[rest];
    v = v[names.shift()];
  }
  return v;
}

// units of figures on the page, in the unit of the report.
const units = { ns: 1, 'µs': 1e3, ms: 1e6, s: 1e9, min: 60e9, h: 3600e9, '%': 0.01 };

// same reports whether a figure such as "12.35 ms", "1,234", "+1.58%" or a date shows the value of the
// report, to half of its last digit. Text without a number, such as "n/a (why)", shows itself.
function same(text, value) {
  const date = /^(\d{4}-\d\d-\d\d) ([\d:.]+) UTC$/.exec(text);
  if (date) return Date.parse(`${date[1]}T${date[2]}Z`) === Math.floor(Number(value) / 1e6);
  const parts = /^([+\u2212-]?)([\d,]+(?:\.(\d+))?)(e[+-]?\d+)?\s*(\S*)/.exec(text);
  if (!parts) return true;
  const [, sign, digits, places = '', power = '', unit] = parts;
  const number = Number(digits.replace(/,/g, '') + power) * (sign && sign !== '+' ? -1 : 1);
  const last = 10 ** -places.length * Number('1' + power);
  return [1, units[unit] || 1].some((u) => Math.abs(number * u - Number(value)) <= (0.5 * last + 1e-9 * Math.abs(number)) * u);
}

// figures fails unless each figure on the page equals the figure of the report, as data and as text, and
// no usual figure is missing.
async function figures(page, c) {
  const all = await page.locator('[data-path]').evaluateAll((found) => found.map((e) => ({ ...e.dataset, text: e.textContent })));
  const wrong = [], seen = new Set();
  for (const f of all) {
    const root = f.diff === undefined ? c.reports[Number(f.run || 0)] : c.comparison;
    const want = get(root, f.path);
    seen.add(`${f.run || 0} ${f.path}`);
    if (want === undefined || want === null || String(want) !== f.value && Number(want) !== Number(f.value)) wrong.push(`${f.path}: ${f.value} on the page, ${want} in the report`);
    if (!same(f.text, f.value)) wrong.push(`${f.path}: ${f.text} is shown for ${f.value}`);
  }
  assert.deepEqual(wrong.slice(0, 10), []);
  const missing = [];
  c.reports.forEach((run, r) => (run.experiments || []).forEach((e, i) => {
    for (const [metric, s] of Object.entries(e.metrics || {})) {
      for (const k of ['n', 'mean', 'std', 'min', 'p50', 'p90', 'p95', 'p99', 'max']) {
        if (s[k] !== undefined && !seen.has(`${r} experiments[${i}].metrics.${metric}.${k}`)) missing.push(`experiments[${i}].metrics.${metric}.${k}`);
      }
    }
  }));
  assert.deepEqual(missing.slice(0, 10), [], 'figures of the report that the page lacks');
  if (c.has.tokens) assert.ok(all.length > 50, `${all.length} figures`);
}

describe('pages', { concurrency: 2 }, () => cases.forEach((c) => {
  test(c.name, async (t) => {
    await opened(c.file, {}, async (page) => {
      await t.test('every section says something', () => sections(page, c));
      await t.test('figures equal the report', () => figures(page, c));
      await t.test('every chart of every level is drawn', () => pictures(page, c));
      await t.test('fits every width, and violates no rule of WCAG in either theme', async () => {
        for (const [size, viewport] of Object.entries(widths)) {
          await page.setViewportSize(viewport);
          for (const colorScheme of ['light', 'dark']) {
            if (size === 'wide' && colorScheme === 'dark') continue;
            await page.emulateMedia({ colorScheme });
            await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))); // resized
            await shape(page);
            if (size === 'narrow' && colorScheme === 'light' || size === 'usual' && colorScheme === 'dark') assert.deepEqual(await violations(page), [], `${size}, ${colorScheme}`);
            if (c.thorough || size === 'usual' && colorScheme === 'light') await screenshot(page, `${c.name}-${size}-${colorScheme}`);
            if (c.thorough && (size === 'narrow') === (colorScheme === 'light') && size !== 'wide') await drawn(page);
          }
        }
      });
      await t.test('prints', async () => {
        await page.setViewportSize(widths.usual);
        const pdf = await page.pdf({ path: join(artifacts, 'screens', c.name + '.pdf'), format: 'A4' });
        const pages = (pdf.toString('latin1').match(/\/Type\s*\/Page\b/g) || []).length;
        assert.ok(pages >= 1 && pages <= 20, `${pages} pages of paper`);
      });
    });
  });
}));

for (const c of cases.filter((x) => x.thorough || x.diff || x.has.levels === 0)) {
  test(`${c.name} is of use without JavaScript`, async () => {
    await opened(c.file, { javaScriptEnabled: false }, async (page) => {
      assert.equal(await page.locator('#strip .verdict').count(), 5);
      const visible = await page.locator('button, select, input').evaluateAll((all) => all.filter((e) => e.offsetParent !== null).map((e) => e.id));
      assert.deepEqual(visible, [], 'controls that do nothing');
      await drawn(page);
      await screenshot(page, c.name + '-noscript');
    });
  });
}

const found = (name) => cases.find((c) => c.name === name);
const text = (page, id) => page.locator('#' + id).textContent();

// The charts of pa-analyze plot are files of their own.
test('charts as files', async (t) => {
  const run = (name) => join(artifacts, 'runs', name);
  const charts = {
    cdf: [run('slower.json'), run('sweep.json'), '--slo', 'ttft<=60ms'], timeline: [run('sweep.json')], scatter: [run('sweep.json')],
    sweep: [run('sweep.json'), '--slo', 'ttft<=60ms'], pareto: [run('slower.json'), run('sweep.json')], heatmap: [run('stalls.parquet')],
    'prompt-length': [run('slower.json'), run('level.json')], trend: ['a=' + run('slower.json'), 'b=' + run('sweep.json')],
  };
  const light = {};
  for (const colorScheme of ['light', 'dark']) {
    const context = await browser.newContext({ viewport: widths.usual, colorScheme });
    const page = await context.newPage(), problems = [];
    page.on('console', (m) => problems.push(m.text()));
    page.on('request', (r) => { if (!r.url().endsWith('.svg')) problems.push(r.url()); });
    for (const [name, args] of Object.entries(charts)) {
      await t.test(`${name}, ${colorScheme}`, async () => {
        const file = run(`plot-${name}.svg`);
        if (colorScheme === 'light') await command(join(bin, 'pa-analyze'), ['plot', name, ...args, '-o', file]);
        await page.goto(pathToFileURL(file).href);
        const png = await page.locator('svg').first().screenshot({ path: join(artifacts, 'screens', `plot-${name}-${colorScheme}.png`) });
        const picture = decode(png), found = marks(picture);
        assert.ok(found.pixels > 2000 && found.colors > 5, JSON.stringify(found));
        await inside(page);
        const corner = picture.at(3, 3);
        if (colorScheme === 'light') light[name] = corner;
        else assert.notEqual(corner, light[name], 'the background of both themes');
        assert.deepEqual(problems, []);
      });
    }
    await context.close();
  }
});

describe('page', () => {
  test('has a strict policy, and breaks it nowhere', async () => {
    await opened(found('sweep').file, {}, async (page) => {
      const policy = await page.locator('meta[http-equiv=Content-Security-Policy]').getAttribute('content');
      assert.match(policy, /default-src 'none'/);
      assert.doesNotMatch(policy, /unsafe|https?:|\*/);
      // an injected script does not run
      await page.evaluate(() => { const s = document.createElement('script'); s.textContent = 'window.injected = 1'; document.body.append(s); });
      assert.equal(await page.evaluate(() => window.injected), undefined);
    }).then(() => assert.fail('the browser did not report the injected script'), (err) => assert.match(err.message, /Content Security Policy/));
  });

  test('has three themes', async () => {
    await opened(found('sweep').file, { colorScheme: 'dark' }, async (page) => {
      const paper = () => page.evaluate(() => [document.body, document.documentElement].map((e) => getComputedStyle(e).backgroundColor).find((b) => b !== 'rgba(0, 0, 0, 0)'));
      const bright = (rgb) => rgb.match(/\d+/g).slice(0, 3).reduce((a, b) => a + Number(b), 0) / 3;
      assert.ok(bright(await paper()) < 80, 'auto follows the system');
      await page.locator('#theme').click();
      assert.ok(bright(await paper()) > 200, 'light');
      await drawn(page);
      await page.locator('#theme').click();
      assert.ok(bright(await paper()) < 80, 'dark');
      await page.locator('#theme').click();
      assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), undefined);
    });
  });

  test('shows definitions to pointer and keyboard', async () => {
    await opened(found('sweep').file, {}, async (page) => {
      const link = page.locator('a.def:visible').first();
      await link.scrollIntoViewIfNeeded();
      await page.waitForTimeout(100); // scrolling hides the definition
      await link.hover();
      assert.ok(await page.locator('#tip').isVisible());
      assert.match(await text(page, 'tip'), /\w{3}/);
      await page.keyboard.press('Escape');
      assert.ok(!await page.locator('#tip').isVisible());
      await page.mouse.move(0, 0);
      await link.focus();
      assert.ok(await page.locator('#tip').isVisible());
    });
  });

  test('is used by keyboard alone', async () => {
    await opened(found('sweep').file, {}, async (page) => {
      await page.keyboard.press('Tab');
      assert.equal(await page.evaluate(() => document.activeElement.className), 'skip');
      const visited = new Set();
      for (let i = 0; i < 200; i++) {
        await page.keyboard.press('Tab');
        const id = await page.evaluate(() => document.activeElement.id || document.activeElement.tagName);
        if (id === 'BODY') break;
        visited.add(id);
      }
      for (const id of ['theme', 'level', 'ot', 'wf-mode', 'wf-search', 'wf-show', 'wf-in', 'wf-out', 'wf-reset', 'wf-scroll']) assert.ok(visited.has(id), `the tabulator reaches ${id}`);
      await page.locator('#ot').focus();
      await page.keyboard.press('ArrowRight');
      const first = await text(page, 'ot-live');
      await page.keyboard.press('ArrowRight');
      const second = await text(page, 'ot-live');
      assert.match(first, /at [\d.]+ s.*TTFT/);
      assert.notEqual(first, second);
      await page.locator('#wf-scroll').focus();
      await page.keyboard.press('ArrowRight');
      assert.match(await text(page, 'wf-live'), /request #\d+/);
      assert.match(await text(page, 'wf-detail'), /TTFT[\d., a-zµ(]+ns\)/);
      await page.keyboard.press('Escape');
      assert.equal((await text(page, 'wf-detail')).trim(), '');
    });
  });

  test('shows the parts of a TTFT that answers state', async () => {
    await opened(found('stated').file, {}, async (page) => {
      const legend = await text(page, 'wf-legend');
      for (const part of ['TTFT: prefill, by the server', 'TTFT: client, network and rest']) assert.ok(legend.includes(part), `${part} in ${legend}`);
      await page.locator('#wf-scroll').focus();
      await page.keyboard.press('ArrowRight');
      assert.match(await text(page, 'wf-detail'), /prefill, by the server[\d., a-zµ(]+ns\)/);
    });
    await opened(found('level').file, {}, async (page) => assert.doesNotMatch(await text(page, 'wf-legend'), /by the server/));
  });

  test('zooms the waterfall by button, wheel and key', async () => {
    await opened(found('sweep').file, {}, async (page) => {
      const canvas = page.locator('#wf-canvas');
      await canvas.scrollIntoViewIfNeeded();
      const picture = () => canvas.evaluate((c) => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(c.toDataURL())))));
      const whole = await picture();
      const ways = {
        button: () => page.locator('#wf-in').click(),
        key: async () => { await page.locator('#wf-scroll').focus(); await page.keyboard.press('+'); },
        wheel: async () => {
          const b = await canvas.boundingBox();
          await page.mouse.move(b.x + b.width / 2, b.y + 30);
          await page.keyboard.down('Control');
          await page.mouse.wheel(0, -300);
          await page.keyboard.up('Control');
        },
      };
      for (const [name, way] of Object.entries(ways)) {
        await way();
        await page.waitForTimeout(50);
        await page.mouse.move(0, 0);
        assert.notEqual(await picture(), whole, name);
        await page.locator('#wf-reset').click();
        assert.equal(await picture(), whole, name + ', then all times');
      }
    });
  });

  test('searches, filters and sorts the waterfall', async () => {
    const c = found('sweep');
    const listed = (await command(join(bin, 'pa-analyze'), ['requests', '--format', 'jsonl', join(artifacts, 'runs', 'sweep.json')])).stdout
      .trim().split('\n').map((line) => JSON.parse(line)).filter((r) => r.experiment === 2);
    const failures = listed.filter((r) => r.status !== 'ok');
    assert.ok(failures.length > 1);
    await opened(c.file, {}, async (page) => {
      await page.locator('#level').selectOption({ index: 2 });
      await page.locator('#wf-mode').selectOption('rows');
      const count = async () => Number(/[\d,]+/.exec(await text(page, 'wf-count'))[0].replace(/,/g, ''));
      const all = await count();
      assert.equal(all, listed.length);
      await page.locator('#wf-show').selectOption('failed');
      assert.equal(await count(), failures.length);
      await page.locator('#wf-show').selectOption('all');
      await page.locator('#wf-search').fill('truncated');
      assert.equal(await count(), listed.filter((r) => r.status === 'truncated').length);
      await page.locator('#wf-search').fill('no such request');
      assert.equal(await count(), 0);
      await page.locator('#wf-search').fill('');
      const top = async (key) => {
        await page.locator('#wf-sort').selectOption(key);
        await page.locator('#wf-scroll').focus();
        await page.keyboard.press('Home');
        return Number(/request#(\d+)/.exec((await text(page, 'wf-detail')).replace(/\s/g, ''))[1]);
      };
      const most = (key) => listed.reduce((a, b) => (b[key] || 0) > (a[key] || 0) ? b : a).id;
      assert.equal(await top('ttft'), most('ttft_ns'));
      assert.equal(await top('e2el'), most('e2el_ns'));
      await top('start');
    });
  });

  test('shows a request under the pointer, and links failures with it', async () => {
    await opened(found('sweep').file, {}, async (page) => {
      const link = page.locator('#problems a[data-request]').first();
      const id = await link.getAttribute('data-request');
      await link.click();
      assert.match((await text(page, 'wf-detail')).replace(/\s/g, ''), new RegExp('request#' + id + '(?!\\d)'));
      const canvas = page.locator('#wf-canvas');
      await canvas.scrollIntoViewIfNeeded();
      const b = await canvas.boundingBox();
      let seen = false;
      for (let x = b.x + 60; x < b.x + b.width - 5 && !seen; x += 25) {
        await page.mouse.move(x, b.y + 31);
        seen = await page.locator('#wf-tip').isVisible();
      }
      assert.ok(seen, 'no request under the pointer');
      assert.match(await text(page, 'wf-tip'), /request#\d+/);
    });
  });

  test('opens the requests of a session, also without JavaScript', async () => {
    for (const javaScriptEnabled of [true, false]) {
      await opened(found('agents').file, { javaScriptEnabled }, async (page) => {
        const rows = page.locator('#sessions .sessions > tbody');
        assert.ok(await rows.count() >= 4, `${await rows.count()} sessions`);
        const first = rows.filter({ hasText: 'plan' }).first();
        assert.ok((await first.locator('th bdi').first().textContent()).includes('<script>'), 'the name of the session is text');
        const lanes = first.locator('.lanes tbody tr');
        assert.equal(await lanes.first().isVisible(), false, 'closed');
        await first.locator('summary').focus();
        await page.keyboard.press('Enter');
        const names = (await lanes.locator('th').allTextContents()).map((name) => name.slice(0, 8));
        // Which of the two that begin together sends first differs from run to run.
        assert.ok(['root,· search,· · deep,· notes', 'root,· notes,· search,· · deep'].includes(String(names)), `agents in the order of their tree: ${names}`);
        const bars = await first.locator('.lanes rect:not(.gap)').evaluateAll((all) => all.map((e) => e.getBoundingClientRect()).map((r) => ({ width: r.width, height: r.height })));
        assert.ok(bars.length >= 8 && bars.every((r) => r.width >= 0.5 && r.height >= 4), JSON.stringify(bars));
        // Tools take time: the bars of the root do not fill its line.
        const line = await lanes.first().locator('.gap').evaluate((e) => e.getBoundingClientRect().width);
        const busy = (await lanes.first().locator('rect:not(.gap)').evaluateAll((all) => all.map((e) => e.getBoundingClientRect().width))).reduce((a, b) => a + b, 0);
        assert.ok(busy > 0 && busy < line - 20, `bars of ${busy} pixels on a line of ${line}`);
        if (javaScriptEnabled) {
          await shape(page);
          assert.deepEqual(await violations(page), []);
          assert.equal(await page.evaluate(() => window.pwned), undefined);
        }
        await screenshot(page, `sessions-${javaScriptEnabled ? 'open' : 'noscript'}`);
      });
    }
  });

  test('keeps hostile text as text', async () => {
    await opened(found('hostile').file, {}, async (page) => {
      const counts = () => page.evaluate(() => ['script', 'style', 'img', 'iframe', 'object', 'link'].map((t) => t + ' ' + document.querySelectorAll(t).length).join(', '));
      const here = await counts();
      assert.equal(await page.evaluate(() => window.pwned), undefined);
      const body = await page.evaluate(() => document.body.textContent);
      assert.ok(body.includes('<script>window.pwned=1</script>'), 'the text is on the page');
      assert.ok(!/[\u202a-\u202e\u2066-\u2069]/.test(body), 'characters that turn text around');
      await page.locator('#wf-search').fill('<script>');
      await page.locator('#problems a[data-search]').first().click();
      await page.locator('#problems a[data-request]').first().click();
      const canvas = page.locator('#wf-canvas'), b = await canvas.boundingBox();
      for (let x = b.x + 60; x < b.x + b.width; x += 40) await page.mouse.move(x, b.y + 31);
      assert.equal(await page.evaluate(() => window.pwned), undefined);
      assert.equal(await counts(), here);
      await opened(found('level').file, {}, async (other) => {
        assert.equal(await other.evaluate(() => ['script', 'style', 'img', 'iframe', 'object', 'link'].map((t) => t + ' ' + document.querySelectorAll(t).length).join(', ')), here);
      });
    });
  });
});

// The page of a large run: what it takes is printed, not asserted, except its size.
test('a large run', { skip: large === 0 }, async (t) => {
  const file = join(artifacts, 'runs', 'large.parquet'), html = join(artifacts, 'runs', 'large.html');
  await largeRun(file, large);
  const ratios = [];
  for (let i = 0; i < 3; i++) {
    const report = await command(join(bin, 'pa-analyze'), ['report', '--format', 'json', file]);
    const page = await command(join(bin, 'pa-analyze'), ['html', file, '-o', html, '--overwrite']);
    ratios.push(page.seconds / report.seconds);
    if (i === 0) await writeFile(join(artifacts, 'runs', 'large.json'), report.stdout);
  }
  const size = (await stat(html)).size;
  assert.ok(size <= 10e6, `${size} bytes`);
  await opened(html, {}, async (page) => {
    const opening = await page.evaluate(() => { const n = performance.getEntriesByType('navigation')[0]; return n.loadEventEnd - n.startTime; });
    await page.locator('#wf-mode').selectOption('rows');
    await page.locator('#wf-scroll').scrollIntoViewIfNeeded();
    const frames = await page.evaluate(async () => {
      const box = document.getElementById('wf-scroll');
      window.paPage.frames.length = 0;
      for (let i = 0; i < 60; i++) {
        box.scrollTop += 700;
        await new Promise(requestAnimationFrame);
      }
      await new Promise(requestAnimationFrame);
      return window.paPage.frames;
    });
    frames.sort((a, b) => a - b);
    const of = (q) => frames[Math.min(frames.length - 1, Math.floor(q * frames.length))].toFixed(1);
    ratios.sort((a, b) => a - b);
    t.diagnostic(`${large} requests x 100 tokens: page of ${(size / 1e6).toFixed(1)} MB, ${ratios[1].toFixed(2)} times the time of report; opens in ${Math.round(opening)} ms; ` +
      `script per frame while scrolling: median ${of(0.5)} ms, p95 ${of(0.95)} ms, of ${frames.length} frames`);
    const count = await text(page, 'wf-count');
    if (large > 50000) assert.match(await text(page, 'wf-left'), /\d/, 'it says which requests are left out');
    t.diagnostic(`waterfall: ${count}; ${await text(page, 'wf-left')}`);
    const figures = figuresOf(await readFile(join(artifacts, 'runs', 'large.json'), 'utf8'));
    const p99 = await page.locator('[data-path="experiments[0].metrics.ttft_ns.p99"]').first().getAttribute('data-value');
    assert.equal(Number(p99), figures.experiments[0].metrics.ttft_ns.p99);
    await screenshot(page, 'large');
  });
});
