// Where a person allows an application to know who they are: as which member, and then back to where it asked from.

import { Refused, call, person } from "./net.js";

const at = (id) => document.getElementById(id);

async function answer(authorize) {
  try {
    const { location: to } = await call("POST", `/ui/oauth2/authorize${location.search}`, { authorize }, [], at("as").value);
    location.assign(to);
  } catch (problem) {
    if (!(problem instanceof Refused)) throw problem;
    at("why").textContent = problem.message;
  }
}

async function start() {
  try {
    const state = await call("GET", "/ui/state");
    at("who").textContent = `${state.bot.username} asks who you are`;
    for (const one of state.members.filter((member) => !member.bot)) {
      at("as").add(new Option(one.username, one.id, false, one.id === (person() || state.owner)));
    }
    at("ask").hidden = false;
  } catch (problem) {
    if (!(problem instanceof Refused)) throw problem;
    at("why").textContent = "Open the chat by its link first, in this browser. Then load this page again.";
  }
}

at("ask").addEventListener("submit", (event) => {
  event.preventDefault();
  answer(true);
});
at("cancel").addEventListener("click", () => answer(false));
start();
