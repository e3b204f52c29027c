// Distributed under the Boost Software License, Version 1.0.
// Files in and out: launch files read, the job and the launchers' files written.
'use strict';

function saved(anchor, name, text, type = 'text/plain') {
  if (anchor.href) URL.revokeObjectURL(anchor.href);
  anchor.href = URL.createObjectURL(new Blob([text], {type}));
  anchor.download = name;
}

const fileNames = {deepspeed: 'ds_config.json', accelerate: 'accelerate.yaml', 'hf-trainer': 'trainer.yaml', trl: 'trl.yaml', 'llama-factory': 'llama_factory.yaml', axolotl: 'axolotl.yaml', megatron: 'megatron.sh', torchtitan: 'torchtitan.toml', torchrun: 'torchrun.sh', sbatch: 'job.sbatch'};

/** Buttons for every file that the library writes. `text()` is the job's. */
function offerFiles(engine, targets, text) {
  const shown = (name, content, type) => {
    element('file').hidden = false;
    element('file').querySelector('pre').textContent = content;
    element('file-note').textContent = name;
    saved(element('save-file'), name, content, type);
    element('copy-file').onclick = async () => {
      await navigator.clipboard.writeText(content);
      element('file-note').textContent = name + ' is copied.';
    };
  };
  const refused = (sentence) => {
    element('file').hidden = true;
    element('file-note').textContent = sentence.replace(/^headroom: /, '');
  };
  const button = (label, act) => {
    const b = document.createElement('button');
    b.type = 'button';
    b.textContent = label;
    b.onclick = act;
    return b;
  };
  const exports = targets.map((to) => button(to, async () => {
    const made = await engine.ask('export', text(), to);
    made.error ? refused(made.error) : shown(fileNames[to] ?? to, made.text);
  }));
  element('targets').append(button('job.json', () => shown('job.json', text(), 'application/json')), ...exports, button('report.html', async () => {
    const made = await engine.ask('html', text());
    made.error ? refused(made.error) : shown('report.html', made.html, 'text/html');
  }));
}

class Import {
  /** `take(job, notes)`: a job was read. */
  constructor(engine, take) {
    this.engine = engine;
    this.take = take;
    this.files = [];
    this.dialog = element('import');
    element('open-import').onclick = () => this.open();
    element('choose').onchange = (e) => this.add(e.target.files);
    element('import-read').onclick = () => this.read();
    addEventListener('dragover', (e) => e.preventDefault());
    addEventListener('drop', (e) => {
      e.preventDefault();
      this.add(e.dataTransfer.files);
    });
  }
  open() {
    if (!this.dialog.open) this.dialog.showModal();
  }
  async add(files) {
    const read = await Promise.all([...files].map(async (f) => ({name: f.name, text: await f.text()})));
    if (read.length === 1 && this.files.length === 0 && !this.dialog.open && this.plain(read[0].text)) return;
    this.files.push(...read);
    this.list();
    this.open();
    await this.read();
  }
  /** A job file, or a model's config.json, needs no launcher's reader. */
  plain(text) {
    let value;
    try {
      value = JSON.parse(text);
    } catch {
      return false;
    }
    const has = (...keys) => keys.some((k) => k in (value ?? {}));
    if (has('model_type', 'architectures') && !has('batch')) this.take(null, [], value);
    else if (has('model') && has('batch', 'hardware', 'framework', 'parallel', 'sharding')) this.take(value, []);
    else return false;
    return true;
  }
  list() {
    element('chosen').replaceChildren(...this.files.map((f, i) => {
      const item = document.createElement('li'), away = document.createElement('button');
      away.type = 'button';
      away.textContent = 'Remove';
      away.setAttribute('aria-label', 'Remove ' + f.name);
      away.onclick = () => {
        this.files.splice(i, 1);
        this.list();
      };
      item.append(f.name + ' ', away);
      return item;
    }));
  }
  async read() {
    const lines = (id) => element(id).value.split('\n').map((l) => l.trim()).filter(Boolean);
    const pasted = element('paste').value;
    const files = [...this.files, ...(pasted.trim() ? [{name: 'pasted text', text: pasted}] : [])].map((f) => [f.name, f.text]);
    if (files.length === 0) return this.say('Choose, drop or paste a file first.');
    this.say('');
    if (files.length === 1 && this.plain(files[0][1])) return this.done();
    const found = await this.engine.ask('import', JSON.stringify({files, model: element('import-model').value.trim(), gpu: element('import-gpu').value.trim(), set: lines('import-set'), env: lines('import-env').map((l) => [l.split('=')[0], l.slice(l.indexOf('=') + 1)]), ignore: lines('import-ignore')}));
    if (found.error) return this.say(found.error.replace(/^headroom: /, ''));
    this.done();
    this.take(found.job, found.notes);
  }
  done() {
    this.say('');
    this.dialog.close();
    this.files = [];
    this.list();
  }
  say(sentence) {
    element('import-note').textContent = sentence;
  }
}
