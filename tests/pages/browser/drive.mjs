// One headless browser, driven line by line: each line of stdin is a JSON command, each line of stdout its answer.
//
//     node drive.mjs CLIENT                 CLIENT is clients/typescript, whose viem signs for the test wallets
//
// Commands are {page, do, ...}; see `commands` below. A page has at most one test wallet: an EIP-1193 provider over a
// throw-away key, announced by EIP-6963. A browser that cannot be started: exit code 3.
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { createRequire } from 'node:module';
import { launch } from './launch.mjs';

const [client] = process.argv.slice(2);
const require = createRequire(import.meta.url);
const fromClient = createRequire(`${client}/here.js`);
const viem = fromClient('viem');
const { privateKeyToAccount } = fromClient('viem/accounts');

const browser = await launch({ protocolTimeout: 240_000 });

const axe = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');
const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
const pages = new Map();

const NOBODY = `0x${'0'.repeat(40)}`;
const SAFE_ABI = viem.parseAbi([
  'function nonce() view returns (uint256)',
  'function execTransaction(address,uint256,bytes,uint8,uint256,uint256,uint256,address,address,bytes) returns (bool)',
]);
const SAFE_TYPES = {
  SafeMessage: [{ name: 'message', type: 'bytes' }],
  SafeTx: [
    ['to', 'address'],
    ['value', 'uint256'],
    ['data', 'bytes'],
    ['operation', 'uint8'],
    ['safeTxGas', 'uint256'],
    ['baseGas', 'uint256'],
    ['gasPrice', 'uint256'],
    ['gasToken', 'address'],
    ['refundReceiver', 'address'],
    ['nonce', 'uint256'],
  ].map(([name, type]) => ({ name, type })),
};

/** What the owners of a Safe sign together, and the typed data that each of them signs. */
async function signedBySafe({ chainId, safe }, primaryType, message) {
  const typedData = {
    domain: { chainId, verifyingContract: safe.address },
    types: { [primaryType]: SAFE_TYPES[primaryType] },
    primaryType,
    message,
  };
  const owners = safe.owners.map((key) => privateKeyToAccount(key));
  owners.sort((left, right) => (BigInt(left.address) < BigInt(right.address) ? -1 : 1));
  const signatures = await Promise.all(owners.map((owner) => owner.signTypedData(typedData)));
  return { signatures: viem.concat(signatures), hash: viem.hashTypedData(typedData) };
}

/** The signatures of a Safe; with what makes it where it is not on the chain yet (ERC-6492). */
function wrapped({ creation }, { signatures }) {
  if (!creation) return signatures;
  const parameters = viem.parseAbiParameters('address, bytes, bytes');
  return viem.concat([viem.encodeAbiParameters(parameters, [...creation, signatures]), `0x${'6492'.repeat(16)}`]);
}

/**
 * Sends a transaction of a Safe; like a wallet of a Safe, it names it by the hash that its owners signed. The operation is
 * 0 for a call, 1 for one in the Safe's own place.
 */
async function sentBySafe(wallet, { to, data }, operation = 0) {
  const transport = viem.http(wallet.rpcUrl);
  const address = wallet.safe.address;
  const nonce = await viem
    .createPublicClient({ transport })
    .readContract({ address, abi: SAFE_ABI, functionName: 'nonce' });
  const message = {
    ...{ to, value: 0n, data, operation, safeTxGas: 0n, baseGas: 0n, gasPrice: 0n },
    ...{ gasToken: NOBODY, refundReceiver: NOBODY, nonce },
  };
  const { signatures, hash } = await signedBySafe(wallet, 'SafeTx', message);
  const args = [to, 0n, data, operation, 0n, 0n, 0n, NOBODY, NOBODY, signatures];
  const sender = viem.createWalletClient({ account: wallet.account, transport });
  await sender.writeContract({ chain: null, address, abi: SAFE_ABI, functionName: 'execTransaction', args });
  return hash;
}

/** What a wallet answers: keys stay here, everything else is its node's answer. */
async function answer(wallet, method, params) {
  const { account } = wallet;
  switch (method) {
    case 'eth_requestAccounts':
      if (wallet.locked) await new Promise((resolve) => (wallet.unlock = resolve));
    // falls through
    case 'eth_accounts':
      if (wallet.hidden) return [];
      return [viem.getAddress(wallet.shown ?? wallet.safe?.address ?? account.address)];
    case 'eth_chainId':
      return `0x${wallet.chainId.toString(16)}`;
    case 'wallet_switchEthereumChain':
      if (wallet.knows?.includes(Number(params[0].chainId)) === false) throw { code: 4902, message: 'Unrecognized chain.' };
      wallet.chainId = Number(params[0].chainId);
      return null;
    case 'wallet_addEthereumChain':
      wallet.asked.push({ method, chain: params[0] });
      wallet.knows?.push(Number(params[0].chainId));
      return null;
    case 'eth_signTypedData_v4': {
      const typedData = JSON.parse(params[1]);
      wallet.asked.push({ method, typedData });
      if (wallet.safe === undefined) return account.signTypedData(typedData);
      return wrapped(wallet.safe, await signedBySafe(wallet, 'SafeMessage', { message: viem.hashTypedData(typedData) }));
    }
    case 'eth_sendTransaction': {
      wallet.asked.push({ method, transaction: params[0] });
      if (wallet.declines_to_send) throw { code: 4001, message: 'User rejected the request.' };
      if (wallet.silent) return new Promise(() => {});
      if (wallet.late) await new Promise((resolve) => (wallet.answers = resolve));
      if (wallet.loses) throw { code: -32603, message: 'The connection was lost.' };
      if (wallet.safe !== undefined) return sentBySafe(wallet, params[0]);
      const sender = viem.createWalletClient({ account, transport: viem.http(wallet.rpcUrl) });
      const { to, data } = params[0];
      const hash = await sender.sendTransaction({ chain: null, to, data, value: 0n });
      wallet.answered?.();
      if (wallet.forgets) throw { code: -32603, message: 'The connection was lost.' };
      return hash;
    }
    default: {
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
      const headers = { 'Content-Type': 'application/json' };
      const found = await (await fetch(wallet.rpcUrl, { method: 'POST', headers, body })).json();
      if (found.error) throw found.error;
      return wallet.lies?.[method] ?? found.result;
    }
  }
}

/** Runs in the page, before its own scripts. */
function announce(name) {
  const provider = {
    async request({ method, params = [] }) {
      const { result, error } = JSON.parse(await window.testWallet(method, JSON.stringify(params)));
      if (error) throw Object.assign(new Error(error.message), error);
      return result;
    },
    on(event, listener) {
      window.addEventListener(`test-wallet:${event}`, listener);
    },
  };
  const detail = Object.freeze({
    info: Object.freeze({ uuid: '6f9e1d1e-1111-4000-8000-000000000001', name, icon: 'data:,', rdns: 'test.wallet' }),
    provider,
  });
  const tell = () => window.dispatchEvent(new CustomEvent('eip6963:announceProvider', { detail }));
  window.addEventListener('eip6963:requestProvider', tell);
  tell();
}

const commands = {
  /**
   * A page, with or without a wallet or scripts. All pages share what the browser keeps. One of a fresh origin finds
   * nothing kept there; with `fixed_lots` what it draws by lot is always the same. Requests to the API below `api.from`
   * go to `api.to`.
   * One that remembers knows the wallet of an earlier page, and connects it by itself. One apart shares nothing with others.
   */
  async open({ page: name, wallet, scripts, fresh, fixed_lots, api, remembers, apart }) {
    const page = await (apart ? await browser.createBrowserContext() : browser).newPage();
    if (!scripts) await page.setJavaScriptEnabled(false);
    await page.setViewport({ width: 1000, height: 900 });
    const found = { page, findings: [], requests: [], presses: 0, wallet: undefined };
    if (fresh) {
      const session = await page.createCDPSession();
      await session.send('Storage.clearDataForOrigin', { origin: fresh, storageTypes: 'all' });
      if (fixed_lots) await page.evaluateOnNewDocument(() => (crypto.getRandomValues = (array) => array.fill(7)));
    }
    if (!remembers) {
      await page.evaluateOnNewDocument(() => {
        if (location.protocol.startsWith('http')) localStorage.removeItem('bounty-escrow-wallet');
      });
    }
    if (api) await reroute(page, api);
    page.on('console', (message) => {
      if (!/^Failed to load resource/.test(message.text())) found.findings.push(`console: ${message.text()}`);
    });
    page.on('pageerror', (error) => found.findings.push(`error: ${error.message}`));
    page.on('request', (request) => {
      const { range } = request.headers();
      found.requests.push(`${request.method()} ${request.url()}${range === undefined ? '' : ` ${range}`}`);
    });
    await page.evaluateOnNewDocument(() => {
      window.savedBlobs = new Map();
      const make = URL.createObjectURL;
      URL.createObjectURL = (blob) => {
        const made = make.call(URL, blob);
        window.savedBlobs.set(made, blob);
        return made;
      };
    });
    if (wallet) {
      const { key, ...given } = wallet;
      found.wallet = { account: privateKeyToAccount(key), ...given, asked: [] };
      await page.exposeFunction('testWallet', async (method, params) => {
        try {
          return JSON.stringify({ result: await answer(found.wallet, method, JSON.parse(params)) });
        } catch (error) {
          const { code = -32603, message = String(error), data } = error;
          return JSON.stringify({ error: { code, message, data } });
        }
      });
      await page.evaluateOnNewDocument(announce, 'Test wallet');
    }
    pages.set(name, found);
  },
  async goto({ found, url }) {
    await found.page.goto(url, { waitUntil: 'load' });
  },
  /** Makes the page state something else about its bounty, as an operator who lies could. */
  async state({ found, changes }) {
    await found.page.$eval(
      '#wallet',
      (place, given) => {
        const stated = JSON.parse(place.dataset.wallet);
        Object.assign(stated.bounty, given);
        place.dataset.wallet = JSON.stringify(stated);
      },
      changes,
    );
  },
  /** Makes the page another one in what its own server wrote into it. */
  async settings({ found, changes }) {
    await found.page.$eval(
      '#wallet',
      (place, given) => (place.dataset.wallet = JSON.stringify({ ...JSON.parse(place.dataset.wallet), ...given })),
      changes,
    );
  },
  /** Changes how the wallet behaves: declines_to_send, silent, late, loses, forgets, lies, locked, hidden, knows, chainId,
   * shown.
   */
  async wallet({ found, changes }) {
    Object.assign(found.wallet, changes);
    if (changes.locked === false) found.wallet.unlock?.();
    const events = [
      ...('chainId' in changes ? ['chainChanged'] : []),
      ...('shown' in changes ? ['accountsChanged'] : []),
    ];
    await found.page.evaluate(
      (names) => names.forEach((name) => window.dispatchEvent(new Event(`test-wallet:${name}`))),
      events,
    );
  },
  async asked({ found }) {
    return found.wallet.asked.splice(0);
  },
  /** Has the wallet send what it was late with; ends once the page has written down what it makes of it. */
  async answer_late({ found }) {
    const { wallet, page } = found;
    const answered = new Promise((resolve) => (wallet.answered = resolve));
    wallet.answers();
    await answered;
    await page.evaluate(async () => {
      const done = (request) => new Promise((resolve) => (request.onsuccess = () => resolve(request.result)));
      const database = await done(indexedDB.open('bounty-escrow', 1));
      await done(database.transaction('steps').objectStore('steps').count()); // waits for what is being written
      database.close();
    });
  },
  async press({ found, text }) {
    await found.page.waitForFunction(pressed, { timeout: 60_000, polling: 50 }, text, 'body', false);
    found.presses += 1;
  },
  /** Presses the button in the row of a table that begins with this text. */
  async press_row({ found, row, text }) {
    const path = `//tr[th[contains(normalize-space(.), ${quoted(row)})]]//button[normalize-space(.)=${quoted(text)}]`;
    const button = await found.page.waitForSelector(`::-p-xpath(${path})`, { visible: true, timeout: 60_000 });
    found.presses += 1;
    await button.evaluate((each) => each.click());
  },
  /** Begins an act by its button, unless it has begun by itself. */
  async begin({ found, text }) {
    const seen = await found.page.waitForFunction(pressed, { timeout: 60_000, polling: 50 }, text, '#acting', true);
    found.presses += (await seen.jsonValue()) === 'running' ? 0 : 1;
  },
  /** How many buttons were pressed since the last look. */
  async presses({ found }) {
    const { presses } = found;
    found.presses = 0;
    return presses;
  },
  /** Gives the window this width; how much wider the page is than it. */
  async narrow({ found, width }) {
    await found.page.setViewport({ width, height: 900 });
    return found.page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
  },
  /** Has the browser keep no files for the page, nor anything with which to ask for them. */
  async no_files({ found }) {
    await found.page.evaluate(() => void Object.defineProperty(navigator, 'storage', { value: undefined }));
  },
  /** Whether there is such an element. */
  async has({ found, selector }) {
    return found.page.evaluate((each) => document.querySelector(each) !== null, selector);
  },
  /** Waits until the page has looked for the wallet of an earlier page, and knows of none. */
  async idle({ found }) {
    await found.page.waitForFunction(() => !document.querySelector('#connect').disabled, { timeout: 60_000, polling: 50 });
  },
  /** Waits until a wallet was chosen: the single one is without a button. */
  async chosen({ found }) {
    const chosen = () => document.querySelector('#acting > .choices + div')?.childElementCount > 0;
    await found.page.waitForFunction(chosen, { timeout: 60_000, polling: 50 });
  },
  /** Waits until the text is on the page; gives the page's text. An alert that is not wanted ends the wait. */
  async wait({ found, text, seconds = 90 }) {
    const seen = await found.page.waitForFunction(
      (wanted) => {
        for (const folded of document.querySelectorAll('#acting .stage details')) folded.open = true;
        const shown = document.body.innerText;
        if (shown.includes(wanted)) return { shown };
        const alert = [...document.querySelectorAll('#acting [role=alert]')].find((each) => each.innerText.trim());
        return alert ? { alert: alert.innerText } : false;
      },
      { timeout: seconds * 1000, polling: 100 },
      text,
    );
    const { alert, shown } = await seen.jsonValue();
    if (alert !== undefined) throw new Error(`an alert instead of ${text}: ${alert}`);
    return shown;
  },
  /** Waits until an alert of the actions has this text. */
  async wait_alert({ found, text }) {
    await found.page.waitForFunction(
      (wanted) =>
        [...document.querySelectorAll('#acting [role=alert]')].some((each) => each.innerText.includes(wanted)),
      { timeout: 60_000, polling: 100 },
      text,
    );
  },
  /** Waits until one of the texts is on the page; gives the page's text. */
  async wait_any({ found, texts }) {
    const seen = await found.page.waitForFunction(
      (wanted) => {
        const shown = document.querySelector('#acting').innerText;
        return wanted.some((each) => shown.includes(each)) && shown;
      },
      { timeout: 60_000, polling: 100 },
      texts,
    );
    return seen.jsonValue();
  },
  /** Acts as a person would; see `act`. */
  async act({ found, buttons, fields, ends, patience, presses = 12 }) {
    const given = JSON.stringify({ buttons, fields, ends, patience, most: presses });
    return found.page.evaluate(`(() => { ${fillField} ${act} return act(${given}); })()`);
  },
  /** Opens the part with this summary. */
  async expand({ found, text }) {
    const summary = await found.page.waitForSelector(`::-p-xpath(//summary[normalize-space(.)=${quoted(text)}])`);
    await summary.evaluate((each) => (each.parentElement.open = true));
  },
  /** Has the reader live elsewhere, from the next page on. */
  async timezone({ found, zone }) {
    await found.page.emulateTimezone(zone);
  },
  /** What the first button with this text puts into the clipboard. */
  async copied({ found, text }) {
    await found.page.evaluate(() => {
      navigator.clipboard.writeText = async (written) => void (window.written = written); // none in a headless browser
    });
    const button = await found.page.waitForSelector(`::-p-xpath(//button[normalize-space(.)=${quoted(text)}])`);
    await button.click();
    return found.page.evaluate(() => window.written);
  },
  /** Ticks the field with this label, or with a label of this title. */
  async tick({ found, label, title }) {
    if (title === undefined) return (await fieldOf(found.page, label)).evaluate((each) => each.click());
    const named = await found.page.waitForSelector(`label[title="${title}"]`, { timeout: 60_000 });
    return named.evaluate((each) => document.getElementById(each.htmlFor).click());
  },
  async text({ found, selector = 'body' }) {
    return found.page.$eval(selector, (each) => each.innerText);
  },
  async fill({ found, label, value }) {
    await put(found.page, label, { text: value });
  },
  /** What is in the field with this label. */
  async value({ found, label }) {
    return (await fieldOf(found.page, label)).evaluate((field) => field.value);
  },
  async upload({ found, label, paths }) {
    await (await fieldOf(found.page, label)).uploadFile(...paths);
  },
  /** Files put into a field as if a directory was chosen: names below it, and their text. */
  async tree({ found, label, files }) {
    await put(found.page, label, { files });
  },
  /** Makes reading files as text take long. */
  async read_slowly({ found }) {
    await found.page.evaluate(() => {
      const { text } = Blob.prototype;
      Blob.prototype.text = async function () {
        await new Promise((resolve) => setTimeout(resolve, 300));
        return text.call(this);
      };
    });
  },
  /** The bytes behind the link with this text, in base64. */
  async saved({ found, text }) {
    const link = await found.page.waitForSelector(`::-p-xpath(//a[@download][normalize-space(.)=${quoted(text)}])`);
    return link.evaluate(async (each) => {
      const bytes = new Uint8Array(await window.savedBlobs.get(each.href).arrayBuffer());
      return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''));
    });
  },
  /** What axe-core finds wrong with the part of the page in which a wallet acts. */
  async check({ found }) {
    await found.page.evaluate(axe); // by the debugger's means, which no policy concerns
    return found.page.evaluate(
      async (rules) =>
        (await window.axe.run('#wallet', { runOnly: rules })).violations.map(
          ({ id, nodes }) => `${id}: ${nodes.map((node) => node.html.slice(0, 160)).join(' | ')}`,
        ),
      RULES,
    );
  },
  async findings({ found }) {
    return found.findings.splice(0);
  },
  async requests({ found }) {
    return found.requests.splice(0);
  },
  /** A picture of the part in which a wallet acts. */
  async shot({ found, path }) {
    await (await found.page.$('#wallet')).screenshot({ path });
  },
  async close({ page: name, found }) {
    pages.delete(name);
    await found.page.close();
  },
};

/**
 * Runs in the page: presses the first button that is shown with this text, or with what it begins with before "…"; gives
 * whether there was one. Where an act may have begun by itself, that it is running is enough.
 */
function pressed(text, within, mayRun) {
  if (mayRun && document.querySelector('#acting .action.running')) return 'running';
  const fits = (shown) => (text.endsWith('…') ? shown.startsWith(text.slice(0, -1)) : shown === text);
  const shown = (each) => !each.disabled && each.getClientRects().length > 0;
  const button = [...document.querySelectorAll(`${within} button`)].find((each) => shown(each) && fits(each.innerText.trim()));
  button?.click();
  return button ? 'pressed' : false;
}

/** Runs in the page: puts files (names below a directory, and bytes in base64), an option or a text into a field. */
function fillField(field, { files, option, text, tick }) {
  if (tick) return field.click();
  if (files !== undefined) {
    const given = files.map(([path, base64]) => {
      const data = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
      const file = new File([data], path.split('/').at(-1));
      return Object.defineProperty(file, 'webkitRelativePath', { value: path });
    });
    Object.defineProperty(field, 'files', { value: given });
  } else if (option !== undefined) {
    const index = [...field.options].findIndex((one) => one.text.includes(option));
    if (index < 0) throw new Error(`no option ${option}`);
    field.selectedIndex = index;
  } else {
    field.value = text;
  }
  field.dispatchEvent(new Event(text === undefined ? 'change' : 'input', { bubbles: true }));
}

/**
 * Runs in the page: does what a person would who fills these fields in and presses these buttons as they come, until an
 * alert or one of the last texts is there, or nothing has happened for a while. Gives how it ended, the facts that
 * were shown above each button of a confirmation, and how many buttons were pressed.
 */
async function act({ buttons, fields, ends, patience, most }) {
  const acting = document.querySelector('#acting');
  const [filled, shown] = [new Set(), []];
  let presses = 0;
  for (let since = Date.now(); Date.now() - since < patience; await new Promise((resolve) => setTimeout(resolve, 50))) {
    const alert = [...acting.querySelectorAll('[role=alert]')].find((each) => each.innerText.trim());
    if (alert) return { ended: alert.innerText, shown, presses };
    const end = ends.find((each) => acting.innerText.includes(each));
    if (end) return { ended: end, shown, presses };
    for (const folded of acting.querySelectorAll('.editor details')) folded.open = true;
    for (const label of acting.querySelectorAll('label')) {
      const [field, value] = [document.getElementById(label.htmlFor), fields[label.title] ?? fields[label.innerText.trim()]];
      if (value === undefined || filled.has(field)) continue;
      filled.add(field);
      try {
        fillField(field, value);
      } catch (error) {
        return { ended: error.message, shown, presses };
      }
    }
    const open = [...acting.querySelectorAll('button')].filter((each) => !each.disabled && each.offsetParent);
    const fits = (shown, text) => (text.endsWith('…') ? shown.startsWith(text.slice(0, -1)) : shown === text);
    const next = buttons.map((text) => open.find((each) => fits(each.innerText.trim(), text))).find(Boolean);
    if (!next || presses === most) continue;
    const rows = [...acting.querySelectorAll('.stage dl.proofs > div')];
    const facts = rows.map((each) => [...each.children].map((one) => one.innerText));
    if (facts.length) shown.push(facts);
    next.click();
    presses += 1;
    since = Date.now();
  }
  return { ended: '', shown, presses };
}

/** Has requests below one address answered by another server. */
async function reroute(page, { from, to }) {
  await page.setRequestInterception(true);
  page.on('request', async (request) => {
    const path = request.url().startsWith(from) ? request.url().slice(from.length) : '';
    if (!/^\/(api|subgraph)\b/.test(path)) return request.continue();
    const body = request.hasPostData() ? await request.fetchPostData() : undefined;
    const asked = { method: request.method(), headers: request.headers(), body };
    const answer = await fetch(to + path, asked).catch(() => undefined);
    if (!answer) return request.abort('connectionrefused');
    const headers = { ...Object.fromEntries(answer.headers), 'Access-Control-Allow-Origin': '*' };
    return request.respond({ status: answer.status, headers, body: Buffer.from(await answer.arrayBuffer()) });
  });
}

function quoted(text) {
  return text.includes("'") ? `"${text}"` : `'${text}'`;
}

/** Puts a value into the field with this label, as `fillField` takes it. */
async function put(page, label, value) {
  const id = await (await fieldOf(page, label)).evaluate((field) => field.id);
  await page.evaluate(`(${fillField})(document.getElementById('${id}'), ${JSON.stringify(value)})`);
}

async function fieldOf(page, label) {
  const found = await page.waitForSelector(`::-p-xpath(//label[normalize-space(.)=${quoted(label)}])`, {
    timeout: 60_000,
  });
  return page.$(`#${await found.evaluate((each) => each.htmlFor)}`);
}

for await (const line of createInterface({ input: process.stdin })) {
  const command = JSON.parse(line);
  let result;
  try {
    result = { value: (await commands[command.do]({ ...command, found: pages.get(command.page) })) ?? null };
  } catch (error) {
    const shown = await pages
      .get(command.page)
      ?.page.$eval('#acting', (each) => each.innerText)
      .catch(() => '');
    result = { error: `${error.message}\n${shown}` };
  }
  process.stdout.write(`${JSON.stringify(result)}\n`);
}
await browser.close();
