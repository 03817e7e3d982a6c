// Light, dark, or as the system has it; remembered in this browser.

import { at } from "./room.js";

const NAMES = { system: "system", light: "light", dark: "dark" };
const SIGNS = { system: "◐", light: "☀", dark: "☾" };
const KEY = "theme";

export function startTheme() {
  const order = Object.keys(NAMES);
  let chosen = order.includes(localStorage.getItem(KEY)) ? localStorage.getItem(KEY) : "system";
  const show = () => {
    if (chosen === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = chosen;
    at("theme").textContent = SIGNS[chosen];
    at("theme").setAttribute("aria-label", `Theme: ${NAMES[chosen]}`);
    at("theme").title = `Theme: ${NAMES[chosen]}`;
  };
  at("theme").addEventListener("click", () => {
    chosen = order[(order.indexOf(chosen) + 1) % order.length];
    localStorage.setItem(KEY, chosen);
    show();
  });
  show();
}
