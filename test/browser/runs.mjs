// Records runs against pa-record's own simulator and writes the pages of these runs.

import { execFile } from 'node:child_process';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';

export const bin = process.env.PA_BIN || 'bin';

// command runs a program and returns its exit code, its output and its seconds. It throws unless the
// exit code is one of codes.
export function command(program, args, codes = [0]) {
  const began = performance.now();
  return new Promise((resolve, reject) => {
    execFile(program, args, { maxBuffer: 1 << 28, encoding: 'utf8' }, (err, stdout, stderr) => {
      const code = err ? err.code : 0;
      if (!codes.includes(code)) {
        reject(new Error(`${program} ${args.join(' ')}: ${code}\n${stderr}`));
        return;
      }
      resolve({ code, stdout, stderr, seconds: (performance.now() - began) / 1000 });
    });
  });
}

const record = (file, server, args, codes) => command(join(bin, 'pa-record'),
  ['-u', `sim://?${server}`, '--profile-export-file', file, '--overwrite', '--quiet', ...args], codes);

const analyze = (args, codes) => command(join(bin, 'pa-analyze'), args, codes);

// Text that would do something if a page took it for anything but text.
export const hostile = '<script>window.pwned=1</script><img src=x onerror="window.pwned=2">\'"&lt;]]>--></style></svg>\u202eevil\u2028' +
  '${window.pwned=3}{{.}}javascript:window.pwned=4';

// Sessions in AIPerf's dag_jsonl: an agent with sub-agents of hostile names, one of them with a sub-agent of its own, and a
// conversation.
const say = (content, more) => ({ messages: [{ role: 'user', content }], max_tokens: 20, ...more });
const agents = [
  { session_id: 'plan ' + hostile, turns: [
    say('Plan it.', { spawns: ['search ' + hostile, { children: ['notes'], background: true }] }), say('Sum up.', { delay: 200 }), say('Once more.', { delay: 100 }),
  ] },
  { session_id: 'search ' + hostile, turns: [say('Search.', { spawns: ['deeper'] }), say('Which?', { delay: 100 })] },
  { session_id: 'notes', turns: [say('Note it.')] },
  { session_id: 'deeper', turns: [say('Read it.')] },
  { session_id: 'talk', turns: [say('Hello.'), say('Well?', { delay: 50 })] },
];

// makeRuns records all runs at the same time into dir, and writes their pages. Each case has
//
//   name    of the page's file
//   html    arguments of pa-analyze that write the page
//   json    arguments of pa-analyze that print the report of each run
//   diff    arguments of pa-analyze that print the comparison, on a page of two sides
//   codes   exit codes of these programs
//   has     what the page must show: requests, tokens, several levels, …
//   thorough  whether every width is judged in both themes
export async function makeRuns(dir) {
  await rm(dir, { recursive: true, force: true });
  await mkdir(dir, { recursive: true });
  const at = (name) => join(dir, name);
  const streaming = ['--streaming', '--synthetic-input-tokens', 'uniform:50,400'];
  const real = 'ttft=normal:30ms,8ms&itl=normal:5ms,1500us&output_tokens=lognormal:40,15&prefill_per_token=50us';

  const sweep = record(at('sweep.json'), `${real}&max_concurrency=6&fault=http_500:every=23&fault=truncate:every=41&seed=7`,
    [...streaming, '--concurrency-range', '1,4,16', '--duration', '2s', '--collect-metrics']);
  const slower = record(at('slower.json'), `${real}&max_concurrency=6&seed=8`, [...streaming, '--concurrency-range', '1,4', '--duration', '2s']);
  const level = record(at('level.json'), `${real}&seed=9`, [...streaming, '--concurrency-range', '4', '--request-count', '60']).then(() =>
    analyze(['convert', '--as', 'guidellm', '--overwrite', at('level.json'), at('imported.json')]));
  const evil = record(at('plain.json'), `${real}&fault=http_500:every=9&seed=13`, [...streaming, '--concurrency-range', '4', '--request-count', '40']).then(() =>
    makeHostile(at('plain.json'), at('hostile.json')));
  const stalls = record(at('stalls.parquet'), `${real}&itl=lognormal:8ms,30ms&seed=10`, [...streaming, '--request-rate-range', '20', '--duration', '2s']);
  const one = record(at('one.json'), `${real}&seed=11`, [...streaming, '--concurrency-range', '1', '--request-count', '1']);
  const failed = record(at('failed.json'), 'ttft=1ms&fault=http_500', ['--streaming', '--concurrency-range', '2', '--request-count', '12'], [1]);
  const stated = record(at('stated.json'), `${real}&server_details=vllm&seed=15`, [...streaming, '--concurrency-range', '2', '--request-count', '20']);
  const whole = record(at('whole.json'), 'ttft=20ms&itl=1ms&output_tokens=20&seed=12', ['--service-kind', 'openai', '--concurrency-range', '2', '--request-count', '20']);
  await writeFile(at('agents.jsonl'), agents.map((row) => JSON.stringify(row) + '\n').join(''));
  const trees = record(at('agents.json'), `${real}&fault=http_500:every=23&seed=14`,
    [...streaming.slice(0, 1), '--input-data', at('agents.jsonl'), '--session-concurrency', '2', '--request-count', '40']);
  await writeFile(at('empty.json'), '{"experiments":[],"version":"2.60.0","service_kind":"openai","endpoint":"v1/chat/completions"}');
  await Promise.all([sweep, slower, level, evil, stalls, one, failed, whole, trees, stated]);

  const slo = ['--slo', 'ttft<=60ms && itl_max<50ms', '--slo-target', '0.9'];
  const report = (names, ...flags) => {
    const files = names.split(' ').map(at);
    return { html: ['html', ...files, ...flags, '-o'], json: ['report', '--format', 'json', ...files, ...flags] };
  };
  const sides = [at('slower.json'), at('sweep.json'), '--ignore', 'all'];
  const cases = [
    { name: 'sweep', thorough: true, ...report('sweep.json', ...slo, '--metrics', 'quality'), has: { requests: true, tokens: true, levels: 3, failures: true, telemetry: true, slo: true } },
    { name: 'level', ...report('level.json'), has: { requests: true, tokens: true, levels: 1 } },
    { name: 'stalls', ...report('stalls.parquet', '--metrics', 'quality', '--stall', '40ms', '--stall-factor', '2'), has: { requests: true, tokens: true, levels: 1, stalls: true } },
    { name: 'one', ...report('one.json'), has: { requests: true, tokens: true, levels: 1, single: true } },
    { name: 'failed', ...report('failed.json'), has: { requests: true, levels: 1, failures: true, none: true } },
    { name: 'stated', ...report('stated.json', '--metrics', 'phases'), has: { requests: true, tokens: true, levels: 1 } },
    { name: 'whole', ...report('whole.json'), has: { requests: true, levels: 1 } },
    { name: 'imported', ...report('imported.json'), has: { requests: true, levels: 1 } },
    { name: 'hostile', ...report('hostile.json'), has: { requests: true, levels: 1, failures: true, hostile: true } },
    { name: 'agents', thorough: true, ...report('agents.json'), has: { requests: true, tokens: true, levels: 1, failures: true, sessions: true } },
    { name: 'empty', ...report('empty.json'), codes: [1], has: { levels: 0 } },
    { name: 'two', ...report('slower.json sweep.json'), has: { requests: true, tokens: true, levels: 3, failures: true, runs: 2 } },
    { name: 'diff', ...report('slower.json sweep.json'), html: ['diff', ...sides, '--html'], diff: ['diff', '--format', 'json', ...sides],
      has: { requests: true, tokens: true, levels: 3, runs: 2 } },
  ];
  await Promise.all(cases.map(async (c) => {
    c.file = at(c.name + '.html');
    await analyze([...c.html, c.file], c.codes);
    c.reports = [figuresOf((await analyze(c.json, c.codes)).stdout)].flat();
    if (c.diff) c.comparison = figuresOf((await analyze(c.diff, c.codes)).stdout);
  }));
  return cases;
}

// figuresOf parses a report. Integers beyond 2^53 become strings, so that no digit is lost.
export function figuresOf(json) {
  return JSON.parse(json.replace(/([:[,]\s*)(-?\d{16,})(?=\s*[,\]}])/g, '$1"$2"'));
}

// makeHostile copies an export with hostile names of models, programs, hosts and errors, and with a
// name of a megabyte. It replaces text, because JavaScript's numbers cannot hold the times.
async function makeHostile(from, to) {
  const quoted = JSON.stringify(hostile).slice(1, -1);
  let text = await readFile(from, 'utf8');
  const replace = (pattern, by) => {
    if (text.search(pattern) < 0) throw new Error(`${from} holds no ${pattern}`);
    text = text.replace(pattern, () => by);
  };
  replace(/"message":"the fault http_500 was asked for"/g, `"message":"${quoted}"`);
  replace(/"model":"sim"/, `"model":"${quoted}"`);
  replace(/"tool":"[^"]*"/, `"tool":"${quoted}"`);
  replace(/"endpoint":"[^"]*"/, `"endpoint":"${quoted}"`);
  replace(/"name":"[^"]*","os"/, `"name":"${'n'.repeat(1 << 20)}","os"`);
  await writeFile(to, text);
}

// largeRun makes the file of the seeded generator of the load benchmark.
export function largeRun(file, requests) {
  return command('go', ['run', '-buildvcs=false', './test/loadbench', 'write', String(requests), '100', file]);
}
