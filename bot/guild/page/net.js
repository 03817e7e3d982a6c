// Talks to the guild: requests of the page, and the live connection.

export class Refused extends Error {}

export async function call(method, path, body, files = []) {
  const options = { method, headers: { "X-Local-Guild": "page" } };
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
  if (response.status === 403 && !response.headers.get("Content-Type")?.includes("json")) {
    location.reload(); // the guild was started anew: get its new session
    return new Promise(() => {}); // what waits for an answer ends with the page
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
    socket.addEventListener("open", () => { wait = 250; onState(true); });
    socket.addEventListener("message", (message) => {
      const event = JSON.parse(message.data);
      onEvent(event.t, event.d);
    });
    socket.addEventListener("close", () => {
      onState(false);
      setTimeout(retry, wait);
      wait = Math.min(wait * 2, 5000);
    });
  };
  const retry = () => fetch("/ui/state").then(
    (answer) => (answer.status === 403 ? location.reload() : connect()),
    connect,
  );
  connect();
}
