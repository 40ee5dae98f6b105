// The headless browser of the tests, from this folder's package. A browser that cannot be started: exit code 3.
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);

/** A started browser. `webSecurity`: as people's browsers have it; without, the arguments of the package hold. */
export async function launch({ webSecurity = false, ...options } = {}) {
  try {
    const chromium = (await import(require.resolve('@sparticuz/chromium'))).default;
    const puppeteer = (await import('puppeteer-core')).default;
    const args = webSecurity ? chromium.args.filter((each) => each !== '--disable-web-security') : chromium.args;
    return await puppeteer.launch({ args, executablePath: await chromium.executablePath(), headless: 'shell', ...options });
  } catch (error) {
    process.stderr.write(`${error}\n`);
    process.exit(3);
  }
}
