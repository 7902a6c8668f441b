// Making elements. Texts come from traces: they are set as text and never parsed as HTML.

type Child = Node | string | null | undefined | false;

export function element<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Record<string, string | number | boolean | ((event: Event) => void)> = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") made.addEventListener(name, value);
    else if (typeof value === "boolean") made.toggleAttribute(name, value);
    else made.setAttribute(name, String(value));
  }
  for (const child of children) if (child) made.append(child);
  return made;
}

export function svg(tag: string, attributes: Record<string, string | number> = {}): SVGElement {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, String(value));
  return made;
}

// Replaces what an element contains.
export function fill(host: Element, ...children: Child[]): void {
  host.replaceChildren(...children.filter((child): child is Node | string => Boolean(child)));
}

const LONGEST = 400;

// Names may have 64 kB and characters that reverse the text around them.
export function clipped(text: string, most = LONGEST): string {
  const safe = text.replace(/[\u0000-\u001f\u007f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, "\ufffd");
  return safe.length > most ? safe.slice(0, most - 1) + "\u2026" : safe;
}

export async function copyText(text: string, button: HTMLElement): Promise<void> {
  const before = button.textContent;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch {
    button.textContent = "The browser does not allow copying";
  }
  setTimeout(() => (button.textContent = before), 1500);
}

// A button that copies a command line which gives the same figures.
export function copyButton(label: string, text: () => string): HTMLButtonElement {
  const button = element("button", { class: "copy", type: "button", title: text() }, label);
  button.addEventListener("click", () => void copyText(text(), button));
  return button;
}
