// The bot of `scenario`, with discord.js.
const { ActionRowBuilder, ButtonBuilder, ButtonStyle, Client, Events, GatewayIntentBits, Partials } = require("discord.js");

const { Guilds, GuildMessages, GuildMessageReactions, MessageContent } = GatewayIntentBits;
const client = new Client({
  intents: [Guilds, GuildMessages, GuildMessageReactions, MessageContent],
  partials: [Partials.Message, Partials.Reaction, Partials.User],
  rest: { api: process.env.REST.replace(/\/v10$/, "") },
});

client.once(Events.ClientReady, () => client.application.commands.set([{ name: "ping", description: "Answers" }]));

client.on(Events.MessageCreate, async (message) => {
  if (message.author.bot || !message.mentions.users.has(client.user.id)) return;
  const thread = await message.startThread({ name: "Answer" });
  await message.react("👀");
  const button = new ButtonBuilder().setCustomId("more").setLabel("More").setStyle(ButtonStyle.Primary);
  const answer = await thread.send({ content: "Working", components: [new ActionRowBuilder().addComponents(button)] });
  await answer.edit("Done");
});

client.on(Events.InteractionCreate, async (interaction) => {
  if (interaction.isButton()) await interaction.update({ content: "Pressed", components: [] });
  else if (interaction.isChatInputCommand()) await interaction.reply("pong");
});

client.on(Events.MessageReactionAdd, async (reaction) => {
  if (reaction.emoji.name !== "🛑") return;
  const channel = await client.channels.fetch(reaction.message.channelId);
  await channel.send("Stopped");
});

client.login(process.env.TOKEN);
