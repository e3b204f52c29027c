// Distributed under the Boost Software License, Version 1.0.
// What is measured of a page as it is drawn. Each runs in the page and answers with a list of what is wrong.
'use strict';

/** Words with less contrast than 4.5 (WCAG 2.1, 1.4.3, for any size). Words of a picture stand on its paper, by their rim. */
function contrast() {
  const parsed = (text) => {
    const n = (text.match(/[\d.]+/g) ?? []).map(Number);
    return text.startsWith('color(srgb') ? [n[0] * 255, n[1] * 255, n[2] * 255, n[3] ?? 1] : [n[0], n[1], n[2], n[3] ?? 1];
  };
  const over = (top, below) => top.slice(0, 3).map((c, i) => c * top[3] + below[i] * (1 - top[3]));
  const background = (e) => {
    const layers = [];
    for (let at = e; at; at = at.parentElement) {
      const c = parsed(getComputedStyle(at).backgroundColor);
      if (c[3] > 0) layers.unshift(c);
      if (c[3] === 1) break;
    }
    return layers.reduce((below, top) => over(top, below), matchMedia('(prefers-color-scheme: dark)').matches ? [18, 18, 18] : [255, 255, 255]);
  };
  const light = (c) => {
    const [r, g, b] = c.map((v) => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const wrong = [];
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walk.nextNode(); node; node = walk.nextNode()) {
    const e = node.parentElement;
    if (!node.textContent.trim() || e.closest('script, style, title, desc, option, datalist, .unseen, noscript') || !e.checkVisibility({checkOpacity: true})) continue;
    const style = getComputedStyle(e), drawn = e instanceof SVGElement;
    if (e.disabled) continue;  // WCAG: what cannot be used is exempt
    const paper = drawn ? parsed(getComputedStyle(e).stroke).slice(0, 3) : background(e);
    const ink = over(parsed(drawn ? style.fill : style.color), paper);
    const [a, b] = [light(ink), light(paper)].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    if (!(ratio >= 4.5)) wrong.push(`${node.textContent.trim().slice(0, 40)}: ${ratio.toFixed(2)}`);
  }
  return wrong;
}

/** Words of a picture that overlap, are covered or leave it, and words smaller than 10 pixels. */
function overlaps() {
  const wrong = [];
  for (const svg of document.querySelectorAll('svg')) {
    if (!svg.checkVisibility()) continue;
    const frame = svg.viewBox.baseVal;
    const texts = [...svg.querySelectorAll('text')].map((t) => ({t, b: t.getBBox()}));
    for (const {t, b} of texts) {
      if (b.x < -1 || b.y < -1 || b.x + b.width > frame.width + 1 || b.y + b.height > frame.height + 1) wrong.push(`${t.textContent} leaves the picture`);
      const size = parseFloat(t.getAttribute('font-size')) * svg.getBoundingClientRect().width / frame.width;
      if (size < 9.5) wrong.push(`${t.textContent} is ${size.toFixed(1)} pixels high`);
    }
    for (const {t, b} of texts)
      for (const shape of svg.querySelectorAll('rect, polygon')) {
        if (!(t.compareDocumentPosition(shape) & Node.DOCUMENT_POSITION_FOLLOWING)) continue;
        const o = shape.getBBox();
        if (b.x + 1 < o.x + o.width && o.x + 1 < b.x + b.width && b.y + 3 < o.y + o.height && o.y + 3 < b.y + b.height) wrong.push(`${t.textContent} is covered`);
      }
    const slack = 1.5;  // boxes hold the space above and below the letters
    for (let i = 0; i < texts.length; ++i)
      for (let k = i + 1; k < texts.length; ++k) {
        const a = texts[i].b, b = texts[k].b;
        if (a.x + slack < b.x + b.width && b.x + slack < a.x + a.width && a.y + 2 * slack < b.y + b.height && b.y + 2 * slack < a.y + a.height) wrong.push(`${texts[i].t.textContent} × ${texts[k].t.textContent}`);
      }
  }
  return wrong;
}

/** Fields without a label, buttons without a name, pictures without one, columns and rows without heads, headings that skip a level. */
function names() {
  const wrong = [];
  const seen = (e) => e.checkVisibility();
  for (const e of document.querySelectorAll('input, select, textarea')) if (seen(e) && !(e.labels?.length || e.getAttribute('aria-label'))) wrong.push('no label: ' + e.id);
  for (const e of document.querySelectorAll('button, a[href], summary')) if (seen(e) && !(e.textContent.trim() || e.getAttribute('aria-label'))) wrong.push('no name: ' + e.outerHTML.slice(0, 60));
  for (const e of document.querySelectorAll('svg')) if (e.getAttribute('role') !== 'img' || !e.querySelector(':scope > title')?.textContent || !e.querySelector(':scope > desc')?.textContent) wrong.push('a picture without role, title or description');
  for (const e of document.querySelectorAll('table')) if (seen(e) && e.rows.length && (!e.querySelector('th[scope="col"]') || !e.querySelector('th[scope="row"]'))) wrong.push('a table without heads: ' + e.textContent.slice(0, 40));
  let level = 0;
  for (const e of document.querySelectorAll('h1, h2, h3')) {
    if (!seen(e)) continue;
    const now = Number(e.tagName[1]);
    if (now > level + 1) wrong.push('a heading skips a level: ' + e.textContent);
    level = now;
  }
  const ids = [...document.querySelectorAll('[id]')].map((e) => e.id);
  for (const id of ids) if (ids.indexOf(id) !== ids.lastIndexOf(id)) wrong.push('twice: ' + id);
  if (!document.documentElement.lang || !document.title) wrong.push('no language or title');
  if (!document.querySelector('main')) wrong.push('no main');
  return wrong;
}

module.exports = {contrast, overlaps, names};
