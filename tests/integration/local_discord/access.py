"""What a page must satisfy so that everyone can use it: names, roles, contrast. Checked in the page itself."""

from __future__ import annotations

from playwright.async_api import Page

# Controls without a name, ids that are there twice, references that lead nowhere, pictures without a text,
# interactive things within interactive things, more than one main heading.
_STRUCTURE = """() => {
  const found = [];
  const shown = (n) => n.checkVisibility({ visibilityProperty: true });
  const text = (n) => (n.getAttribute('aria-label') ?? n.labels?.[0]?.textContent ?? n.alt ?? n.textContent ?? '').trim();
  const interactive = 'button, a[href], input, textarea, select, [role=button], [role=menuitem], [role=option]';
  for (const n of document.querySelectorAll(interactive)) {
    if (shown(n) && !text(n)) found.push(`no name: ${n.outerHTML.slice(0, 120)}`);
    if (shown(n) && n.parentElement?.closest('button, a[href], [role=button]')) found.push(`nested: ${text(n)}`);
  }
  for (const n of document.querySelectorAll('img')) if (!n.alt) found.push(`no text: ${n.src}`);
  const ids = [...document.querySelectorAll('[id]')].map((n) => n.id);
  for (const id of ids.filter((one, at) => ids.indexOf(one) !== at)) found.push(`twice: #${id}`);
  for (const name of ['aria-controls', 'aria-activedescendant', 'aria-labelledby', 'for'])
    for (const n of document.querySelectorAll(`[${name}]`))
      if (!document.getElementById(n.getAttribute(name))) found.push(`${name} leads nowhere: ${n.getAttribute(name)}`);
  const heads = [...document.querySelectorAll('h1')].filter(shown);
  if (heads.length !== 1) found.push(`${heads.length} main headings`);
  for (const role of ['main', 'nav']) if (!document.querySelector(role)) found.push(`no ${role}`);
  if (!document.documentElement.lang) found.push('no language');
  for (const n of document.querySelectorAll('dialog[open], nav, [role=listbox], [role=menu], [role=log]'))
    if (!n.getAttribute('aria-label')) found.push(`no name: ${n.outerHTML.slice(0, 80)}`);
  return found;
}"""

# WCAG 2.2, 1.4.3: 4.5 to 1 for text, 3 to 1 for large text; a disabled control is exempt.
_CONTRAST = """() => {
  const canvas = document.createElement('canvas');
  canvas.width = canvas.height = 1;
  const paint = canvas.getContext('2d', { willReadFrequently: true });
  const over = (colours) => { // painted one over the other, as the browser would
    paint.clearRect(0, 0, 1, 1);
    for (const one of colours) { paint.fillStyle = one; paint.fillRect(0, 0, 1, 1); }
    return [...paint.getImageData(0, 0, 1, 1).data].slice(0, 3);
  };
  const light = ([r, g, b]) => [r, g, b].map((v) => v / 255)
    .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
    .reduce((sum, v, n) => sum + v * [0.2126, 0.7152, 0.0722][n], 0);
  const found = [];
  const words = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (words.nextNode()) {
    const node = words.currentNode.parentElement;
    if (!words.currentNode.data.trim() || !node.checkVisibility({ opacityProperty: true, visibilityProperty: true })) continue;
    if (node.closest('script, style, option, :disabled, .spoiler:not(.open), .avatar')) continue;
    const behind = [];
    for (let n = node; n; n = n.parentElement) behind.unshift(getComputedStyle(n).backgroundColor);
    const style = getComputedStyle(node);
    const [a, b] = [light(over(behind)), light(over([...behind, style.color]))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    const size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    if (ratio < (large ? 3 : 4.5)) {
      const what = words.currentNode.data.trim().slice(0, 30);
      found.push(`${ratio.toFixed(2)} for "${what}" (${node.className || node.tagName})`);
    }
  }
  return [...new Set(found)];
}"""


async def faults(page: Page) -> list[str]:
    """What is wrong with the names, roles and structure of what is shown."""
    return await page.evaluate(_STRUCTURE)


async def faint(page: Page) -> list[str]:
    """Text that stands out too little from what is behind it."""
    return await page.evaluate(_CONTRAST)
