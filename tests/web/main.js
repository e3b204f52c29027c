// Distributed under the Boost Software License, Version 1.0.
// main.js ROOT: runs the tests in one browser.
'use strict';

const path = require('node:path');
const root = path.resolve(process.argv[2]);
const {chromium} = require(path.join(root, 'build/web/node/node_modules/playwright-core'));

let passed = 0, failed = 0;
/** One test: `body` throws where something is not as it should be. */
async function test(name, body) {
  try {
    await body();
    ++passed;
  } catch (problem) {
    ++failed;
    console.log(`FAILED: ${name}: ${problem.stack}`);
  }
}

(async () => {
  // --no-sandbox: root has none to use. Nothing is loaded but what was built here.
  const browser = await chromium.launch({executablePath: '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu']});
  const only = process.argv[3];
  for (const file of ['test_answers', 'test_use', 'test_looks', 'test_report']) {
    if (only && only !== file) continue;
    const from = Date.now();
    await require('./' + file).run({browser, root, test, page: 'file://' + path.join(root, 'build/web/headroom.html')});
    console.log(`${file}: ${((Date.now() - from) / 1000).toFixed(1)} s`);
  }
  await browser.close();
  console.log(`${passed} passed, ${failed} failed`);
  process.exitCode = failed ? 1 : 0;
})();
