// The headless browser of the tests, from this folder's package. A browser that cannot be started: exit code 3.
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);

const ONE_PROCESS = ['--single-process', '--no-zygote', '--in-process-gpu'];

/**
 * A started browser. `webSecurity`, `ownProcesses`: as people's browsers have them; without, the arguments of the package
 * hold, which put all pages and the browser itself into one process. With the path of a Firefox in FIREFOX it is that
 * one, as people have it.
 */
export async function launch({ webSecurity = false, ownProcesses = false, ...options } = {}) {
  const { FIREFOX } = process.env;
  try {
    const puppeteer = (await import('puppeteer-core')).default;
    if (FIREFOX) return await puppeteer.launch({ browser: 'firefox', executablePath: FIREFOX, headless: true, ...options });
    const chromium = (await import(require.resolve('@sparticuz/chromium'))).default;
    const without = [...(webSecurity ? ['--disable-web-security'] : []), ...(ownProcesses ? ONE_PROCESS : [])];
    const args = chromium.args.filter((each) => !without.includes(each));
    return await puppeteer.launch({ args, executablePath: await chromium.executablePath(), headless: 'shell', ...options });
  } catch (error) {
    process.stderr.write(`${error}\n`);
    process.exit(3);
  }
}
