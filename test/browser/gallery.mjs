// The pictures of docs/gallery: parts of the pages that make gallery writes.
//
//   node test/browser/gallery.mjs out/gallery docs/gallery/images
//
// writes them. site.test.mjs takes them again, and fails if they differ.

import { readdir, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { chromium } from 'playwright-core';
import { decode, encode } from './pixels.mjs';

// What a picture shows: a window from the top of an element on, after a click if there is one; without an element, the
// top of the page with its navigation.
const views = {
  page: { height: 880 },
  sweep: { from: '#strip', height: 860 },
  diff: { from: '#diff', width: 960, height: 670 },
  agents: { from: '#sessions', height: 700, click: '#sessions details summary' },
  waterfall: { from: '#waterfall', height: 520, theme: 'dark' },
};

export async function launch() {
  return chromium.launch({
    executablePath: process.env.CHROMIUM || '/usr/bin/chromium',
    args: ['--no-sandbox', '--host-resolver-rules=MAP * ~NOTFOUND'],
  });
}

// pagesIn returns the names of the gallery's pages in a folder, without .html.
export const pagesIn = async (folder) => (await readdir(folder)).filter((n) => n.endsWith('.html') && n !== 'index.html').map((n) => n.slice(0, -5)).sort();

// picture returns the picture of a page in a folder as a PNG.
export async function picture(browser, folder, name) {
  const view = views[name];
  if (!view) throw new Error(`gallery.mjs does not say what the picture of ${name}.html shows`);
  const context = await browser.newContext({ viewport: { width: view.width || 1280, height: view.height }, reducedMotion: 'reduce', colorScheme: view.theme || 'light' });
  try {
    const page = await context.newPage();
    await page.goto(pathToFileURL(resolve(folder, name + '.html')).href, { waitUntil: 'load' });
    await page.waitForFunction(() => window.paPage && window.paPage.ready);
    if (view.click) await page.locator(view.click).first().click();
    await page.mouse.move(0, 0);
    if (view.from) await page.evaluate((from) => {
      const bar = document.querySelector('nav.bar');
      bar.hidden = true;
      bar.style.display = 'none';
      scrollTo(0, document.querySelector(from).getBoundingClientRect().top + scrollY - 8);
    }, view.from);
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
    return encode(decode(await page.screenshot()));
  } finally {
    await context.close();
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [from, to] = process.argv.slice(2);
  const browser = await launch();
  for (const name of await pagesIn(from)) await writeFile(join(to, name + '.png'), await picture(browser, from, name));
  await browser.close();
}
