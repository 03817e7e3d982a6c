// The keyboard: what works everywhere on the page, and the list that says so.

import { button } from "./buttons.js";
import { el } from "./markdown.js";
import { toNewest } from "./log.js";
import { walkPlaces } from "./places.js";
import { at } from "./room.js";

const SHORTCUTS = [
  ["Writing", [
    ["Enter", "send (Shift+Enter: new line)"], ["↑", "edit your last message (in an empty box)"],
    ["@ or /", "people; commands, their options and values — Tab takes one"], ["Esc", "close the list; stop replying or editing"],
  ]],
  ["Messages", [
    ["↑ ↓", "go through them (in the list; Shift+Tab from the box gets there)"], ["R", "reply"], ["E", "edit"], ["+", "react"],
    ["T", "start a thread"], ["A", "apps: what the bot can do with it"], ["Delete", "delete"], ["End or Esc", "to the newest"],
  ]],
  ["Everywhere", [
    ["Alt+↑ Alt+↓", "previous or next channel"], ["Alt+Shift+↓", "next unread"], ["Ctrl+K", "to the list of channels"], ["?", "this list (Ctrl+/ while writing)"],
  ]],
];

export function startKeys() {
  at("help-button").addEventListener("click", openHelp);
  at("places").addEventListener("keydown", walkPlaces);
  addEventListener("keydown", (event) => {
    if (document.querySelector("dialog[open]")) return;
    const writing = event.target.matches?.("textarea, input, select");
    if (event.altKey && (event.key === "ArrowUp" || event.key === "ArrowDown")) step(event);
    else if (event.ctrlKey && event.key === "k") toPlaces();
    else if ((event.key === "?" && !writing) || (event.ctrlKey && event.key === "/")) openHelp();
    else if (event.key === "Escape" && !event.defaultPrevented) leave();
    else return;
    event.preventDefault();
  });
  at("burger").addEventListener("click", () => drawer(!document.body.classList.contains("side-open")));
  at("shade").addEventListener("click", () => drawer(false));
}

function step(event) {
  const links = [...document.querySelectorAll(event.shiftKey ? ".place-link.unread, .place-link[aria-current]" : ".place-link[data-key]")];
  const here = links.findIndex((link) => link.getAttribute("aria-current"));
  links[(here + (event.key === "ArrowDown" ? 1 : -1) + links.length) % links.length]?.click();
}

function toPlaces() {
  drawer(true);
  (at("places").querySelector("[aria-current]") ?? at("places").querySelector(".place-link"))?.focus();
}

// On a phone the side is a drawer; elsewhere it is always there.
export function drawer(open) {
  const was = document.body.classList.contains("side-open");
  document.body.classList.toggle("side-open", open);
  at("burger").setAttribute("aria-expanded", String(open));
  const narrow = getComputedStyle(at("burger")).display !== "none";
  if (open && narrow) at("places").querySelector("[aria-current]")?.focus();
  else if (was && !open && narrow && at("side").contains(document.activeElement)) at("burger").focus();
}

function leave() {
  if (document.body.classList.contains("side-open")) {
    drawer(false);
    return;
  }
  toNewest();
  at("entry").focus();
}

function openHelp() {
  const dialog = at("help");
  const groups = SHORTCUTS.map(([name, rows]) => el("section", "", el("h3", "", name), el("dl", "",
    ...rows.map(([keys, what]) => el("div", "", el("dt", "", el("kbd", "", keys)), el("dd", "", what))))));
  const close = button("button secondary", "Close help", () => dialog.close(), "Close");
  dialog.replaceChildren(el("h2", "", "Keyboard"), ...groups, close);
  dialog.showModal();
}
