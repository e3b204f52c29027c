// Distributed under the Boost Software License, Version 1.0.
// Shows an answer. What is said and drawn is the library's.
'use strict';

const gib = (bytes) => (bytes / 2 ** 30).toFixed(2) + ' GiB';
const row = (cells, tag = 'td') => {
  const tr = document.createElement('tr');
  cells.forEach((cell, i) => {
    const td = document.createElement(i === 0 && tag === 'td' ? 'th' : tag);
    td.scope = tag === 'th' ? 'col' : i === 0 ? 'row' : '';
    if (td.tagName === 'TD') td.removeAttribute('scope');
    td.append(cell);
    tr.append(td);
  });
  return tr;
};

const unseen = (words) => Object.assign(document.createElement('span'), {className: 'unseen', textContent: words});

/** The verdict first: a word, and by how much. */
function showVerdict(answer) {
  const [, word, said] = /^([A-Z ]*[A-Z])(?:: | |$)(.*)$/.exec(answer.verdict);
  const headline = element('headline');
  headline.textContent = word;
  headline.className = answer.report.fits ? 'fits' : word.startsWith('MAY') ? 'may' : 'over';
  element('room').textContent = said || '\u00a0';
  const r = answer.report.ranks[answer.tightest], seen = answer.report.bounds;
  const whole = Math.max(r.capacity, r.device, Math.min(seen.high, 1.25 * Math.max(r.capacity, r.device))) * 1.04 || 1;
  const percent = (n) => (100 * Math.min(1, n / whole)).toFixed(2) + '%';
  const meter = element('meter');
  const [range, used, full] = meter.children;
  used.style.width = percent(r.device);
  range.style.left = percent(seen.low);
  range.style.width = `calc(${percent(seen.high)} - ${percent(seen.low)})`;
  full.style.left = percent(r.capacity);
  full.hidden = r.capacity === 0;
  meter.className = answer.report.fits ? 'fits' : 'over';
  meter.setAttribute('aria-label', `${gib(r.device)} of ${gib(r.capacity)} on the tightest GPU`);
  const [of, to] = element('scale').children;
  of.textContent = gib(r.device) + (r.capacity > 0 ? ' of ' + gib(r.capacity) : '');
  to.textContent = `95 %: ${(seen.low / 2 ** 30).toFixed(1)} to ${(seen.high / 2 ** 30).toFixed(1)} GiB`;
}

function showRank(answer, index, kinds) {
  const r = answer.report.ranks[index];
  const rows = Object.entries(r.at_peak).filter(([, n]) => n > 0).sort((a, b) => b[1] - a[1]);
  const whole = r.capacity || r.device || 1;
  const line = (label, amount, colour, cls) => {
    const name = document.createElement('span');
    name.className = 'swatch';
    if (colour) name.style.setProperty('--of', colour);
    const bar = document.createElement('span');
    bar.className = 'bar';
    bar.style.width = Math.min(100, (100 * amount) / whole).toFixed(2) + '%';
    if (colour) bar.style.background = colour;
    const cell = document.createElement('span');
    cell.append(name, label);
    const tr = row([cell, gib(amount), (r.allocated ? ((100 * amount) / whole).toFixed(1) : '0.0') + ' %', bar]);
    if (cls) tr.className = cls;
    return tr;
  };
  const head = document.createElement('thead');
  head.append(row(['part', 'at the peak', r.capacity ? 'of the GPU' : 'of the device', unseen('as a bar')], 'th'));
  const body = document.createElement('tbody');
  body.append(...rows.map(([k, n]) => line(kinds[k]?.name ?? k, n, kinds[k]?.colour)));
  const outside = Object.values(r.outside_allocator).reduce((a, b) => a + b, 0);
  for (const [label, n] of [['allocated', r.allocated], ['reserved', r.reserved], ['outside the allocator', outside], ['device', r.device]]) body.append(line(label, n, null, 'sum'));
  const caption = document.createElement('caption');
  caption.textContent = `${r.count} × ${r.gpu}${answer.report.ranks.length > 1 ? ', pipeline stage ' + r.pipeline_stage : ''}: the peak is in the ${r.peak_phase}${r.peak_layer >= 0 ? ', layer ' + r.peak_layer : ''}.`;
  element('parts').replaceChildren(caption, head, body);
}

function showParts(answer, kinds) {
  const select = element('rank'), ranks = answer.report.ranks;
  element('which').hidden = ranks.length < 2;
  const kept = select.options.length === ranks.length && select.dataset.chosen ? Number(select.value) : answer.tightest;
  select.replaceChildren(...ranks.map((r, i) => new Option(`${r.count} × ${r.gpu}, stage ${r.pipeline_stage}${i === answer.tightest ? ' (the tightest)' : ''}`, i)));
  select.value = kept;
  select.onchange = () => {
    select.dataset.chosen = 'yes';
    showRank(answer, Number(select.value), kinds);
  };
  showRank(answer, kept, kinds);
  const {host, nvme} = answer.report;
  element('off-gpu').hidden = !(host.per_node > 0 || nvme.per_node > 0);
  element('off-gpu').textContent = `Off the GPU, per node: ${gib(host.per_node)} of host memory (${gib(host.pinned_per_node)} pinned)` + (nvme.per_node > 0 ? `, ${gib(nvme.per_node)} of NVMe.` : '.');
}

function show(answer, kinds) {
  showVerdict(answer);
  element('line').textContent = answer.line;
  element('range').textContent = answer.range + '.';
  const speed = answer.time.split('\n')[0];
  element('speed').textContent = answer.report.step_refused ? 'No step time: ' + answer.report.step_refused : speed;
  element('picture').innerHTML = answer.svg;
  showParts(answer, kinds);
  const say = (sentence) => Object.assign(document.createElement('li'), {textContent: sentence});
  element('assumed').replaceChildren(...answer.report.assumptions.map(say));
  document.body.classList.remove('stale', 'empty');
}

/** `apply(job)`: one of them was chosen. */
function showAdvice(found, apply) {
  const list = element('advice');
  element('help').hidden = !found;
  if (!found) return;
  if (found.error || found.lines.length === 0) {
    list.replaceChildren(Object.assign(document.createElement('li'), {textContent: found.error ?? 'No three of the changes that headroom knows make it fit.'}));
    return;
  }
  list.replaceChildren(...found.lines.map((a) => {
    const item = document.createElement('li'), use = document.createElement('button');
    use.type = 'button';
    use.textContent = 'Use';
    use.setAttribute('aria-label', 'Use: ' + a.changes);
    use.onclick = () => apply(a.job);
    const text = document.createElement('span');
    text.innerHTML = '<b></b> <span class="note"></span>';
    text.firstChild.textContent = a.changes;
    text.lastChild.textContent = a.outcome;
    item.append(text, use);
    return item;
  }));
}

/** `beside`: the key that the sentence stands beside, or nothing. What was shown before stays, in grey. */
function showError(sentence, beside) {
  const headline = element('headline');
  headline.textContent = 'NO ANSWER';
  headline.className = 'wrong';
  element('room').textContent = beside ? `See ${beside}.` + (document.body.classList.contains('empty') ? '' : ' Below is the last job that could be computed.') : sentence.replace(/^headroom: /, '');
  document.body.classList.add('stale');
}
