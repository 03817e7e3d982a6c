// The bot of `scenario`, with eris. It always asks by HTTPS: its agent, which is an option, opens a plain connection.
const https = require("node:https");
const net = require("node:net");
const Eris = require("eris");

const rest = new URL(process.env.REST);
const agent = new https.Agent();
agent.createConnection = () => net.connect(Number(rest.port), rest.hostname);

const client = new Eris(`Bot ${process.env.TOKEN}`, {
  intents: ["guilds", "guildMessages", "guildMessageReactions", "messageContent"],
  rest: { agent, baseURL: rest.pathname, domain: rest.host },
});

client.on("error", (error) => console.error(error));
client.once("ready", () => client.createCommand({ type: 1, name: "ping", description: "Answers" }));

client.on("messageCreate", async (message) => {
  if (message.author.bot || !message.mentions.some((user) => user.id === client.user.id)) return;
  const thread = await client.createThreadWithMessage(message.channel.id, message.id, { name: "Answer" });
  await message.addReaction("👀");
  const button = { type: 2, style: 1, label: "More", custom_id: "more" };
  const answer = await client.createMessage(thread.id, { content: "Working", components: [{ type: 1, components: [button] }] });
  await client.editMessage(thread.id, answer.id, { content: "Done" });
});

client.on("interactionCreate", async (interaction) => {
  if (interaction instanceof Eris.ComponentInteraction) await interaction.editParent({ content: "Pressed", components: [] });
  else if (interaction instanceof Eris.CommandInteraction) await interaction.createMessage("pong");
});

client.on("messageReactionAdd", async (message, emoji) => {
  if (emoji.name === "🛑") await client.createMessage(message.channel.id, "Stopped");
});

client.connect();
