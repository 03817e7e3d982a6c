// Buttons with a name, and the small drawings on them.

import { el } from "./markdown.js";

export const button = (className, label, onClick, ...children) => {
  const node = el("button", className, ...children);
  node.type = "button";
  node.setAttribute("aria-label", label);
  node.title = label;
  node.onclick = onClick;
  return node;
};

const ICONS = {
  react: "M10 18a8 8 0 1 0 0-16 8 8 0 0 0 0 16M6.8 11.500s1 2 3.2 2 3.2-2 3.2-2M7.5 7.500v.5M12.5 7.500v.5",
  reply: "M8 5 3 10l5 5M3 10h8c4 0 6 2 6 6",
  thread: "M5 5h10M10 5v7c0 3 2 4 4.5 3",
  edit: "m4 16 1-4 8.5-8.500a2 2 0 0 1 3 3L8 15z",
  remove: "M4 6h12M8 6V4h4v2M6 6l.7 10h6.600L14 6",
  apps: "M4 4h5v5H4zM4 11.500h5v5H4zM11.500 4h5v5h-5zM14 11.500v5M11.500 14h5",
  forward: "m12 5 5 5-5 5M17 10H9c-4 0-6 2-6 6",
};

export function icon(name) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "0 0 20 20");
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS(svg.namespaceURI, "path");
  path.setAttribute("d", ICONS[name]);
  svg.append(path);
  return svg;
}

export const tool = (name, label, onClick) => button("plain", label, onClick, icon(name));
