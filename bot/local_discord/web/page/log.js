// The messages of the open place: loaded a page at a time, kept in view, walked through by keyboard.

import { icon } from "./buttons.js";
import { el } from "./markdown.js";
import { EPHEMERAL, LOADING, divider, renderMessage, startsDay } from "./messages.js";
import { call } from "./net.js";
import { patchChildren, replace } from "./patch.js";
import { at, isDirect, room } from "./room.js";

const log = at("log");
const PAGE = 50;
const PRESS_MS = 1000;
const view = { oldest: false, newest: true, stuck: true, top: 0, box: "" };

// What happens while messages are being fetched waits until they are there: else one of both would
// be lost.
const held = [];
let fetching = 0;
let handle = () => {};

export const onEvent = (handler) => { handle = handler; };

export function hear(name, data) {
  if (fetching) held.push([name, data]);
  else handle(name, data);
}

export async function whileHolding(work) {
  fetching += 1;
  try {
    return await work();
  } finally {
    fetching -= 1;
    while (held.length && !fetching) hear(...held.shift());
  }
}

const fetchPage = (channel, query = "") => call("GET", `/ui/channels/${channel}/messages${query}`);
const asMap = (found) => new Map(found.reverse().map((one) => [one.id, one]));

export const load = () => whileHolding(async () => {
  const { channel } = room;
  const found = await fetchPage(channel);
  if (channel !== room.channel) return;
  room.messages = asMap(found);
  Object.assign(view, { oldest: found.length < PAGE, newest: true });
  drawAll();
  toEnd();
});

const loadAround = (id) => whileHolding(async () => {
  const { channel } = room;
  const found = await fetchPage(channel, `?around=${id}`);
  if (channel !== room.channel) return;
  room.messages = asMap(found);
  Object.assign(view, { oldest: false, newest: false, stuck: false });
  drawAll();
  at("newer").hidden = false;
});

const loadOlder = () => whileHolding(async () => {
  if (view.oldest || !room.messages.size) return;
  view.oldest = true;
  const { channel } = room;
  const [first] = room.messages.keys();
  const found = await fetchPage(channel, `?before=${first}`);
  if (channel !== room.channel) return;
  const height = log.scrollHeight;
  const count = found.length;
  room.messages = new Map([...asMap(found), ...room.messages]);
  drawAll();
  log.scrollTop += log.scrollHeight - height;
  view.oldest = count < PAGE;
});

export async function toNewest() {
  if (!view.newest) await load();
  toEnd();
}

const boxNow = () => `${log.clientWidth} ${log.clientHeight}`;
const noteWhere = () => Object.assign(view, { top: log.scrollTop, box: boxNow() });

// The end is left only by who goes up: it also gets away when the log becomes smaller or a message longer.
function noteScroll() {
  const near = log.scrollHeight - log.scrollTop - log.clientHeight < 80;
  const wentUp = log.scrollTop < view.top && view.box === boxNow();
  view.stuck = view.newest && (near || (view.stuck && !wentUp));
  noteWhere();
}

function toEnd() {
  log.scrollTop = log.scrollHeight;
  noteWhere();
  view.stuck = true;
  at("newer").hidden = true;
}

// To the end, but a long private reply is read from its beginning.
function follow() {
  toEnd();
  const last = log.lastElementChild;
  if (!last?.classList.contains("private") || last.offsetHeight <= log.clientHeight) return;
  last.scrollIntoView({ block: "start" });
  view.stuck = false;
}

export async function jump(id) {
  if (!at(`message-${id}`)) await loadAround(id);
  const node = at(`message-${id}`);
  if (!node) return;
  node.scrollIntoView({ block: "center" });
  node.classList.add("flash");
  node.focus({ preventScroll: true });
  setTimeout(() => node.classList.remove("flash"), 1200);
}

// -- drawing -------------------------------------------------------------------------------------

// New messages are read out; a whole page of them, or one that changes, is not.
export function drawAll() {
  log.setAttribute("aria-busy", "true");
  const nodes = [];
  let before = null;
  for (const one of room.messages.values()) {
    if (startsDay(one, before)) nodes.push(divider(one));
    nodes.push(renderMessage(one, before, room));
    before = one;
  }
  patchChildren(log, nodes.length ? nodes : [welcome()]);
  requestAnimationFrame(() => log.setAttribute("aria-busy", "false"));
}

function welcome() {
  const bot = el("span", "mention", `@${room.bot.username}`);
  const hint = isDirect(room.place) ? el("p", "", "Write what you need. The work happens right here; no mention is needed.")
    : el("p", "", "Write ", bot, " and what you need. A thread opens, and the work happens there.");
  return el("div", "welcome", el("span", "welcome-mark", icon("thread")), el("h2", "", "Nothing here yet"), hint);
}

export function putMessage(one) {
  noteScroll(); // its event may not have come yet
  const known = room.messages.has(one.id);
  if (!known && !view.newest) { // what is shown ends further up
    at("newer").hidden = false;
    return;
  }
  if (!known && !room.messages.size) log.replaceChildren();
  const previous = known ? before(one.id) : [...room.messages.values()].at(-1);
  const filled = Boolean(room.messages.get(one.id)?.flags & LOADING) && !(one.flags & LOADING);
  room.messages.set(one.id, one);
  const node = renderMessage(one, previous, room);
  if (known) change(log.querySelector(`:scope > [data-key="${one.id}"]`), node);
  else {
    if (startsDay(one, previous)) log.append(divider(one));
    log.append(node);
  }
  if (view.stuck || ((!known || filled) && isMine(one))) follow();
  else if (!known) at("newer").hidden = false;
}

// What I wrote, and what a command or a press of mine is answered with.
const isMine = (one) => one.author.id === room.me.id || Boolean(one.flags & EPHEMERAL)
  || one.interaction_metadata?.user.id === room.me.id;

// A message that changes is not read out, and the focus does not leave it with a button that is gone.
function change(old, node) {
  const focused = old.contains(document.activeElement);
  node.setAttribute("aria-live", "off");
  replace(old, node);
  if (focused && !log.contains(document.activeElement)) at(node.id)?.focus({ preventScroll: true });
}

function before(id) {
  let previous = null;
  for (const one of room.messages.values()) {
    if (one.id === id) return previous;
    previous = one;
  }
  return previous;
}

// -- walking -------------------------------------------------------------------------------------

const ACTS = { r: "Reply", e: "Edit message", "+": "Add a reaction", t: "Start a thread", a: "Apps", Delete: "Delete message" };

function walk(event) {
  const messages = [...log.querySelectorAll(".message")];
  const here = document.activeElement.closest?.(".message");
  const index = messages.indexOf(here);
  if (event.altKey || event.ctrlKey || event.metaKey) return;
  if (event.key === "ArrowUp" || event.key === "ArrowDown") {
    const to = index < 0 ? messages.length - 1 : index + (event.key === "ArrowUp" ? -1 : 1);
    messages[to]?.focus();
    if (to >= messages.length) at("entry").focus();
  } else if (event.key === "End") toNewest();
  else if (here === document.activeElement && ACTS[event.key]) {
    [...here.querySelectorAll(".tools button")].find((b) => b.getAttribute("aria-label") === ACTS[event.key])?.click();
  } else return;
  event.preventDefault();
}

// A press ends on what it began on: what would move that waits until then, but a second at most.
const pressEnded = () => new Promise((resolve) => {
  const after = () => setTimeout(resolve, 0); // its click comes first
  for (const end of ["pointerup", "pointercancel"]) addEventListener(end, after, { once: true, capture: true });
  setTimeout(resolve, PRESS_MS);
});

export function startLog() {
  addEventListener("pointerdown", () => whileHolding(pressEnded), true);
  log.addEventListener("keydown", walk);
  log.addEventListener("scroll", () => {
    noteScroll();
    if (view.stuck) at("newer").hidden = true;
    if (log.scrollTop < 120) loadOlder();
  });
  log.addEventListener("load", () => { if (view.stuck) follow(); }, true); // a picture came and pushed
  new ResizeObserver(() => { if (view.stuck) toEnd(); }).observe(log);
  at("newer").addEventListener("click", toNewest);
}
