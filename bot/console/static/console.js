// Forms that htmx sends carry the page's key; a link to a turn that is not on the page loads it.
document.addEventListener("htmx:config:request", (event) => {
  const key = document.body.dataset.formKey;
  if (key) event.detail.ctx.request.headers["X-Form-Key"] = key;
});

function showTurn() {
  const turn = /^#turn-(\d{1,6})$/.exec(location.hash);
  const task = document.querySelector(".task");
  if (!turn || !task || document.getElementById(turn[0].slice(1))) return;
  if (new URLSearchParams(location.search).get("turn") === turn[1]) return;
  const page = document.querySelector("[data-turns]")?.dataset.turns ?? task.dataset.path;
  location.replace(`${page}?turn=${turn[1]}${turn[0]}`);
}
addEventListener("hashchange", showTurn);
addEventListener("DOMContentLoaded", showTurn);

// "Copy as Markdown": without a script it is a link that downloads the same.
document.addEventListener("click", async (event) => {
  const link = event.target.closest("a[data-copy]");
  if (!link || !navigator.clipboard) return;
  event.preventDefault();
  try {
    const text = await fetch(link.href).then((answer) => (answer.ok ? answer.text() : Promise.reject(answer.status)));
    await navigator.clipboard.writeText(text);
    const name = (link.dataset.copy ||= link.textContent);
    link.textContent = "Copied";
    setTimeout(() => (link.textContent = name), 2000);
    document.getElementById("copied")?.replaceChildren("Copied as Markdown.");
  } catch {
    location.href = link.href;
  }
});

// An update may take away what has the focus, such as the question that was answered: what came of it has the focus then.
let inUse = null;
document.addEventListener("focusin", (event) => (inUse = event.target.closest("#acts") ? event.target : null));
document.addEventListener("htmx:after:swap", () => {
  if (inUse && !inUse.checkVisibility()) document.getElementById("act-said")?.focus({ preventScroll: true });
});

// What is asked for again and again is not while nobody looks at the page, nor while something in it is selected.
document.addEventListener("htmx:before:request", (event) => {
  if (!event.target.matches("[hx-trigger^=every], [hx-get^='/overview/']")) return;
  const selection = getSelection();
  const selected = !selection.isCollapsed && selection.containsNode(event.detail.ctx.target, true);
  if (document.hidden || selected) event.preventDefault();
});

// A page is kept up to date from when somebody sees it: a browser opens six connections to the console at most, and
// many tabs may be opened at once that nobody looks at yet. Which are hidden later, htmx's extension notices itself.
function startLive() {
  const live = document.getElementById("live");
  if (!live || document.hidden || live.dataset.begun) return;
  live.dataset.begun = "yes";
  htmx.trigger(live, "go");
}
document.addEventListener("visibilitychange", startLive);
addEventListener("DOMContentLoaded", startLive);
document.addEventListener("htmx:after:swap", startLive);

// A page that is no longer kept up to date says so, until it is again; where it will not be again, it says why and stops.
const OVER = {
  401: "You are signed out, so this page is not kept up to date any more. Load it again to sign in.",
  403: "This page is not kept up to date any more: only the user who runs the bot may open it.",
  404: "This page is not kept up to date any more: there is no such task now, or you may not see it.",
};
const NOT_NOW = "Not live: the console can't keep this page up to date just now. If many are open, close some; this one tries again by itself.";
function tellLive(words) {
  const told = document.getElementById("live-state");
  if (told) told.textContent = words;
}
function endLive(words) {
  tellLive(words);
  parked = null;
  closeLive();
  lookedAway();
}
function notLive(status) {
  if (OVER[status]) endLive(OVER[status]);
  else if (status) tellLive(NOT_NOW);
  else tellLive("Not live: the console can't be reached. Trying again…");
}
document.addEventListener("over", (event) => endLive(event.detail.data));
document.addEventListener("htmx:sse:error", (event) => notLive(event.detail.status));
document.addEventListener("htmx:sse:after:connection", () => {
  if (document.getElementById("live-state")?.textContent.startsWith("Not live")) tellLive("");
});

// What was erased is on no open page: it is loaded again, and says why.
document.addEventListener("htmx:after:swap", () => {
  const words = document.querySelector("[data-reload]")?.dataset.reload;
  if (!words) return;
  sessionStorage.setItem("reloaded", words);
  location.reload();
});
addEventListener("DOMContentLoaded", () => {
  const words = sessionStorage.getItem("reloaded");
  if (words) tellLive(words);
  sessionStorage.removeItem("reloaded");
});

// The first connection is not tried again by itself.
function againLive(event) {
  notLive(event.detail.ctx?.response?.status);
  setTimeout(() => {
    delete event.target.dataset.begun;
    startLive();
  }, 10000);
}
document.addEventListener("htmx:response:error", (event) => {
  if (event.target.id === "live") againLive(event);
});

// A browser opens six connections to an address, and then not even a page loads: of the pages that are visible at once,
// those that were looked at last are kept up to date. A page hears of each that is looked at after it.
const AT_ONCE = 4;
const me = Math.random();
const newer = new Set();
const pages = new BroadcastChannel("live pages");
let parked = null; // what stands in the place of a stream that is closed for now
let stream = null;
document.addEventListener("htmx:sse:before:connection", (event) => (stream = event.detail.connection));
document.addEventListener("htmx:sse:after:message", (event) => (event.target.dataset.last = event.detail.message.id));

function closeLive() {
  const live = document.getElementById("live");
  live?.remove();
  stream?.reader?.cancel();
  return live;
}
function parkLive() {
  const live = closeLive();
  parked = live.cloneNode();
  parked.removeAttribute("data-htmx-powered");
  delete parked.dataset.begun;
  const since = live.dataset.last;
  if (since) parked.setAttribute("hx-sse:connect", parked.getAttribute("hx-sse:connect").replace(/since=\d+/, `since=${since}`));
  tellLive(`Not live while you look at ${AT_ONCE} other pages of the console. Click into this one to go on.`);
}
function unparkLive() {
  tellLive("");
  document.getElementById("live-state").before(parked);
  htmx.process(parked);
  startLive();
  parked = null;
}
function lookedAt() {
  if (document.hidden || !(parked || document.getElementById("live"))) return;
  newer.clear();
  pages.postMessage([me, true]);
  if (parked) unparkLive();
}
function lookedAway() {
  pages.postMessage([me, false]);
}
pages.addEventListener("message", ({ data: [page, visible] }) => {
  newer[visible ? "add" : "delete"](page);
  if (newer.size >= AT_ONCE && document.getElementById("live")) parkLive();
  else if (newer.size < AT_ONCE && parked && !document.hidden) unparkLive();
});
addEventListener("DOMContentLoaded", lookedAt);
addEventListener("focus", lookedAt);
addEventListener("pagehide", lookedAway);
document.addEventListener("visibilitychange", () => (document.hidden ? lookedAway() : lookedAt()));

document.addEventListener("htmx:error", (event) => {
  if (event.target.id === "live") return againLive(event);
  const told = event.target.closest("form") && document.getElementById("act-said");
  if (told) told.textContent = "That didn't reach the console. Is it still running? Try again in a moment.";
});

// Whoever signs in first comes to the turn that the link named: what stands behind the # never reaches the console.
addEventListener("DOMContentLoaded", () => {
  if (location.pathname !== "/sign-in" || !location.hash) return;
  for (const to of document.querySelectorAll("input[name=to]")) to.value += location.hash;
  for (const link of document.querySelectorAll("a[href^='/sign-in/discord?to=']")) link.href += encodeURIComponent(location.hash);
});
