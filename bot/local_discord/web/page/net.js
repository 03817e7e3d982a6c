// Talks to the guild: requests of the page, and the live connection.

export class Refused extends Error {}

const SESSION = "session"; // kept by this page: a cookie would go to every other port of this machine
const KEY = "#key=";
const AS = "as"; // the member as whom this tab acts; none is the owner

export const person = () => sessionStorage.getItem(AS) ?? "";
export function become(id) {
  sessionStorage.setItem(AS, id);
  location.reload();
}

// Gives the key in the address for a session; "" if the page may be used, else why not, in words.
export async function enter() {
  addEventListener("hashchange", () => { if (location.hash.startsWith(KEY)) location.reload(); });
  const key = location.hash.startsWith(KEY) ? location.hash.slice(KEY.length) : "";
  if (key) {
    history.replaceState(null, "", location.pathname); // it is used up; nobody need see it
    const answer = await fetch("/ui/session", {
      method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ key }),
    }).catch(() => null);
    const said = await answer?.json().catch(() => null);
    if (said?.session) localStorage.setItem(SESSION, said.session);
    else if (!localStorage.getItem(SESSION)) return said?.message ?? "The bot is not reachable.";
  }
  return localStorage.getItem(SESSION) ? "" : "This page opens by its link.";
}

// What to do once a session counts no more: show where the link is.
let locked = () => {};
export const onLocked = (show) => { locked = show; };

function leave() {
  localStorage.removeItem(SESSION);
  locked("You are signed out here.");
}

export async function call(method, path, body, files = [], as = person()) {
  const options = { method, headers: { Authorization: `Bearer ${localStorage.getItem(SESSION)}`, "X-As": as } };
  if (files.length) {
    const form = new FormData();
    form.append("payload_json", JSON.stringify(body ?? {}));
    files.forEach((file, n) => form.append(`files[${n}]`, file, file.name));
    options.body = form;
  } else if (body !== undefined) {
    options.headers["Content-Type"] = "application/json";
    options.body = JSON.stringify(body);
  }
  const response = await fetch(path, options).catch(() => {
    throw new Refused("The bot is not reachable; your text is kept.");
  });
  if (response.status === 401) {
    leave();
    throw new Refused("Not sent: you are signed out here.");
  }
  const answer = await response.json();
  if (!response.ok) throw new Refused(explain(answer));
  return answer;
}

// The first reason, with the option or field that it is about where there is one.
function explain(answer) {
  const reasons = [];
  const walk = (node, name) => {
    for (const [key, value] of Object.entries(node ?? {})) {
      if (key === "_errors") reasons.push(...value.map((one) => (name && name !== "content" ? `${name}: ${one.message}` : one.message)));
      else if (typeof value === "object") walk(value, /^\d+$/.test(key) ? name : key);
    }
  };
  walk(answer.errors, "");
  return reasons[0] ?? answer.message;
}

export function listen(onEvent, onState) {
  let wait = 250;
  const connect = () => {
    const socket = new WebSocket(`ws://${location.host}/ui/live`);
    socket.addEventListener("open", () => {
      wait = 250;
      socket.send(JSON.stringify({ session: localStorage.getItem(SESSION), as: person() }));
      onState(true);
    });
    socket.addEventListener("message", (message) => {
      const event = JSON.parse(message.data);
      onEvent(event.t, event.d);
    });
    socket.addEventListener("close", ({ code }) => {
      onState(false);
      if (code === 4003) {
        leave();
        return;
      }
      setTimeout(connect, wait);
      wait = Math.min(wait * 2, 5000);
    });
  };
  connect();
}
