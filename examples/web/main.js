// Distributed under the Boost Software License, Version 1.0.
// Ties the form, the engine and the answer together.
'use strict';

(() => {
  const sketcher = new Engine(), replayer = new Engine(), adviser = new Engine(), reader = new Engine();
  let job = firstJob, text = textOf(job);
  const names = JSON.parse(element('names').textContent);
  let version = 0, done = -1, busy = false, advising = false, wanted = null;

  const linked = jobOfLink();
  if (linked !== null) {
    text = linked;
    try {
      job = JSON.parse(linked);
      text = textOf(job);
    } catch { /* the reader's sentence says what is wrong */ }
  }

  const width = () => Math.max(280, Math.round(element('picture').clientWidth));
  const toShow = (answer, of, sketched) => {
    if (of !== version) return;
    if (answer.error) {
      showError(answer.error, form.blame(answer.error));
      showAdvice(null);
      return;
    }
    form.blame('');
    show(answer, names.rows);
    if (sketched) element('room').textContent = 'as estimated; the replay is under way';
    if (document.activeElement !== element('global')) element('global').value = answer.global;
  };

  /** Every change is sketched; the latest, and no other, is replayed. Where that takes long, the sketch is shown first. */
  const ask = async () => {
    const of = version;
    replay();
    const sketch = await sketcher.ask('sketch', text, width());
    setTimeout(() => done < of && toShow(sketch, of, true), 150);
  };
  const replay = async () => {
    if (busy) return;
    busy = true;
    for (let of = -1; of !== version;) {
      of = version;
      const answer = await replayer.ask('estimate', text, width());
      if (of !== version) continue;
      done = of;
      toShow(answer, of);
      element('verdict').setAttribute('aria-busy', 'false');
      wanted = null;
      if (!answer.error && !answer.report.fits) advise(of);
      else showAdvice(null);
    }
    busy = false;
  };
  const advise = async (of) => {
    wanted = of;
    if (advising) return;
    advising = true;
    for (let at = -1; wanted !== null && at !== wanted;) {
      at = wanted;
      const found = await adviser.ask('advise', text);
      if (at === version) showAdvice(found, take);
    }
    advising = false;
  };

  const changed = () => {
    ++version;
    element('verdict').setAttribute('aria-busy', 'true');
    try {
      history.replaceState(null, '', linkOf(text));
    } catch { /* where a page from disk may not */ }
    ask();
  };
  const take = (made, notes = [], config) => {
    job = config ? withValue(job, 'model', config) : made;
    text = textOf(job);
    form.show(job, text);
    element('noted').hidden = notes.length === 0;
    element('notes').replaceChildren(...notes.map((n) => Object.assign(document.createElement('li'), {textContent: n})));
    changed();
  };

  const form = new Form(element('job'), names, (path, value) => {
    job = withValue(job, path, value);
    text = textOf(job);
    form.show(job, text);
    changed();
  }, (typed) => {
    text = typed;
    try {
      job = JSON.parse(typed);
      form.show(job, text);
    } catch { /* the reader's sentence says what is wrong */ }
    changed();
  });
  form.show(job, text);
  const search = new Search(take);
  search.job = () => job;
  search.engine = reader;
  offerFiles(reader, names.targets, () => text);
  new Import(reader, take);
  element('copy-link').onclick = async () => {
    const link = location.href.replace(/#.*/, '') + linkOf(text);
    await navigator.clipboard.writeText(link);
    element('copy-link').textContent = 'Link copied';
    setTimeout(() => (element('copy-link').textContent = 'Copy link'), 2000);
  };
  let resized;
  addEventListener('resize', () => {
    clearTimeout(resized);
    resized = setTimeout(() => {
      ++version;
      ask();
    }, 200);
  });
  addEventListener('hashchange', () => {
    const said = jobOfLink();
    if (said === null || '#job=' + encodeURIComponent(said) === linkOf(text)) return;
    try {
      take(JSON.parse(said));
    } catch { /* not a job */ }
  });
  element('about').textContent = `headroom ${names.version}: ${names.models.length} models, ${names.gpus.length} GPUs.`;
  library.catch(() => showError('This browser cannot run the library: it takes one of 2023 or later, with WebAssembly and its exceptions.'));
  changed();
  document.documentElement.dataset.ready = 'yes';
})();
