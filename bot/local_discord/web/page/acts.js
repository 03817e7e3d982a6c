// What the person at the page does.

import { askForm } from "./form.js";
import { isSystem } from "./messages.js";
import { call } from "./net.js";
import { openApps, openPicker } from "./picker.js";
import { at, isDirect, room } from "./room.js";
import { jump } from "./log.js";

const message = (id) => `/ui/messages/${id}`;
const TYPING_MS = 8000;
const ON_MESSAGE = 3;
let lastTyped = 0;

export function startActs(composer) {
  const tell = (error) => composer.fail(error.message);
  const tried = (request) => {
    composer.fail(""); // what it says is about what was done before
    return request.catch(tell);
  };

  Object.assign(room, {
    async post(channel, content, replyTo, files) {
      const made = await call("POST", `/ui/channels/${channel}/messages`, {
        content, nonce: crypto.randomUUID().slice(0, 25), enforce_nonce: true,
        message_reference: replyTo && { message_id: replyTo.id },
      }, files);
      if (!made.post) return;
      room.places.set(made.post.id, made.post); // its event may still be on the way
      await room.open(made.post.id);
    },
    saveEdit: (one, content) => call("PATCH", message(one.id), { content }),
    slash: (channel, { name, options }) => call("POST", `/ui/channels/${channel}/slash`, { name, options }),
    react: (one, emoji, on) =>
      tried(call(on ? "PUT" : "DELETE", `${message(one.id)}/reactions/${encodeURIComponent(emoji)}`)),
    vote: (one, answer, on) => tried(call(on ? "PUT" : "DELETE", `${message(one.id)}/votes/${answer}`)),
    click: (one, custom_id, values) => tried(call("POST", `${message(one.id)}/click`, { custom_id, values })),
    remove: (one) => tried(call("DELETE", message(one.id))),
    dismiss: (one) => tried(call("DELETE", message(one.id))),
    reply: (one) => composer.setMode({ kind: "reply", message: one }),
    edit: (one) => composer.setMode({ kind: "edit", message: one }),
    editLast() {
      const mine = [...room.messages.values()].filter((m) => m.author.id === room.me.id && !isSystem(m)
        && !m.poll && !m.message_snapshots && m.content);
      if (mine.length) room.edit(mine.at(-1));
    },
    pick: (one, anchor) => openPicker(at("picker"), anchor, (emoji) => room.react(one, emoji, true)),
    async apps(one, anchor) {
      room.commands = await call("GET", "/ui/commands").catch(() => room.commands); // some may be new
      const offered = room.commands.filter((command) => command.type === ON_MESSAGE);
      if (!offered.length) return composer.fail("No app has a command for messages here.");
      openApps(at("picker"), anchor, offered, (name) => tried(call("POST", `${message(one.id)}/apps`, { name })));
    },
    jump: (id) => tried(jump(id)),
    async goTo(channel, id) {
      if (channel !== room.channel) await room.open(channel);
      await room.jump(id);
    },
    async openDirect() {
      const known = [...room.places.values()].find(isDirect) ?? await tried(call("POST", "/ui/direct"));
      if (!known) return;
      room.places.set(known.id, known);
      await room.open(known.id);
    },
    async thread(one) {
      const name = room.names.readable(one.content).replace(/\s+/g, " ").slice(0, 60) || "Thread";
      const made = await tried(call("POST", `${message(one.id)}/thread`, { name }));
      if (!made) return;
      room.places.set(made.id, made); // its event may still be on the way
      room.open(made.id);
    },
    typing() {
      if (Date.now() - lastTyped < TYPING_MS) return;
      lastTyped = Date.now();
      call("POST", `/ui/channels/${room.channel}/typing`).catch(tell);
    },
    fill: ({ id, data }) => askForm(data, room, (values) => call("POST", `/ui/interactions/${id}/submit`, { values })),
    tell,
  });
}
