// Slash commands as text: "/lessons show number:3" and what may come next in it.

const SUBCOMMAND = 1;
const GROUP = 2;
const escaped = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
const isLevel = (option) => option.type === SUBCOMMAND || option.type === GROUP;

// Everything that can be called, by its whole name.
export function callable(commands) {
  const found = [];
  const walk = (level, name) => {
    const below = (level.options ?? []).filter(isLevel);
    if (!below.length) found.push({ name, description: level.description, options: level.options ?? [] });
    for (const one of below) walk(one, `${name} ${one.name}`);
  };
  for (const command of commands.filter((one) => one.type === 1)) walk(command, command.name);
  return found;
}

// What can be begun with: commands and groups, in the order in which the app registered them.
export function top(commands) {
  return commands.filter((one) => one.type === 1)
    .map((one) => ({ name: one.name, description: one.description, options: one.options ?? [] }));
}

// The command that a text calls, with where its options begin.
export function called(text, commands) {
  if (!text.startsWith("/")) return null;
  const fits = (one) => text === `/${one.name}` || text.startsWith(`/${one.name} `);
  const command = callable(commands).filter(fits).sort((a, b) => b.name.length - a.name.length)[0];
  return command ? { command, from: command.name.length + 1 } : null;
}

// What is wrong with a text that begins like a command and calls none; "" where nothing is.
export function miscalled(text, commands) {
  const word = /^\/([a-z][\w-]*)(?=\s|$)/.exec(text)?.[1];
  if (!word || called(text, commands)) return "";
  const group = commands.find((one) => one.type === 1 && one.name === word);
  if (!group) return `there is no command /${word}`;
  const names = callable([group]).map((one) => one.name.slice(word.length + 1));
  return `choose ${[names.slice(0, -1).join(", "), names.at(-1)].filter(Boolean).join(" or ")}`;
}

// Where each option stands in a text, with what was written for it.
export function slots(text, { command, from }) {
  const names = command.options.map((one) => escaped(one.name)).join("|");
  if (!names) return [];
  const starts = [...text.matchAll(new RegExp(`(?<=\\s)(${names}):`, "g"))].filter((m) => m.index >= from);
  return starts.map((match, n) => {
    const begin = match.index + match[0].length;
    const end = starts[n + 1]?.index ?? text.length;
    return { option: command.options.find((o) => o.name === match[1]), begin, end, written: text.slice(begin, end).trim() };
  });
}

export function typed(option, written, room) {
  const number = Number(written);
  if (option.type === 4) return Number.isInteger(number) && written ? number : written;
  if (option.type === 10) return Number.isNaN(number) || !written ? written : number;
  if (option.type === 5) return { true: true, false: false, yes: true, no: false }[written.toLowerCase()] ?? written;
  const named = /^@(.+)$/.exec(written);
  const member = named && room.members.find((m) => m.username === named[1]);
  const chosen = option.choices?.find((one) => one.name === written);
  return member?.id ?? chosen?.value ?? written.replace(/^<[@#]&?(\d+)>$/, "$1");
}

// "/status detail:full" -> name and options by the registered definition; null if it is just a text.
export function asCommand(text, room) {
  const found = called(text, room.commands);
  if (!found) return null;
  const { command, from } = found;
  const filled = slots(text, found).filter((slot) => slot.written);
  const options = Object.fromEntries(filled.map((slot) => [slot.option.name, typed(slot.option, slot.written, room)]));
  const rest = text.slice(from).trim();
  if (!filled.length && rest && command.options.length) options[command.options[0].name] = typed(command.options[0], rest, room);
  const missing = command.options.filter((one) => one.required && !(one.name in options)).map((one) => one.name);
  return { name: command.name, options, missing };
}
