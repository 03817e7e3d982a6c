// Times that say how long ago or how soon, and keep saying it right.

import { el } from "./markdown.js";

const STEPS = [["second", 60], ["minute", 60], ["hour", 24], ["day", 30], ["month", 12], ["year", Infinity]];
const words = new Intl.RelativeTimeFormat("en", { numeric: "auto" });

export function relative(date) {
  let amount = (date.getTime() - Date.now()) / 1000;
  for (const [unit, most] of STEPS) {
    if (Math.abs(Math.round(amount)) < most) return words.format(Math.round(amount), unit);
    amount /= most;
  }
  return "";
}

export function liveTime(date) {
  const node = el("time", "stamp live", relative(date));
  node.dateTime = date.toISOString();
  node.title = date.toLocaleString();
  return node;
}

export function startTimes() {
  setInterval(() => {
    if (document.hidden) return;
    for (const node of document.querySelectorAll("time.live")) {
      const text = relative(new Date(node.dateTime));
      if (node.textContent !== text) node.textContent = text;
    }
  }, 1000);
}
