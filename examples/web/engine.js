// Distributed under the Boost Software License, Version 1.0.
// The compiled library, in workers: nothing of the page waits for it.
'use strict';

const element = (id) => document.getElementById(id);

const library = (async () => {
  if (document.readyState === 'loading') await new Promise((done) => addEventListener('DOMContentLoaded', done));  // it stands last, behind what is seen
  const packed = Uint8Array.from(atob(element('library').textContent), (c) => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'));
  return WebAssembly.compile(await new Response(stream).arrayBuffer());
})();

/** A worker that answers one question after the other. */
class Engine {
  constructor() {
    this.waiting = new Map();
    this.next = 0;
    this.begun = library.then((module) => {
      const code = URL.createObjectURL(new Blob([element('engine').textContent], {type: 'text/javascript'}));
      this.worker = new Worker(code);
      this.worker.onmessage = ({data}) => {
        this.waiting.get(data.id)(data);
        this.waiting.delete(data.id);
      };
      this.worker.postMessage({module});
    });
  }
  /** The answer of headroom_‹ask›, as {answer, milliseconds}. */
  async timed(ask, ...args) {
    await this.begun;
    const id = ++this.next;
    const answer = new Promise((done) => this.waiting.set(id, done));
    this.worker.postMessage({id, ask, with: args});
    return answer;
  }
  async ask(ask, ...args) {
    return (await this.timed(ask, ...args)).answer;
  }
  end() {
    this.begun.then(() => this.worker.terminate());
  }
}
