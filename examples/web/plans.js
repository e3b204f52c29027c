// Distributed under the Boost Software License, Version 1.0.
// The search for plans: in parts, each asked of one of several workers, so that it shows how far it is and can be stopped at once.
'use strict';

const mayChange = ['parallel', 'sharding', 'recompute', 'offload', 'batch.micro'];

class Search {
  constructor(use) {
    this.use = use;
    this.engines = [];
    const box = (key) => {
      const label = document.createElement('label'), input = document.createElement('input');
      input.type = 'checkbox';
      input.value = key;
      input.checked = key !== 'offload' && key !== 'sharding';
      label.append(input, ' ' + key);
      return label;
    };
    element('open-keys').append(...mayChange.map(box));
    element('search').onclick = () => this.run();
    element('stop').onclick = () => this.stop();
  }

  /** The job with what may change left open. */
  opened(job) {
    const open = [...document.querySelectorAll('#open-keys input:checked')].map((i) => i.value);
    let made = structuredClone(job);
    for (const key of open) {
      if (key === 'batch.micro') continue;
      made[key] = 'auto';
    }
    made = withValue(made, 'batch.micro', open.includes('batch.micro') ? 'auto' : valueAt(job, 'batch.micro'));
    made = withValue(made, 'batch.accumulation', undefined);
    return withValue(made, 'batch.global', Number(element('global').value) || element('global').value);
  }

  async run() {
    this.stop();
    const job = this.opened(this.job()), text = JSON.stringify(job);
    const me = (this.running = Symbol());
    element('stop').disabled = false;
    element('search').disabled = true;
    element('plans').replaceChildren();
    this.say('Searching…');
    const parts = 32, found = [];
    const from = performance.now();
    let next = 0, wrong = null;
    const progress = element('progress');
    progress.value = 0;
    this.engines = Array.from({length: Math.max(1, Math.min(8, navigator.hardwareConcurrency || 2))}, () => new Engine());
    const work = async (engine) => {
      while (next < parts && !wrong && this.running === me) {
        const answer = await engine.ask('plan', text, next++, parts, 10);
        if (answer.error) wrong = answer.error;
        else found.push(answer);
        if (this.running === me) progress.value = found.length / parts;
      }
    };
    this.end = async (whole) => {
      if (this.running !== me) return;
      this.running = null;
      for (const e of this.engines) e.end();
      element('stop').disabled = true;
      element('search').disabled = false;
      if (wrong) return this.say(wrong.replace(/^headroom: /, ''));
      if (found.length === 0) return this.say('Stopped.');
      const given = found.map((f, i) => ({...f, part: i, parts: found.length}));
      this.show(await this.engine.ask('join', JSON.stringify(given)), performance.now() - from, whole);
    };
    await Promise.all(this.engines.map(work));
    await this.end(true);
  }
  stop() {
    this.end?.(false);
  }

  show(found, milliseconds, whole) {
    if (found.error) return this.say(found.error.replace(/^headroom: /, ''));
    const n = (x) => Math.round(x).toLocaleString('en');
    const why = found.rejected.sort((a, b) => b.count - a.count).slice(0, 3).map((r) => `${r.reason} (${n(r.count)})`).join('; ');
    this.say(`${n(found.evaluated)} jobs judged, ${n(found.passed_over)} passed over, ${n(found.fitting)} fit, in ${(milliseconds / 1000).toFixed(1)} s` +
      (whole ? '. ' : '; stopped before the end: the best so far. ') + (found.lines.length ? found.tied.replace(' (--top)', '').trim() : 'No plan fits: ' + why + '.'));
    if (found.lines.length === 0) return;
    const head = document.createElement('thead'), body = document.createElement('tbody');
    head.append(row(['plan', 'step', '95 % sure, s', 'tokens/s', 'device', unseen('take it')], 'th'));
    for (const p of found.lines) {
      const use = document.createElement('button');
      use.type = 'button';
      use.textContent = 'Use';
      use.setAttribute('aria-label', 'Use: ' + p.plan);
      use.onclick = () => this.use(p.job);
      body.append(row([p.plan, p.seconds === null ? '–' : p.seconds.toFixed(3) + ' s', p.range || '–', p.seconds === null ? '–' : n(p.tokens_per_second), p.device, use]));
    }
    element('plans').replaceChildren(head, body);
  }
  say(sentence) {
    element('found').textContent = sentence;
  }
}
