// Distributed under the Boost Software License, Version 1.0.
// How the page looks: on a wide and on a narrow screen, light and dark, with an answer, with advice, with an error.
'use strict';

const assert = require('node:assert/strict');
const fs = require('node:fs');
const path = require('node:path');
const {contrast, overlaps, names} = require('./measures');

exports.views = [['wide', 1440, 900, 'light'], ['narrow', 375, 800, 'light'], ['dark', 1280, 900, 'dark'], ['narrow-dark', 375, 800, 'dark']];

exports.run = async ({browser, root, test, page: url}) => {
  const pictures = path.join(root, 'build/web/pictures');
  fs.mkdirSync(pictures, {recursive: true});
  const job = (name) => '#job=' + encodeURIComponent(JSON.stringify(JSON.parse(fs.readFileSync(path.join(root, 'examples/jobs', name), 'utf8'))));
  const states = [
    ['fits', ''],
    ['advice', job('llama-3.1-70b-zero3-8gpus.json')],
    ['stages', job('llama-3.1-70b-mixed-cluster.json')],
    ['phases', job('qwen2.5-7b-grpo-vllm.json')],
    ['error', '#job=' + encodeURIComponent('{"model": "llama-3.1-8b", "hardware": {"gpu": "h100"}, "framework": "deepspeed", "sharding": "zero3", "batch": {"micro": 0, "sequence": 4096}}')],
  ];
  for (const [view, width, height, colorScheme] of exports.views) {
    const context = await browser.newContext({viewport: {width, height}, colorScheme});
    for (const [state, hash] of states)
      await test(`${state}, ${view}`, async () => {
        const page = await context.newPage();
        await page.addInitScript(() => {
          globalThis.jumps = [];
          new PerformanceObserver((list) => globalThis.jumps.push(...list.getEntries().filter((e) => !e.hadRecentInput).map((e) => [e.value, ...e.sources.map((s) => (s.node?.id || s.node?.className || s.node?.nodeName) + ' ' + s.previousRect.top + '>' + s.currentRect.top)]))).observe({type: 'layout-shift', buffered: true});
        });
        await page.goto(url + hash);
        await page.waitForSelector('html[data-ready]');
        await page.waitForFunction(() => document.getElementById('headline').textContent !== 'Loading…');
        if (state === 'advice') await page.waitForSelector('#advice li');
        await page.waitForTimeout(400);
        await page.screenshot({path: path.join(pictures, `${state}-${view}.png`), fullPage: true});
        assert.deepEqual(await page.evaluate(contrast), [], 'contrast');
        assert.deepEqual(await page.evaluate(overlaps), [], 'words of the picture');
        assert.deepEqual(await page.evaluate(names), [], 'names');
        assert.ok(await page.evaluate(() => document.documentElement.scrollWidth) <= width, 'wider than the screen');
        const jumps = await page.evaluate(() => globalThis.jumps);
        assert.ok(jumps.reduce((sum, [by]) => sum + by, 0) < 0.1, 'the layout jumps: ' + JSON.stringify(jumps));
        await page.close();
      });
    await test(`plans, a file and the dialog, ${view}`, async () => {
      const page = await context.newPage();
      await page.goto(url);
      await page.waitForSelector('html[data-ready]');
      await page.click('#search');
      await page.waitForSelector('#plans tbody tr', {timeout: 60000});
      await page.click('#targets >> text=deepspeed');
      await page.waitForSelector('#file:not([hidden])');
      await page.screenshot({path: path.join(pictures, `plans-${view}.png`), fullPage: true});
      assert.deepEqual(await page.evaluate(contrast), [], 'contrast');
      assert.deepEqual(await page.evaluate(names), [], 'names');
      await page.click('#open-import');
      await page.click('#import-read');
      await page.waitForFunction(() => document.getElementById('import-note').textContent !== '');
      await page.screenshot({path: path.join(pictures, `dialog-${view}.png`)});
      assert.deepEqual(await page.evaluate(contrast), [], 'contrast of the dialog');
      assert.ok(await page.evaluate(() => document.getElementById('import').scrollWidth <= document.getElementById('import').clientWidth), 'the dialog is wider than itself');
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth) <= width, 'wider than the screen');
      await page.close();
    });
    await context.close();
  }
};
