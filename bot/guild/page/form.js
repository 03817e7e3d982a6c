// A form that the bot answered a click with.

import { el } from "./markdown.js";

export function askForm(data, onSubmit) {
  const dialog = document.getElementById("form");
  const fields = data.components.flatMap((row) => row.components ?? (row.component ? [{ label: row.label, ...row.component }] : []));
  const inputs = fields.map((field) => {
    const input = el(field.style === 2 ? "textarea" : "input", "");
    Object.assign(input, { name: field.custom_id, required: field.required !== false, value: field.value ?? "", placeholder: field.placeholder ?? "" });
    return el("label", "", el("span", "", field.label ?? field.custom_id), input);
  });
  const form = el("form", "", el("h2", "", data.title), ...inputs, el("div", "buttons", el("button", "button primary", "Submit")));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    dialog.close();
    onSubmit(Object.fromEntries(new FormData(form)));
  });
  dialog.replaceChildren(form);
  dialog.showModal();
}
