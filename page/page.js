'use strict';
/* page.js - controls in, questions to the library (page.c), answers into the page.
 *
 * The state is what the user has given: a Map of keys to texts, in the order in which the command line says them.
 * Everything else is what the library answers. */

/* ---- the library ----------------------------------------------------------- */

/* Makes the function that takes a question and returns its answer; runs in the page and in a worker. */
async function engine(bytes) {
  let memory = null;
  const no = {fd_prestat_get: 8};     // EBADF: no folder was opened; all else: ENOSYS
  const system = new Proxy({}, {get: (_, name) => () => no[name] || 52});
  const {instance} = await WebAssembly.instantiate(bytes, {wasi_snapshot_preview1: system});
  const library = instance.exports;
  library._initialize();
  return question => {
    const text = new TextEncoder().encode(question + '\0');
    const room = library.mfu_page_room(text.length);
    new Uint8Array(library.memory.buffer).set(text, room);
    const at = library.mfu_page_answer(room);
    memory = new Uint8Array(library.memory.buffer);
    return JSON.parse(new TextDecoder().decode(memory.subarray(at, memory.indexOf(0, at))));
  };
}

const $ = id => document.getElementById(id);
const bytes = Uint8Array.from(atob($('wasm').textContent.trim()), c => c.charCodeAt(0));
let ask;                            // at once, in the page
let askSlowly;                      // a promise: in a worker where there are some

function startWorker() {
  let waiting = [];
  try {
    const source = `${engine}let ask;onmessage=e=>{if(!ask)ask=engine(e.data);else
      ask.then(f=>postMessage(f(e.data))).catch(()=>postMessage(null));};`;
    const worker = new Worker(URL.createObjectURL(new Blob([source], {type: 'text/javascript'})));
    const failed = () => {          // this browser gives workers less: the page does it itself
      askSlowly = later;
      waiting.forEach(([question, done]) => later(question).then(done));
      waiting = [];
    };
    worker.onmessage = e => e.data ? waiting.shift()[1](e.data) : failed();
    worker.onerror = failed;
    worker.postMessage(bytes);
    return question => new Promise(done => { waiting.push([question, done]); worker.postMessage(question); });
  } catch (e) {
    return later;
  }
}
const later = question => new Promise(done => setTimeout(() => done(ask(question)), 0));

/* ---- the scenario ---------------------------------------------------------- */

const GIVEN = new Map();
const FIRST = ['model', 'gpu', 'cluster'];
const MAIN = {
  'The batch': ['batch', 'accum', 'seq'],
  'How it runs': ['precision', 'runtime', 'checkpoint', 'attention', 'optimizer', 'trainer'],
  'Over GPUs': ['gpus', 'nodes', 'dp', 'tp', 'pp', 'cp', 'ep', 'zero'],
};
const SLIDES = {batch: 9, accum: 10, seq: 17, gpus: 13, nodes: 10, dp: 10, tp: 5, pp: 6, cp: 6, ep: 8};  // up to 2^n
let catalog, rows = {}, dimensions = '';

const order = key => FIRST.includes(key) ? FIRST.indexOf(key) : 9;
const pairs = () => [...GIVEN].sort((a, b) => order(a[0]) - order(b[0]));
const lines = () => pairs().map(([k, v]) => '\n' + k + ' ' + v).join('');
const quoted = text => /^[\w.,:%*/+-]+$/.test(text) ? text : '"' + text.replace(/["\\]/g, '\\$&') + '"';

/* A quote would end the shell's word: it is closed, escaped, and opened again. */
function commandLine() {
  const said = FIRST.filter(k => GIVEN.has(k)).map(k => k + ' ' + quoted(GIVEN.get(k)));
  const set = pairs().filter(([k]) => !FIRST.includes(k)).map(([k, v]) => ' ' + k + ' ' + quoted(v)).join('');
  return "mfuplan -e '" + [...said, ...(set ? ['set' + set] : []), 'plan'].join('; ').replace(/'/g, "'\\''") + "'";
}

function readLink() {
  GIVEN.clear();
  linked = location.hash;
  for (const [key, value] of new URLSearchParams(linked.slice(1) || document.body.dataset.scenario))
    if (/^[\w.]+$/.test(key) && value && !/[\n\r]/.test(value))
      GIVEN.set(key, value);
  if (!GIVEN.has('model'))
    GIVEN.set('model', 'gpt2');
  if (!GIVEN.has('gpu') && !GIVEN.has('cluster'))
    GIVEN.set('gpu', 'rtx4070');
}

function give(key, value) {
  value = value.trim();
  if (value === '')
    GIVEN.delete(key);
  else
    GIVEN.set(key, value);
  if (key === 'model')                                  // its dimensions were those of the other
    for (const k of [...GIVEN.keys()])
      if (rows[k] && rows[k].dimension && k !== 'seq')
        GIVEN.delete(k);
  schedule();
}

/* ---- controls -------------------------------------------------------------- */

function make(tag, properties = {}, ...children) {
  const e = Object.assign(document.createElement(tag), properties);
  e.append(...children);
  return e;
}

/* One key: a choice, or a text with a slider where powers of two make sense. */
function makeRow(key, meaning, choices, dimension) {
  const id = 'k-' + key;
  const label = make('label', {htmlFor: id, textContent: key, title: meaning || ''});
  const box = make('div', {className: 'row'}, label);
  const row = {box, dimension, choices, input: null, slider: null};
  if (choices) {
    row.input = make('select', {id});
    row.input.append(make('option', {value: '', textContent: ''}),
                     ...choices.map(c => make('option', {value: Array.isArray(c) ? c[0] : c, textContent: Array.isArray(c) ? c[1] : c})));
    row.input.onchange = () => give(key, row.input.value);
    box.append(row.input);
  } else {
    row.input = make('input', {id, type: 'text', inputMode: 'decimal', spellcheck: false});
    row.input.onchange = () => give(key, row.input.value);
    if (key in SLIDES) {
      row.slider = make('input', {type: 'range', min: 0, max: SLIDES[key], step: 1, value: 0});
      row.slider.setAttribute('aria-label', key + ' in powers of two');
      row.slider.oninput = () => { row.input.value = 2 ** row.slider.value; give(key, row.input.value); };
      box.append(make('div', {className: 'pair'}, row.slider, row.input));
    } else {
      box.append(row.input);
    }
  }
  rows[key] = row;
  return box;
}

function makeControls() {
  const form = $('controls'), byName = new Map(catalog.keys.map(k => [k.name, k])), shown = new Set();
  const group = (title, boxes) => make('fieldset', {}, make('legend', {textContent: title}), ...boxes);
  const titled = list => list.map(([slug, name]) => [slug, name === slug ? slug : `${name} (${slug})`]);
  const folded = (title, id) => make('details', {id}, make('summary', {textContent: title}));
  form.append(group('What trains where', [
    makeRow('model', 'architecture', titled(catalog.models)), makeRow('gpu', 'card', titled(catalog.gpus)),
    makeRow('cluster', 'machines and network', titled(catalog.clusters))]));
  for (const [title, keys] of Object.entries(MAIN))
    form.append(group(title, keys.filter(k => k === 'seq' || byName.has(k)).map(k => {
      shown.add(k);
      return makeRow(k, byName.get(k)?.meaning, byName.get(k)?.choices, k === 'seq');
    })));
  const more = folded('All other settings', 'more'), groups = new Map();
  for (const k of catalog.keys)
    if (!shown.has(k.name))
      groups.set(k.group, [...(groups.get(k.group) || []), makeRow(k.name, k.meaning, k.choices)]);
  for (const [title, boxes] of groups)
    more.append(group(title, boxes));
  form.append(more, folded('Dimensions of the model', 'dimensions'),
              make('button', {type: 'button', textContent: 'Back to the defaults', onclick: () => {
                for (const k of [...GIVEN.keys()])
                  if (!FIRST.includes(k))
                    GIVEN.delete(k);
                schedule();
              }}));
  form.onsubmit = e => e.preventDefault();
}

/* Written only where it is another: a browser lays out anew what is written, and there are some hundred controls. */
function put(object, name, value) {
  if (object[name] !== value)
    object[name] = value;
}

/* What the library worked out, in every control that nobody is typing in. */
function showValues(answer) {
  const own = answer.values.filter(v => v[3]).map(v => v[0]);
  if (own.join() !== dimensions) {
    dimensions = own.join();
    $('dimensions').replaceChildren($('dimensions').firstElementChild,
                                    ...own.filter(k => k !== 'seq').map(k => makeRow(k, 'dimension of the model', null, true)));
  }
  const values = new Map([...answer.values.map(v => [v[0], v[1]]), ['model', GIVEN.get('model')], ['gpu', answer.gpu_slug],
                          ['cluster', answer.cluster]]);
  for (const [key, row] of Object.entries(rows)) {
    const given = GIVEN.has(key), value = values.get(key) ?? '';
    put(row.box, 'hidden', key === 'seq' && !values.has('seq'));
    put(row.box, 'className', given ? 'row given' : 'row');
    if (row.choices) {
      put(row.input.options[0], 'textContent', given ? 'default' : (value || 'none') + ' (default)');
      put(row.input, 'value', given ? value : '');
      if (given && row.input.selectedIndex < 0)
        row.input.value = '';
    } else if (document.activeElement !== row.input || !given) {
      put(row.input, 'value', given ? GIVEN.get(key) : value);
    }
    if (row.slider && document.activeElement !== row.slider)
      put(row.slider, 'value', String(Math.round(Math.log2(parseFloat(value) || 1))));
    if (row.slider && row.slider.getAttribute('aria-valuetext') !== value) /* the property is younger than the attribute */
      row.slider.setAttribute('aria-valuetext', value);
  }
}

/* ---- answers --------------------------------------------------------------- */

let linked = '', listed = '', wanted = false, slowNumber = 0, slowTimer = 0, slowBusy = false;
const drawn = new Map();
const timings = [];

function schedule() {
  if (!wanted)
    requestAnimationFrame(() => { wanted = false; draw(); });
  wanted = true;
}

function say(answer) {
  $('said').textContent = answer.error ? answer.error + (answer.hint ? ` (did you mean ${answer.hint}?)` : '')
    + ($('drawn').hasChildNodes() ? '. The figures below are those from before.' : '') : '';
}

/* Only what has changed is drawn again; of that, what is seen at once, and the rest when the hand rests or scrolls. */
let unseen = null, unseenTimer = 0;

function drawUnseen() {
  const sections = unseen;
  clearTimeout(unseenTimer);
  unseen = null;
  if (sections)
    place($('drawn'), sections);
}

function placeSeen(sections) {
  const seen = sections.map(({id, html}, i) => {        // the first has the figures of the summary
    const old = drawn.get(id), at = old && i > 0 && old.html !== html ? old.element.getBoundingClientRect() : null;
    return !at || (at.top < innerHeight && at.bottom > 0) ? {id, html} : {id, html: old.html};
  });
  unseen = sections;
  clearTimeout(unseenTimer);
  unseenTimer = setTimeout(drawUnseen, 60);
  place($('drawn'), seen);
}

function place(into, sections) {
  for (const [id, old] of drawn)
    if (old.into === into && !sections.some(s => s.id === id)) {
      old.element.remove();
      drawn.delete(id);
    }
  let before = into.firstElementChild;
  for (const {id, html} of sections) {
    const old = drawn.get(id);
    if (old && old.html === html) {
      before = old.element.nextElementSibling;
      continue;
    }
    const t = document.createElement('template');
    t.innerHTML = html;
    const element = t.content.firstElementChild;
    [...element.querySelectorAll('.scroll')].forEach((s, i) => {
      s.tabIndex = 0;
      s.setAttribute('role', 'region');
      s.setAttribute('aria-label', `${element.querySelector('h2').textContent}, table ${i + 1}`);
    });
    if (old)
      old.element.replaceWith(element);
    else
      into.insertBefore(element, before);
    before = element.nextElementSibling;
    drawn.set(id, {into, html, element});
  }
}

function listSections() {
  const heads = [...document.querySelectorAll('main section[id] > h2')], names = heads.map(h => h.textContent).join();
  if (names === listed)
    return;
  listed = names;
  $('contents').replaceChildren(...heads.map(
    h => make('a', {href: '#' + h.parentElement.id, textContent: h.textContent,
                    onclick: e => { e.preventDefault(); $(h.parentElement.id).scrollIntoView(); }})));
}

function draw() {
  const start = performance.now();
  const answer = ask('draw' + lines());
  say(answer);
  $('line').textContent = commandLine();
  if (!answer.error) {
    showValues(answer);
    placeSeen(answer.sections);
    document.title = $('title').textContent = document.querySelector('#k-model').selectedOptions[0].textContent.replace(/ \(.*/, '')
      + ' on ' + answer.gpu;
    $('summary').textContent = [...document.querySelectorAll('.tile')].map(
      t => [...t.children].slice(0, 2).map(e => e.textContent).join(' ')).join(' · ');
    listSections();
  }
  timings.push(performance.now() - start);
  clearTimeout(slowTimer);
  slowTimer = setTimeout(rest, 250, answer);
}

/* The hand rests: the link follows (browsers refuse hundreds of links a minute), and what plans dozens of other scenarios. */
function rest(answer) {
  if (location.hash === linked) {                       // else another link has come and will be read
    history.replaceState(null, '', '#' + new URLSearchParams(pairs()));
    linked = location.hash;
  }
  if (!answer.error)
    drawSlow();
}

async function drawSlow() {
  slowNumber++;
  if (slowBusy)
    return;
  slowBusy = true;
  $('why-text').setAttribute('aria-busy', 'true');
  for (let number = 0; number !== slowNumber;) {
    number = slowNumber;
    for (const question of ['why ' + $('topic').value, 'levers']) {
      const answer = number === slowNumber ? await askSlowly(question + lines()) : null;
      if (answer && number === slowNumber && answer.sections)
        place($('changes'), answer.sections);
      else if (answer && number === slowNumber)
        $('why-text').textContent = answer.why || answer.error;
    }
  }
  listSections();
  $('why-text').removeAttribute('aria-busy');
  slowBusy = false;
}

/* ---- lessons --------------------------------------------------------------- */

/* Paragraphs, lists and lines that stand as they are. */
function textOf(text) {
  return text.split(/\n\s*\n/).filter(p => p.trim()).map(p =>
    /^ {4}/.test(p) ? make('pre', {textContent: p.replace(/^ {4}/gm, ''), tabIndex: 0})
      : /^- /.test(p) ? make('ul', {}, ...p.split(/\n(?=- )/).map(i => make('li', {textContent: i.slice(2)})))
        : make('p', {textContent: p.replace(/`/g, '')}));
}

async function showLesson() {
  const name = $('lesson').value, into = $('lesson-text');
  into.replaceChildren();
  if (!name)
    return;
  const answer = await askSlowly('lesson ' + name + lines());
  const keys = [], box = make('div', {className: 'lesson'});
  if (!answer || answer.error)
    box.append(make('p', {textContent: answer ? answer.error : 'the lesson cannot be read'}));
  for (const step of answer?.steps || []) {
    if (step.text !== undefined)
      box.append(...textOf(step.text));
    else if (step.own !== undefined)
      box.append(make('hr'), make('h3', {textContent: 'Your own scenario'}));
    else if (step.question !== undefined)
      box.append(make('details', {}, make('summary', {textContent: step.question}), make('p', {textContent: step.answer})));
    else {
      keys.push(...step.keys);
      const now = [...keys];
      box.append(make('p', {}, make('code', {textContent: step.command}), ' ', ...(step.keys.length ? [make('button', {
        type: 'button', textContent: 'Show this scenario', onclick: () => {
          GIVEN.clear();
          now.forEach(([k, v]) => GIVEN.set(k, v));
          schedule();
        }})] : [])));
    }
  }
  into.replaceChildren(box);
}

/* ---- start ----------------------------------------------------------------- */

async function copy(text, button) {
  const before = button.textContent;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = 'Copied';
  } catch (e) {
    button.textContent = 'The browser does not allow it';
  }
  setTimeout(() => { button.textContent = before; }, 1500);
}

async function start() {
  ask = await engine(bytes);
  askSlowly = startWorker();
  catalog = ask('catalog');
  $('figures').textContent = catalog.style;
  $('footer').textContent = `Predicted by mfuplan ${catalog.version} in this browser; nothing on this page was measured, and nothing leaves it.`;
  $('topic').append(...catalog.topics.map(([name, says]) => make('option', {value: name, textContent: `${name}: ${says}`})));
  $('topic').onchange = drawSlow;
  $('lesson').append(...catalog.lessons.map(([name, title]) => make('option', {value: name, textContent: title})));
  $('lesson').onchange = showLesson;
  $('copy-line').onclick = () => copy($('line').textContent, $('copy-line'));
  $('copy-link').onclick = () => copy(location.href.replace(/#.*/, '') + '#' + new URLSearchParams(pairs()), $('copy-link'));
  makeControls();
  readLink();
  addEventListener('scroll', drawUnseen, {passive: true});
  addEventListener('beforeprint', drawUnseen);
  window.onhashchange = () => { readLink(); schedule(); };
  draw();
  window.mfuplan = {ask, give, timings, ready: true, settled: () => !unseen};
}
start().catch(e => { $('said').textContent = 'This browser cannot run the page: ' + e.message; });
