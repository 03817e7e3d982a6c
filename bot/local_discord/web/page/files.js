// Files of a message: pictures that can be looked at, sounds that can be heard, everything else to keep.

import { button } from "./buttons.js";
import { el } from "./markdown.js";

const PICTURE = /^image\/(png|jpeg|gif|webp)/;
const BARS = 48;

export const size = (bytes) => (bytes < 1024 ? `${bytes} B`
  : bytes < 1048576 ? `${(bytes / 1024).toFixed(1)} KB` : `${(bytes / 1048576).toFixed(1)} MB`);

// The address as this page may use it: of its own origin, with its signature.
function address(one) {
  const { pathname, search } = new URL(one.url);
  return pathname + search;
}

export function files(attachments) {
  const pictures = attachments.filter((one) => PICTURE.test(one.content_type ?? ""));
  return el("div", "files", ...attachments.map((one) => (
    pictures.includes(one) ? picture(one, pictures) : one.duration_secs !== undefined ? voice(one) : chip(one))));
}

function picture(one, all) {
  const shown = el("img", "");
  Object.assign(shown, { src: address(one), alt: one.description ?? one.filename, loading: "lazy" });
  return button("picture", `Look at ${one.description ?? one.filename}`, () => lookAt(one, all), shown);
}

function chip(one) {
  const file = el("a", "chip");
  file.href = address(one);
  file.download = one.filename;
  file.setAttribute("aria-label", `Download ${one.filename}, ${size(one.size)}`);
  file.append(el("span", "chip-mark", (one.filename.split(".").pop() ?? "").slice(0, 4)),
    el("span", "chip-text", el("span", "chip-name", one.filename), el("span", "chip-size", size(one.size))),
    el("span", "chip-get", "↓"));
  return file;
}

function voice(one) {
  const bytes = [...atob(one.waveform ?? "")].map((c) => c.charCodeAt(0));
  const bars = Array.from({ length: Math.min(BARS, bytes.length) }, (_, n) => {
    const bar = el("i", "");
    bar.style.setProperty("--level", String(Math.max(8, Math.round((bytes[Math.floor((n * bytes.length) / Math.min(BARS, bytes.length))] / 255) * 100))));
    return bar;
  });
  const wave = el("span", "wave", ...bars);
  wave.setAttribute("aria-hidden", "true");
  const seconds = Math.round(one.duration_secs);
  const player = el("audio", "");
  Object.assign(player, { controls: true, preload: "none", src: address(one) });
  player.setAttribute("aria-label", `Voice message, ${seconds} seconds`);
  return el("div", "voice", el("span", "voice-name", "Voice message"), wave,
    el("span", "voice-length", `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`), player);
}

// One picture, as large as the window; arrows go to the others of its message.
function lookAt(one, all) {
  const dialog = document.getElementById("lightbox");
  const show = (chosen) => {
    const at = all.indexOf(chosen);
    const shown = el("img", "");
    Object.assign(shown, { src: address(chosen), alt: chosen.description ?? chosen.filename });
    const keep = el("a", "button secondary", "Open in a new tab");
    Object.assign(keep, { href: address(chosen), target: "_blank", rel: "noopener" });
    const close = button("button secondary", "Close picture", () => dialog.close(), "Close");
    const place = all.length > 1 ? ` · ${at + 1} of ${all.length}` : "";
    dialog.replaceChildren(shown, el("p", "lightbox-line", el("span", "", `${chosen.filename} · ${size(chosen.size)}${place}`), keep, close));
    dialog.onkeydown = (event) => {
      const to = { ArrowRight: at + 1, ArrowLeft: at - 1 }[event.key];
      if (to !== undefined) show(all[(to + all.length) % all.length]);
    };
  };
  show(one);
  dialog.onclick = (event) => { if (event.target === dialog) dialog.close(); };
  dialog.setAttribute("aria-label", "Picture");
  dialog.showModal();
}
