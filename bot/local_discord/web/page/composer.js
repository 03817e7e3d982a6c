// The message box: mentions and commands completed, files attached, replies and edits.

import { asCommand, miscalled } from "./commands.js";
import { el } from "./markdown.js";
import { Suggest } from "./suggest.js";

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
    this.suggest = new Suggest(this.entry, this.list, room, () => { this.keep(); this.grow(); this.recheck(); });
    this.form.addEventListener("submit", (event) => { event.preventDefault(); this.send(); });
    this.entry.addEventListener("keydown", (event) => this.key(event));
    this.entry.addEventListener("input", () => this.changed());
    this.entry.addEventListener("paste", (event) => this.add(event.clipboardData.files));
    at("attach").addEventListener("click", () => this.picker.click());
    this.picker.addEventListener("change", () => { this.add(this.picker.files); this.picker.value = ""; });
    this.entry.addEventListener("blur", () => this.suggest.close());
    this.takeDropped();
  }

  // Files that are dragged over the page may be dropped anywhere on it.
  takeDropped() {
    const cover = document.getElementById("drop");
    const carries = (event) => [...(event.dataTransfer?.types ?? [])].includes("Files");
    addEventListener("dragover", (event) => {
      event.preventDefault();
      cover.hidden = !carries(event);
    });
    addEventListener("dragleave", (event) => { if (!event.relatedTarget) cover.hidden = true; });
    addEventListener("drop", (event) => {
      event.preventDefault();
      cover.hidden = true;
      this.add(event.dataTransfer.files);
      this.entry.focus();
    });
  }

  key(event) {
    const { suggest } = this;
    const arrow = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.altKey || event.isComposing) return;
    if (suggest.open && arrow) suggest.move(arrow);
    else if (suggest.open && event.key === "Tab" && !event.shiftKey) suggest.take();
    else if (suggest.open && event.key === "Enter" && !event.shiftKey && !this.ready()) suggest.take();
    else if (event.key === "Enter" && !event.shiftKey) this.send();
    else if (event.key === "Escape" && (suggest.open || this.mode)) {
      if (suggest.open) suggest.close();
      else this.setMode(null);
    } else if (event.key === "ArrowUp" && !this.entry.value) this.room.editLast();
    else return;
    event.preventDefault();
  }

  // A command that lacks nothing is sent by Enter, also while further options are offered.
  ready() {
    const command = asCommand(this.entry.value.trim(), this.room);
    return Boolean(command) && !command.missing.length && /\s$/.test(this.entry.value);
  }

  changed() {
    this.keep();
    this.grow();
    this.recheck();
    this.suggest.update();
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
    this.suggest.close();
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

  // What would be refused as it stands now; "" where nothing would.
  refusal() {
    const reason = this.tooMuch(this.content());
    if (reason) return reason;
    const command = this.command();
    if (!command && !this.mode && !this.files.length) return miscalled(this.entry.value.trim(), this.room.commands);
    return command?.missing.length ? `/${command.name} needs ${command.missing.map((one) => `${one}:`).join(" and ")}` : "";
  }

  command() {
    return this.mode || this.files.length ? null : asCommand(this.entry.value.trim(), this.room);
  }

  // What was said of a message is taken back once the message is another one; what is still true of it stays.
  recheck() {
    if (this.problem.hidden) return;
    const reason = this.checked && this.refusal();
    this.fail(reason ? `Not sent: ${reason}` : "");
    this.checked = Boolean(reason);
  }

  fail(reason) {
    this.checked = false;
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
    this.recheck();
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
    this.recheck();
  }

  async send() {
    const text = this.entry.value.trim();
    if (!text && !this.files.length) return;
    const reason = this.refusal();
    this.fail(reason && `Not sent: ${reason}`);
    this.checked = Boolean(reason);
    if (reason) return;
    const { mode, files } = this;
    const { channel, members } = this.room;
    const command = this.command();
    this.entry.value = "";
    this.files = [];
    this.add([]);
    this.suggest.close();
    try {
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
}
