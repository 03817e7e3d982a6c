"""Endpoints of interactions, their webhooks, and registered commands.

https://discord.com/developers/docs/interactions/receiving-and-responding#endpoints
https://discord.com/developers/docs/interactions/application-commands#endpoints
"""

from __future__ import annotations

from dataclasses import replace

from aiohttp import web

from bot.local_discord.interactions.command_options import check_choices
from bot.local_discord.interactions.commands import Scope
from bot.local_discord.interactions.interactions import Answer, Interaction, Kind
from bot.local_discord.interactions.modals import check_form
from bot.local_discord.messages import webhooks
from bot.local_discord.messages.message_params import Draft, parse_draft, parse_revision
from bot.local_discord.model.errors import ApiError, empty_message, invalid, unknown
from bot.local_discord.model.json_fields import Fields, Json, JsonObject
from bot.local_discord.model.records import Message, MessageFlag
from bot.local_discord.rest.endpoint import (
    Body,
    Created,
    Endpoint,
    Routes,
    path_id,
    query_id,
    read_body,
)

_MESSAGES = (Answer.MESSAGE, Answer.DEFERRED_MESSAGE)
_UPDATES = (Answer.DEFERRED_UPDATE, Answer.UPDATE)
_TO_ACTS = (*_MESSAGES, *_UPDATES, Answer.MODAL)
_ANSWERS = {
    Kind.COMMAND: (*_MESSAGES, Answer.MODAL),
    Kind.AUTOCOMPLETE: (Answer.CHOICES,),
    Kind.MODAL: (*_MESSAGES, *_UPDATES),
}


class InteractionRoutes(Routes):
    """Answers to interactions."""

    def table(self) -> list[tuple[str, str, Endpoint]]:
        hook = r"/webhooks/{application:\d+}/{token}"
        message = hook + r"/messages/{message:@original|\d+}"
        return [
            ("POST", r"/interactions/{interaction:\d+}/{token}/callback", self.callback),
            ("POST", hook, self.follow_up),
            ("GET", message, self.read),
            ("PATCH", message, self.edit),
            ("DELETE", message, self.delete),
        ]

    async def callback(self, request: web.Request) -> Json:
        """The first answer, of which there can be only one."""
        one = self._api.interactions.to_answer(path_id(request, "interaction"), request.match_info["token"])
        body = await read_body(request)
        kind = body.fields.integer("type")
        data = body.fields.object("data") or Fields({}, ("data",))
        message = self._answered(one, kind, data, body)
        if request.query.get("with_response", "").lower() in ("1", "true"):
            return self._described(one, kind, message)
        return None

    def _answered(self, one: Interaction, kind: int | None, data: Fields, body: Body) -> Message | None:
        hub = self._api.interactions
        allowed = _ANSWERS.get(one.kind, _TO_ACTS)
        if kind not in allowed:
            raise invalid(("type",), "BASE_TYPE_CHOICES", f"Value must be one of {tuple(int(a) for a in allowed)}.")
        match kind:
            case Answer.MESSAGE:
                draft = self._draft(data, body)
                if draft.is_empty:
                    raise empty_message()
                return hub.answer_message(one, draft)
            case Answer.DEFERRED_MESSAGE:
                flags = (data.integer("flags") or 0) & MessageFlag.EPHEMERAL
                return hub.answer_message(one, Draft(flags=flags), loading=True)
            case Answer.DEFERRED_UPDATE:
                return hub.answer_update(one, None)
            case Answer.UPDATE:
                return hub.answer_update(one, parse_revision(data, body.uploads, self._old_flags(one)))
            case Answer.CHOICES:
                choices = data.objects("choices") or []
                check_choices(choices, data.at("choices"))
                hub.answer_choices(one, tuple(c.data for c in choices))
                return None
            case _:
                check_form(data)
                hub.answer_modal(one, data.data)
                return None

    def _old_flags(self, one: Interaction) -> int:
        clicked = self._api.state.messages.get(one.channel_id, {}).get(one.message_id or 0)
        return clicked.flags if clicked else 0

    def _draft(self, fields: Fields, body: Body) -> Draft:
        return parse_draft(fields, body.uploads, extra_flags=int(MessageFlag.EPHEMERAL))

    def _described(self, one: Interaction, kind: int | None, message: Message | None) -> JsonObject:
        about: JsonObject = {"id": str(one.id), "type": int(one.kind)}
        answer: JsonObject = {"interaction": about}
        if message is None:
            return answer
        about |= {
            "response_message_id": str(message.id),
            "response_message_loading": bool(message.flags & MessageFlag.LOADING),
            "response_message_ephemeral": message.ephemeral,
        }
        answer["resource"] = {"type": kind, "message": self._api.view.payload(message)}
        return answer

    def _hook(self, request: web.Request) -> Interaction:
        if path_id(request, "application") != self._api.state.identity.application_id:
            raise unknown("Webhook")
        return self._api.interactions.to_follow_up(request.match_info["token"])

    async def follow_up(self, request: web.Request) -> Json:
        """A further message; or, at a webhook's address, a webhook's message."""
        if path_id(request, "application") in self._api.state.webhooks:
            return await self._posted(request)
        one = self._hook(request)
        body = await read_body(request)
        draft = self._draft(body.fields, body)
        if draft.is_empty:
            raise empty_message()
        return self._api.view.payload(self._api.interactions.follow_up(one, draft))

    async def _posted(self, request: web.Request) -> Json:
        """https://discord.com/developers/docs/resources/webhook#execute-webhook"""
        webhook = webhooks.found(self._api.state, path_id(request, "application"), request.match_info["token"])
        body = await read_body(request)
        named = replace(webhook, name=body.fields.text("username") or webhook.name)
        draft = parse_draft(body.fields, body.uploads)
        made = webhooks.executed(self._api.messages, named, draft, query_id(request, "thread_id"))
        waits = request.query.get("wait", "").lower() in ("1", "true")
        return self._api.view.payload(made) if waits else None

    async def read(self, request: web.Request) -> Json:
        """An answer of this interaction."""
        found = self._api.interactions.message_of(self._hook(request), request.match_info["message"])
        return self._api.view.payload(found)

    async def edit(self, request: web.Request) -> Json:
        """Change an answer of this interaction."""
        one = self._hook(request)
        found = self._api.interactions.message_of(one, request.match_info["message"])
        body = await read_body(request)
        revision = parse_revision(body.fields, body.uploads, found.flags)
        return self._api.view.payload(self._api.interactions.edit(one, found.id, revision))

    async def delete(self, request: web.Request) -> None:
        """Delete an answer of this interaction."""
        one = self._hook(request)
        found = self._api.interactions.message_of(one, request.match_info["message"])
        self._api.interactions.delete(one, found.id)


class CommandRoutes(Routes):
    """Registered commands, global and of the guild."""

    def table(self) -> list[tuple[str, str, Endpoint]]:
        application = r"/applications/{application:\d+}"
        found: list[tuple[str, str, Endpoint]] = []
        for base in (application + "/commands", application + r"/guilds/{guild:\d+}/commands"):
            one = base + r"/{command:\d+}"
            found += [
                ("GET", base, self.all),
                ("PUT", base, self.replace_all),
                ("POST", base, self.create),
                ("GET", one, self.read),
                ("PATCH", one, self.change),
                ("DELETE", one, self.delete),
            ]
        return found

    def _scope(self, request: web.Request) -> Scope:
        identity = self._api.state.identity
        if path_id(request, "application") != identity.application_id:
            raise ApiError(403, 20012, "You are not authorized to perform this action on this application")
        if "guild" not in request.match_info:
            return None
        if path_id(request, "guild") != identity.guild_id:
            raise unknown("Guild")
        return identity.guild_id

    async def all(self, request: web.Request) -> Json:
        """The commands of a scope."""
        return [*self._api.commands.all(self._scope(request))]

    async def replace_all(self, request: web.Request) -> Json:
        """https://discord.com/developers/docs/interactions/application-commands#bulk-overwrite-global-application-commands"""
        scope = self._scope(request)
        wanted = (await read_body(request, "commands")).fields.objects("commands") or []
        bare = [Fields(w.data, w.path[1:]) for w in wanted]
        return [*self._api.commands.replace_all(scope, bare, self._api.ratelimits.create_command)]

    async def create(self, request: web.Request) -> Json | Created:
        """Add a command; 201 if there was none of that name."""
        scope = self._scope(request)
        known = {str(c["id"]) for c in self._api.commands.all(scope)}
        fields = (await read_body(request)).fields
        made = self._api.commands.create(scope, fields, self._api.ratelimits.create_command)
        return made if str(made["id"]) in known else Created(made)

    async def read(self, request: web.Request) -> Json:
        """One command."""
        return self._api.commands.get(self._scope(request), path_id(request, "command"))

    async def change(self, request: web.Request) -> Json:
        """Change a command."""
        scope, number = self._scope(request), path_id(request, "command")
        return self._api.commands.change(scope, number, (await read_body(request)).fields)

    async def delete(self, request: web.Request) -> None:
        """Delete a command."""
        self._api.commands.delete(self._scope(request), path_id(request, "command"))
