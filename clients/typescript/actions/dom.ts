/** Elements with text; nothing here, and nothing that uses it, ever writes HTML. */

type Child = Node | string;

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

/** A button that does something when it is pressed. */
export function button(text: string, pressed: () => void): HTMLButtonElement {
  const made = element("button", { type: "button" }, text);
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
