// One headless browser with a test wallet in every page, driven by JSON lines.
//
//     node drive.mjs FOLDER      FOLDER is the npm package that has the browser
//
// stdin: {id, do: open, page, url, has}, where has is one of announced (EIP-6963), old (window.ethereum), two and none; {id, do: until, page, text}, {id, do: type, page, text}, {id, do: press, page}, {id, do: look, page}, {id, do: check, page}, {id, do: shoot, page, file},
// {id, do: close, page}, and {wallet, result} or {wallet, error} for what the wallet was asked.
// stdout: {ready} once the browser is there, {id, ...} for each of the former, and {wallet, method, params} for each request to the wallet.
// Exit code 3: no browser could be started on this machine.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';
import { launch } from '../../web/browser/launch.mjs';

const require = createRequire(`${process.argv[2]}/package.json`);
const axe = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');
const print = (value) => process.stdout.write(`${JSON.stringify(value)}\n`);

const browser = await launch({ webSecurity: true });
print({ ready: true });

const pages = new Map();
const asked = new Map();

function request(method, params) {
  const wallet = asked.size + 1;
  print({ wallet, method, params });
  return new Promise((resolve) => asked.set(wallet, resolve));
}

const injected = (has) => {
  const provider = {
    async request({ method, params }) {
      const { result, error } = await window.testWallet(method, params ?? []);
      if (error) throw Object.assign(new Error(error.message), { code: error.code });
      return result;
    },
  };
  if (has === 'none') return;
  if (has === 'old') {
    window.ethereum = provider;
    return;
  }
  const announce = (uuid, name) => window.dispatchEvent(
    new CustomEvent('eip6963:announceProvider', {
      detail: Object.freeze({ info: { uuid, name, icon: 'data:,', rdns: 'test' }, provider }),
    }),
  );
  const all = () => {
    announce('4b1f6c52-6b0f-4f0e-8f5a-2f6d1e0f9a11', '<b>Test wallet</b>');
    if (has === 'two') announce('4b1f6c52-6b0f-4f0e-8f5a-2f6d1e0f9a12', 'Another wallet');
  };
  window.addEventListener('eip6963:requestProvider', all);
  all();
};

const commands = {
  async open({ page, url, has }) {
    const opened = await browser.newPage();
    const findings = [];
    opened.on('console', (message) => findings.push(message.text()));
    opened.on('pageerror', (error) => findings.push(error.message));
    await opened.exposeFunction('testWallet', request);
    await opened.evaluateOnNewDocument(injected, has);
    await opened.setViewport({ width: 360, height: 640 });
    pages.set(page, { opened, findings });
    const arrived = new Promise((resolve) => { // a file leads to the page
      opened.on('framenavigated', (frame) => frame.url().startsWith('http') && resolve());
    });
    const answer = await opened.goto(url);
    await arrived;
    return { status: answer?.status() ?? 0 };
  },
  async until({ page, text }) {
    const { opened, findings } = pages.get(page);
    const shown = await opened.evaluate((wanted) => new Promise((resolve) => { // by the debugger's means, which no policy concerns
      const look = () => document.body?.innerText.includes(wanted) && resolve(true); // none while a page is loaded
      new MutationObserver(look).observe(document, { subtree: true, childList: true, characterData: true, attributes: true });
      setTimeout(() => resolve(document.body?.innerText), 20_000);
      look();
    }), text);
    if (shown !== true) throw new Error(`shown instead: ${shown} ${findings}`);
    return {};
  },
  async check({ page }) {
    const { opened } = pages.get(page);
    await opened.evaluate(axe); // by the debugger's means, which no policy concerns
    const found = await opened.evaluate(async () => (await window.axe.run()).violations.map((each) => each.id));
    return { found };
  },
  async type({ page, text }) {
    const { opened } = pages.get(page);
    await opened.$eval('#code', (field) => { field.value = ''; });
    await opened.type('#code', text);
    await opened.keyboard.press('Enter');
    return {};
  },
  async press({ page }) {
    const { opened } = pages.get(page);
    await opened.waitForSelector('#act:enabled', { visible: true, timeout: 20_000 }); // a page that was just opened has no task yet
    await opened.click('#act');
    return {};
  },
  async look({ page }) {
    const { opened, findings } = pages.get(page);
    const seen = await opened.evaluate(() => ({
      text: document.body.innerText,
      wide: document.documentElement.scrollWidth - document.documentElement.clientWidth,
    }));
    return { ...seen, findings, address: opened.url() };
  },
  async shoot({ page, file }) {
    const { opened } = pages.get(page);
    await opened.setViewport({ width: 760, height: 100 });
    await opened.screenshot({ path: file, fullPage: true });
    return {};
  },
  async close({ page }) {
    await pages.get(page).opened.close();
    return {};
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const message = JSON.parse(line);
  if (message.wallet !== undefined) {
    asked.get(message.wallet)({ result: message.result, error: message.error });
  } else {
    commands[message.do](message).then(
      (found) => print({ id: message.id, ...found }),
      (error) => print({ id: message.id, error: String(error) }),
    );
  }
}
await browser.close();
