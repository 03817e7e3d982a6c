// A message as a person sees it: text, embeds, files, buttons, reactions.

import { el, inline, markdown, safeUrl } from "./markdown.js";

export const QUICK = ["🛑", "⏸", "▶", "👍", "👎", "🔄", "✅", "❌", "🚀", "💬"];
const LABELS = {
  "🛑": "Stop", "⏸": "Pause", "▶": "Resume", "👍": "Good", "👎": "Bad", "🔄": "Retry",
  "✅": "Continue", "❌": "That was wrong", "🚀": "Escalate", "💬": "Ask me", "👀": "Seen",
};
const EPHEMERAL = 1 << 6;
const LOADING = 1 << 7;
export const SILENT = 1 << 12;
const GROUP_MS = 5 * 60 * 1000;

const button = (className, label, onClick, ...children) => {
  const node = el("button", className, ...children);
  node.type = "button";
  node.setAttribute("aria-label", label);
  node.title = label;
  node.addEventListener("click", onClick);
  return node;
};

export const emojiKey = (emoji) => (emoji.id ? `${emoji.name}:${emoji.id}` : emoji.name);

export function avatar(user, node = el("span", "avatar")) {
  node.classList.toggle("bot", Boolean(user.bot));
  node.style.setProperty("--hue", String((Number(BigInt(user.id) >> 22n) * 47) % 360));
  node.textContent = user.bot ? "🧵" : (user.username[0] ?? "?").toUpperCase();
  return node;
}

const ICONS = {
  react: "M10 18a8 8 0 1 0 0-16 8 8 0 0 0 0 16M6.8 11.500s1 2 3.2 2 3.2-2 3.2-2M7.5 7.500v.5M12.5 7.500v.5",
  reply: "M8 5 3 10l5 5M3 10h8c4 0 6 2 6 6",
  thread: "M5 5h10M10 5v7c0 3 2 4 4.5 3",
  edit: "m4 16 1-4 8.5-8.500a2 2 0 0 1 3 3L8 15z",
  remove: "M4 6h12M8 6V4h4v2M6 6l.7 10h6.600L14 6",
};

function tool(icon, label, onClick) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "0 0 20 20");
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS(svg.namespaceURI, "path");
  path.setAttribute("d", ICONS[icon]);
  svg.append(path);
  return button("plain", label, onClick, svg);
}

const clock = (date) => date.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });

function day(date) {
  const start = (d) => new Date(d.getFullYear(), d.getMonth(), d.getDate()).getTime();
  const days = Math.round((start(new Date()) - start(date)) / 86400000);
  if (days === 0) return "Today";
  if (days === 1) return "Yesterday";
  return date.toLocaleDateString([], { day: "numeric", month: "long", year: "numeric" });
}

export const continues = (message, before) =>
  before && before.author.id === message.author.id && message.type === 0 && before.type !== 21
  && before.type !== 18 && !message.message_reference && !before.thread
  && !((before.flags ^ message.flags) & EPHEMERAL)
  && new Date(message.timestamp) - new Date(before.timestamp) < GROUP_MS;

export const startsDay = (message, before) =>
  !before || day(new Date(before.timestamp)) !== day(new Date(message.timestamp));

export const divider = (message) => {
  const node = el("div", "day", el("span", "", day(new Date(message.timestamp))));
  node.setAttribute("role", "separator");
  return node;
};

export function renderMessage(message, before, room) {
  if (message.type === 18) return announcement(message, room);
  if (message.type === 21) return starter(message, room);
  const grouped = continues(message, before) && !startsDay(message, before);
  const node = el("article", `message${grouped ? " grouped" : ""}`);
  node.dataset.id = message.id;
  node.id = `message-${message.id}`;
  const when = new Date(message.timestamp);
  node.setAttribute("aria-label", `${message.author.username}, ${clock(when)}`);
  if (message.flags & EPHEMERAL) node.classList.add("private");
  if (message.mentions.some((u) => u.id === room.me.id) || message.mention_everyone) node.classList.add("pinged");
  const body = el("div", "body");
  if (message.message_reference) node.append(replyLine(message, room));
  if (grouped) {
    const stamp = el("time", "hour", when.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", hourCycle: "h23" }));
    stamp.dateTime = message.timestamp;
    node.append(stamp);
  } else {
    node.append(avatar(message.author));
    body.append(byline(message, when));
  }
  fill(body, message, room);
  node.append(body, tools(message, room));
  return node;
}

function byline(message, when) {
  const line = el("header", "byline", el("span", "name", message.author.username));
  if (message.author.bot) line.append(el("span", "badge", "APP"));
  const stamp = el("time", "", clock(when));
  stamp.dateTime = message.timestamp;
  stamp.title = when.toLocaleString();
  line.append(stamp);
  if (message.flags & SILENT) {
    const silent = el("span", "silent", "🔕");
    silent.title = "Sent without a notification";
    line.append(silent);
  }
  return line;
}

function fill(body, message, room) {
  const waiting = message.flags & LOADING;
  if (waiting) body.append(el("p", "thinking", `${message.author.username} is thinking`, el("i", "dots")));
  if (message.content) {
    const text = markdown(message.content, room.names);
    if (/^(\p{Extended_Pictographic}\ufe0f?\s*){1,6}$/u.test(message.content)) text.classList.add("jumbo");
    body.append(text);
  }
  if (message.edited_timestamp) {
    const mark = el("span", "edited", "(edited)");
    mark.title = new Date(message.edited_timestamp).toLocaleString();
    (body.querySelector(":scope > .text > p:last-child") ?? body).append(" ", mark);
  }
  if (message.attachments.length) body.append(files(message.attachments));
  body.append(...message.embeds.map((one) => embed(one, room)));
  body.append(...message.components.map((row) => components(row, message, room)).filter(Boolean));
  if (message.thread) body.append(threadCard(message.thread, room));
  if (message.reactions?.length) body.append(reactions(message, room));
  if (message.flags & EPHEMERAL) {
    const away = button("link", "Dismiss message", () => room.dismiss(message), "Dismiss");
    body.append(el("p", "only-you", "Only you can see this · ", away));
  }
}

function replyLine(message, room) {
  const target = message.referenced_message;
  const line = el("div", "reply");
  if (!target) {
    line.append(el("span", "gone", "Original message was deleted"));
    return line;
  }
  const words = target.content?.replace(/^\s*(?:-#|#{1,3}|>(?:>>)?)[ \t]+/gm, "");
  const text = words || (target.embeds.length ? "an embed" : "an attachment");
  line.append(button("link", `Reply to ${target.author.username}: go there`, () => room.jump(target.id),
    el("b", "", target.author.username), " ", ...inline(text.replace(/\s+/g, " ").slice(0, 120), room.names)));
  return line;
}

function announcement(message, room) {
  const open = button("link", `Open thread ${message.content}`, () => room.open(message.thread?.id), message.content);
  const node = el("p", "notice", "🧵 ", el("b", "", message.author.username), " started a thread: ",
    message.thread ? open : message.content);
  node.dataset.id = message.id;
  return node;
}

function starter(message, room) {
  const source = message.referenced_message;
  const node = el("section", "starter");
  node.dataset.id = message.id;
  if (!source) {
    node.append(el("p", "notice", "The message that started this thread was deleted."));
    return node;
  }
  node.setAttribute("aria-label", "Message that started this thread");
  const shown = renderMessage({ ...source, type: 0, thread: null, components: [] }, null, room);
  shown.querySelector(".tools")?.replaceChildren(reactTool({ ...source, type: 0 }, room));
  shown.removeAttribute("id");
  node.append(shown);
  return node;
}

const size = (bytes) => (bytes < 1024 ? `${bytes} B`
  : bytes < 1048576 ? `${(bytes / 1024).toFixed(1)} KB` : `${(bytes / 1048576).toFixed(1)} MB`);

function files(attachments) {
  const node = el("div", "files");
  for (const one of attachments) {
    const { pathname, search } = new URL(one.url);
    const path = pathname + search;
    const file = el("a", "");
    file.href = path;
    if (/^image\/(png|jpeg|gif|webp)/.test(one.content_type ?? "")) {
      const picture = el("img", "");
      picture.src = path;
      picture.alt = one.description ?? one.filename;
      picture.loading = "lazy";
      file.className = "picture";
      file.target = "_blank";
      file.rel = "noopener";
      file.append(picture);
    } else {
      file.className = "chip";
      file.download = one.filename;
      file.setAttribute("aria-label", `Download ${one.filename}, ${size(one.size)}`);
      file.append(el("span", "chip-mark", (one.filename.split(".").pop() ?? "").slice(0, 4)),
        el("span", "chip-text", el("span", "chip-name", one.filename), el("span", "chip-size", size(one.size))),
        el("span", "chip-get", "↓"));
    }
    node.append(file);
  }
  return node;
}

function embed(one, room) {
  const node = el("section", "embed");
  if (Number.isInteger(one.color)) node.style.setProperty("--edge", `#${one.color.toString(16).padStart(6, "0")}`);
  if (one.author?.name) node.append(el("p", "embed-author", one.author.name));
  if (one.title) {
    const url = one.url && safeUrl(one.url);
    const title = el(url ? "a" : "p", "embed-title", ...inline(one.title, room.names));
    if (url) Object.assign(title, { href: url, target: "_blank", rel: "noopener noreferrer nofollow" });
    node.append(title);
  }
  if (one.description) node.append(markdown(one.description, room.names));
  if (one.fields?.length) {
    const grid = el("dl", "embed-fields");
    for (const field of one.fields) {
      grid.append(el("div", field.inline ? "inline" : "", el("dt", "", ...inline(field.name, room.names)),
        el("dd", "", markdown(field.value, room.names))));
    }
    node.append(grid);
  }
  const foot = [one.footer?.text, one.timestamp && new Date(one.timestamp).toLocaleString()].filter(Boolean);
  if (foot.length) node.append(el("p", "embed-foot", foot.join(" · ")));
  return node;
}

const STYLES = { 1: "primary", 2: "secondary", 3: "success", 4: "danger", 5: "secondary" };

function components(row, message, room) {
  if (row.type === 10) return markdown(row.content, room.names);
  if (row.type !== 1) return null;
  const node = el("div", "buttons");
  for (const one of row.components) node.append(one.type === 2 ? clickable(one, message, room) : choice(one, message, room));
  return node;
}

function clickable(one, message, room) {
  const emoji = one.emoji?.name && !one.emoji.id ? `${one.emoji.name} ` : "";
  const text = `${emoji}${one.label ?? ""}`.trim();
  if (one.style === 5) {
    const url = safeUrl(one.url ?? "");
    const node = el("a", "button secondary", text, " ↗");
    if (url) Object.assign(node, { href: url, target: "_blank", rel: "noopener noreferrer nofollow" });
    return node;
  }
  const node = button(`button ${STYLES[one.style] ?? "secondary"}`, one.label ?? text, async () => {
    node.classList.add("busy");
    await room.click(message, one.custom_id);
    setTimeout(() => node.classList.remove("busy"), 400);
  }, text);
  node.removeAttribute("title");
  node.disabled = Boolean(one.disabled);
  return node;
}

function choice(one, message, room) {
  const node = el("select", "choice", new Option(one.placeholder ?? "Choose…", ""));
  node.setAttribute("aria-label", one.placeholder ?? "Choose");
  for (const option of one.options ?? []) node.append(new Option(option.label, option.value));
  node.disabled = Boolean(one.disabled);
  node.addEventListener("change", () => node.value && room.click(message, one.custom_id, [node.value]));
  return node;
}

function threadCard(thread, room) {
  const count = thread.message_count === 1 ? "1 message" : `${thread.message_count} messages`;
  return button("thread-card", `Open thread ${thread.name}`, () => room.open(thread.id),
    el("span", "thread-name", `🧵 ${thread.name}`), el("span", "thread-count", `${count} ›`));
}

function reactions(message, room) {
  const node = el("div", "reactions");
  for (const one of message.reactions) {
    const key = emojiKey(one.emoji);
    const what = LABELS[one.emoji.name] ?? one.emoji.name;
    const chip = button(`reaction${one.me ? " mine" : ""}`, `${what}, ${one.count}${one.me ? ", yours" : ""}`,
      () => room.react(message, key, !one.me), el("span", "", one.emoji.id ? `:${one.emoji.name}:` : one.emoji.name),
      el("span", "count", String(one.count)));
    chip.setAttribute("aria-pressed", String(one.me));
    node.append(chip);
  }
  return node;
}

function reactTool(message, room) {
  const pick = tool("react", "Add a reaction", () => room.pick(message, pick));
  pick.setAttribute("aria-haspopup", "menu");
  return pick;
}

function tools(message, room) {
  const node = el("div", "tools");
  if (message.flags & EPHEMERAL) return node;
  node.append(reactTool(message, room), tool("reply", "Reply", () => room.reply(message)));
  if (!room.inThread && !message.thread) node.append(tool("thread", "Start a thread", () => room.thread(message)));
  if (message.author.id === room.me.id) {
    node.append(tool("edit", "Edit message", () => room.edit(message)),
      tool("remove", "Delete message", () => room.remove(message)));
  }
  return node;
}

export function openPicker(menu, anchor, onPick) {
  menu.replaceChildren(...QUICK.map((emoji) => {
    const item = button("plain", LABELS[emoji] ?? emoji, () => close(emoji), emoji);
    item.setAttribute("role", "menuitem");
    return item;
  }));
  const place = anchor.getBoundingClientRect();
  menu.hidden = false;
  const width = menu.offsetWidth;
  menu.style.left = `${Math.max(8, Math.min(place.right - width, innerWidth - width - 8))}px`;
  menu.style.top = `${place.top > 60 ? place.top - menu.offsetHeight - 6 : place.bottom + 6}px`;
  menu.firstElementChild.focus();
  const close = (emoji) => {
    menu.hidden = true;
    removeEventListener("pointerdown", outside, true);
    menu.onkeydown = null;
    anchor.focus();
    if (emoji) onPick(emoji);
  };
  const outside = (event) => { if (!menu.contains(event.target)) close(); };
  addEventListener("pointerdown", outside, true);
  menu.onkeydown = (event) => {
    const items = [...menu.children];
    const at = items.indexOf(document.activeElement);
    if (event.key === "Escape") close();
    else if (event.key === "ArrowRight") items[(at + 1) % items.length].focus();
    else if (event.key === "ArrowLeft") items[(at - 1 + items.length) % items.length].focus();
    else return;
    event.preventDefault();
  };
}
