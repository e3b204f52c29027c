// Distributed under the Boost Software License, Version 1.0.
// The page that `headroom estimate --html` writes.
'use strict';

const assert = require('node:assert/strict');
const path = require('node:path');
const {spawnSync} = require('node:child_process');
const {contrast, overlaps, names} = require('./measures');
const {views} = require('./test_looks');

exports.run = async ({browser, root, test}) => {
  const jobs = ['llama-3.1-8b-zero3', 'llama-3.1-70b-zero3-8gpus', 'llama-3.1-70b-mixed-cluster', 'qwen2.5-7b-grpo-vllm', 'deepseek-v3-megatron', 'gpt2-124m-llm.c'];
  const file = (job) => path.join(root, `build/web/${job}.html`);
  for (const job of jobs) spawnSync(path.join(root, 'build/bin/headroom'), ['estimate', `examples/jobs/${job}.json`, '--html', file(job)], {cwd: root});
  for (const [view, width, height, colorScheme] of views) {
    const context = await browser.newContext({viewport: {width, height}, colorScheme});
    for (const job of jobs)
      await test(`report of ${job}, ${view}`, async () => {
        const page = await context.newPage();
        await page.goto('file://' + file(job));
        await page.screenshot({path: path.join(root, `build/web/pictures/report-${job}-${view}.png`), fullPage: true});
        assert.deepEqual(await page.evaluate(contrast), [], 'contrast');
        assert.deepEqual(await page.evaluate(overlaps), [], 'words of the pictures');
        assert.deepEqual(await page.evaluate(names), [], 'names');
        assert.ok(await page.evaluate(() => document.documentElement.scrollWidth) <= width, 'wider than the screen');
        const text = await page.innerText('body');
        assert.match(text, /95 % sure: device memory between/);
        assert.equal(/What would (make it fit|help)/.test(text), /DOES NOT FIT/.test(text.split('\n').slice(0, 4).join(' ')));
        assert.doesNotMatch(text, /not possible here\s*$/m);
        await page.close();
      });
    await context.close();
  }
};
