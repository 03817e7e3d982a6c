// A form that the bot answered a click or a command with.

import { el, markdown } from "./markdown.js";

const PARAGRAPH = 2;

export function askForm(data, room, onSubmit) {
  const dialog = document.getElementById("form");
  const problem = el("p", "problem");
  problem.setAttribute("role", "alert");
  problem.hidden = true;
  const cancel = el("button", "button secondary", "Cancel");
  cancel.type = "button";
  cancel.addEventListener("click", () => dialog.close());
  const form = el("form", "", el("h2", "", data.title), ...data.components.map((part) => field(part, room)), problem,
    el("div", "buttons", el("button", "button primary", "Submit"), cancel));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    try {
      await onSubmit(filledIn(form));
      dialog.close();
    } catch (error) { // what was written stays
      problem.hidden = false;
      problem.textContent = error.message;
    }
  });
  dialog.setAttribute("aria-label", data.title);
  dialog.replaceChildren(form);
  dialog.showModal();
}

function filledIn(form) {
  const values = {};
  for (const one of form.elements) {
    if (!one.name) continue;
    values[one.name] = one.tagName === "SELECT" ? [...one.selectedOptions].map((o) => o.value).filter(Boolean) : one.value;
  }
  return values;
}

function field(part, room) {
  if (part.type === 10) return markdown(part.content, room.names);
  const one = part.component ?? part.components[0];
  const label = el("label", "", el("span", "", part.label ?? one.label ?? one.custom_id));
  if (part.description) label.append(el("small", "", part.description));
  label.append(one.type === 4 ? text(one) : list(one, room));
  return label;
}

function text(one) {
  const input = el(one.style === PARAGRAPH ? "textarea" : "input", "");
  Object.assign(input, { name: one.custom_id, required: one.required !== false, value: one.value ?? "", placeholder: one.placeholder ?? "" });
  if (one.max_length) input.maxLength = one.max_length;
  if (one.min_length) input.minLength = one.min_length;
  return input;
}

function list(one, room) {
  const people = room.members.map((m) => ({ label: m.username, value: m.id }));
  const roles = room.roles.map((r) => ({ label: r.name, value: r.id }));
  const places = [...room.places.values()].filter((p) => p.name).map((p) => ({ label: `#${p.name}`, value: p.id }));
  const options = { 5: people, 6: roles, 7: [...people, ...roles], 8: places }[one.type] ?? one.options ?? [];
  const node = el("select", "", ...options.map((o) => new Option(o.label, o.value, o.default, o.default)));
  Object.assign(node, { name: one.custom_id, required: one.required !== false, multiple: (one.max_values ?? 1) > 1 });
  if (!node.multiple) node.prepend(new Option(one.placeholder ?? "Choose…", "", !node.selectedOptions[0]?.defaultSelected, !options.some((o) => o.default)));
  return node;
}
