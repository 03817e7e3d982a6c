// What is offered while somebody writes: people, commands, their options and the options' values.

import { called, callable, slots, top, typed } from "./commands.js";
import { el } from "./markdown.js";
import { call } from "./net.js";

const MOST = 10;
const starts = (name, part) => name.toLowerCase().includes(part.toLowerCase());
const quiet = 150; // ms without a key before the bot is asked

export class Suggest {
  constructor(entry, list, room, onTaken) {
    Object.assign(this, { entry, list, room, onTaken, options: [], selected: 0, asked: 0 });
  }

  get open() { return !this.list.hidden; }

  close() {
    this.asked += 1; // an answer that is still on the way comes too late
    this.list.hidden = true;
    this.entry.removeAttribute("aria-activedescendant");
  }

  async update() {
    const before = this.entry.value.slice(0, this.entry.selectionStart);
    const mine = this.asked += 1;
    const mention = /(?:^|\s)@(\w*)$/.exec(before);
    const found = called(before, this.room.commands);
    if (found && before.length > found.from) return this.inCommand(before, found, mine);
    if (mention) return this.show(this.people(mention[1], before.length - mention[1].length - 1));
    return this.show(before.startsWith("/") ? this.commands(before.slice(1)) : []);
  }

  people(part, from) {
    return this.room.members.filter((m) => m.username.toLowerCase().startsWith(part.toLowerCase()))
      .map((m) => ({ text: `@${m.username} `, label: m.username, note: m.bot ? "app" : "", from }));
  }

  // At first what people look for, and more on demand; then whatever fits to what is typed.
  commands(part) {
    const offered = (c) => ({ text: `/${c.name} `, label: `/${c.name}`, note: c.description, from: 0, goesOn: c.options.length > 0 });
    if (part) return callable(this.room.commands).filter((c) => c.name.startsWith(part.toLowerCase())).map(offered);
    const all = top(this.room.commands).map(offered);
    const left = all.slice(MOST);
    if (!left.length) return all;
    return [...all.slice(0, MOST), { label: `${left.length} more`, note: left.map((c) => c.label).join(" "), more: all }];
  }

  // Within a command: the values of the option at the caret, or the options that are not there yet.
  async inCommand(before, found, mine) {
    const given = slots(before, found);
    const slot = given.at(-1);
    const fits = slot ? await this.values(slot, before, found, given, mine) : [];
    if (mine !== this.asked) return undefined;
    if (fits.length) return this.show(fits);
    const word = /(?<=\s)[-\w]*$/.exec(before);
    if (!word) return this.show([]);
    const left = found.command.options.filter((o) => !given.some((one) => one.option === o) && o.name.startsWith(word[0]));
    return this.show(left.map((o) => ({
      text: `${o.name}:`, label: o.name, note: `${o.description}${o.required ? " · required" : ""}`, from: word.index, goesOn: true })));
  }

  async values({ option, begin, written }, before, found, given, mine) {
    if (before.length > begin && /\s$/.test(before) && written) return []; // this one is done
    const all = option.autocomplete ? await this.ask(option, written, found, given, mine) : this.fixed(option);
    const shown = option.autocomplete ? all : all.filter((one) => starts(one.name, written));
    return shown.map((one) => ({ text: `${one.value} `, label: one.name, note: option.name, from: begin, goesOn: true }));
  }

  fixed(option) {
    if (option.choices?.length) return option.choices.map((c) => ({ name: c.name, value: c.name }));
    if (option.type === 5) return [{ name: "true", value: "true" }, { name: "false", value: "false" }];
    if (option.type === 6 || option.type === 9) return this.room.members.map((m) => ({ name: m.username, value: `@${m.username}` }));
    if (option.type === 7) return [...this.room.places.values()].filter((p) => p.name).map((p) => ({ name: `#${p.name}`, value: `<#${p.id}>` }));
    if (option.type === 8) return this.room.roles.map((r) => ({ name: r.name, value: r.id }));
    return [];
  }

  async ask(option, written, found, given, mine) {
    await new Promise((done) => { setTimeout(done, quiet); });
    if (mine !== this.asked) return [];
    const others = given.filter((one) => one.option !== option && one.written);
    const options = Object.fromEntries(others.map((one) => [one.option.name, typed(one.option, one.written, this.room)]));
    const body = { name: found.command.name, option: option.name, typed: written, options };
    return call("POST", `/ui/channels/${this.room.channel}/complete`, body).catch(() => []);
  }

  show(options, most = MOST) {
    this.options = options.some((one) => one.more) ? options : options.slice(0, most);
    this.list.hidden = !this.options.length;
    this.list.replaceChildren(...this.options.map((option, n) => {
      const item = el("div", "option", el("b", "", option.label), el("span", "", option.note));
      item.id = `option-${n}`;
      item.setAttribute("role", "option");
      item.addEventListener("pointerdown", (event) => { event.preventDefault(); this.selected = n; this.take(); });
      return item;
    }));
    this.select(0);
  }

  select(n) {
    const items = [...this.list.children];
    if (!items.length) return this.entry.removeAttribute("aria-activedescendant");
    this.selected = (n + items.length) % items.length;
    items.forEach((item, at) => item.setAttribute("aria-selected", String(at === this.selected)));
    items[this.selected].scrollIntoView({ block: "nearest" });
    return this.entry.setAttribute("aria-activedescendant", items[this.selected].id);
  }

  move(by) { this.select(this.selected + by); }

  take() {
    const option = this.options[this.selected];
    if (option.more) {
      this.show(option.more, option.more.length);
      this.select(MOST);
      return;
    }
    this.entry.setRangeText(option.text, option.from, this.entry.selectionStart, "end");
    this.close();
    this.onTaken();
    if (option.goesOn) this.update();
  }
}
