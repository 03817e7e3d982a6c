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

// A page that is no longer kept up to date says so, until it is again.
function tellLive(words) {
  const told = document.getElementById("live-state");
  if (told) told.textContent = words;
}
document.addEventListener("htmx:sse:error", (event) => {
  if (event.detail.status !== 404) return tellLive("Not live: the console can't be reached. Trying again…");
  tellLive("This task was deleted, or you can't see it any more. This page shows it as it was.");
  event.target.remove(); // or it would be asked for again and again
});
document.addEventListener("htmx:sse:after:connection", () => tellLive(""));

document.addEventListener("htmx:error", () => {
  const told = document.getElementById("act-said");
  if (told) told.textContent = "That didn't reach the console. Is it still running? Try again in a moment.";
});

// Whoever signs in first comes to the turn that the link named: what stands behind the # never reaches the console.
addEventListener("DOMContentLoaded", () => {
  if (location.pathname !== "/sign-in" || !location.hash) return;
  for (const to of document.querySelectorAll("input[name=to]")) to.value += location.hash;
  for (const link of document.querySelectorAll("a[href^='/sign-in/discord?to=']")) link.href += encodeURIComponent(location.hash);
});
