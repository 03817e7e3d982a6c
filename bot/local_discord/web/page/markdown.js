// Discord's Markdown as DOM nodes. Text only ever becomes text nodes: whatever a message says, it
// cannot become markup.

import { liveTime } from "./times.js";

export const el = (tag, className, ...children) => {
  const node = document.createElement(tag);
  if (className) node.className = className;
  node.append(...children);
  return node;
};

const link = (href, label) => {
  const node = el("a", "", ...label);
  node.href = href;
  node.target = "_blank";
  node.rel = "noopener noreferrer nofollow";
  return node;
};

const safeUrl = (text) => {
  try {
    const url = new URL(text);
    return url.protocol === "http:" || url.protocol === "https:" ? url.href : null;
  } catch {
    return null;
  }
};

const spoiler = (children) => {
  const node = el("span", "spoiler", ...children);
  node.tabIndex = 0;
  node.setAttribute("role", "button");
  node.setAttribute("aria-label", "Spoiler, press to show");
  const show = () => {
    node.classList.add("open");
    node.removeAttribute("aria-label");
  };
  node.onclick = show;
  node.onkeydown = (event) => {
    if (event.key === "Enter" || event.key === " ") show();
  };
  return Object.assign(node, { same: node.textContent });
};

const moment = (seconds, style) => {
  const date = new Date(seconds * 1000);
  if (Number.isNaN(date.getTime())) return document.createTextNode("<t:?>");
  if (style === "R") return liveTime(date);
  const node = el("time", "stamp", FORMATS[style ?? "f"](date));
  node.dateTime = date.toISOString();
  node.title = date.toLocaleString();
  return node;
};

const shown = (options) => (date) => date.toLocaleString([], options);
const FORMATS = {
  t: shown({ timeStyle: "short" }), T: shown({ timeStyle: "medium" }),
  d: shown({ dateStyle: "short" }), D: shown({ dateStyle: "long" }),
  f: shown({ dateStyle: "long", timeStyle: "short" }), F: shown({ dateStyle: "full", timeStyle: "short" }),
};

// Each rule: a pattern anchored at the current place, and what it becomes. The first match wins.
const inlineRules = [
  [/^\\([^\sA-Za-z0-9])/, (m) => document.createTextNode(m[1])],
  [/^(`+)([^]*?[^`])\1(?!`)/, (m) => el("code", "", m[2].replace(/^ (?=`)|(?<=`) $/g, ""))],
  [/^<(@[!&]?|#)(\d{1,20})>/, (m, names) => names.mention(m[1], m[2])],
  [/^@(everyone|here)\b/, (m) => el("span", "mention", m[0])],
  [/^<(a?):(\w{2,32}):(\d{1,20})>/, (m) => el("span", "custom-emoji", `:${m[2]}:`)],
  [/^<t:(-?\d{1,13})(?::([tTdDfFR]))?>/, (m) => moment(Number(m[1]), m[2])],
  [/^<(https?:\/\/[^\s<>]+)>/, (m) => (safeUrl(m[1]) ? link(safeUrl(m[1]), [m[1]]) : null)],
  [/^\[((?:\\.|[^\[\]\\]){1,1000})\]\(<?(https?:\/\/[^\s()<>]+(?:\([^\s()<>]*\))?[^\s()<>]*)>?\)/,
    (m, names) => (safeUrl(m[2]) ? link(safeUrl(m[2]), inline(m[1], names)) : null)],
  [/^https?:\/\/[^\s<>"]+[^\s<>"'.,:;!?)\]}*_~|`]/, (m) => (safeUrl(m[0]) ? link(safeUrl(m[0]), [m[0]]) : null)],
  [/^\|\|([^]+?)\|\|/, (m, names) => spoiler(inline(m[1], names))],
  [/^\*\*\*([^]+?)\*\*\*(?!\*)/, (m, names) => el("strong", "", el("em", "", ...inline(m[1], names)))],
  [/^\*\*([^]+?)\*\*(?!\*)/, (m, names) => el("strong", "", ...inline(m[1], names))],
  [/^__([^]+?)__(?!_)/, (m, names) => el("u", "", ...inline(m[1], names))],
  [/^~~([^]+?)~~/, (m, names) => el("s", "", ...inline(m[1], names))],
  [/^\*(?=\S)((?:\*\*[^*]+\*\*|[^*])*?)\*(?!\*)/,
    (m, names) => (/\S$/.test(m[1]) ? el("em", "", ...inline(m[1], names)) : null)],
  [/^_(?=\S)([^_]*\S|\S)_(?![A-Za-z0-9_])/, (m, names) => el("em", "", ...inline(m[1], names))],
  [/^\n/, () => document.createElement("br")],
];

const plain = /^[^]+?(?=[\\`<@\[|*_~\n]|https?:\/\/|$)/;

export function inline(source, names) {
  const nodes = [];
  let text = source;
  let word = false;
  while (text) {
    const [length, node] = nextInline(text, names, word);
    nodes.push(node);
    word = /\w/.test(text[length - 1]);
    text = text.slice(length);
  }
  return nodes;
}

function nextInline(text, names, afterWord) {
  for (const [pattern, make] of inlineRules) {
    const match = pattern.exec(text);
    if (!match || (afterWord && text[0] === "_")) continue;
    const node = make(match, names);
    if (node) return [match[0].length, node];
  }
  const run = plain.exec(text)?.[0] ?? text[0];
  return [run.length, document.createTextNode(run)];
}

const LONG_CODE = 24;
const fence = /^```(?:([A-Za-z0-9+#_.-]+)\n)?\n?([^]*?)\n?```/;

export function markdown(source, names) {
  const root = el("div", "text");
  let rest = source;
  while (rest) {
    const start = rest.indexOf("```");
    const match = start >= 0 ? fence.exec(rest.slice(start)) : null;
    if (!match) break;
    blocks(rest.slice(0, start), names, root);
    root.append(codeBlock(match[2], match[1]));
    rest = rest.slice(start + match[0].length).replace(/^\n/, "");
  }
  blocks(rest, names, root);
  return root;
}

function codeBlock(code, language) {
  const block = el("pre", "block", el("code", "", ...(language === "diff" ? changes(code) : [code])));
  if (language) block.dataset.language = language;
  block.tabIndex = 0;
  block.setAttribute("aria-label", `Code${language ? ` in ${language}` : ""}`);
  block.setAttribute("role", "region");
  const copy = el("button", "copy", "Copy");
  copy.type = "button";
  copy.setAttribute("aria-label", "Copy code");
  copy.onclick = async () => {
    const copied = await navigator.clipboard?.writeText(code).then(() => true, () => false);
    copy.textContent = copied ? "Copied" : "Not copied";
    setTimeout(() => { copy.textContent = "Copy"; }, 1500);
  };
  const wrap = el("div", "codewrap", block, copy);
  if (code.split("\n").length > LONG_CODE) fold(wrap, block, code);
  return Object.assign(wrap, { same: `${language} ${code}` });
}

// What was added and removed stands out, as on Discord; the signs say it too.
function changes(code) {
  const kind = (line) => (/^\+(?!\+\+ )/.test(line) ? "added" : /^-(?!-- )/.test(line) ? "removed" : "");
  return code.split("\n").flatMap((line, n) => [...(n ? ["\n"] : []), kind(line) ? el("span", kind(line), line) : line]);
}

// A long block shows its beginning; the rest comes with a press.
function fold(wrap, block, code) {
  const lines = code.split("\n").length;
  const more = el("button", "more", `Show all ${lines} lines`);
  more.type = "button";
  block.classList.add("folded");
  more.setAttribute("aria-expanded", "false");
  more.onclick = () => {
    const folded = block.classList.toggle("folded");
    more.setAttribute("aria-expanded", String(!folded));
    more.textContent = folded ? `Show all ${lines} lines` : "Show less";
  };
  wrap.append(more);
}

// Lines of a kind form a block: quotes, headings, lists; everything else is a paragraph.
function blocks(source, names, root) {
  const lines = source.replace(/^\n+|\n+$/g, "").split("\n");
  if (lines.length === 1 && !lines[0]) return;
  let paragraph = [];
  const flush = () => {
    if (paragraph.length) root.append(el("p", "", ...inline(paragraph.join("\n"), names)));
    paragraph = [];
  };
  for (let i = 0; i < lines.length; i += 1) {
    const heading = /^(#{1,3}) +(.+)$/.exec(lines[i]);
    const small = /^-# +(.+)$/.exec(lines[i]);
    if (/^>>> /.test(lines[i])) {
      flush();
      const quoted = [lines[i].slice(4), ...lines.slice(i + 1)].join("\n");
      const quote = el("blockquote", "");
      blocks(quoted, names, quote);
      root.append(quote);
      return;
    }
    if (/^> /.test(lines[i])) {
      flush();
      const quoted = [];
      while (i < lines.length && /^> /.test(lines[i])) quoted.push(lines[i++].slice(2));
      i -= 1;
      const quote = el("blockquote", "");
      blocks(quoted.join("\n"), names, quote);
      root.append(quote);
    } else if (heading) {
      flush();
      const level = el("p", `heading h${heading[1].length}`, ...inline(heading[2], names));
      level.setAttribute("role", "heading");
      level.setAttribute("aria-level", "2"); // whatever it begins with: in no place of the page is a level left out
      root.append(level);
    } else if (small) {
      flush();
      root.append(el("p", "subtext", ...inline(small[1], names)));
    } else if (listItem.test(lines[i])) {
      flush();
      const items = [];
      while (i < lines.length && listItem.test(lines[i])) items.push(listItem.exec(lines[i++]));
      i -= 1;
      root.append(list(items, names));
    } else paragraph.push(lines[i]);
  }
  flush();
}

const listItem = /^( *)(?:[-*]|(\d{1,9})\.) +(.+)$/;

function list(items, names) {
  const indent = items[0][1].length;
  const ordered = items[0][2] !== undefined;
  const node = el(ordered ? "ol" : "ul", "");
  if (ordered) node.start = Number(items[0][2]);
  for (let i = 0; i < items.length; i += 1) {
    const item = el("li", "", ...inline(items[i][3], names));
    const nested = [];
    while (i + 1 < items.length && items[i + 1][1].length > indent) nested.push(items[++i]);
    if (nested.length) item.append(list(nested, names));
    node.append(item);
  }
  return node;
}

export { safeUrl };
