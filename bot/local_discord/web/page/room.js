// What the page knows: who is here, which places there are, and what is in the one that is open.

import { el } from "./markdown.js";

export const at = (id) => document.getElementById(id);

const TEXT = 0;
const DIRECT = 1;
const FORUM = 15;

export const room = {
  me: null, bot: null, members: [], roles: [], commands: [], online: false,
  places: new Map(), // by id: channels, threads, direct messages
  channel: null, // the id of the one that is open
  messages: new Map(), // those that are loaded of it, oldest first
  unread: new Map(), // by place: whether one of the new messages is for me
  waiting: new Map(), // by place: the bot's messages that can still be answered
  typists: new Map(),
  get place() { return this.places.get(this.channel); },
  get inThread() { return isThread(this.place); },
};

export const isDirect = (place) => place?.type === DIRECT;
export const isForum = (place) => place?.type === FORUM;
export const isThread = (place) => Boolean(place) && ![TEXT, DIRECT, FORUM].includes(place.type);

export const titleOf = (place) => (isDirect(place) ? room.bot.username : place.name);

room.names = {
  member: (id) => room.members.find((m) => m.id === id),
  mention(kind, id) {
    if (kind === "#") {
      const place = room.places.get(id);
      const node = el("button", "mention", `#${place?.name ?? "unknown"}`);
      node.type = "button";
      if (place) node.onclick = () => room.open(id);
      return node;
    }
    if (kind === "@&") return el("span", "mention", `@${room.roles.find((r) => r.id === id)?.name ?? "unknown role"}`);
    return el("span", `mention${id === room.me.id ? " me" : ""}`, `@${this.member(id)?.username ?? "unknown"}`);
  },
  readable: (text) => text.replace(/<@!?(\d+)>/g, (whole, id) => {
    const user = room.names.member(id);
    return user ? `@${user.username}` : whole;
  }),
};
