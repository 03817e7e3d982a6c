// What a message can carry besides its text: embeds, polls, and another message that is passed on.

import { files } from "./files.js";
import { icon } from "./buttons.js";
import { el, inline, markdown, safeUrl } from "./markdown.js";
import { liveTime } from "./times.js";

export function embed(one, room) {
  const node = el("section", "embed");
  node.setAttribute("aria-label", one.title ?? "Embed");
  if (Number.isInteger(one.color)) node.style.setProperty("--edge", `#${one.color.toString(16).padStart(6, "0")}`);
  if (one.author?.name) node.append(el("p", "embed-author", one.author.name));
  if (one.title) {
    const url = one.url && safeUrl(one.url);
    const title = el(url ? "a" : "p", "embed-title", ...inline(one.title, room.names));
    if (url) Object.assign(title, { href: url, target: "_blank", rel: "noopener noreferrer nofollow" });
    node.append(title);
  }
  if (one.description) node.append(markdown(one.description, room.names));
  if (one.fields?.length) {
    const grid = el("dl", "embed-fields");
    for (const field of one.fields) {
      grid.append(el("div", field.inline ? "inline" : "", el("dt", "", ...inline(field.name, room.names)),
        el("dd", "", markdown(field.value, room.names))));
    }
    node.append(grid);
  }
  const foot = [one.footer?.text, one.timestamp && new Date(one.timestamp).toLocaleString()].filter(Boolean);
  if (foot.length) node.append(el("p", "embed-foot", foot.join(" · ")));
  return node;
}

export function forwarded(message, room) {
  const snapshot = message.message_snapshots[0].message;
  const source = message.message_reference;
  const node = el("section", "forwarded", el("p", "forwarded-head", icon("forward"), "Forwarded"));
  node.setAttribute("aria-label", "Forwarded message");
  if (snapshot.content) node.append(markdown(snapshot.content, room.names));
  if (snapshot.attachments.length) node.append(files(snapshot.attachments));
  node.append(...snapshot.embeds.map((one) => embed(one, room)));
  const place = room.places.get(source.channel_id);
  if (place) {
    const go = el("button", "link", place.type === 1 ? "Direct messages" : `#${place.name}`);
    go.type = "button";
    go.setAttribute("aria-label", `Go to the original in ${place.name ?? "your direct messages"}`);
    go.onclick = () => room.goTo(source.channel_id, source.message_id);
    const when = new Date(snapshot.timestamp);
    node.append(el("p", "forwarded-foot", go, ` · ${when.toLocaleString([], { dateStyle: "medium", timeStyle: "short" })}`));
  }
  return node;
}

export function poll(message, room) {
  const { question, answers, results, expiry, allow_multiselect: several } = message.poll;
  const counts = new Map((results?.answer_counts ?? []).map((one) => [one.id, one]));
  const all = [...counts.values()].reduce((sum, one) => sum + one.count, 0);
  const ended = results?.is_finalized || new Date(expiry) < new Date();
  const rows = answers.map((one) => {
    const { count = 0, me_voted: mine = false } = counts.get(one.answer_id) ?? {};
    const share = all ? Math.round((count / all) * 100) : 0;
    const emoji = one.poll_media.emoji && !one.poll_media.emoji.id ? `${one.poll_media.emoji.name} ` : "";
    const row = el("button", `answer${mine ? " mine" : ""}`, el("span", "answer-text", `${emoji}${one.poll_media.text}`),
      el("span", "answer-count", `${count} · ${share} %`));
    row.type = "button";
    row.disabled = ended;
    row.style.setProperty("--share", `${share}%`);
    row.setAttribute("aria-pressed", String(mine));
    row.onclick = () => room.vote(message, one.answer_id, !mine);
    return row;
  });
  const foot = el("p", "poll-foot", `${all} ${all === 1 ? "vote" : "votes"} · `);
  foot.append(...(ended ? ["ended"] : ["ends ", liveTime(new Date(expiry))]));
  const node = el("section", "poll", el("p", "poll-question", question.text),
    el("p", "poll-hint", several ? "Choose one or more" : "Choose one"), ...rows, foot);
  node.setAttribute("aria-label", `Poll: ${question.text}`);
  return node;
}

export const stickers = (items) => el("div", "stickers", ...items.map((one) => {
  const node = el("span", "sticker", one.name);
  node.setAttribute("role", "img");
  node.setAttribute("aria-label", `Sticker ${one.name}`);
  return node;
}));
