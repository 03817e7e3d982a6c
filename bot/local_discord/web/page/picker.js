// The small menu of reactions, which is also how the bot is steered.

import { button } from "./buttons.js";

export const QUICK = ["🛑", "⏸", "▶", "👍", "👎", "🔄", "✅", "❌", "🚀", "💬"];
export const LABELS = {
  "🛑": "Stop", "⏸": "Pause", "▶": "Resume", "👍": "Good", "👎": "Bad", "🔄": "Retry",
  "✅": "Continue", "❌": "That was wrong", "🚀": "Escalate", "💬": "Ask me", "👀": "Seen",
};

export function openPicker(menu, anchor, onPick) {
  menu.replaceChildren(...QUICK.map((emoji) => {
    const item = button("plain", LABELS[emoji] ?? emoji, () => close(emoji), emoji);
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
  const close = (emoji) => {
    menu.hidden = true;
    removeEventListener("pointerdown", outside, true);
    menu.onkeydown = null;
    anchor.focus();
    if (emoji) onPick(emoji);
  };
  const outside = (event) => { if (!menu.contains(event.target)) close(); };
  addEventListener("pointerdown", outside, true);
  menu.onkeydown = (event) => {
    const items = [...menu.children];
    const at = items.indexOf(document.activeElement);
    if (event.key === "Escape") close();
    else if (event.key === "ArrowRight") items[(at + 1) % items.length].focus();
    else if (event.key === "ArrowLeft") items[(at - 1 + items.length) % items.length].focus();
    else return;
    event.preventDefault();
  };
}
