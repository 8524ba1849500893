'use strict';

const root = document.currentScript.dataset.root;

// The list of pages is folded where it has no column of its own.
const wide = matchMedia('(min-width: 50.01rem)');
const pages = document.getElementById('pages');
const unfold = () => { pages.open = wide.matches; };
wide.addEventListener('change', unfold);
unfold();
const here = pages.querySelector('[aria-current]');
if (here && wide.matches) here.scrollIntoView({ block: 'nearest' });

// The theme is the system's unless the reader has chosen one. A browser may refuse to keep it.
const themes = ['system', 'light', 'dark'];
const theme = document.getElementById('theme');
let chosen = 'system';
try { chosen = localStorage.getItem('pa-theme') || chosen; } catch { /* not kept */ }
const show = () => {
  if (chosen === 'system') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = chosen;
  theme.textContent = 'Theme: ' + chosen;
};
theme.addEventListener('click', () => {
  chosen = themes[(themes.indexOf(chosen) + 1) % themes.length];
  try { localStorage.setItem('pa-theme', chosen); } catch { /* not kept */ }
  show();
});
theme.hidden = false;
show();

// A block of a shell is copied without prompts and outputs.
for (const block of document.querySelectorAll('.code')) {
  const pre = block.querySelector('pre');
  const commands = pre.querySelectorAll('b');
  if (!['console', 'sh', 'go', 'sql', 'json'].includes(pre.dataset.language)) continue;
  const button = document.createElement('button');
  button.type = 'button';
  button.className = 'copy';
  button.textContent = 'Copy';
  button.addEventListener('click', async () => {
    const text = commands.length ? [...commands].map((c) => c.textContent).join('') : pre.textContent;
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = 'Copied';
    } catch {
      button.textContent = 'Not allowed';
    }
  });
  block.append(button);
}

// The search reads its index when it is used first. All words must be in a part of a page;
// words in headings count more.
const input = document.getElementById('search');
const found = document.getElementById('found');
let loading;
const load = () => loading ??= new Promise((resolve, reject) => {
  const script = document.createElement('script');
  script.src = root + '/search.js';
  script.onload = () => resolve(window.paSearch.map((e) => ({ ...e, head: (e.t + ' ' + e.p).toLowerCase(), body: e.x.toLowerCase() })));
  script.onerror = () => reject(new Error('search.js is missing'));
  document.head.append(script);
});

function score(e, words) {
  let sum = 0;
  for (const word of words) {
    if (e.head.includes(word)) sum += 10;
    else if (e.body.includes(word)) sum += 1;
    else return 0;
  }
  return sum;
}

function excerpt(e, word) {
  const at = Math.max(0, e.body.indexOf(word) - 50);
  return (at > 0 ? '… ' : '') + e.x.slice(at, at + 140) + (at + 140 < e.x.length ? ' …' : '');
}

async function search() {
  const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return found.replaceChildren();
  const entries = await load();
  const hits = entries.map((e) => ({ e, n: score(e, words) })).filter((h) => h.n > 0).sort((a, b) => b.n - a.n).slice(0, 12);
  if (hits.length === 0) {
    const none = document.createElement('p');
    none.textContent = 'No page holds these words.';
    return found.replaceChildren(none);
  }
  const list = document.createElement('ul');
  for (const { e } of hits) {
    const link = document.createElement('a'), text = document.createElement('small'), item = document.createElement('li');
    link.href = root + '/' + e.u;
    link.textContent = e.p ? e.t + ': ' + e.p : e.t;
    text.textContent = excerpt(e, words[0]);
    link.append(text);
    item.append(link);
    list.append(item);
  }
  found.replaceChildren(list);
}

document.querySelector('search').hidden = false;
input.addEventListener('input', () => void search());
input.addEventListener('focus', () => void load());
document.addEventListener('keydown', (e) => {
  if (e.key === '/' && !/^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement.tagName)) {
    e.preventDefault();
    input.focus();
  }
  if (e.key === 'Escape' && document.activeElement.closest('search')) {
    input.value = '';
    found.replaceChildren();
    input.focus();
  }
  const links = [...found.querySelectorAll('a')];
  const at = links.indexOf(document.activeElement);
  if (document.activeElement.closest('search') && links.length && (e.key === 'ArrowDown' || e.key === 'ArrowUp')) {
    e.preventDefault();
    (links[at + (e.key === 'ArrowDown' ? 1 : -1)] || input).focus();
  }
});
document.addEventListener('click', (e) => { if (!e.target.closest('search')) found.replaceChildren(); });
