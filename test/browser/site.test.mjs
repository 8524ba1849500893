// Drives the static site of the documentation in a headless browser. make test-browser builds the site
// and runs it.
//
// Environment: SITE, the folder of the site (out/site); CHROMIUM, the browser (chromium); ARTIFACTS, the
// folder for screenshots (out/browser).

import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { inside, shape } from './checks.mjs';
import { launch, pagesIn, picture } from './gallery.mjs';
import { decode, different } from './pixels.mjs';

const site = resolve(process.env.SITE || 'out/site');
const screens = join(resolve(process.env.ARTIFACTS || 'out/browser'), 'site');
const axe = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const widths = { narrow: { width: 360, height: 740 }, usual: { width: 1280, height: 900 } };
const gallery = await pagesIn(join(site, 'gallery')), inGallery = gallery.map((n) => `gallery/${n}.html`);
const names = (await readdir(site, { recursive: true })).filter((n) => n.endsWith('.html') && !inGallery.includes(n)).sort();
await mkdir(screens, { recursive: true });

let browser;
before(async () => { browser = await launch(); });
after(() => browser.close());

const address = (name) => pathToFileURL(join(site, name)).href;

// opened opens a page of the site and runs f with it. The browser's log must be empty, and the page
// may request only files of the site.
async function opened(name, options, f) {
  const context = await browser.newContext({ viewport: widths.usual, reducedMotion: 'reduce', ...options });
  const page = await context.newPage();
  const problems = [], root = address('');
  page.on('request', (r) => { if (!r.url().startsWith(root) && !r.url().startsWith('data:')) problems.push('request: ' + r.url()); });
  page.on('requestfailed', (r) => problems.push('not found: ' + r.url()));
  page.on('console', (m) => problems.push('console: ' + m.text()));
  page.on('pageerror', (e) => problems.push('error: ' + e.message));
  try {
    await page.goto(address(name), { waitUntil: 'load' });
    await f(page);
    assert.deepEqual(problems, [], 'log of the browser');
  } finally {
    await context.close();
  }
}

async function violations(page) {
  const found = await page.evaluate(() => window.axe.run(document, {
    runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'], resultTypes: ['violations'], preload: false,
  }));
  return found.violations.map((v) => `${v.id}: ${v.help}: ${v.nodes.length} nodes: ${v.nodes.slice(0, 3).map((n) => n.target.join(' ') + ' ' + n.html.slice(0, 120)).join(' | ')}`);
}

// Pages share their colors and their frame: the test opens a few of them in both themes at both widths, and the
// others at each width in one theme.
const looks = [['narrow', 'light'], ['usual', 'dark'], ['narrow', 'dark'], ['usual', 'light']];
const thorough = ['index.html', 'start.html', 'reference/definitions.html'];

// What the pages hold, for the test of their links.
const anchors = {}, links = {};

describe('pages of the site', { concurrency: 2 }, () => names.forEach((name) => {
  test(name, () => opened(name, {}, async (page) => {
    anchors[name] = new Set(await page.locator('[id]').evaluateAll((all) => all.map((e) => e.id)));
    links[name] = await page.locator('a[href]').evaluateAll((all) => all.map((e) => e.href));
    assert.equal(await page.locator('main h1').count(), 1, 'headings of level 1');
    assert.equal(await page.title(), await page.locator('main h1').innerText() + ' – pa');
    await page.evaluate(axe);
    for (const [width, colorScheme] of thorough.includes(name) ? looks : looks.slice(0, 2)) {
      await page.setViewportSize(widths[width]);
      await page.emulateMedia({ colorScheme });
      const wider = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      assert.equal(wider, 0, `pixels wider than the ${width} window`);
      assert.deepEqual(await violations(page), [], `${width}, ${colorScheme}`);
      if (thorough.includes(name)) await page.screenshot({ path: join(screens, `${name.replaceAll('/', '-')}-${width}-${colorScheme}.png`) });
    }
    for (const picture of await page.locator('main img').all()) {
      await picture.scrollIntoViewIfNeeded();
      assert.ok(await picture.evaluate((e) => e.complete && e.naturalWidth > 0), 'a picture is shown');
      assert.ok(await picture.getAttribute('alt'), 'a picture has a description');
    }
  }));
}));

test('links of the site lead to a page and its heading', async () => {
  const root = address('');
  const files = new Set((await readdir(site, { recursive: true })));
  assert.equal(Object.keys(links).length, names.length);
  let inner = 0;
  for (const name of names) {
    for (const link of links[name]) {
      if (!link.startsWith(root)) {
        assert.match(link, /^https?:/, `${name}: ${link} leaves the site`);
        continue;
      }
      const url = new URL(link), anchor = decodeURIComponent(url.hash.slice(1));
      url.hash = '';
      const target = fileURLToPath(url).slice(site.length + 1);
      assert.ok(files.has(target), `${name} links to ${target}`);
      if (anchor) assert.ok(anchors[target].has(anchor), `${name} links to ${target}#${anchor}`);
      inner++;
    }
  }
  assert.ok(inner > names.length, `${inner} links`);
});

describe('pages of the gallery', { concurrency: 2 }, () => gallery.forEach((name) => test(name, async () => {
  let sameFont = false;
  await opened(`gallery/${name}.html`, {}, async (page) => {
    await page.waitForFunction(() => window.paPage && window.paPage.ready);
    sameFont = await page.evaluate(() => {
      const canvas = document.createElement('canvas').getContext('2d');
      const width = (font) => {
        canvas.font = `100px ${font}`;
        return canvas.measureText('pa-record 0123').width;
      };
      return width('"DejaVu Sans", monospace') === width('sans-serif');
    });
    for (const width of [1280, 400]) {
      await page.setViewportSize({ width, height: 900 });
      await shape(page);
      await inside(page);
      const cut = await page.locator('th, .verdict').evaluateAll((all) => all.filter((e) => e.clientWidth > 0 && e.scrollWidth > e.clientWidth + 1).map((e) => e.textContent));
      assert.deepEqual(cut, [], `text that is cut off at ${width} pixels`);
    }
    const lost = await page.locator('a[href]').evaluateAll((all) => all.map((e) => e.getAttribute('href')).filter((h) => !h.startsWith('#') || !document.getElementById(h.slice(1))));
    assert.deepEqual(lost, [], 'links of the page');
  });
  const kept = await readFile(join(site, 'gallery/images', name + '.png'));
  assert.ok(kept.length < 60_000, `${kept.length} bytes of the picture`);
  if (!sameFont) return; // the pictures were taken with DejaVu Sans
  const now = await picture(browser, join(site, 'gallery'), name);
  await writeFile(join(screens, `gallery-${name}.png`), now);
  const share = different(decode(now), decode(kept));
  assert.ok(share < 0.03, `${(100 * share).toFixed(1)} % of docs/gallery/images/${name}.png differ from the page: look at the page, then run make gallery`);
})));

test('pictures of the gallery open its pages', () => opened('gallery/index.html', {}, async (page) => {
  assert.ok(gallery.length > 0);
  for (const name of gallery) {
    await page.locator(`a[href="${name}.html"] img`).click();
    await page.waitForFunction(() => window.paPage && window.paPage.ready);
    await page.goBack();
  }
}));

test('the navigation opens pages', () => opened('index.html', {}, async (page) => {
  const nav = page.getByRole('navigation', { name: 'Pages' });
  await nav.getByRole('link', { name: 'Measure a server' }).click();
  assert.equal(await page.locator('main h1').innerText(), 'Measure a server');
  assert.equal(await nav.locator('[aria-current=page]').innerText(), 'Measure a server');
  await page.getByRole('navigation', { name: 'On this page' }).getByRole('link', { name: 'What the report says' }).click();
  assert.equal(new URL(page.url()).hash, '#what-the-report-says');
  await nav.getByRole('link', { name: 'Flags of pa-record' }).click();
  await page.getByRole('link', { name: 'pa documentation' }).click();
  assert.equal(await page.locator('main h1').innerText(), 'Documentation');
}));

test('the navigation unfolds in a narrow window', () => opened('start.html', { viewport: widths.narrow }, async (page) => {
  const link = page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Sweep the load' });
  assert.equal(await link.isVisible(), false);
  await page.getByText('All pages').click();
  await link.click();
  assert.equal(await page.locator('main h1').innerText(), 'Sweep the load');
}));

test('the search finds headings and text, by keyboard alone', () => opened('reference/load.html', {}, async (page) => {
  await page.keyboard.press('/');
  await page.keyboard.type('kernel timestamps');
  const hits = page.locator('#found a');
  await hits.first().waitFor();
  await page.evaluate(axe);
  assert.deepEqual(await violations(page), []);
  await page.keyboard.press('ArrowDown');
  const aim = await page.evaluate(() => document.activeElement.href);
  await page.keyboard.press('Enter');
  await page.waitForURL(aim);
  await page.locator('#search').fill('no-such-word-anywhere');
  await page.getByText('No page holds these words.').waitFor();
  await page.keyboard.press('Escape');
  assert.equal(await hits.count(), 0);
}));

test('the theme is the reader\'s choice, from page to page', () => opened('index.html', { colorScheme: 'light' }, async (page) => {
  const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await background(), button = page.locator('#theme');
  assert.equal(await button.innerText(), 'Theme: system');
  await button.click();
  await button.click();
  assert.equal(await button.innerText(), 'Theme: dark');
  const dark = await background();
  assert.notEqual(dark, light);
  await page.getByRole('link', { name: 'the first hour' }).first().click();
  assert.equal(await page.locator('main h1').innerText(), 'The first hour');
  assert.equal(await background(), dark);
}));

test('copying leaves out prompts and outputs', () => opened('start.html', { permissions: ['clipboard-read', 'clipboard-write'] }, async (page) => {
  const block = page.locator('.code').first();
  await block.hover();
  await block.getByRole('button', { name: 'Copy' }).click();
  await block.getByRole('button', { name: 'Copied' }).waitFor();
  assert.match(await page.evaluate(() => navigator.clipboard.readText()), /^pa-record -u [^\n]*(\\\n[^\n]*)*\n$/);
}));

test('pages are of use without JavaScript', () => opened('measure.html', { javaScriptEnabled: false }, async (page) => {
  await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Sweep the load' }).click();
  assert.equal(await page.locator('main h1').innerText(), 'Sweep the load');
  assert.equal(await page.locator('#search').isVisible(), false);
}));
