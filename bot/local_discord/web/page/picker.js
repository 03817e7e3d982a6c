// The small menus of a message: reactions, which is also how the bot is steered, and commands of apps.

import { button } from "./buttons.js";

export const QUICK = ["🛑", "⏸", "▶", "👍", "👎", "🔄", "✅", "❌", "🚀", "💬"];
export const LABELS = {
  "🛑": "Stop", "⏸": "Pause", "▶": "Resume", "👍": "Good", "👎": "Bad", "🔄": "Retry",
  "✅": "Continue", "❌": "That was wrong", "🚀": "Escalate", "💬": "Ask me", "👀": "Seen",
};

export function openPicker(menu, anchor, onPick) {
  open(menu, anchor, "React", QUICK.map((emoji) => [emoji, LABELS[emoji] ?? emoji]), onPick);
}

export function openApps(menu, anchor, commands, onPick) {
  open(menu, anchor, "Apps", commands.map(({ name }) => [name, name]), onPick);
}

function open(menu, anchor, title, choices, onPick) {
  menu.setAttribute("aria-label", title);
  menu.classList.toggle("words", title === "Apps");
  menu.replaceChildren(...choices.map(([shown, label]) => {
    const item = button("plain", label, () => close(shown), shown);
    item.setAttribute("role", "menuitem");
    return item;
  }));
  const place = anchor.getBoundingClientRect();
  menu.hidden = false;
  const width = menu.offsetWidth;
  menu.style.left = `${Math.max(8, Math.min(place.right - width, innerWidth - width - 8))}px`;
  const top = place.top > 60 ? place.top - menu.offsetHeight - 6 : place.bottom + 6;
  menu.style.top = `${Math.max(8, Math.min(top, innerHeight - menu.offsetHeight - 8))}px`; // also where its message begins above
  menu.firstElementChild.focus();
  const close = (chosen) => {
    menu.hidden = true;
    removeEventListener("pointerdown", outside, true);
    menu.onkeydown = null;
    anchor.focus();
    if (chosen) onPick(chosen);
  };
  const outside = (event) => { if (!menu.contains(event.target)) close(); };
  addEventListener("pointerdown", outside, true);
  menu.onkeydown = (event) => {
    const items = [...menu.children];
    const at = items.indexOf(document.activeElement);
    if (event.key === "Escape") close();
    else if (event.key === "ArrowRight" || event.key === "ArrowDown") items[(at + 1) % items.length].focus();
    else if (event.key === "ArrowLeft" || event.key === "ArrowUp") items[(at - 1 + items.length) % items.length].focus();
    else return;
    event.preventDefault();
  };
}
