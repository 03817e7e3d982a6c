// The message box: mentions and commands completed, files attached, replies and edits.

import { el } from "./markdown.js";

const CHARACTERS = 2000; // the limits of the guild, which are Discord's
const FILE_MB = 10;
const ALL_MB = 25;
const draftOf = (channel) => `draft.${channel}`;
const megabytes = (bytes) => (bytes / 1048576).toFixed(1);

const escaped = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

// `@name` becomes a real mention, outside code and longest name first.
export function withMentions(text, members) {
  const names = [...members].sort((a, b) => b.username.length - a.username.length);
  if (!names.length) return text;
  const pattern = new RegExp(`(^|[^\\w<])@(${names.map((m) => escaped(m.username)).join("|")})(?!\\w)`, "gi");
  return text.split(/(```[^]*?```|`[^`\n]+`)/).map((part, n) => (n % 2 ? part
    : part.replace(pattern, (_, before, name) => {
      const member = names.find((m) => m.username.toLowerCase() === name.toLowerCase());
      return `${before}<@${member.id}>`;
    }))).join("");
}

// "/status detail:full" -> name and options by the registered definition.
export function asCommand(text, commands) {
  const match = /^\/([-\w]+)(?:\s+([^]*))?$/.exec(text);
  const command = match && commands.find((one) => one.name === match[1] && one.type === 1);
  if (!command) return null;
  let rest = (match[2] ?? "").trim();
  let level = command;
  let name = command.name;
  for (;;) {
    const word = rest.split(/\s+/)[0];
    const next = (level.options ?? []).find((o) => o.type <= 2 && o.name === word);
    if (!next) break;
    level = next;
    name += ` ${word}`;
    rest = rest.slice(word.length).trim();
  }
  const slots = (level.options ?? []).filter((o) => o.type > 2);
  const options = {};
  const named = [...rest.matchAll(/([-\w]+):\s*([^]*?)(?=\s+[-\w]+:|$)/g)].filter((m) => slots.some((o) => o.name === m[1]));
  for (const m of named) options[m[1]] = typed(slots.find((o) => o.name === m[1]), m[2]);
  if (!named.length && rest && slots.length) options[slots[0].name] = typed(slots[0], rest);
  return { name, options };
}

function typed(option, value) {
  if (option.type === 4) return Number.parseInt(value, 10);
  if (option.type === 10) return Number(value);
  if (option.type === 5) return value === "true";
  return value.replace(/^<[@#]&?(\d+)>$/, "$1");
}

export class Composer {
  constructor(room) {
    this.room = room;
    this.files = [];
    this.mode = null; // {kind: "reply" | "edit", message}
    const at = (id) => document.getElementById(id);
    Object.assign(this, {
      form: at("composer"), entry: at("entry"), list: at("suggest"), context: at("context"),
      pending: at("pending"), picker: at("files"), problem: at("problem"), counter: at("counter"),
    });
    this.form.addEventListener("submit", (event) => { event.preventDefault(); this.send(); });
    this.entry.addEventListener("keydown", (event) => this.key(event));
    this.entry.addEventListener("input", () => this.changed());
    this.entry.addEventListener("paste", (event) => this.add(event.clipboardData.files));
    at("attach").addEventListener("click", () => this.picker.click());
    this.picker.addEventListener("change", () => { this.add(this.picker.files); this.picker.value = ""; });
    addEventListener("dragover", (event) => event.preventDefault());
    addEventListener("drop", (event) => { event.preventDefault(); this.add(event.dataTransfer.files); });
  }

  key(event) {
    const open = !this.list.hidden;
    if (open && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
      this.select(this.selected + (event.key === "ArrowDown" ? 1 : -1));
    } else if (open && (event.key === "Tab" || event.key === "Enter") && !event.shiftKey) this.complete();
    else if (event.key === "Enter" && !event.shiftKey && !event.isComposing) this.send();
    else if (event.key === "Escape") { this.list.hidden = true; this.setMode(null); }
    else if (event.key === "ArrowUp" && !this.entry.value) this.room.editLast();
    else return;
    event.preventDefault();
  }

  changed() {
    this.keep();
    this.grow();
    this.fail("");
    this.suggest();
    if (this.entry.value) this.room.typing();
  }

  grow() {
    this.entry.style.height = "auto";
    this.entry.style.height = `${Math.min(this.entry.scrollHeight, innerHeight * 0.4)}px`;
    const used = this.content().length;
    this.counter.hidden = used < CHARACTERS * 0.9;
    this.counter.textContent = `${used.toLocaleString("en")} of ${CHARACTERS.toLocaleString("en")} characters`;
    this.counter.classList.toggle("over", used > CHARACTERS);
  }

  content() {
    return withMentions(this.entry.value.trim(), this.room.members);
  }

  // A draft belongs to its channel and outlives a reload of the page.
  keep() {
    if (this.mode?.kind === "edit") return;
    if (this.entry.value) sessionStorage.setItem(draftOf(this.channel), this.entry.value);
    else sessionStorage.removeItem(draftOf(this.channel));
  }

  enter(channel) {
    if (channel === this.channel) return;
    this.setMode(null);
    this.channel = channel;
    this.entry.value = sessionStorage.getItem(draftOf(channel)) ?? "";
    this.list.hidden = true;
    this.fail("");
    this.grow();
  }

  tooMuch(content) {
    if (content.length > CHARACTERS) {
      return `this has ${content.length.toLocaleString("en")} characters, and a message takes ${CHARACTERS.toLocaleString("en")}. Your text is kept: shorten it, or attach it as a file.`;
    }
    const big = this.files.find((file) => file.size > FILE_MB * 1048576);
    if (big) return `${big.name} has ${megabytes(big.size)} MB, and a file may have ${FILE_MB} MB.`;
    const all = this.files.reduce((sum, file) => sum + file.size, 0);
    return all > ALL_MB * 1048576 ? `the files have ${megabytes(all)} MB together, and a message takes ${ALL_MB} MB.` : "";
  }

  fail(reason) {
    this.problem.textContent = reason;
    this.problem.hidden = !reason;
  }

  setMode(mode) {
    if (this.mode?.kind === "edit" && mode?.kind !== "edit") this.entry.value = sessionStorage.getItem(draftOf(this.channel)) ?? "";
    this.mode = mode;
    this.context.hidden = !mode;
    if (mode) {
      const cancel = el("button", "plain", "✕");
      cancel.type = "button";
      cancel.setAttribute("aria-label", "Cancel");
      cancel.addEventListener("click", () => this.setMode(null));
      const what = mode.kind === "reply" ? `Replying to ${mode.message.author.username}` : "Editing your message";
      this.context.replaceChildren(el("span", "", what), cancel);
      if (mode.kind === "edit") this.entry.value = this.room.names.readable(mode.message.content);
    }
    this.grow();
    this.entry.focus();
  }

  add(files) {
    this.files.push(...files);
    this.pending.hidden = !this.files.length;
    this.pending.replaceChildren(...this.files.map((file, n) => {
      const drop = el("button", "plain", "✕");
      drop.type = "button";
      drop.setAttribute("aria-label", `Do not send ${file.name}`);
      drop.addEventListener("click", () => { this.files.splice(n, 1); this.add([]); });
      return el("li", "", el("span", "", file.name), drop);
    }));
  }

  async send() {
    const text = this.entry.value.trim();
    if (!text && !this.files.length) return;
    const reason = this.tooMuch(this.content());
    if (reason) {
      this.fail(`Not sent: ${reason}`);
      return;
    }
    const { mode, files } = this;
    const { channel, members, commands } = this.room;
    this.entry.value = "";
    this.files = [];
    this.add([]);
    this.list.hidden = true;
    try {
      const command = mode || files.length ? null : asCommand(text, commands);
      const content = withMentions(text, members);
      if (command) await this.room.slash(channel, command);
      else if (mode?.kind === "edit") await this.room.saveEdit(mode.message, content);
      else await this.room.post(channel, content, mode?.message, files);
      this.mode = mode?.kind === "edit" ? null : this.mode;
      this.setMode(null);
      if (channel === this.channel) this.keep();
      else sessionStorage.removeItem(draftOf(channel));
    } catch (error) {
      if (channel !== this.channel) return; // the draft waits where it was written
      this.entry.value = text;
      this.files = files;
      this.add([]);
      this.fail(`Not sent: ${error.message}`);
    }
    this.grow();
  }

  // -- completing ------------------------------------------------------------------------------

  suggest() {
    const before = this.entry.value.slice(0, this.entry.selectionStart);
    const mention = /(?:^|\s)@(\w*)$/.exec(before);
    const command = /^\/([-\w]*)$/.exec(before);
    const starts = (name, part) => name.toLowerCase().startsWith(part.toLowerCase());
    this.options = mention
      ? this.room.members.filter((m) => starts(m.username, mention[1])).map((m) => ({
        text: `@${m.username} `, label: m.username, note: m.bot ? "app" : "", from: before.length - mention[1].length - 1 }))
      : command
        ? this.room.commands.filter((c) => starts(c.name, command[1])).map((c) => ({
          text: `/${c.name} `, label: `/${c.name}`, note: c.description, from: 0 }))
        : [];
    this.options = this.options.slice(0, 8);
    this.list.hidden = !this.options.length;
    this.list.replaceChildren(...this.options.map((option, n) => {
      const item = el("div", "option", el("b", "", option.label), el("span", "", option.note));
      item.id = `option-${n}`;
      item.setAttribute("role", "option");
      item.addEventListener("pointerdown", (event) => { event.preventDefault(); this.selected = n; this.complete(); });
      return item;
    }));
    this.select(0);
  }

  select(n) {
    const items = [...this.list.children];
    if (!items.length) return this.entry.removeAttribute("aria-activedescendant");
    this.selected = (n + items.length) % items.length;
    items.forEach((item, at) => item.setAttribute("aria-selected", String(at === this.selected)));
    this.entry.setAttribute("aria-activedescendant", items[this.selected].id);
  }

  complete() {
    const option = this.options[this.selected];
    this.entry.setRangeText(option.text, option.from, this.entry.selectionStart, "end");
    this.list.hidden = true;
    this.keep();
    this.grow();
  }
}
