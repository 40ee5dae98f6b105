// The headless browser of the tests, from this folder's package. A browser that cannot be started: exit code 3.
import { writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { launchWebKit } from './webkit.mjs';

const require = createRequire(import.meta.url);

// The package's own arguments put the pages and the browser into one process, in which a thread that fails ends all.
const ONE_PROCESS = ['--single-process', '--no-zygote', '--in-process-gpu'];

/**
 * A started browser, with its processes as people's browsers have them; `webSecurity`, too, as they have it. With the path
 * of a Firefox in FIREFOX it is that one, with that of a MiniBrowser in WEBKIT it is WebKitGTK.
 */
export async function launch({ webSecurity = false, ...options } = {}) {
  const { FIREFOX, WEBKIT } = process.env;
  try {
    if (WEBKIT) return await launchWebKit(WEBKIT);
    const puppeteer = (await import('puppeteer-core')).default;
    if (FIREFOX) return await puppeteer.launch({ browser: 'firefox', executablePath: FIREFOX, headless: true, ...options });
    const chromium = (await import(require.resolve('@sparticuz/chromium'))).default;
    const without = [...ONE_PROCESS, ...(webSecurity ? ['--disable-web-security'] : [])];
    const args = chromium.args.filter((each) => !without.includes(each));
    const executablePath = await chromium.executablePath();
    process.env.FONTCONFIG_FILE = await writeFontsConfig();
    return await puppeteer.launch({ args, executablePath, headless: 'shell', ...options });
  } catch (error) {
    process.stderr.write(`${error}\n`);
    process.exit(3);
  }
}

/** The machine's fonts and the package's: a browser that finds none at all ends with the first text that it shows. */
async function writeFontsConfig() {
  const [path, fonts, cache] = ['fonts.conf', 'fonts', 'fonts-cache'].map((name) => join(tmpdir(), name));
  const lines = [
    '<?xml version="1.0"?>',
    '<fontconfig>',
    '<include ignore_missing="yes">/etc/fonts/fonts.conf</include>',
    `<dir>${fonts}</dir>`,
    `<cachedir>${cache}</cachedir>`,
    '</fontconfig>',
  ];
  await writeFile(path, `${lines.join('\n')}\n`);
  return path;
}
