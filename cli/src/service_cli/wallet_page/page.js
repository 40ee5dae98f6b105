// Asks the wallet for one thing after the other that service-cli has prepared, and returns what it answers.
// The command checks every answer itself: this page decides nothing.
'use strict';
(() => {
  const NO_WALLET = 'No wallet is installed in this browser, or it is switched off for this page. Install one or switch ' +
    'it on, then run the command again; or run it again and open its page in the browser that has your wallet.';
  const MOST_TRIES = 8;
  let session = null; // given for the code, once
  const at = (id) => document.getElementById(id);
  const wallets = new Map();
  let task = null;
  let seen = 0; // the number of the last task, also once it is answered
  let following = false;
  let ended = false;

  const given = location.hash.slice(1); // a private file of the owner's leads here with the code
  history.replaceState(null, '', '/');

  const show = (text) => { at('status').textContent = text; };

  function addWallet(id, name, provider) {
    if (!id || wallets.has(id) || typeof provider?.request !== 'function') return;
    wallets.set(id, provider);
    const option = document.createElement('option');
    option.value = id;
    option.textContent = String(name).slice(0, 80);
    at('wallets').append(option);
    at('choice').hidden = wallets.size < 2;
  }

  window.addEventListener('eip6963:announceProvider', ({ detail }) => {
    addWallet(detail?.info?.uuid, detail?.info?.name, detail?.provider);
  });

  function chosen() {
    window.dispatchEvent(new Event('eip6963:requestProvider'));
    if (wallets.size === 0) addWallet('injected', 'Browser wallet', window.ethereum);
    return wallets.get(at('wallets').value);
  }

  async function post(path, body, keepalive = false) {
    const answer = await fetch(path, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(body),
      keepalive,
    });
    if (!answer.ok) throw Object.assign(new Error(await answer.text()), { status: answer.status });
    return answer.json();
  }

  // A machine that goes to sleep breaks requests off, and so do too many connections: asked again for some seconds.
  async function reach(path, body) {
    for (let tries = 1; ; tries += 1) {
      try {
        return await post(path, body);
      } catch (error) {
        if (error.status === 409 && tries > 1) return {}; // it had arrived before
        if (error.status || tries === MOST_TRIES) throw error;
        await new Promise((resolve) => { setTimeout(resolve, 1_000); });
      }
    }
  }

  function present(next) {
    task = next;
    seen = task.number;
    at('step').textContent = task.of ? `${task.number} of ${task.of}` : '';
    at('step').hidden = !task.of;
    at('title').textContent = task.title;
    at('lines').replaceChildren(...task.lines.flatMap(([name, value]) => {
      const term = document.createElement('dt');
      const text = document.createElement('dd');
      term.textContent = name;
      text.textContent = value;
      return [term, text];
    }));
    at('exact').textContent = `${task.method}\n${JSON.stringify(task.params, null, 2)}`;
    at('details').hidden = false;
    at('act').textContent = task.button;
    at('act').disabled = false;
    at('act').hidden = false;
    show(chosen() ? '' : NO_WALLET);
  }

  function clear(title, text) {
    task = null;
    at('title').textContent = title;
    at('step').hidden = true;
    at('lines').replaceChildren();
    at('act').hidden = true;
    at('details').hidden = true;
    show(text);
  }

  // What this wallet gets wrong before it is asked, as a sentence; null where nothing is.
  async function problem(provider, task) {
    const accounts = await provider.request({ method: 'eth_requestAccounts' });
    if (!accounts.some((account) => String(account).toLowerCase() === task.account)) {
      return `Your wallet shows the account ${accounts[0] ?? 'none'}, and this is for ${task.account}. ` +
        'Choose that account in the wallet, then press again.';
    }
    const chain = async () => Number(await provider.request({ method: 'eth_chainId' }));
    if ((await chain()) === task.chain_id) return null;
    const wanted = [{ chainId: `0x${task.chain_id.toString(16)}` }];
    await provider.request({ method: 'wallet_switchEthereumChain', params: wanted }).catch(() => null);
    const found = await chain();
    if (found === task.chain_id) return null;
    return `Your wallet is on chain ${found}, and this is for chain ${task.chain_id}. ` +
      'Choose that chain in the wallet, then press again.';
  }

  // What the wallet did is done, whether or not the command is still there.
  async function deliver(number, result) {
    try {
      if (!ended) clear('Checking', 'service-cli checks what the wallet answered.');
      await reach(`/${session}/answer`, { number, result });
      follow();
    } catch {
      ended = true;
      clear('service-cli was not there any more', 'Your wallet did what it was asked, and service-cli has not heard of it. ' +
        'Run the command again: it looks for what was sent before it asks for anything.');
    }
  }

  async function act() {
    const provider = chosen();
    const asked = task;
    if (!provider) {
      show(NO_WALLET);
      return;
    }
    at('act').disabled = true;
    show('Look at your wallet.');
    const isOver = () => ended || task !== asked; // the command may end while the wallet is locked, or asks its person
    try {
      const wrong = await problem(provider, asked);
      if (isOver()) return;
      if (wrong) {
        show(wrong);
      } else {
        const result = await provider.request({ method: asked.method, params: asked.params });
        await deliver(asked.number, String(result));
        return;
      }
    } catch (error) {
      if (isOver()) return;
      show(error?.code === 4001
        ? 'You declined it in the wallet, and nothing was signed or sent. Press again, or close this page.'
        : `It did not work: ${String(error?.message ?? error).slice(0, 500)}`);
    }
    at('act').disabled = false;
  }

  async function follow() {
    if (following) return;
    following = true;
    try {
      while (!ended) {
        const next = await reach(`/${session}/next`, { seen });
        if (next.end) {
          ended = true;
          clear(next.end.title, next.end.text);
        } else if (next.task) {
          present(next.task);
        }
      }
    } catch {
      if (!ended) clear('service-cli is not reached', 'Look at the terminal. If service-cli still waits there, it ends when you ' +
        'close this page. To continue, run the command again.');
    } finally {
      following = false;
    }
  }

  async function enter(code) {
    try {
      ({ session } = await post('/enter', { code }));
    } catch (error) {
      at('entrance').hidden = false;
      at('code').focus();
      show(String(error?.message ?? error).slice(0, 500));
      return;
    }
    at('entrance').remove();
    clear('Waiting for service-cli', '');
    await follow();
  }

  at('act').addEventListener('click', act);
  at('entrance').addEventListener('submit', (event) => {
    event.preventDefault();
    enter(at('code').value);
  });
  window.addEventListener('pagehide', () => {
    if (session) post(`/${session}/closed`, {}, true).catch(() => null);
  });
  if (given) {
    enter(given);
  } else {
    at('entrance').hidden = false;
    at('code').focus();
  }
})();
