// The side: channels with their threads, direct messages, what is new in them and where the bot waits.

import { el } from "./markdown.js";
import { patchChildren } from "./patch.js";
import { at, isDirect, isThread, room, titleOf, isForum } from "./room.js";

const ASKS = /^tw:(ask|pick):/;
const OFFERS = /^tw:offer:/;
const WORKS = /^tw:run:(stop|pause):/;
const PAUSED = /^tw:run:resume:/;

// What the bot's open buttons say about a thread. While the bot is away they say nothing.
export function standing(place) {
  if (!room.online) return null;
  const ids = [...(room.waiting.get(place.id)?.values() ?? [])].flat();
  if (ids.some((id) => ASKS.test(id))) return ["asks", "waits for your answer"];
  if (ids.some((id) => OFFERS.test(id))) return ["offers", "offers a branch"];
  if (ids.some((id) => PAUSED.test(id))) return ["paused", "is paused"];
  if (ids.some((id) => WORKS.test(id))) return ["works", "at work"];
  return null;
}

const usable = (components) => components.flatMap((one) => [
  ...(one.custom_id && !one.disabled ? [one.custom_id] : []),
  ...usable(one.components ?? []), ...(one.accessory ? usable([one.accessory]) : []),
]);

export function noteButtons(message) {
  const ids = message.author.id === room.bot.id ? usable(message.components) : [];
  const here = room.waiting.get(message.channel_id) ?? new Map();
  if (ids.length) here.set(message.id, ids);
  else here.delete(message.id);
  room.waiting.set(message.channel_id, here);
}

// -- what was read -------------------------------------------------------------------------------

const KEY = "read";
const readMarks = () => JSON.parse(localStorage.getItem(KEY) ?? "null");

export function markRead(place) {
  room.unread.delete(place.id);
  const marks = readMarks() ?? {};
  marks[place.id] = place.last_message_id ?? place.id;
  localStorage.setItem(KEY, JSON.stringify(marks));
}

// What came while the page was closed. Whoever opens it for the first time has read everything.
export function findUnread() {
  const marks = readMarks();
  const later = (place) => BigInt(place.last_message_id ?? 0) > BigInt(marks[place.id] ?? place.last_message_id ?? 0);
  for (const place of room.places.values()) {
    if (!marks || !(place.id in marks)) markRead(place);
    else if (later(place) && place.id !== room.channel) room.unread.set(place.id, room.unread.get(place.id) ?? false);
  }
}

// -- drawing -------------------------------------------------------------------------------------

const latest = (place) => BigInt(place.last_message_id ?? place.id);
const drawn = new Map(); // by place: the newest message when it was given its position
const byLatest = (a, b) => (drawn.get(b.id) > drawn.get(a.id) ? 1 : -1);
const keyed = (node, key) => {
  node.dataset.key = key;
  return node;
};

// No link moves away under a mouse: it is put in its new position when the mouse has left.
export function drawPlaces() {
  const pointed = matchMedia("(hover: hover)").matches && at("places").matches(":hover");
  for (const place of room.places.values()) if (!pointed || !drawn.has(place.id)) drawn.set(place.id, latest(place));
  const all = [...room.places.values()];
  const channels = all.filter((c) => c.type === 0 || isForum(c)).sort((a, b) => a.position - b.position);
  patchChildren(at("places"), [...channels.map((one) => channelSection(one, all)), directSection(all)]);
  const count = [...room.unread.keys()].length;
  at("burger").classList.toggle("unread", count > 0);
  at("burger").setAttribute("aria-label", `Show channels${count ? `, ${count} unread` : ""}`);
}

function channelSection(channel, all) {
  const below = all.filter((c) => c.parent_id === channel.id && isThread(c)).sort(byLatest);
  const open = below.filter((c) => !c.thread_metadata.archived || c.id === room.channel);
  const list = el("ul", "threads", ...open.map((one) => keyed(el("li", "", placeButton(one)), one.id)));
  return keyed(el("section", "channel", placeButton(channel), ...(open.length ? [list] : [])), channel.id);
}

function directSection(all) {
  const head = el("h2", "side-title", "Direct messages");
  const known = all.filter(isDirect);
  const section = el("section", "channel directs", head, ...known.map(placeButton));
  if (known.length) return section;
  const open = el("button", "place-link", el("span", "sign", "+"), el("span", "label", `Write to ${room.bot.username}`));
  open.type = "button";
  open.onclick = () => room.openDirect();
  section.append(open);
  return section;
}

function placeButton(place) {
  const kind = isThread(place) ? "Thread" : isForum(place) ? "Forum" : isDirect(place) ? "Direct messages with" : "Channel";
  const state = isThread(place) || isDirect(place) ? standing(place) : null;
  const unread = room.unread.has(place.id);
  const sign = isThread(place) ? "" : isDirect(place) ? "@" : isForum(place) ? "▤" : "#";
  const node = el("button", `place-link${isThread(place) ? " thread" : ""}`, el("span", "sign", sign), el("span", "label", titleOf(place)));
  node.type = "button";
  node.dataset.key = place.id;
  node.classList.toggle("unread", unread);
  node.classList.toggle("for-me", room.unread.get(place.id) === true);
  if (state) {
    const mark = el("span", `standing ${state[0]}`);
    mark.title = `${room.bot.username} ${state[1]}`;
    node.append(mark);
  }
  if (place.id === room.channel) node.setAttribute("aria-current", "page");
  const notes = [state?.[1], unread && "unread", place.thread_metadata?.locked && "locked"].filter(Boolean);
  node.setAttribute("aria-label", [`${kind} ${titleOf(place)}`, ...notes].join(", "));
  node.onclick = () => room.open(place.id);
  return node;
}

export function drawHead(place) {
  const parent = room.places.get(place.parent_id);
  const meta = place.thread_metadata;
  const tags = (parent?.available_tags ?? []).filter((tag) => place.applied_tags.includes(tag.id)).map((tag) => tag.name);
  const notes = parent ? [`${isForum(parent) ? "Post" : "Thread"} in #${parent.name}`, ...tags, meta?.archived && "archived", meta?.locked && "locked"]
    : [isDirect(place) ? `Only you and ${room.bot.username} see this` : place.topic];
  at("room-name").textContent = place.type === 0 ? `# ${place.name}` : titleOf(place);
  at("room-note").textContent = notes.filter(Boolean).join(" · ");
  const inChannel = matchMedia("(max-width: 760px)").matches ? `@${room.bot.username} + your task`
    : `Message #${place.name} — @${room.bot.username} starts a task`;
  at("entry").placeholder = place.type === 0 ? inChannel
    : isForum(place) ? "A new post: its title in the first line" : isDirect(place) ? `Write to ${room.bot.username}` : "Message this thread";
  document.title = `${titleOf(place)} · ${room.bot.username}`;
}

// Up and down walk through the places, Home and End go to the ends.
export function walkPlaces(event) {
  const links = [...at("places").querySelectorAll(".place-link")];
  const here = links.indexOf(document.activeElement);
  const to = { ArrowDown: here + 1, ArrowUp: here - 1, Home: 0, End: links.length - 1 }[event.key];
  if (here < 0 || to === undefined) return;
  links[(to + links.length) % links.length].focus();
  event.preventDefault();
}
