// Distributed under the Boost Software License, Version 1.0.
// What the page computes is what the program computes, and how long it takes.
'use strict';

const assert = require('node:assert/strict');
const fs = require('node:fs');
const http = require('node:http');
const path = require('node:path');
const zlib = require('node:zlib');
const {spawnSync} = require('node:child_process');

exports.run = async ({browser, root, test, page: url}) => {
  const program = (...args) => spawnSync(path.join(root, 'build/bin/headroom'), args, {cwd: root, encoding: 'utf8', maxBuffer: 1 << 28});
  const page = await browser.newPage();
  await page.goto(url);
  await page.waitForSelector('html[data-ready]');
  await page.evaluate(() => { globalThis.other = new Engine(); });
  const ask = (...args) => page.evaluate((a) => other.ask(...a), args);
  const jobs = fs.readdirSync(path.join(root, 'examples/jobs')).map((f) => 'examples/jobs/' + f);
  assert.ok(jobs.length >= 16);

  for (const job of jobs) {
    const text = fs.readFileSync(path.join(root, job), 'utf8');
    await test(job + ' is estimated as by the program', async () => {
      const theirs = program('estimate', job, '--json');
      assert.ok(theirs.status === 0 || theirs.status === 1, theirs.stderr);
      const ours = (await ask('estimate', text, 800)).report;
      if (!ours.fits) ours.advice = (await ask('advise', text)).advice;
      // The same text, not only the same numbers: each prints as the other does.
      assert.equal(JSON.stringify(ours), JSON.stringify(JSON.parse(theirs.stdout)));
    });
    await test(job + ' is exported as by the program', async () => {
      for (const to of ['deepspeed', 'accelerate', 'megatron', 'torchtitan', 'hf-trainer', 'sbatch']) {
        const theirs = program('export', job, '--to', to), ours = await ask('export', text, to);
        if (theirs.status === 0) assert.equal(ours.text, theirs.stdout);
        else assert.equal(ours.error, theirs.stderr.trim());
      }
    });
  }

  await test('launch files are imported as by the program', async () => {
    const all = path.join(root, 'tests/data/launches');
    let read = 0, refused = 0;
    for (const folder of fs.readdirSync(all)) {
      const files = fs.readdirSync(path.join(all, folder)).filter((f) => /\.(ya?ml|toml|json|sh|slurm)$/.test(f)).map((f) => path.join('tests/data/launches', folder, f));
      if (files.length === 0) continue;
      const theirs = program('import', ...files, '--model', 'llama-3.1-8b', '--gpu', 'h100-sxm-80gb');
      const ours = await ask('import', JSON.stringify({files: files.map((f) => [f, fs.readFileSync(path.join(root, f), 'utf8')]), model: 'llama-3.1-8b', gpu: 'h100-sxm-80gb', set: [], env: [], ignore: []}));
      if (theirs.status === 0) {
        assert.deepEqual(ours.job, JSON.parse(theirs.stdout), folder);
        assert.deepEqual(ours.notes, theirs.stderr.split('\n').filter(Boolean).map((l) => l.replace('note: ', '').replaceAll('--model', 'model')), folder);
        ++read;
      } else {
        // The page names its fields as the program names its options, without the dashes.
        assert.equal(ours.error?.replaceAll('--', ''), theirs.stderr.trim().split('\n').pop().replaceAll('--', ''), folder);
        ++refused;
      }
    }
    console.log(`imports: ${read} read, ${refused} refused, as by the program`);
    assert.ok(read > 0 && refused > 0);
  });

  await test('a search in parts finds what the program finds', async () => {
    const search = {model: 'llama-3.1-8b', hardware: {gpu: 'h100-sxm-80gb', nodes: 1, gpus_per_node: 8}, framework: 'megatron', sharding: 'megatron-distributed-optimizer', parallel: 'auto', recompute: 'auto', batch: {micro: 'auto', global: 64, sequence: 4096}, attention: 'flash'};
    const file = path.join(root, 'build/web/search.json');
    fs.writeFileSync(file, JSON.stringify(search));
    const theirs = JSON.parse(program('plan', file, '--json').stdout);
    const parts = await Promise.all(Array.from({length: 4}, (_, i) => ask('plan', JSON.stringify(search), i, 4, 10)));
    const ours = await ask('join', JSON.stringify(parts));
    assert.equal(ours.fitting, theirs.fitting);
    assert.deepEqual(ours.lines.map((l) => [l.job, l.seconds]), theirs.plans.map((p) => [p.job, p.step_seconds]));
    assert.ok(ours.lines.length === 10);
  });

  await test('an estimate takes less than a millisecond', async () => {
    const text = fs.readFileSync(path.join(root, 'examples/jobs/llama-3.1-8b-zero3.json'), 'utf8');
    const took = await page.evaluate(async (job) => {
      const all = [];
      for (let i = 0; i < 300; ++i) all.push((await other.timed('glance', job)).milliseconds);
      return all.slice(100).sort((a, b) => a - b);
    }, text);
    console.log(`estimate: median ${took[100].toFixed(3)} ms, 95 % within ${took[190].toFixed(3)} ms`);
    assert.ok(took[100] < 1);
  });

  await test('the page is small, and shows its first picture soon', async () => {
    const bytes = fs.readFileSync(path.join(root, 'build/web/headroom.html'));
    const packed = zlib.gzipSync(bytes, {level: 9}).length;
    const times = [];
    for (let i = 0; i < 3; ++i) {
      const fresh = await browser.newPage();
      const from = Date.now();
      await fresh.goto(url);
      await fresh.waitForSelector('#picture svg');
      times.push(Date.now() - from);
      await fresh.close();
    }
    console.log(`${packed} bytes compressed, first picture after ${times.join(', ')} ms`);
    assert.ok(packed < 1.5e6);
    assert.ok(Math.min(...times) < 2000);
  });

  const server = http.createServer((_, to) => to.setHeader('Content-Type', 'text/html').end(fs.readFileSync(path.join(root, 'build/web/headroom.html'))));
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  for (const [from, at] of [['disk', url], ['a server', `http://127.0.0.1:${server.address().port}/`]])
    await test(`opened from ${from} the page asks for nothing else`, async () => {
      const context = await browser.newContext();
      const alone = await context.newPage();
      const asked = [];
      alone.on('request', (r) => asked.push(r.url()));
      await alone.goto(at);
      await alone.waitForSelector('#picture svg');
      assert.deepEqual(asked.filter((u) => !u.startsWith('blob:') && !u.startsWith('data:')), [at]);
      await context.close();
    });
  server.closeAllConnections?.();
  server.close();
  await page.close();
};
