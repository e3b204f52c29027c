// Distributed under the Boost Software License, Version 1.0.
// The form: of each key its name, its choices and its meaning are the schema's, which the library makes of what it reads.
'use strict';

/** What stands open at first; every other key lies below. */
const firstKeys = [
  ['Model and GPUs', ['model', 'hardware.gpu', 'hardware.gpus_per_node', 'hardware.nodes']],
  ['Training', ['framework.name', 'batch.micro', 'batch.sequence', 'batch.accumulation', 'precision', 'optimizer.name', 'recompute.mode', 'attention']],
  ['Division', ['sharding.kind', 'sharding.stage', 'parallel.tensor', 'parallel.pipeline', 'parallel.context', 'parallel.expert', 'parallel.sequence']],
  ['Fine-tuning', ['adapter.kind', 'adapter.rank', 'adapter.targets', 'adapter.base', 'objective.kind']],
  ['Offload', ['offload.optimizer', 'offload.parameters', 'offload.activations', 'hardware.host_memory_gib']],
];
const listed = {model: 'models', 'hardware.gpu': 'gpus'};

/** {path: {schema, required}} of every key that is one value. */
function keysOf(schema) {
  const found = {};
  const forms = (s) => (s.anyOf ? s.anyOf.flatMap(forms) : [s]);
  const visit = (s, path) => {
    if (path && !(path in found)) {
      const simple = forms(s).filter((f) => f.type && f.type !== 'object' && f.type !== 'array');
      const lists = forms(s).filter((f) => f.type === 'array' && f.items && f.items.enum);
      if (simple.length || lists.length) found[path] = {description: s.description ?? '', default: s.default ?? simple[0]?.default, ...simple.find((f) => f.enum) ?? simple[0], list: lists[0]?.items.enum};
    }
    for (const form of forms(s))
      for (const [key, inner] of Object.entries(form.properties ?? {})) visit(inner, path ? path + '.' + key : key);
  };
  visit(schema, '');
  for (const [section, key] of Object.entries(shortFor)) {
    delete found[section];
    const whole = found[section + '.' + key];
    if (whole && !whole.description) whole.description = schema.properties[section].description ?? '';
  }
  for (const key of Object.keys(found)) if (key.startsWith('model.') || key.startsWith('hardware.gpu.') || key === 'ignored_keys' || key === 'assumed_defaults') delete found[key];
  return found;
}

class Form {
  /** `changed(path, value)`: a value of the form was given; `typed(text)`: the job's text was. */
  constructor(form, names, changed, typed) {
    this.keys = keysOf(names.schema);
    this.changed = changed;
    this.inputs = new Map();
    element('models').append(...names.models.map((m) => new Option(`${m.parameters} parameters`, m.name)));
    element('gpus').append(...names.gpus.map((g) => new Option(g.memory > 0 ? `${(g.memory / 2 ** 30).toFixed(0)} GiB` : 'memory unstated', g.name)));
    const first = new Set(firstKeys.flatMap(([, keys]) => keys));
    const narrow = matchMedia('(max-width: 59.99rem)').matches;
    firstKeys.forEach(([title, keys], i) => form.append(this.fold(title, [this.group(title, keys.filter((k) => k in this.keys))], i < 2 || !narrow)));
    const others = Object.keys(this.keys).filter((k) => !first.has(k));
    form.append(this.others(others), this.text(typed));
    form.addEventListener('submit', (e) => e.preventDefault());
  }

  fold(title, content, open) {
    const all = document.createElement('details'), summary = document.createElement('summary');
    summary.textContent = title;
    all.open = open;
    all.append(summary, ...content);
    return all;
  }

  group(title, keys) {
    const set = document.createElement('fieldset');
    const legend = document.createElement('legend');
    legend.textContent = title;
    set.append(legend, ...keys.map((k) => this.field(k)));
    return set;
  }

  field(path) {
    const key = this.keys[path], id = 'key-' + path;
    const row = document.createElement('div');
    row.className = 'field';
    row.dataset.key = path;
    const label = document.createElement('label');
    label.htmlFor = id;
    label.textContent = path;
    const choices = key.enum ?? (key.type === 'boolean' ? ['true', 'false'] : null);
    const input = document.createElement(choices && !listed[path] ? 'select' : 'input');
    input.id = id;
    if (input.tagName === 'SELECT') {
      input.append(new Option(key.default === undefined ? '–' : `– (${key.default})`, ''), ...choices.map((c) => new Option(c, c)));
    } else {
      if (listed[path]) input.setAttribute('list', listed[path]);
      if (key.type === 'integer') input.inputMode = 'numeric';
      if (key.default !== undefined && key.default !== '') input.placeholder = String(key.default);
      input.spellcheck = false;
    }
    const note = document.createElement('p');
    note.id = id + '-note';
    note.className = 'note';
    note.textContent = key.description;
    input.setAttribute('aria-describedby', note.id);
    input.addEventListener(input.tagName === 'SELECT' ? 'change' : 'input', () => this.changed(path, this.read(path)));
    row.append(label, input, note);
    this.inputs.set(path, {row, input, note, key});
    return row;
  }

  others(keys) {
    const find = document.createElement('div');
    find.className = 'field';
    find.innerHTML = '<label for="find">Find a key</label><input id="find" type="search">';
    const sections = new Map();
    for (const k of keys) {
      const name = k.includes('.') ? k.slice(0, k.indexOf('.')) : 'the job';
      sections.set(name, [...(sections.get(name) ?? []), k]);
    }
    const groups = [...sections].map(([name, of]) => this.group(name, of));
    find.lastChild.addEventListener('input', (e) => {
      const part = e.target.value.toLowerCase();
      for (const g of groups) {
        for (const f of g.querySelectorAll('.field')) f.hidden = !f.textContent.toLowerCase().includes(part);
        g.hidden = !g.querySelector('.field:not([hidden])');
      }
    });
    return this.fold(`Every other key (${keys.length})`, [find, ...groups], false);
  }

  text(typed) {
    const field = document.createElement('div');
    field.className = 'field';
    field.innerHTML = '<label for="text">JSON</label><textarea id="text" rows="14" spellcheck="false" aria-describedby="text-note"></textarea><p id="text-note" class="note"></p>';
    const [, input, note] = field.children;
    const key = {description: 'What the form does not show can be written here; a model\'s config.json may stand in place of its name.'};
    note.textContent = key.description;
    input.addEventListener('input', () => typed(input.value));
    this.whole = {row: field, input, note, key};
    return this.fold('The job as text', [field], false);
  }

  /** What an input says, as a value of the job; undefined: nothing. */
  read(path) {
    const {input, key} = this.inputs.get(path);
    const text = input.value.trim();
    if (text === '') return undefined;
    if (key.type === 'boolean') return text === 'true';
    if (key.list && text.includes(',')) return text.split(',').map((t) => t.trim());
    if (key.list && key.list.includes(text)) return [text];
    if ((key.type === 'integer' || key.type === 'number') && /^-?[0-9]+(\.[0-9]+)?(e[0-9]+)?$/i.test(text)) return Number(text);
    return text;
  }

  /** Shows a job; the input that is being typed in is left alone. */
  show(job, text) {
    for (const [path, {input}] of this.inputs) {
      if (input === document.activeElement && input.tagName === 'INPUT') continue;
      const value = valueAt(job, path);
      const said = value === undefined ? '' : Array.isArray(value) ? value.map((v) => (typeof v === 'object' ? '…' : v)).join(', ') : typeof value === 'object' ? (path === 'model' ? value.base ?? value.model_type ?? '…' : '…') : String(value);
      if (input.tagName === 'SELECT' && said !== '' && ![...input.options].some((o) => o.value === said)) input.append(new Option(said === '…' ? 'of one\'s own' : said, said));
      input.value = said;
    }
    if (this.whole.input !== document.activeElement) this.whole.input.value = text;
  }

  /** Puts an error beside the key that it names, or beside the text that is no JSON; which, or nothing. */
  blame(sentence) {
    for (const {row, input, note, key} of [...this.inputs.values(), this.whole]) {
      if (!row.classList.contains('wrong')) continue;
      row.classList.remove('wrong');
      input.removeAttribute('aria-invalid');
      note.textContent = key.description;
    }
    if (!sentence) return null;
    const told = sentence.replace(/^headroom: /, '');
    const names = [...this.inputs.keys()].sort((a, b) => b.length - a.length);
    const begins = (path) => told.startsWith(path) && !/^[\w.]/.test(told.slice(path.length));
    const section = (path) => shortFor[path.split('.')[0]] === path.split('.')[1] && begins(path.split('.')[0]);
    const holds = (path) => path.includes('.') && new RegExp('(^|[^\\w.])' + path.replaceAll('.', '\\.') + '($|[^\\w.])').test(told);
    const which = names.find(begins) ?? names.find(section) ?? names.find(holds);
    const at = which ? this.inputs.get(which) : /^the job\b/.test(told) ? this.whole : null;
    if (!at) return null;
    at.row.classList.add('wrong');
    at.input.setAttribute('aria-invalid', 'true');
    at.note.textContent = told;
    at.row.closest('details')?.setAttribute('open', '');
    return which ?? 'the job as text';
  }
}
