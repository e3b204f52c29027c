// Distributed under the Boost Software License, Version 1.0.
// The job: what a key of it says, and what it becomes with another value. "framework": "deepspeed" is short for {"name": "deepspeed"}.
'use strict';

const shortFor = {framework: 'name', optimizer: 'name', recompute: 'mode', objective: 'kind', sharding: 'kind'};

/** An object for a word: "zero3" is a kind and a stage. */
function spelledOut(section, word) {
  const zero = section === 'sharding' && /^zero([0-3])$/.exec(word);
  if (zero) return {kind: 'zero', stage: Number(zero[1])};
  return shortFor[section] ? {[shortFor[section]]: word} : {};
}

function valueAt(job, path) {
  let at = job;
  const keys = path.split('.');
  keys.forEach((key, i) => {
    if (typeof at === 'string' && i === 1) at = spelledOut(keys[0], at);
    at = at !== null && typeof at === 'object' && !Array.isArray(at) ? at[key] : undefined;
  });
  if (path in shortFor) return undefined;
  return at;
}

/** A job of its own; `value` undefined takes the key away. */
function withValue(job, path, value) {
  const made = structuredClone(job);
  const keys = path.split('.');
  const last = keys.pop();
  const trail = [made];
  let at = made;
  keys.forEach((key, i) => {
    if (typeof at[key] === 'string' && i === 0) at[key] = spelledOut(key, at[key]);
    if (at[key] === null || typeof at[key] !== 'object' || Array.isArray(at[key])) at[key] = {};
    trail.push((at = at[key]));
  });
  if (value === undefined) delete at[last];
  else at[last] = value;
  for (let i = keys.length - 1; i >= 0; --i) {
    const said = Object.keys(trail[i + 1]);
    if (said.length === 0) delete trail[i][keys[i]];
    else if (i === 0 && said.length === 1 && shortFor[keys[0]] === said[0] && trail[1][said[0]] !== 'zero') trail[0][keys[0]] = trail[1][said[0]];
  }
  return made;
}

/** As a person would write it: a line for each key. */
function textOf(job) {
  const lines = Object.entries(job).map(([key, value]) => `  ${JSON.stringify(key)}: ${JSON.stringify(value, null, 1).replace(/\n\s*/g, ' ').replace(/([[{]) /g, '$1').replace(/ ([\]}])/g, '$1')}`);
  return `{\n${lines.join(',\n')}\n}\n`;
}

const firstJob = {
  model: 'llama-3.1-8b',
  hardware: {gpu: 'h100-sxm-80gb', nodes: 1, gpus_per_node: 8},
  framework: 'deepspeed',
  precision: 'bf16-mixed',
  optimizer: 'adamw',
  sharding: {kind: 'zero', stage: 3},
  batch: {micro: 1, sequence: 8192, accumulation: 4},
  recompute: 'full',
  attention: 'flash',
};

/** The job that a link holds, or nothing. */
function jobOfLink() {
  if (!location.hash.startsWith('#job=')) return null;
  try {
    return decodeURIComponent(location.hash.slice(5));
  } catch {
    return null;
  }
}
function linkOf(text) {
  let compact = text;
  try {
    compact = JSON.stringify(JSON.parse(text));
  } catch { /* as it was typed */ }
  return '#job=' + encodeURIComponent(compact);
}
