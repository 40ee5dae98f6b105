// WebKitGTK, the engine nearest to Safari's, as the scripts of this folder drive a browser: the part of puppeteer's page
// that they use, over WebDriver. What WebDriver has not is done otherwise: scripts of `evaluateOnNewDocument` and functions
// of `exposeFunction` come into the page once it has loaded, so that a wallet announces itself late; requests and errors
// are those that the page itself can see from then on.
import { spawn } from 'node:child_process';
import { createServer } from 'node:net';

/** What Safari has switched on, and MiniBrowser not. */
const LIKE_SAFARI = ['StorageAPI', 'FileSystem', 'AccessHandle'];
const ELEMENT = 'element-6066-11e4-a52e-4f735466cecf';
const PUMP_MILLISECONDS = 60;
const LOOK_MILLISECONDS = 50;
const START_MILLISECONDS = 20_000;

/** Starts the driver and its browser: MiniBrowser at this path, on the display of the environment. */
export async function launchWebKit(binary) {
  const port = await freePort();
  const driver = spawn('WebKitWebDriver', [`--port=${port}`], { stdio: 'ignore' });
  const call = async (method, path, body) => {
    const init = { method, body: body && JSON.stringify(body), headers: { 'Content-Type': 'application/json' } };
    const { value } = await (await fetch(`http://127.0.0.1:${port}${path}`, init)).json();
    if (value?.error) throw new Error(`${value.error}: ${value.message}`);
    return value;
  };
  const options = { binary, args: ['--automation', `--features=${LIKE_SAFARI.map((name) => `+${name}`).join()}`] };
  const capabilities = { alwaysMatch: { 'webkitgtk:browserOptions': options, timeouts: { script: 240_000 } } };
  const started = await patiently(() => call('POST', '/session', { capabilities }));
  return new WebKit(driver, (method, path, body) => call(method, `/session/${started.sessionId}${path}`, body));
}

class WebKit {
  #driver;
  #call;
  #last = Promise.resolve();
  #first = true;

  constructor(driver, call) {
    this.#driver = driver;
    this.#call = call;
  }

  /** One question after the other, each to the window that it is about. */
  async in(window, work) {
    const before = this.#last;
    let done;
    this.#last = new Promise((resolve) => (done = resolve));
    await before;
    try {
      await this.#call('POST', '/window', { handle: window });
      return await work(this.#call);
    } finally {
      done();
    }
  }

  async newPage() {
    const before = this.#last;
    await before;
    const handle = this.#first ? await this.#call('GET', '/window') : (await this.#call('POST', '/window/new', { type: 'window' })).handle;
    this.#first = false;
    return new WebKitPage(this, handle);
  }

  async close() {
    await this.#call('DELETE', '').catch(() => undefined);
    this.#driver.kill();
  }
}

class WebKitPage {
  #browser;
  #window;
  #atStart = [];
  #functions = new Map();
  #listeners = new Map();
  #pump;

  constructor(browser, window) {
    this.#browser = browser;
    this.#window = window;
  }

  on(event, listener) {
    this.#listeners.set(event, listener);
  }

  async evaluateOnNewDocument(script, ...args) {
    this.#atStart.push([script, args]);
  }

  async exposeFunction(name, work) {
    this.#functions.set(name, work);
  }

  async setViewport({ width, height }) {
    await this.#in((call) => call('POST', '/window/rect', { width, height }));
  }

  async goto(url) {
    clearInterval(this.#pump);
    await this.#load(url);
    await this.#load(url); // what a script of the start took out of the storage was there before the first time
    let isBusy = false;
    this.#pump = setInterval(async () => {
      if (isBusy) return;
      isBusy = true;
      await this.#pumped().catch(() => undefined);
      isBusy = false;
    }, PUMP_MILLISECONDS);
  }

  async #load(url) {
    await this.#in((call) => call('POST', '/url', { url }));
    await this.evaluate(watch, [...this.#functions.keys()]);
    for (const [script, args] of this.#atStart) await this.evaluate(script, ...args);
  }

  /** Takes what the page has asked of the functions that it was given, and what it has seen. */
  async #pumped() {
    const { asked, seen } = await this.evaluate(() => ({
      asked: window.webkitAsked?.splice(0) ?? [],
      seen: window.webkitSeen?.splice(0) ?? [],
    }));
    for (const [event, text] of seen) {
      const message = { text: () => text, message: text, url: () => text, method: () => 'GET', headers: () => ({}) };
      this.#listeners.get(event)?.(message);
    }
    for (const { id, name, args } of asked) {
      void this.#functions
        .get(name)(...args)
        .then((answer) => this.evaluate((which, value) => window.webkitAnswers[which]?.(value), id, answer))
        .catch(() => undefined); // the page is gone
    }
  }

  /** A function's value, or a text that is run as a program and has none. */
  evaluate(script, ...args) {
    if (typeof script === 'string') return this.#in((call) => call('POST', '/execute/sync', { script, args: [] }));
    return this.#run(script, args);
  }

  #run(script, args) {
    const body = `const done = arguments[arguments.length - 1];
      Promise.resolve().then(() => (${script})(...[...arguments].slice(0, -1)))
        .then((value) => done({ value: value ?? null }), (error) => done({ error: String(error) }));`;
    return this.#in(async (call) => {
      const { value, error } = await call('POST', '/execute/async', { script: body, args });
      if (error !== undefined) throw new Error(error);
      return value;
    });
  }

  async $eval(selector, script, ...args) {
    return this.#run(`(selector, ...rest) => (${script})(document.querySelector(selector), ...rest)`, [selector, ...args]);
  }

  async $(selector) {
    return new WebKitElement(this, await this.#in((call) => call('POST', '/element', { using: 'css selector', value: selector })));
  }

  async waitForSelector(selector, { visible = false, timeout = 30_000 } = {}) {
    const path = /^::-p-xpath\((.*)\)$/s.exec(selector)?.[1];
    const [using, value] = path === undefined ? ['css selector', selector] : ['xpath', path];
    const found = await until(timeout, `no ${selector}`, async () => {
      const [first] = await this.#in((call) => call('POST', '/elements', { using, value }));
      if (first === undefined) return undefined;
      const element = new WebKitElement(this, first);
      return !visible || (await element.evaluate((each) => each.getClientRects().length > 0)) ? element : undefined;
    });
    return found;
  }

  async waitForFunction(script, { timeout = 30_000 } = {}, ...args) {
    const value = await until(timeout, 'it did not come', async () => (await this.evaluate(script, ...args)) || undefined);
    return { jsonValue: async () => value };
  }

  async close() {
    clearInterval(this.#pump);
    await this.#in((call) => call('POST', '/url', { url: 'about:blank' }));
  }

  elementCall(method, id, path, body) {
    return this.#in((call) => call(method, `/element/${id}${path}`, body));
  }

  #in(work) {
    return this.#browser.in(this.#window, work);
  }
}

class WebKitElement {
  #page;
  #reference;

  constructor(page, reference) {
    this.#page = page;
    this.#reference = reference;
  }

  evaluate(script, ...args) {
    return this.#page.evaluate(script, this.#reference, ...args);
  }

  async click() {
    await this.evaluate((each) => each.click());
  }

  async uploadFile(...paths) {
    await this.#page.elementCall('POST', this.#reference[ELEMENT], '/value', { text: paths.join('\n') });
  }
}

/** Runs in the page: keeps what it asks of functions outside, its errors, its console and its requests. */
function watch(names) {
  const seen = (window.webkitSeen = []);
  window.webkitAsked = [];
  window.webkitAnswers = {};
  for (const name of names) {
    window[name] = (...args) =>
      new Promise((resolve) => {
        const id = String(Math.random());
        window.webkitAnswers[id] = resolve;
        window.webkitAsked.push({ id, name, args });
      });
  }
  window.addEventListener('error', (event) => seen.push(['pageerror', event.message]));
  window.addEventListener('unhandledrejection', (event) => seen.push(['pageerror', String(event.reason)]));
  for (const level of ['error', 'warn', 'log']) console[level] = (...said) => seen.push(['console', said.join(' ')]);
  document.addEventListener('securitypolicyviolation', (event) => seen.push(['console', `${event.violatedDirective}: ${event.blockedURI}`]));
  const observer = new PerformanceObserver((list) => list.getEntries().forEach(({ name }) => seen.push(['request', name])));
  observer.observe({ type: 'resource', buffered: true });
}

async function until(timeout, otherwise, look) {
  for (const ends = Date.now() + timeout; Date.now() < ends; ) {
    const found = await look();
    if (found !== undefined) return found;
    await new Promise((resolve) => setTimeout(resolve, LOOK_MILLISECONDS));
  }
  throw new Error(otherwise);
}

function patiently(work) {
  return until(START_MILLISECONDS, 'the driver does not answer', () => work().catch((error) => (error.cause ? undefined : Promise.reject(error))));
}

function freePort() {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}
