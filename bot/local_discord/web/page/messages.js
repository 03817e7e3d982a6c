// A message as a person sees it: text, embeds, files, buttons, reactions.

import { button, icon, tool } from "./buttons.js";
import { embed, forwarded, poll, stickers } from "./content.js";
import { components } from "./controls.js";
import { files } from "./files.js";
import { el, inline, markdown } from "./markdown.js";
import { LABELS } from "./picker.js";

export const EPHEMERAL = 1 << 6;
export const LOADING = 1 << 7;
export const SILENT = 1 << 12;
const VOICE = 1 << 13;
const GROUP_MS = 5 * 60 * 1000;

export const emojiKey = (emoji) => (emoji.id ? `${emoji.name}:${emoji.id}` : emoji.name);

export function avatar(user, node = el("span", "avatar")) {
  node.classList.toggle("bot", Boolean(user.bot));
  node.style.setProperty("--hue", String(Number((BigInt(user.id) * 137n) % 360n)));
  node.replaceChildren(user.bot ? icon("thread") : (user.username[0] ?? "?").toUpperCase());
  return node;
}

const clock = (date) => date.toLocaleTimeString([], { hour: "numeric", minute: "2-digit" });

function day(date) {
  const start = (d) => new Date(d.getFullYear(), d.getMonth(), d.getDate()).getTime();
  const days = Math.round((start(new Date()) - start(date)) / 86400000);
  if (days === 0) return "Today";
  if (days === 1) return "Yesterday";
  return date.toLocaleDateString([], { day: "numeric", month: "long", year: "numeric" });
}

const SYSTEM = { 1: "added", 2: "removed", 4: "renamed", 18: "thread", 21: "starter" };
export const isSystem = (message) => message.type in SYSTEM;

export const continues = (message, before) =>
  before && before.author.id === message.author.id && before.author.username === message.author.username
  && message.type === 0 && !isSystem(before) && !before.components?.length && !message.message_reference && !before.thread
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
  if (message.type === 21) return starter(message, room);
  if (isSystem(message)) return notice(message, room);
  const grouped = continues(message, before) && !startsDay(message, before);
  const node = el("article", `message${grouped ? " grouped" : ""}`);
  node.dataset.key = message.id;
  node.id = `message-${message.id}`;
  const when = new Date(message.timestamp);
  node.tabIndex = -1; // by the arrows, not by Tab
  node.setAttribute("aria-label", `${message.author.username}, ${clock(when)}`);
  if (message.flags & EPHEMERAL) node.classList.add("private");
  if (message.mentions.some((u) => u.id === room.me.id) || message.mention_everyone) node.classList.add("pinged");
  const body = el("div", "body");
  if (message.message_reference && !message.message_snapshots) node.append(replyLine(message, room));
  if (grouped) {
    const stamp = el("time", "hour", clock(when));
    stamp.dateTime = message.timestamp;
    node.append(stamp);
  } else {
    node.append(avatar(message.author));
    body.append(byline(message, when));
  }
  fill(body, message, room);
  node.append(body);
  if (!(message.flags & EPHEMERAL)) node.append(tools(message, room));
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
  if (message.message_snapshots) body.append(forwarded(message, room));
  if (message.poll) body.append(poll(message, room));
  if (message.sticker_items) body.append(stickers(message.sticker_items));
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
  line.append(button("link", `Reply to ${target.author.username}: go there`, () => room.jump(target.id),
    el("b", "", target.author.username), " ", (inWords(target.content, room) || gist(target)).slice(0, 120)));
  return line;
}

// A message's beginning without its marks, which are read before anything is cut; spoilers stay hidden.
function inWords(content, room) {
  const bare = (content ?? "").replace(/^\s*(?:(?:-#|#{1,3}|>(?:>>)?|[-*]|\d+\.)[ \t]+)+/gm, "")
    .replace(/```(?:[\w+#.-]+\n)?/g, "").replace(/\|\|[^]+?\|\|/g, "(spoiler)");
  return el("span", "", ...inline(bare.replace(/\s+/g, " ").trim(), room.names)).textContent;
}

// What a message without text is, in a word.
function gist(message) {
  if (message.poll) return `a poll: ${message.poll.question.text}`;
  if (message.message_snapshots) return "a forwarded message";
  if (message.sticker_items) return `a sticker: ${message.sticker_items[0].name}`;
  if (message.attachments?.some((one) => one.duration_secs !== undefined)) return "a voice message";
  if (message.attachments?.length) return message.attachments.map((one) => one.filename).join(", ");
  return message.embeds?.[0]?.title ?? (message.embeds?.length ? "an embed" : "a message");
}

function happened(message) {
  const whom = message.mentions.map((u) => u.username).join(", ") || "somebody";
  switch (SYSTEM[message.type]) {
    case "added": return [`added ${whom} to the thread`];
    case "removed": return [`removed ${whom} from the thread`];
    case "renamed": return [`renamed the thread: ${message.content}`];
    case "thread": return [`started a thread: ${message.content}`];
    default: return ["began the thread"];
  }
}

function notice(message, room) {
  const open = message.type === 18 && message.thread;
  const words = open
    ? ["started a thread: ", button("link", `Open thread ${message.content}`, () => room.open(message.thread.id), message.content)]
    : happened(message);
  const node = el("p", "notice", el("b", "", message.author.username), " ", ...words);
  node.dataset.key = message.id;
  return node;
}

function starter(message, room) {
  const source = message.referenced_message;
  const node = el("section", "starter");
  node.dataset.key = message.id;
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

function threadCard(thread, room) {
  const count = thread.message_count === 1 ? "1 message" : `${thread.message_count} messages`;
  return button("thread-card", `Open thread ${thread.name}`, () => room.open(thread.id),
    el("span", "thread-name", icon("thread"), thread.name), el("span", "thread-count", `${count} ›`));
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
  const pick = tool("react", "Add a reaction", ({ currentTarget }) => room.pick(message, currentTarget));
  pick.setAttribute("aria-haspopup", "menu");
  return pick;
}

function tools(message, room) {
  const node = el("div", "tools");
  node.addEventListener("click", () => { // under a finger nothing else takes it away
    if (matchMedia("(hover: none)").matches && node.contains(document.activeElement)) document.activeElement.blur();
  });
  const apps = tool("apps", "Apps", ({ currentTarget }) => room.apps(message, currentTarget));
  apps.setAttribute("aria-haspopup", "menu");
  node.append(reactTool(message, room), tool("reply", "Reply", () => room.reply(message)), apps);
  if (room.place?.type === 0 && !message.thread) node.append(tool("thread", "Start a thread", () => room.thread(message)));
  if (message.author.id !== room.me.id) return node;
  if (!message.poll && !message.message_snapshots && !(message.flags & VOICE)) {
    node.append(tool("edit", "Edit message", () => room.edit(message)));
  }
  node.append(tool("remove", "Delete message", () => room.remove(message)));
  return node;
}
