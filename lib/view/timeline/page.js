'use strict';
(() => {
  const $ = id => document.getElementById(id);
  const root = document.documentElement, view = $('view'), sheet = $('sheet'), chart = $('chart');
  root.classList.add('on');
  if (!chart) return;
  const bars = [...chart.querySelectorAll('.b')], threads = [...$('threads').children];
  const lanes = [...chart.querySelectorAll('.l')], names = [...$('names').querySelectorAll('.n')];
  const stripes = [...chart.children].filter(e => e.classList.contains('lane'));
  const tall = [chart, $('names'), ...chart.querySelectorAll('svg'), ...chart.querySelectorAll('.gap')];
  const y = e => +/ (\d+)/.exec(e.getAttribute('transform'))[1];
  const tops = lanes.map(y), heights = stripes.map(e => +e.getAttribute('height'));
  const paths = threads.map(e => e.getAttribute('d'));
  const told = bar => bar.firstChild.textContent;
  const chain = e => e.dataset.c;
  let text, hits = bars, zoom = 1, current = null, pinned = null;

  // The chain of a bar stands out while it is looked at.
  let lit = [];
  const light = bar => {
    for (const e of lit) e.classList.remove('hit');
    lit = [];
    const c = bar && chain(bar);
    if (!$('q').value.trim()) {
      chart.classList.toggle('dim', !!c);
      if (c) {
        lit = [...bars, ...threads].filter(e => chain(e) === c);
        for (const e of lit) e.classList.add('hit');
      }
    }
  };

  const about = bar => {
    if (current) current.classList.remove('now');
    current = bar;
    if (!bar) return;
    bar.classList.add('now');
    const lines = told(bar).split('\n'), command = lines.pop(), box = $('about');
    const title = document.createElement('b'), words = document.createElement('div'), code = document.createElement('code');
    title.textContent = lines.shift();
    words.append(title, ...lines.map(l => { const s = document.createElement('span'); s.textContent = l; return s; }));
    code.textContent = command;
    const copy = document.createElement('button');
    copy.textContent = 'Copy';
    copy.addEventListener('click', () => take(command, copy));
    box.replaceChildren(words, code, copy);
  };
  const take = (command, button) => {
    if (!navigator.clipboard) return;
    navigator.clipboard.writeText(command).then(() => { if (button) button.textContent = 'Copied'; }, () => {});
  };

  const choose = bar => {
    pinned = bar;
    about(bar);
    light(bar);
    for (const b of bars) if (b.tabIndex === 0) b.tabIndex = -1;
    bar.tabIndex = 0;
    bar.focus({preventScroll: true});
    const r = bar.getBoundingClientRect(), v = view.getBoundingClientRect(), left = v.left + $('names').clientWidth;
    if (r.left < left + 20 || r.left > v.right - 60) view.scrollLeft += r.left - (left + v.right) / 2;
    if (r.top < v.top + 60 || r.bottom > v.bottom - 20) view.scrollTop += r.top - (v.top + v.bottom) / 2;
  };

  // What does not fit goes, and its lane with it.
  const filter = () => {
    const q = $('q').value.trim().toLowerCase(), words = q.split(/\s+/).filter(w => w);
    light(null);
    text ??= bars.map(b => told(b).toLowerCase());
    chart.classList.toggle('dim', words.length > 0);
    hits = [];
    const chains = new Set();
    bars.forEach((b, i) => {
      const hit = words.every(w => text[i].includes(w));
      b.classList.toggle('hit', words.length > 0 && hit);
      if (hit) { hits.push(b); if (chain(b)) chains.add(chain(b)); }
    });
    const there = new Set(hits.map(b => b.parentNode));
    let at = 0;
    const shift = lanes.map((l, i) => {
      const off = !there.has(l), to = at;
      for (const e of [l, names[i], stripes[i]]) e.classList.toggle('off', off);
      l.setAttribute('transform', `translate(0 ${to})`);
      names[i].setAttribute('transform', `translate(0 ${to})`);
      stripes[i].setAttribute('y', to);
      if (!off) at += heights[i];
      return off ? NaN : to - tops[i];
    });
    const height = Math.max(at, 60);
    for (const e of tall) {
      e.setAttribute('height', height);
      const box = e.getAttribute('viewBox');
      if (box) e.setAttribute('viewBox', box.replace(/\d+$/, height));
    }
    const move = h => {
      let a = 0, b = tops.length - 1;
      while (a < b) { const m = (a + b + 1) >> 1; if (tops[m] <= h) a = m; else b = m - 1; }
      return h + shift[a];
    };
    threads.forEach((t, i) => {
      const hit = chains.has(chain(t));
      t.classList.toggle('hit', words.length > 0 && hit);
      t.classList.toggle('off', !hit);
      if (hit) {
        // A curve to a lane that is gone goes with it.
        t.setAttribute('d', (paths[i].match(/M[^M]*/g) || []).map(c =>
          c.replace(/,(\d+)/g, (_, h) => ',' + move(+h))).filter(c => !c.includes('NaN')).join(''));
      }
    });
    $('found').textContent = words.length ? `${hits.length} of ${bars.length}` : '';
    for (const k of document.querySelectorAll('button.key')) k.setAttribute('aria-pressed', k.dataset.q === q);
    const hash = q ? '#q=' + encodeURIComponent(q) : '';
    if (location.hash !== hash) history.replaceState(null, '', hash || location.pathname + location.search);
  };

  // Zoom keeps what lies under x where it is.
  const scale = (to, x) => {
    const left = $('names').clientWidth, before = sheet.clientWidth - left;
    to = Math.min(Math.max(to, 1), 1024);
    x ??= left + (view.clientWidth - left) / 2;
    const at = (view.scrollLeft + x - left) / before;
    zoom = to;
    sheet.style.setProperty('--z', to);
    view.scrollLeft = at * (sheet.clientWidth - left) - x + left;
    let level = Math.min(Math.floor(Math.log(to * 1.01) / Math.log(4)), 4);
    while (level && !chart.querySelector('.t' + level)) level--;
    for (let i = 0; i < 5; i++) sheet.classList.toggle('z' + i, i === level);
    where();
  };

  // What day it is at the left edge, where the mark that says so is out of sight.
  let asleep = false;
  const where = () => {
    if (asleep) return;
    asleep = true;
    requestAnimationFrame(() => {
      asleep = false;
      const level = /z(\d)/.exec(sheet.className)[1], left = 100 * view.scrollLeft / (sheet.clientWidth - $('names').clientWidth);
      let day = '';
      for (const t of document.querySelectorAll(`#axis .t${level} .day`)) {
        if (t.x.baseVal[0].valueInSpecifiedUnits > left) break;
        day = t.textContent;
      }
      $('corner').textContent = zoom > 1 ? day : '';
    });
  };
  view.addEventListener('scroll', where, {passive: true});

  // Ten thousand take a moment, which nobody wants to wait for at each letter.
  let typing = 0;
  $('q').addEventListener('input', () => {
    clearTimeout(typing);
    typing = setTimeout(filter, bars.length > 1500 ? 200 : 0);
  });
  for (const k of document.querySelectorAll('button.key')) k.addEventListener('click', () => {
    $('q').value = $('q').value.trim().toLowerCase() === k.dataset.q ? '' : k.dataset.q;
    filter();
  });
  $('in').addEventListener('click', () => scale(zoom * 2));
  $('out').addEventListener('click', () => scale(zoom / 2));
  $('fit').addEventListener('click', () => scale(1));
  view.addEventListener('wheel', e => {
    if (!e.ctrlKey && !e.metaKey) return;
    e.preventDefault();
    scale(zoom * Math.exp(-e.deltaY / 240), e.clientX - view.getBoundingClientRect().left);
  }, {passive: false});

  const bar = e => e.target.closest && e.target.closest('.b');
  chart.addEventListener('pointerover', e => { const b = bar(e); if (b) { about(b); light(b); } });
  chart.addEventListener('pointerout', e => { if (bar(e)) { light(pinned); if (pinned) about(pinned); } });
  chart.addEventListener('click', e => {
    const b = bar(e);
    if (b) choose(b); else { pinned = null; light(null); }
  });

  // The hand moves the page, where there is more of it.
  let drag = null;
  view.addEventListener('pointerdown', e => {
    if (e.button === 0 && e.pointerType === 'mouse' && !bar(e) && e.target.closest('#chart,#axis')) drag = [e.clientX + view.scrollLeft, e.clientY + view.scrollTop];
  });
  addEventListener('pointermove', e => { if (drag) view.scrollTo(drag[0] - e.clientX, drag[1] - e.clientY); });
  addEventListener('pointerup', () => { drag = null; });

  const step = by => {
    const i = hits.indexOf(pinned);
    const to = hits[i < 0 ? (by > 0 ? 0 : hits.length - 1) : i + by];
    if (to) choose(to);
  };
  // In the chain: bars stand by lane, so the next is looked for by its place.
  const along = by => {
    if (!pinned || !chain(pinned)) return;
    const x = b => b.x.baseVal.valueInSpecifiedUnits;
    const all = hits.filter(b => chain(b) === chain(pinned)).sort((a, b) => x(a) - x(b));
    const to = all[all.indexOf(pinned) + by];
    if (to) choose(to);
  };
  addEventListener('keydown', e => {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    if (e.target === $('q')) {
      if (e.key === 'Escape') { $('q').value = ''; filter(); view.focus(); }
      if (e.key === 'Enter' && hits.length) choose(hits[0]);
      return;
    }
    switch (e.key) {
    case '/': $('q').focus(); break;
    case '+': case '=': scale(zoom * 2); break;
    case '-': scale(zoom / 2); break;
    case '0': scale(1); break;
    case 'j': case 'ArrowRight': if (e.key !== 'j' && !pinned) return; step(1); break;
    case 'k': case 'ArrowLeft': if (e.key !== 'k' && !pinned) return; step(-1); break;
    case 'n': along(1); break;
    case 'p': along(-1); break;
    case 'c': if (pinned) take(told(pinned).split('\n').pop()); break;
    case 'Escape': pinned = null; light(null); break;
    default: return;
    }
    e.preventDefault();
  });

  const asked = () => {
    const m = /^#q=(.*)$/.exec(location.hash);
    try { $('q').value = m ? decodeURIComponent(m[1]) : ''; } catch { return; }
    filter();
  };
  addEventListener('hashchange', asked);
  if (location.hash) asked();
})();
