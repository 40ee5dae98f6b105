/**
 * What helps to read a page that is whole without it: times as the reader's clock has them, with UTC on request, and
 * buttons that copy addresses and hashes. The words are the page's own, in its language.
 */

/** Of hashes and addresses: what is shown may be shortened. */
const WHOLE = /^0x(?:[0-9a-f]{40}|[0-9a-f]{64})$/i;

/** Improves the page, and parts of it that come later; the switcher is between both clocks. */
export function improve(switcher: HTMLButtonElement): void {
  const { utc, local, copy, copied } = switcher.dataset as Record<string, string>;
  const written = new Map<HTMLTimeElement, string>();
  let isLocal = true;
  const show = () => {
    for (const time of document.querySelectorAll<HTMLTimeElement>("time[datetime]")) {
      const at = new Date(time.dateTime);
      if (Number.isNaN(at.getTime()) || at.getTimezoneOffset() === 0) continue;
      const original = written.get(time) ?? time.textContent ?? "";
      written.set(time, original);
      time.title = original;
      const shown = isLocal ? clock(time, at) : original;
      if (time.textContent !== shown) time.textContent = shown;
    }
    switcher.hidden = written.size === 0;
    const text = (isLocal ? utc : local) ?? "";
    if (switcher.textContent !== text) switcher.textContent = text;
  };
  const improveAll = () => {
    show();
    for (const code of document.querySelectorAll<HTMLElement>("code.hash:not(.copied)")) {
      const whole = code.title || (code.textContent ?? "");
      if (navigator.clipboard === undefined || !WHOLE.test(whole) || code.closest("#wallet") !== null) continue;
      code.classList.add("copied");
      code.after(copying(code, whole, copy ?? "", copied ?? ""));
    }
  };
  switcher.addEventListener("click", () => {
    isLocal = !isLocal;
    show();
  });
  improveAll();
  const main = document.querySelector("main");
  if (main !== null) new MutationObserver(improveAll).observe(main, { childList: true, subtree: true });
}

function clock(time: HTMLTimeElement, at: Date): string {
  const { lang } = document.documentElement;
  return new Intl.DateTimeFormat(lang === "en" ? "en-GB" : lang, {
    day: "numeric",
    month: time.dataset["form"] === "day" ? "short" : "long",
    year: "numeric",
    hour: "2-digit",
    minute: "2-digit",
    hourCycle: "h23",
    timeZoneName: "short",
  }).format(at);
}

function copying(code: HTMLElement, whole: string, copy: string, copied: string): HTMLButtonElement {
  const button = document.createElement("button");
  Object.assign(button, { type: "button", className: "copy", textContent: copy });
  button.setAttribute("aria-label", `${copy} ${whole.slice(0, 6)}…${whole.slice(-4)}`);
  button.addEventListener("click", () => {
    navigator.clipboard.writeText(whole).then(
      () => {
        button.textContent = copied;
        button.setAttribute("aria-label", copied);
      },
      () => getSelection()?.selectAllChildren(code), // a browser that does not let pages copy
    );
  });
  return button;
}
