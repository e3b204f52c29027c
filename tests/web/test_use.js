// Distributed under the Boost Software License, Version 1.0.
// The page as people use it: with the keyboard alone, with files, with a link, with a search.
'use strict';

const assert = require('node:assert/strict');
const fs = require('node:fs');
const path = require('node:path');

exports.run = async ({browser, root, test, page: url}) => {
  const opened = async (hash = '') => {
    const page = await browser.newPage();
    page.on('pageerror', (e) => assert.fail('the page: ' + e.message));
    await page.goto(url + hash);
    await page.waitForSelector('html[data-ready]');
    await page.waitForFunction(() => document.getElementById('headline').textContent !== 'Loading…');
    return page;
  };
  const told = (page, pattern) => page.waitForFunction((p) => document.getElementById('verdict').ariaBusy === 'false' && new RegExp(p).test(document.getElementById('verdict').textContent), pattern);

  await test('a job is changed with the keyboard alone', async () => {
    const page = await opened();
    await told(page, 'FITS');
    for (let i = 0; i < 60; ++i) {
      await page.keyboard.press('Tab');
      const at = await page.evaluate(() => {
        const e = document.activeElement, s = getComputedStyle(e);
        return {id: e.id, outlined: s.outlineStyle !== 'none' && parseFloat(s.outlineWidth) >= 2};
      });
      assert.ok(at.outlined, 'the focus is not seen on ' + at.id);
      if (at.id === 'key-batch.sequence') break;
      assert.ok(i < 59, 'Tab does not lead to batch.sequence');
    }
    await page.keyboard.press('Control+A');
    await page.keyboard.type('131072');
    await told(page, 'DOES NOT FIT');
    await page.waitForSelector('#advice li button');
    await page.focus('#advice li button');
    await page.keyboard.press('Enter');
    await told(page, '^\\s*FITS');
    await page.close();
  });

  await test('an error stands beside its key, and goes', async () => {
    const page = await opened();
    const note = (key) => page.textContent(`[data-key="${key}"].wrong .note`);
    await page.fill('[id="key-hardware.gpu"]', 'h100-sxm-80g');
    await told(page, 'NO ANSWER');
    assert.match(await note('hardware.gpu'), /did you mean "h100-sxm-80gb"/);
    assert.equal(await page.getAttribute('[id="key-hardware.gpu"]', 'aria-invalid'), 'true');
    await page.fill('[id="key-hardware.gpu"]', 'h100-sxm-80gb');
    await told(page, 'FITS');
    assert.equal(await page.locator('.wrong').count(), 0);
    await page.fill('[id="key-batch.micro"]', 'many');
    await told(page, 'NO ANSWER');
    assert.match(await note('batch.micro'), /whole number/);
    await page.fill('[id="key-batch.micro"]', '1');
    await page.fill('[id="key-model"]', 'llama-3.1-8bb');
    await told(page, 'NO ANSWER');
    assert.match(await note('model'), /did you mean "llama-3.1-8b"/);
    await page.fill('[id="key-model"]', 'llama-3.1-8b');
    await told(page, 'FITS');
    await page.evaluate(() => document.getElementById('text').closest('details').setAttribute('open', ''));
    await page.fill('#text', '{"model": ');
    await told(page, 'NO ANSWER');
    assert.match(await page.textContent('.wrong #text-note'), /the job/);
    await page.close();
  });

  await test('every key with a choice offers what the library accepts', async () => {
    const page = await opened();
    const offered = await page.$$eval('#job select', (all) => all.map((s) => [s.id, s.options.length]));
    assert.ok(offered.length > 30);
    for (const [id, n] of offered) assert.ok(n >= 2, id);
    const wrong = await page.evaluate(async () => {
      const engine = new Engine(), refused = [];
      const base = firstJob;
      for (const key of ['precision', 'optimizer.name', 'attention', 'framework.name'])
        for (const option of document.getElementById('key-' + key).options) {
          if (!option.value) continue;
          const answer = await engine.ask('glance', JSON.stringify(withValue(base, key, option.value)));
          // A job may be refused as a whole; the word itself is known.
          if (answer.error && /is no |did you mean|must be one of/.test(answer.error)) refused.push(key + ' ' + option.value + ': ' + answer.error);
        }
      return refused;
    });
    assert.deepEqual(wrong, []);
    await page.close();
  });

  await test('a link holds the job', async () => {
    const page = await opened();
    await page.fill('[id="key-batch.sequence"]', '4096');
    await page.waitForFunction(() => decodeURIComponent(location.hash).includes('"sequence":4096'));
    await told(page, 'FITS');
    const [hash, room] = await page.evaluate(() => [location.hash, document.getElementById('room').textContent]);
    const other = await opened(hash);
    await told(other, 'FITS');
    assert.equal(await other.inputValue('[id="key-batch.sequence"]'), '4096');
    assert.equal(await other.textContent('#room'), room);
    await other.close();
    const broken = await opened('#job=%7B%22model%22');
    await told(broken, 'NO ANSWER');
    await broken.close();
    const hostile = await opened('#job=' + encodeURIComponent(JSON.stringify({model: {base: 'llama-3.1-8b', label: '<img src=x onerror=alert(1)>'}, hardware: {gpu: 'h100-sxm-80gb'}, framework: 'hf-trainer', batch: {sequence: 128}})));
    assert.equal(await hostile.locator('img').count(), 0);
    await hostile.close();
    await page.close();
  });

  await test('a dropped config.json becomes the model', async () => {
    const page = await opened();
    const config = fs.readFileSync(path.join(root, 'examples/models/llama-3.1-8b/config.json'), 'utf8');
    await page.evaluate((text) => {
      const data = new DataTransfer();
      data.items.add(new File([text], 'config.json'));
      document.body.dispatchEvent(new DragEvent('drop', {dataTransfer: data, bubbles: true}));
    }, config);
    await page.waitForFunction(() => document.getElementById('key-model').value === 'llama' );
    await told(page, 'FITS\\s+with 37.2');
    await page.close();
  });

  await test('a pasted config.json becomes the model', async () => {
    const page = await opened();
    await page.click('#open-import');
    await page.fill('#paste', fs.readFileSync(path.join(root, 'examples/models/llama-3.1-8b/config.json'), 'utf8'));
    await page.click('#import-read');
    await page.waitForFunction(() => !document.getElementById('import').open);
    assert.equal(await page.inputValue('[id="key-model"]'), 'llama');
    await told(page, 'FITS\\s+with 37.2');
    await page.close();
  });

  await test('launch files are read in the dialog, with their sentences', async () => {
    const page = await opened();
    await page.click('#open-import');
    await page.setInputFiles('#choose', {name: 'ds.json', mimeType: 'application/json', buffer: Buffer.from('{"zero_optimization": {"stage": 2}, "bf16": {"enabled": true}, "train_micro_batch_size_per_gpu": 1}')});
    await page.waitForFunction(() => document.getElementById('import-note').textContent !== '');
    const asked = await page.textContent('#import-note');
    assert.match(asked, /model/);
    await page.fill('#import-model', 'llama-3.1-8b');
    await page.fill('#import-gpu', 'h100-sxm-80gb');
    await page.fill('#import-set', 'hardware.gpus_per_node=8\nbatch.sequence=2048\nframework.name=deepspeed');
    await page.click('#import-read');
    await page.waitForFunction(() => !document.getElementById('import').open || document.getElementById('import-note').textContent !== '');
    assert.equal(await page.evaluate(() => document.getElementById('import').open), false, await page.textContent('#import-note'));
    assert.equal(await page.inputValue('[id="key-sharding.stage"]'), '2');
    assert.equal(await page.inputValue('[id="key-batch.sequence"]'), '2048');
    await page.close();
  });

  await test('files are written as the library exports them', async () => {
    const page = await opened();
    await page.click('#targets >> text=deepspeed');
    await page.waitForSelector('#file:not([hidden])');
    const made = JSON.parse(await page.textContent('#file pre'));
    assert.equal(made.zero_optimization.stage, 3);
    const [download] = await Promise.all([page.waitForEvent('download'), page.click('#save-file')]);
    assert.equal(download.suggestedFilename(), 'ds_config.json');
    await page.click('#targets >> text=megatron');
    await page.waitForFunction(() => document.getElementById('file').hidden);
    assert.match(await page.textContent('#file-note'), /\w/);
    await page.click('#targets >> text=report.html');
    await page.waitForFunction(() => document.querySelector('#file pre').textContent.startsWith('<!doctype html>'));
    await page.close();
  });

  await test('a search names plans, shows how far it is, and stops', async () => {
    const page = await opened();
    await page.evaluate(() => {
      globalThis.values = [];
      setInterval(() => values.push(document.getElementById('progress').value), 5);
    });
    await page.click('#search');
    await page.waitForSelector('#plans tbody tr', {timeout: 60000});
    assert.ok(await page.locator('#plans tbody tr').count() >= 1);
    assert.match(await page.textContent('#found'), /jobs judged/);
    assert.equal(await page.evaluate(() => document.getElementById('progress').value), 1);
    assert.ok((await page.evaluate(() => values)).some((v) => v > 0 && v < 1));
    await page.click('#plans tbody tr >> nth=0 >> button');
    await told(page, 'FITS');
    // A large one, stopped at once.
    await page.evaluate(() => document.getElementById('text').closest('details').setAttribute('open', ''));
    await page.fill('#text', JSON.stringify({model: 'llama-3.1-70b', hardware: {gpu: 'h100-sxm-80gb', nodes: 64, gpus_per_node: 8}, framework: 'megatron', sharding: 'megatron-distributed-optimizer', parallel: {tensor: 8, pipeline: 4}, batch: {micro: 1, sequence: 8192, accumulation: 32}, recompute: 'full', attention: 'flash'}));
    await told(page, 'FITS');
    await page.click('#search');
    await page.waitForFunction(() => !document.getElementById('stop').disabled);
    await page.click('#stop');
    await page.waitForFunction(() => document.getElementById('stop').disabled && /[Ss]topped/.test(document.getElementById('found').textContent));
    await page.close();
  });
};
