"""Linking an account at a host of repositories: what is done with it, the form that takes a token, and taking it away.

The person alone sees and uses it. The token is in the form that comes back and in the file it is kept in, and in no answer,
log or error.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, cast

import discord
from discord import app_commands, ui

from agentic.ports.errors import AgenticError, RemoteError
from agentic.ports.forge import ForgeHost, Remote
from bot.access.thread_access import OutOfReach, require
from bot.cogs.personal_view import PersonalView
from bot.rendering.discord_text import inline, plain
from bot.workspace.linked_accounts import LinkedAccount, checked
from bot.workspace.repositories import Repositories

if TYPE_CHECKING:
    from bot.app.client import ThreadwrightBot

    Interaction = discord.Interaction[ThreadwrightBot]

SECONDS = 600.0
"""So long the buttons work."""
AS_ME = "Pull requests you ask for at {host} are opened as me."
AS_THEM = "✅ Pull requests you ask for at {host} are opened as {login}."
NOT_NOW = "⚠️ You linked {login} at {host}, but I can't use it now, so I write as myself: {why}"
UNLINKED = "Unlinked: I deleted your token for {host}. Revoke it there too. Pull requests are opened as me again."
NOT_KEPT = "Your account is not linked: the token could not be saved ({why}). Ask whoever runs the bot to look."
FAILED = "{why}\nNothing was changed."
ABOUT = (
    "**With your own token**, pull requests and comments of tasks that you give me are made as you, in every server where you "
    "use me. I still read and push as myself.\n"
    "• What I write there counts as yours, also for programs that act on comments. Use an account or a token that may do no "
    "more than you want to lend.\n"
    "• The token stays {where}; whoever runs it could use it. No model, log, export or backup gets "
    "it. **Unlink** or `/privacy` deletes it{until}.\n"
    "**Make one:** {how}"
)
HERE = ("on the computer that runs the bot", "")
ON_AWS = ("in the AWS account that runs the bot", "; AWS can restore what it kept for 35 days")
HOW = {
    "github": (
        "at {host}, Settings → Developer settings → Fine-grained tokens: only the repositories it is for, *Pull requests: "
        "Read and write*, *Contents: Read-only*, and an expiration date."
    ),
    "forgejo": "at {host}, Settings → Applications: *repository* and *issue*: *Read and write*, *user*: *Read*.",
}
TRIES, TRIES_SECONDS = 5, 600.0
"""So many tokens may one person try in so many seconds: a host shuts out whoever sends it many wrong ones, and that is us."""
TOO_MANY = "You tried {tries} tokens. Try again in {minutes:.0f} min."
NOT_YOU = "Only the person who opened this can use it. Use `/repo account` yourself."

log = logging.getLogger(__name__)


async def state_of(held: Repositories, person: str, host: ForgeHost, remote: Remote | None) -> str:
    """Whose account is used for a person, asked of the host now."""
    linked = held.accounts.of(person, host.name)
    name = inline(host.name)
    if linked is None:
        return AS_ME.format(host=name)
    try:
        now = await checked(held.publisher.forges, host, linked.token.get_secret_value(), remote)
    except RemoteError as error:
        return NOT_NOW.format(login=inline(linked.login), host=name, why=plain(str(error), 300))
    return AS_THEM.format(host=name, login=inline(now.login))


def told(state: str, host: ForgeHost, *, on_aws: bool) -> str:
    """What stands above the buttons."""
    where, until = ON_AWS if on_aws else HERE
    return f"{state}\n\n{ABOUT.format(how=HOW[host.kind].format(host=host.name), where=where, until=until)}"


class AccountLink(PersonalView):
    """Buttons for one person and one host; ``remote`` is what a token is tried on, None where nothing is attached."""

    def __init__(
        self, held: Repositories, person: str, host: ForgeHost, remote: Remote | None, tries: app_commands.Cooldown
    ) -> None:
        super().__init__(person, SECONDS, NOT_YOU)
        self.held, self.host, self.remote, self.tries = held, host, remote, tries
        self.show()

    def show(self) -> None:
        """Offer what is possible now."""
        linked = self.held.accounts.of(self.person, self.host.name) is not None
        self.link.label = "Use another token" if linked else "Link my account"
        self.remove_item(self.unlink)
        if linked:
            self.add_item(self.unlink)

    @ui.button(label="Link my account", style=discord.ButtonStyle.primary)
    async def link(self, interaction: Interaction, _: ui.Button[AccountLink]) -> None:
        """Ask for a token."""
        await interaction.response.send_modal(AccountForm(self))

    @ui.button(label="Unlink", style=discord.ButtonStyle.danger)
    async def unlink(self, interaction: Interaction, _: ui.Button[AccountLink]) -> None:
        """Delete the token."""
        await interaction.response.defer()
        try:
            await self.held.accounts.unlink(self.person, self.host.name)
            said = UNLINKED.format(host=inline(self.host.name))
        except OSError as error:
            said = FAILED.format(why=f"The token could not be deleted ({error.strerror}).")
        await self.tell(interaction, said)

    async def take(self, interaction: Interaction, token: str) -> None:
        """Link the account that a token belongs to, and say what came of it."""
        await interaction.response.defer()
        try:
            require(await interaction.client.reach.stand(interaction, "repo"), "start")
            if (wait := self.tries.update_rate_limit()) is not None:
                raise OutOfReach(TOO_MANY.format(tries=TRIES, minutes=max(wait / 60, 1)))
            linked = await checked(self.held.publisher.forges, self.host, token, self.remote)
            await self.held.accounts.keep(self.person, linked)
            said = _linked(linked)
        except (OutOfReach, AgenticError) as error:
            said = FAILED.format(why=plain(str(error), 600))
        except OSError as error:
            log.warning("an account cannot be linked: %s", error)
            said = NOT_KEPT.format(why=error.strerror)
        await self.tell(interaction, said)

    async def tell(self, interaction: Interaction, said: str) -> None:
        """Bring the message and its buttons up to date."""
        self.show()
        text = interaction.client.desk.discreet_text(told(said, self.host, on_aws=self.held.accounts.on_aws))
        await interaction.edit_original_response(content=text, view=self)


class AccountForm(ui.Modal):
    """Takes one token."""

    def __init__(self, link: AccountLink) -> None:
        super().__init__(title="Link your account", timeout=SECONDS)
        self._link = link
        self._token: ui.TextInput[AccountForm] = ui.TextInput(custom_id="token", min_length=8, max_length=300)
        self.add_item(ui.Label(text=f"Your token at {link.host.name}"[:45], component=self._token))

    async def on_submit(self, interaction: discord.Interaction) -> None:
        """Check it, and keep it."""
        await self._link.take(cast("Interaction", interaction), self._token.value.strip())


def _linked(account: LinkedAccount) -> str:
    return AS_THEM.format(host=inline(account.host), login=inline(account.login))
