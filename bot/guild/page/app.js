// The page: which channel is open, what is in it, and what happens live.

import { Composer } from "./composer.js";
import { askForm } from "./form.js";
import { el } from "./markdown.js";
import { SILENT, avatar, divider, openPicker, renderMessage, startsDay } from "./messages.js";
import { call, listen } from "./net.js";

const at = (id) => document.getElementById(id);
const log = at("log");

const room = {
  me: null, bot: null, members: [], commands: [], places: new Map(), messages: new Map(),
  channel: null, unread: new Set(), typists: new Map(), lastTyped: 0, oldest: false, stuck: true,
  get inThread() { return this.places.get(this.channel)?.type !== 0; },
};

room.names = {
  member: (id) => room.members.find((m) => m.id === id),
  mention(kind, id) {
    if (kind === "#") {
      const place = room.places.get(id);
      const node = el("button", "mention", `#${place?.name ?? "unknown"}`);
      node.type = "button";
      if (place) node.addEventListener("click", () => room.open(id));
      return node;
    }
    const user = kind === "@&" ? null : this.member(id);
    return el("span", `mention${id === room.me.id ? " me" : ""}`, `@${user?.username ?? "unknown"}`);
  },
  readable: (text) => text.replace(/<@!?(\d+)>/g, (whole, id) => {
    const user = room.names.member(id);
    return user ? `@${user.username}` : whole;
  }),
};

// -- acting --------------------------------------------------------------------------------------

const message = (id) => `/ui/messages/${id}`;
const tell = (error) => composer.fail(error.message);

Object.assign(room, {
  post: (channel, content, replyTo, files) => call("POST", `/ui/channels/${channel}/messages`, {
    content, nonce: crypto.randomUUID().slice(0, 25), enforce_nonce: true,
    message_reference: replyTo && { message_id: replyTo.id },
  }, files),
  saveEdit: (one, content) => call("PATCH", message(one.id), { content }),
  slash: (channel, command) => call("POST", `/ui/channels/${channel}/slash`, command),
  react: (one, emoji, on) =>
    call(on ? "PUT" : "DELETE", `${message(one.id)}/reactions/${encodeURIComponent(emoji)}`).catch(tell),
  click: (one, custom_id, values) => call("POST", `${message(one.id)}/click`, { custom_id, values }).catch(tell),
  remove: (one) => call("DELETE", message(one.id)).catch(tell),
  dismiss: (one) => call("DELETE", message(one.id)).catch(tell),
  reply: (one) => composer.setMode({ kind: "reply", message: one }),
  edit: (one) => composer.setMode({ kind: "edit", message: one }),
  editLast() {
    const mine = [...room.messages.values()].filter((m) => m.author.id === room.me.id && m.type !== 21);
    if (mine.length) room.edit(mine.at(-1));
  },
  pick: (one, anchor) => openPicker(at("picker"), anchor, (emoji) => room.react(one, emoji, true)),
  jump(id) {
    const node = at(`message-${id}`);
    node?.scrollIntoView({ block: "center", behavior: "smooth" });
    node?.classList.add("flash");
    setTimeout(() => node?.classList.remove("flash"), 1200);
  },
  async thread(one) {
    const name = room.names.readable(one.content).replace(/\s+/g, " ").slice(0, 60) || "Thread";
    const made = await call("POST", `${message(one.id)}/thread`, { name }).catch(tell);
    if (!made) return;
    room.places.set(made.id, made); // its event may still be on the way
    room.open(made.id);
  },
  typing() {
    if (Date.now() - room.lastTyped < 8000) return;
    room.lastTyped = Date.now();
    call("POST", `/ui/channels/${room.channel}/typing`).catch(tell);
  },
});

// -- places --------------------------------------------------------------------------------------

function drawPlaces() {
  const all = [...room.places.values()];
  const channels = all.filter((c) => c.type === 0).sort((a, b) => a.position - b.position);
  at("places").replaceChildren(...channels.map((channel) => {
    const below = all.filter((c) => c.parent_id === channel.id && c.type !== 0)
      .sort((a, b) => (BigInt(b.last_message_id ?? b.id) > BigInt(a.last_message_id ?? a.id) ? 1 : -1));
    const open = below.filter((c) => !c.thread_metadata.archived || c.id === room.channel);
    const list = el("ul", "threads", ...open.map((one) => el("li", "", placeButton(one, one.name))));
    return el("section", "channel", placeButton(channel, channel.name), ...(open.length ? [list] : []));
  }));
}

function placeButton(place, name) {
  const isThread = place.type !== 0;
  const node = el("button", `place-link${isThread ? " thread" : ""}`, el("span", "sign", isThread ? "" : "#"), el("span", "label", name));
  node.type = "button";
  node.classList.toggle("unread", room.unread.has(place.id));
  if (place.id === room.channel) node.setAttribute("aria-current", "page");
  node.setAttribute("aria-label", `${isThread ? "Thread" : "Channel"} ${name}${room.unread.has(place.id) ? ", unread" : ""}`);
  node.addEventListener("click", () => room.open(place.id));
  return node;
}

room.open = async (id) => {
  if (!room.places.has(id)) return;
  room.channel = id;
  room.unread.delete(id);
  const place = room.places.get(id);
  history.replaceState(null, "", `#${id}`);
  document.body.classList.remove("side-open");
  drawPlaces();
  drawHead(place);
  drawTyping();
  composer.enter(id);
  await load();
  at("entry").focus();
};

function drawHead(place) {
  const parent = room.places.get(place.parent_id);
  at("room-name").textContent = place.type === 0 ? `# ${place.name}` : place.name;
  at("room-note").textContent = parent ? `Thread in #${parent.name}${place.thread_metadata?.archived ? " · archived" : ""}` : place.topic ?? "";
  at("entry").placeholder = place.type === 0 ? `Message #${place.name} — @${room.bot.username} starts a task` : "Message this thread";
  document.title = `${place.name} · Threadwright`;
}

// -- messages ------------------------------------------------------------------------------------

// What happens while messages are being fetched waits until they are there: else one of both would
// be lost.
const held = [];
let fetching = 0;

function hear(name, data) {
  if (fetching) held.push([name, data]);
  else handlers[name]?.(data);
}

async function whileHolding(work) {
  fetching += 1;
  try {
    return await work();
  } finally {
    fetching -= 1;
    while (held.length && !fetching) hear(...held.shift());
  }
}

const load = () => whileHolding(async () => {
  const { channel } = room;
  const found = await call("GET", `/ui/channels/${channel}/messages`);
  if (channel !== room.channel) return;
  room.messages = new Map(found.reverse().map((one) => [one.id, one]));
  room.oldest = found.length < 50;
  drawAll();
  toEnd();
});

function toEnd() {
  log.scrollTop = log.scrollHeight;
  room.stuck = true;
  at("newer").hidden = true;
}

const loadOlder = () => whileHolding(async () => {
  if (room.oldest || !room.messages.size) return;
  room.oldest = true;
  const { channel } = room;
  const [first] = room.messages.keys();
  const found = await call("GET", `/ui/channels/${channel}/messages?before=${first}`);
  if (channel !== room.channel) return;
  const height = log.scrollHeight;
  room.messages = new Map([...found.reverse().map((one) => [one.id, one]), ...room.messages]);
  drawAll();
  log.scrollTop += log.scrollHeight - height;
  room.oldest = found.length < 50;
});

function drawAll() {
  const nodes = [];
  let before = null;
  for (const one of room.messages.values()) {
    if (startsDay(one, before)) nodes.push(divider(one));
    nodes.push(renderMessage(one, before, room));
    before = one;
  }
  log.replaceChildren(...(nodes.length ? nodes : [welcome()]));
}

function welcome() {
  const hint = el("p", "", "Write ", el("span", "mention", `@${room.bot.username}`), " and what you need. A thread opens, and the work happens there.");
  return el("div", "welcome", el("span", "welcome-mark", "🧵"), el("h2", "", "Nothing here yet"), hint);
}

function putMessage(one) {
  const known = room.messages.has(one.id);
  if (!known && !room.messages.size) log.replaceChildren();
  const previous = known ? before(one.id) : [...room.messages.values()].at(-1);
  room.messages.set(one.id, one);
  const node = renderMessage(one, previous, room);
  if (known) {
    const old = log.querySelector(`:scope > [data-id="${one.id}"]`);
    const focused = old?.contains(document.activeElement) ? document.activeElement.getAttribute("aria-label") : null;
    old?.replaceWith(node);
    if (focused) [...node.querySelectorAll("button")].find((b) => b.getAttribute("aria-label") === focused)?.focus();
  } else {
    if (startsDay(one, previous)) log.append(divider(one));
    log.append(node);
  }
  if (room.stuck || (!known && one.author.id === room.me.id)) toEnd();
  else if (!known) at("newer").hidden = false;
}

function before(id) {
  let previous = null;
  for (const one of room.messages.values()) {
    if (one.id === id) return previous;
    previous = one;
  }
  return previous;
}

// -- live ----------------------------------------------------------------------------------------

const handlers = {
  MESSAGE_CREATE(one) {
    room.typists.delete(one.author.id);
    const place = room.places.get(one.channel_id);
    if (place) Object.assign(place, { last_message_id: one.id });
    if (one.channel_id === room.channel) putMessage(one);
    else if (one.author.id !== room.me.id) room.unread.add(one.channel_id);
    if (one.type !== 21) recount(one.channel_id);
    if (document.hidden && !(one.flags & SILENT)) document.title = `● ${document.title.replace(/^● /, "")}`;
    drawPlaces();
    drawTyping();
  },
  MESSAGE_UPDATE(one) {
    const starter = [...room.messages.values()].find((m) => m.type === 21 && m.referenced_message?.id === one.id);
    if (starter) putMessage({ ...starter, referenced_message: one });
    else if (one.channel_id === room.channel && room.messages.has(one.id)) putMessage(one);
  },
  MESSAGE_DELETE({ id, channel_id }) {
    if (channel_id !== room.channel) return;
    room.messages.delete(id);
    drawAll();
  },
  THREAD_CREATE(thread) {
    room.places.set(thread.id, thread);
    drawPlaces();
  },
  THREAD_UPDATE: (place) => changePlace(place),
  CHANNEL_CREATE: (place) => changePlace(place),
  CHANNEL_UPDATE: (place) => changePlace(place),
  THREAD_DELETE: ({ id }) => dropPlace(id),
  CHANNEL_DELETE: ({ id }) => dropPlace(id),
  GUILD_MEMBER_ADD: ({ user }) => room.members.push(user),
  TYPING_START({ channel_id, user_id }) {
    if (user_id === room.me.id) return;
    room.typists.set(user_id, { channel: channel_id, until: Date.now() + 10000 });
    drawTyping();
    setTimeout(drawTyping, 10100);
  },
  PRESENCE_UPDATE: ({ status }) => drawPresence(status === "online"),
  INTERACTION_FAILURE: ({ reason }) => composer.fail(`${reason}.`),
  INTERACTION_MODAL_CREATE: ({ id, data }) => askForm(data, (values) => call("POST", `/ui/interactions/${id}/submit`, { values }).catch(tell)),
};

function recount(channel) {
  for (const one of room.messages.values()) {
    if (one.thread?.id !== channel) continue;
    one.thread.message_count += 1;
    putMessage(one);
  }
}

function changePlace(place) {
  room.places.set(place.id, place);
  drawPlaces();
  if (place.id === room.channel) drawHead(place);
}

function dropPlace(id) {
  room.places.delete(id);
  drawPlaces();
  if (id === room.channel) room.open(room.places.keys().next().value);
}

function drawPresence(online) {
  at("presence").textContent = `${room.bot.username} is ${online ? "online" : "offline"}`;
  at("presence").classList.toggle("away", !online);
}

function drawTyping() {
  const now = Date.now();
  const names = [...room.typists].filter(([, t]) => t.channel === room.channel && t.until > now)
    .map(([id]) => room.names.member(id)?.username ?? "Somebody");
  at("typing").replaceChildren(...(names.length ? [el("i", "dots"), `${names.join(" and ")} ${names.length > 1 ? "are" : "is"} typing`] : []));
}

// -- beginning -----------------------------------------------------------------------------------

const refresh = () => whileHolding(async () => {
  const state = await call("GET", "/ui/state");
  Object.assign(room, { me: state.me, bot: state.bot, members: state.members, commands: state.commands });
  room.places = new Map([...state.channels, ...state.threads].map((place) => [place.id, place]));
  at("guild-name").textContent = state.guild.name;
  at("my-name").textContent = state.me.username;
  avatar(state.me, at("my-avatar"));
  drawPresence(state.online);
  const wanted = [room.channel, location.hash.slice(1), state.channels[0].id].find((id) => room.places.has(id));
  await room.open(wanted);
});

const composer = new Composer(room);
log.addEventListener("scroll", () => {
  room.stuck = log.scrollHeight - log.scrollTop - log.clientHeight < 80;
  if (room.stuck) at("newer").hidden = true;
  if (log.scrollTop < 120) loadOlder();
});
log.addEventListener("load", () => { if (room.stuck) toEnd(); }, true); // a picture came and pushed
new ResizeObserver(() => { if (room.stuck) toEnd(); }).observe(log);
at("newer").addEventListener("click", toEnd);
document.addEventListener("visibilitychange", () => { document.title = document.title.replace(/^● /, ""); });
at("burger").addEventListener("click", () => {
  at("burger").setAttribute("aria-expanded", String(document.body.classList.toggle("side-open")));
});
at("entry").addEventListener("focus", async () => {
  room.commands = (await call("GET", "/ui/state")).commands; // commands may have been registered since
});
addEventListener("keydown", (event) => {
  if (!event.altKey || (event.key !== "ArrowUp" && event.key !== "ArrowDown")) return;
  const links = [...document.querySelectorAll(".place-link")];
  const here = links.findIndex((link) => link.getAttribute("aria-current"));
  links[(here + (event.key === "ArrowDown" ? 1 : -1) + links.length) % links.length]?.click();
  event.preventDefault();
});

let links = 0;
listen(
  hear,
  async (connected) => {
    const mine = links += 1;
    if (connected) await refresh().catch(tell);
    if (mine !== links) return; // it has changed again meanwhile
    at("link-state").textContent = connected ? "Connected" : "Reconnecting…";
    document.body.classList.toggle("offline", !connected);
  },
);
