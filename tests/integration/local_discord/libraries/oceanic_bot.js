// The bot of `scenario`, with oceanic.js.
const { Client } = require("oceanic.js");

const client = new Client({
  auth: `Bot ${process.env.TOKEN}`,
  gateway: { intents: ["GUILDS", "GUILD_MESSAGES", "GUILD_MESSAGE_REACTIONS", "MESSAGE_CONTENT"] },
  rest: { baseURL: process.env.REST },
});

client.on("error", (error) => console.error(error));
client.once("ready", () =>
  client.application.createGlobalCommand({ type: 1, name: "ping", description: "Answers" }));

client.on("messageCreate", async (message) => {
  if (message.author.bot || !message.mentions.users.some((user) => user.id === client.user.id)) return;
  const thread = await message.startThread({ name: "Answer" });
  await message.createReaction("👀");
  const button = { type: 2, style: 1, label: "More", customID: "more" };
  const answer = await thread.createMessage({ content: "Working", components: [{ type: 1, components: [button] }] });
  await answer.edit({ content: "Done" });
});

client.on("interactionCreate", async (interaction) => {
  if (interaction.isComponentInteraction()) await interaction.editParent({ content: "Pressed", components: [] });
  else if (interaction.isCommandInteraction()) await interaction.createMessage({ content: "pong" });
});

client.on("messageReactionAdd", async (message, reactor, reaction) => {
  if (reaction.emoji.name === "🛑") await client.rest.channels.createMessage(message.channelID, { content: "Stopped" });
});

client.connect();
