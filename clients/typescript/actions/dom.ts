/** Elements with text, and the time between two things; nothing here, and nothing that uses it, ever writes HTML. */

type Child = Node | string;

const MILLISECONDS = 250;

/** An element with attributes and children; strings are text. */
export function element<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  attributes: Readonly<Record<string, string>> = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[Name] {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

/** A button that does something when it is pressed; a quiet one leads away from what is asked. */
export function button(text: string, pressed: () => void, kind?: "quiet"): HTMLButtonElement {
  const made = element("button", { type: "button", ...(kind && { class: kind }) }, text);
  made.addEventListener("click", pressed);
  return made;
}

/** A field with its label. */
export function labelled(text: string, field: HTMLElement, hint?: string): HTMLElement {
  field.id ||= `field-${crypto.randomUUID()}`;
  const label = element("label", { for: field.id }, text);
  if (hint === undefined) return element("div", { class: "field" }, label, field);
  const note = element("p", { class: "muted", id: `${field.id}-hint` }, hint);
  field.setAttribute("aria-describedby", note.id);
  return element("div", { class: "field" }, label, note, field);
}

/** Calls a function at most four times a second: a status that changes more often is read by nobody. */
export function paced<Value>(work: (value: Value) => void): (value: Value) => void {
  let last = -MILLISECONDS;
  return (value) => {
    if (performance.now() - last < MILLISECONDS) return;
    last = performance.now();
    work(value);
  };
}

/** Waits. */
export function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
