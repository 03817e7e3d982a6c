// The page: opens places, and shows what happens in them live.

import { startActs } from "./acts.js";
import { Composer } from "./composer.js";
import { drawer, startKeys } from "./keys.js";
import { drawAll, hear, load, onEvent, putMessage, startLog, whileHolding } from "./log.js";
import { el } from "./markdown.js";
import { SILENT, avatar, isSystem } from "./messages.js";
import { become, call, enter, listen, onLocked } from "./net.js";
import { drawHead, drawPlaces, findUnread, markRead, noteButtons } from "./places.js";
import { at, room } from "./room.js";
import { startTheme } from "./theme.js";
import { startTimes } from "./times.js";

const TYPING_MS = 10000;
const composer = new Composer(room);

// -- places --------------------------------------------------------------------------------------

room.open = async (id) => {
  if (!room.places.has(id)) return;
  room.channel = id;
  const place = room.places.get(id);
  markRead(place);
  history.replaceState(null, "", `#${id}`);
  const byDrawer = document.body.classList.contains("side-open");
  drawer(false);
  drawPlaces();
  drawHead(place);
  drawTyping();
  composer.enter(id);
  await load();
  if (!byDrawer || matchMedia("(hover: hover)").matches) at("entry").focus(); // no keyboard jumps up on a phone
};

function changePlace(place) {
  room.places.set(place.id, place);
  drawPlaces();
  if (place.id === room.channel) drawHead(place);
}

function dropPlace(id) {
  room.places.delete(id);
  room.waiting.delete(id);
  drawPlaces();
  if (id === room.channel) room.open(room.places.keys().next().value);
}

// -- live ----------------------------------------------------------------------------------------

const forMe = (one) => one.mention_everyone || one.mentions.some((u) => u.id === room.me.id);

const handlers = {
  MESSAGE_CREATE(one) {
    room.typists.delete(one.author.id);
    const place = room.places.get(one.channel_id);
    if (place) Object.assign(place, { last_message_id: one.id });
    noteButtons(one);
    if (one.channel_id === room.channel) putMessage(one);
    if (place && one.channel_id === room.channel && !document.hidden) markRead(place);
    else if (one.author.id !== room.me.id) room.unread.set(one.channel_id, forMe(one) || room.unread.get(one.channel_id) === true);
    if (one.type !== 21) recount(one);
    if (document.hidden && !(one.flags & SILENT)) document.title = `● ${document.title.replace(/^● /, "")}`;
    drawPlaces();
    drawTyping();
  },
  MESSAGE_UPDATE(one) {
    noteButtons(one);
    drawPlaces();
    const starter = [...room.messages.values()].find((m) => m.type === 21 && m.referenced_message?.id === one.id);
    if (starter) putMessage({ ...starter, referenced_message: one });
    else if (one.channel_id === room.channel && room.messages.has(one.id)) putMessage(one);
  },
  MESSAGE_DELETE: ({ id, channel_id }) => dropMessages([id], channel_id),
  MESSAGE_DELETE_BULK: ({ ids, channel_id }) => dropMessages(ids, channel_id),
  THREAD_CREATE: (place) => changePlace(place),
  THREAD_UPDATE: (place) => changePlace(place),
  CHANNEL_CREATE: (place) => changePlace(place),
  CHANNEL_UPDATE: (place) => changePlace(place),
  THREAD_DELETE: ({ id }) => dropPlace(id),
  CHANNEL_DELETE: ({ id }) => dropPlace(id),
  GUILD_MEMBER_ADD: ({ user }) => room.members.push(user),
  GUILD_ROLE_CREATE: ({ role }) => room.roles.push(role),
  TYPING_START({ channel_id, user_id }) {
    if (user_id === room.me.id) return;
    room.typists.set(user_id, { channel: channel_id, until: Date.now() + TYPING_MS });
    drawTyping();
    setTimeout(drawTyping, TYPING_MS + 100);
  },
  PRESENCE_UPDATE: ({ status }) => drawPresence(status === "online"),
  INTERACTION_FAILURE: ({ reason }) => composer.fail(`${reason}. It may be busy or away: try again in a moment.`),
  INTERACTION_MODAL_CREATE: (asked) => room.fill(asked),
};

function dropMessages(ids, channel) {
  for (const id of ids) room.waiting.get(channel)?.delete(id);
  drawPlaces();
  if (channel !== room.channel) return;
  for (const id of ids) room.messages.delete(id);
  drawAll();
}

// What was loaded just now may have counted the message already.
function recount({ id, channel_id }) {
  for (const one of room.messages.values()) {
    if (one.thread?.id !== channel_id || BigInt(one.thread.last_message_id ?? 0) >= BigInt(id)) continue;
    Object.assign(one.thread, { message_count: one.thread.message_count + 1, last_message_id: id });
    putMessage(one);
  }
}

function drawPresence(online) {
  room.online = online;
  at("presence").textContent = `${room.bot.username} is ${online ? "online" : "offline"}`;
  at("presence").classList.toggle("away", !online);
  drawPlaces();
}

// Several people can be tried from one page: what a viewer sees, what an operator may allow.
function drawPeople(owner) {
  const people = room.members.filter((one) => !one.bot);
  const named = (one) => new Option(one.id === owner ? `${one.username} (owner)` : one.username, one.id, false, one.id === room.me.id);
  at("my-name").replaceChildren(...people.map(named));
  at("my-name").disabled = people.length < 2;
}

function drawTyping() {
  const now = Date.now();
  const names = [...room.typists].filter(([, t]) => t.channel === room.channel && t.until > now)
    .map(([id]) => room.names.member(id)?.username ?? "Somebody");
  at("typing").replaceChildren(...(names.length ? [el("i", "dots"), `${names.join(" and ")} ${names.length > 1 ? "are" : "is"} typing`] : []));
}

// -- beginning -----------------------------------------------------------------------------------

const refresh = () => whileHolding(async () => {
  const [state, open] = await Promise.all([call("GET", "/ui/state"), call("GET", "/ui/open")]);
  const { me, bot, members, roles, commands } = state;
  Object.assign(room, { me, bot, members, roles, commands });
  room.places = new Map([...state.channels, ...state.threads, ...state.directs].map((place) => [place.id, place]));
  room.waiting = new Map(Object.entries(open).map(([channel, messages]) => [channel, new Map(Object.entries(messages))]));
  at("guild-name").textContent = state.guild.name;
  at("notice").textContent = state.notice;
  at("notice").hidden = !state.notice;
  drawPeople(state.owner);
  avatar(me, at("my-avatar"));
  findUnread();
  drawPresence(state.online);
  const wanted = [room.channel, location.hash.slice(1), state.channels[0].id].find((id) => room.places.has(id));
  await room.open(wanted);
});

startActs(composer);
startTheme();
startKeys();
startLog();
startTimes();
onEvent((name, data) => handlers[name]?.(data));

document.addEventListener("visibilitychange", () => {
  if (document.hidden) return;
  document.title = document.title.replace(/^● /, "");
  if (room.place) markRead(room.place);
  drawPlaces();
});
at("places").addEventListener("pointerleave", drawPlaces);
at("entry").addEventListener("focus", async () => {
  const known = await call("GET", "/ui/commands").catch(() => room.commands);
  if (JSON.stringify(known) === JSON.stringify(room.commands)) return;
  room.commands = known;
  composer.suggest.update(); // somebody who types fast has begun one of the new ones
});

function showDoor(why) {
  at("door").hidden = false;
  at("door-why").textContent = why;
  document.querySelector(".shell").hidden = true;
}

at("my-name").addEventListener("change", () => become(at("my-name").value));
at("another").addEventListener("click", async () => {
  const made = await call("POST", "/ui/link").catch(room.tell);
  if (!made) return;
  at("link-text").value = made.link;
  at("link").showModal();
  at("link-text").select();
});
at("link-copy").addEventListener("click", () => navigator.clipboard.writeText(at("link-text").value).finally(() => at("link").close()));

let links = 0;
onLocked(showDoor);
const refused = await enter();
if (refused) showDoor(refused);
else listen(
  hear,
  async (connected) => {
    const mine = links += 1;
    if (connected) await refresh().catch(room.tell);
    if (mine !== links) return; // it has changed again meanwhile
    at("link-state").textContent = connected ? "Connected" : "Reconnecting…";
    document.body.classList.toggle("offline", !connected);
    at("lost").hidden = connected;
  },
);
