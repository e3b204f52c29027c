// Distributed under the Boost Software License, Version 1.0.
// Runs the compiled library: {module} first, then {id, ask, with: [text or number, …]} → {id, answer}.
'use strict';

let ready;

onmessage = async ({data}) => {
  if (data.module) {
    ready = headroom({
      instantiateWasm: (imports, done) => {
        WebAssembly.instantiate(data.module, imports).then((instance) => done(instance, data.module));
        return {};
      },
    });
    return;
  }
  const engine = await ready;
  const kinds = data.with.map((value) => (typeof value === 'number' ? 'number' : 'string'));
  let answer;
  const from = performance.now();
  try {
    answer = JSON.parse(engine.ccall('headroom_' + data.ask, 'string', kinds, data.with));
  } catch (problem) {
    answer = {error: 'headroom: this could not be computed here: ' + problem};
  }
  postMessage({id: data.id, answer, milliseconds: performance.now() - from});
};
