// Checks of a page of pa-analyze html.

import assert from 'node:assert/strict';

// shape fails unless the page fits its window: it never scrolls sideways. Charts follow a new size of the window a
// moment later, on a busy machine some seconds later.
export async function shape(page) {
  await page.waitForFunction(() => document.documentElement.scrollWidth <= document.documentElement.clientWidth, null, { timeout: 10000 }).catch(() => {});
  const wide = await page.evaluate(() => {
    const root = document.documentElement;
    if (root.scrollWidth <= root.clientWidth) return '';
    const clipped = (e) => e && (getComputedStyle(e).overflowX !== 'visible' || clipped(e.parentElement));
    const over = [...document.body.querySelectorAll('*')].filter((e) => e.getBoundingClientRect().right > root.clientWidth + 1 && !clipped(e.parentElement));
    return `${root.scrollWidth} of ${root.clientWidth} pixels: ` + over.slice(0, 5).map((e) => e.tagName + '#' + e.id + '.' + e.className + ' ' + e.textContent.slice(0, 40)).join('; ');
  });
  assert.equal(wide, '', 'wider than the window');
}

// inside fails unless all text of the visible charts lies within its picture.
export async function inside(page) {
  const out = await page.locator('svg').evaluateAll((all) => all.flatMap((svg) => {
    const frame = svg.getBoundingClientRect();
    if (frame.width === 0) return [];
    return [...svg.querySelectorAll('text')].filter((t) => {
      const r = t.getBoundingClientRect();
      return r.left < frame.left - 1 || r.right > frame.right + 1 || r.top < frame.top - 1 || r.bottom > frame.bottom + 1;
    }).map((t) => t.textContent);
  }));
  assert.deepEqual(out, [], 'text that is cut off');
}
