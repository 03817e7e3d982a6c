// Buttons, lists and layouts that the bot puts below a message.

import { button } from "./buttons.js";
import { el, markdown, safeUrl } from "./markdown.js";

const STYLES = { 1: "primary", 2: "secondary", 3: "success", 4: "danger", 5: "secondary" };
const ROW = 1;
const BUTTON = 2;

export function components(one, message, room) {
  const inner = () => (one.components ?? []).map((part) => components(part, message, room)).filter(Boolean);
  switch (one.type) {
    case ROW: return el("div", "buttons", ...inner());
    case BUTTON: return clickable(one, message, room);
    case 3: case 5: case 6: case 7: case 8: return choice(one, message, room);
    case 9: return el("div", "section", el("div", "", ...inner()), ...(one.accessory ? [components(one.accessory, message, room) ?? ""] : []));
    case 10: return markdown(one.content, room.names);
    case 14: return el("hr", "");
    case 17: return container(one, inner());
    default: return null;
  }
}

function container(one, inner) {
  const node = el("section", "embed", ...inner);
  if (Number.isInteger(one.accent_color)) node.style.setProperty("--edge", `#${one.accent_color.toString(16).padStart(6, "0")}`);
  return node;
}

function clickable(one, message, room) {
  const emoji = one.emoji?.name && !one.emoji.id ? `${one.emoji.name} ` : "";
  const text = `${emoji}${one.label ?? ""}`.trim();
  if (one.style === 5) {
    const url = safeUrl(one.url ?? "");
    const node = el("a", "button secondary", text, " ↗");
    if (url) Object.assign(node, { href: url, target: "_blank", rel: "noopener noreferrer nofollow" });
    return node;
  }
  const node = button(`button ${STYLES[one.style] ?? "secondary"}`, one.label ?? text, async ({ currentTarget }) => {
    currentTarget.classList.add("busy");
    await room.click(message, one.custom_id);
    setTimeout(() => currentTarget.classList.remove("busy"), 400);
  }, text);
  node.dataset.key = one.custom_id; // what was pressed is that button, whatever it is called by now
  node.removeAttribute("title");
  node.disabled = Boolean(one.disabled);
  return node;
}

// What a list offers: what the bot wrote in it, or who and what there is here.
function offered(one, room) {
  const people = room.members.map((m) => ({ label: m.username, value: m.id }));
  const roles = room.roles.map((r) => ({ label: `@${r.name.replace(/^@/, "")}`, value: r.id }));
  const places = [...room.places.values()].filter((p) => p.name).map((p) => ({ label: `#${p.name}`, value: p.id }));
  return { 3: one.options ?? [], 5: people, 6: roles, 7: [...people, ...roles], 8: places }[one.type];
}

function choice(one, message, room) {
  const several = (one.max_values ?? 1) > 1;
  const name = one.placeholder ?? "Choose";
  const node = el("select", "choice");
  if (!several) node.append(new Option(one.placeholder ?? "Choose…", ""));
  for (const option of offered(one, room)) {
    const emoji = option.emoji?.name && !option.emoji.id ? `${option.emoji.name} ` : "";
    const note = option.description ? ` — ${option.description}` : "";
    node.append(new Option(`${emoji}${option.label}${note}`, option.value, option.default, option.default));
  }
  node.setAttribute("aria-label", name);
  node.disabled = Boolean(one.disabled);
  if (!several) {
    node.onchange = () => node.value && room.click(message, one.custom_id, [node.value]);
    return Object.assign(node, { same: JSON.stringify(one) });
  }
  Object.assign(node, { multiple: true, size: Math.min(6, node.options.length) });
  const least = one.min_values ?? 1;
  const done = button("button primary", `Choose in ${name}`, () => {
    room.click(message, one.custom_id, [...node.selectedOptions].map((o) => o.value));
  }, "Choose");
  const check = () => {
    const count = node.selectedOptions.length;
    done.disabled = node.disabled || count < least || count > one.max_values;
  };
  node.onchange = check;
  check();
  return Object.assign(el("div", "several", node, done), { same: JSON.stringify(one) });
}
