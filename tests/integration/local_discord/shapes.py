"""Discord's published structures, field by field, and a check that a payload keeps to one.

Transcribed from the tables at https://discord.com/developers/docs (the page stands over each).
`name?` may be missing, `?type` may be null. A payload must have every other field, must not have
fields that are not listed, and each must be of its type.
"""

from __future__ import annotations

import re
from datetime import datetime

SHAPES: dict[str, str] = {
    # resources/user#user-object-user-structure
    "user": """id: snowflake; username: string; discriminator: string; global_name: ?string; avatar: ?string;
        bot?: boolean; system?: boolean; mfa_enabled?: boolean; banner?: ?string; accent_color?: ?integer;
        locale?: string; verified?: boolean; email?: ?string; flags?: integer; premium_type?: integer;
        public_flags?: integer; avatar_decoration_data?: ?any; collectibles?: ?any; primary_guild?: ?any""",
    # from events/gateway-events#message-create, where mentions carry an additional partial member
    "mentioned_user": "+user; member?: member",
    # resources/guild#guild-member-object-guild-member-structure
    "member": """user?: user; nick?: ?string; avatar?: ?string; banner?: ?string; roles: [snowflake];
        joined_at: ?time; premium_since?: ?time; deaf: boolean; mute: boolean; flags: integer; pending?: boolean;
        permissions?: string; communication_disabled_until?: ?time; avatar_decoration_data?: ?any;
        collectibles?: ?any""",
    # resources/message#message-object-message-structure
    "message": """id: snowflake; channel_id: snowflake; author: user; content: string; timestamp: time;
        edited_timestamp: ?time; tts: boolean; mention_everyone: boolean; mentions: [mentioned_user];
        mention_roles: [snowflake]; mention_channels?: [any]; attachments: [attachment]; embeds: [embed];
        reactions?: [reaction]; nonce?: any; pinned: boolean; webhook_id?: snowflake; type: integer; activity?: any;
        application?: any; application_id?: snowflake; flags?: integer; message_reference?: reference;
        message_snapshots?: [snapshot]; referenced_message?: ?message; interaction_metadata?: interaction_metadata;
        interaction?: message_interaction; thread?: channel; components?: [any]; sticker_items?: [sticker_item];
        stickers?: [any]; position?: integer; role_subscription_data?: any; resolved?: any; poll?: poll; call?: any;
        shared_client_theme?: any""",
    # events/gateway-events#message-create-message-create-extra-fields
    "message_create": "+message; guild_id?: snowflake; member?: member; channel_type?: integer",
    # resources/message#attachment-object-attachment-structure
    "attachment": """id: snowflake; filename: string; title?: string; description?: string; content_type?: string;
        size: integer; url: string; proxy_url: string; height?: ?integer; width?: ?integer; placeholder?: string;
        placeholder_version?: integer; ephemeral?: boolean; duration_secs?: any; waveform?: string; flags?: integer;
        clip_participants?: [user]; clip_created_at?: time; application?: ?any""",
    # resources/message#embed-object-embed-structure
    "embed": """title?: string; type?: string; description?: string; url?: string; timestamp?: time; color?: integer;
        footer?: any; image?: any; thumbnail?: any; video?: any; provider?: any; author?: any; fields?: [any];
        flags?: integer""",
    # resources/message#reaction-object-reaction-structure
    "reaction": """count: integer; count_details: reaction_counts; me: boolean; me_burst: boolean; emoji: emoji;
        burst_colors: [string]""",
    "reaction_counts": "burst: integer; normal: integer",
    # resources/emoji#emoji-object-emoji-structure
    "emoji": """id: ?snowflake; name: ?string; roles?: [snowflake]; user?: user; require_colons?: boolean;
        managed?: boolean; animated?: boolean; available?: boolean""",
    # resources/message#message-snapshot-object
    "snapshot": "message: snapshot_message",
    "snapshot_message": """type: integer; content: string; embeds: [embed]; attachments: [attachment]; timestamp: time;
        edited_timestamp: ?time; flags?: integer; mentions: [user]; mention_roles: [snowflake]; stickers?: [any];
        sticker_items?: [sticker_item]; components?: [any]""",
    # resources/sticker#sticker-item-object
    "sticker_item": "id: snowflake; name: string; format_type: integer",
    # resources/poll#poll-object
    "poll": """question: poll_media; answers: [poll_answer]; expiry: ?time; allow_multiselect: boolean;
        layout_type: integer; results?: poll_results""",
    "poll_media": "text?: string; emoji?: emoji",
    "poll_answer": "answer_id: integer; poll_media: poll_media",
    "poll_results": "is_finalized: boolean; answer_counts: [poll_count]",
    "poll_count": "id: integer; count: integer; me_voted: boolean",
    # events/gateway-events#message-poll-vote-add
    "poll_vote": """user_id: snowflake; channel_id: snowflake; message_id: snowflake; guild_id?: snowflake;
        answer_id: integer""",
    # events/gateway-events#message-delete-bulk
    "message_delete_bulk": "ids: [snowflake]; channel_id: snowflake; guild_id?: snowflake",
    # resources/webhook#webhook-object-webhook-structure
    "webhook": """id: snowflake; type: integer; guild_id?: ?snowflake; channel_id: ?snowflake; user?: user;
        name: ?string; avatar: ?string; token?: string; application_id: ?snowflake; source_guild?: any;
        source_channel?: any; url?: string""",
    # resources/message#message-reference-structure
    "reference": """type?: integer; message_id?: snowflake; channel_id?: snowflake; guild_id?: snowflake;
        fail_if_not_exists?: boolean""",
    # resources/message#message-interaction-metadata-object
    "interaction_metadata": """id: snowflake; type: integer; user: user; authorizing_integration_owners: any;
        original_response_message_id?: snowflake; interacted_message_id?: snowflake; target_user?: user;
        target_message_id?: snowflake""",
    # interactions/receiving-and-responding#message-interaction-object
    "message_interaction": "id: snowflake; type: integer; name: string; user: user; member?: member",
    # resources/channel#channel-object-channel-structure
    "channel": """id: snowflake; type: integer; guild_id?: snowflake; position?: integer;
        permission_overwrites?: [overwrite]; name?: ?string; topic?: ?string; nsfw?: boolean;
        last_message_id?: ?snowflake; bitrate?: integer; user_limit?: integer; rate_limit_per_user?: integer;
        recipients?: [user]; icon?: ?string; owner_id?: snowflake; application_id?: ?snowflake; managed?: boolean;
        parent_id?: ?snowflake; last_pin_timestamp?: ?time; rtc_region?: ?string; video_quality_mode?: integer;
        message_count?: integer; member_count?: integer; thread_metadata?: thread_metadata; member?: thread_member;
        default_auto_archive_duration?: integer; permissions?: string; app_permissions?: string; flags?: integer;
        total_message_sent?: integer; available_tags?: [any]; applied_tags?: [any]; default_reaction_emoji?: ?any;
        default_thread_rate_limit_per_user?: integer; default_sort_order?: ?integer; default_forum_layout?: integer""",
    # from events/gateway-events#thread-create, which adds newly_created
    "thread_create": "+channel; newly_created?: boolean",
    # resources/channel#overwrite-object-overwrite-structure
    "overwrite": "id: snowflake; type: integer; allow: string; deny: string",
    # resources/channel#thread-metadata-object-thread-metadata-structure
    "thread_metadata": """archived: boolean; auto_archive_duration: integer; archive_timestamp: time; locked: boolean;
        invitable?: boolean; create_timestamp?: ?time""",
    # resources/channel#thread-member-object-thread-member-structure
    "thread_member": "id?: snowflake; user_id?: snowflake; join_timestamp: time; flags: integer; member?: member",
    # from events/gateway-events#thread-members-update, where members carry a nullable presence
    "joined_member": "+thread_member; presence?: ?any",
    # events/gateway-events#rate-limited-rate-limited-fields
    "gateway_limited": "opcode: integer; retry_after: number; meta: members_limited",
    "members_limited": "guild_id: snowflake; nonce?: string",
    # events/gateway-events#thread-list-sync-thread-list-sync-event-fields
    "thread_list_sync": "guild_id: snowflake; channel_ids?: [snowflake]; threads: [channel]; members: [thread_member]",
    "thread_members_update": """id: snowflake; guild_id: snowflake; member_count: integer;
        added_members?: [joined_member]; removed_member_ids?: [snowflake]""",
    # topics/permissions#role-object-role-structure
    "role": """id: snowflake; name: string; color: integer; colors: any; hoist: boolean; icon?: ?string;
        unicode_emoji?: ?string; position: integer; permissions: string; managed: boolean; mentionable: boolean;
        tags?: any; flags: integer""",
    # resources/guild#guild-object-guild-structure
    "guild": """id: snowflake; name: string; icon: ?string; icon_hash?: ?string; splash: ?string;
        discovery_splash: ?string; owner?: boolean; owner_id: snowflake; permissions?: string; region?: ?string;
        afk_channel_id: ?snowflake; afk_timeout: integer; widget_enabled?: boolean; widget_channel_id?: ?snowflake;
        verification_level: integer; default_message_notifications: integer; explicit_content_filter: integer;
        roles: [role]; emojis: [emoji]; features: [string]; mfa_level: integer; application_id: ?snowflake;
        system_channel_id: ?snowflake; system_channel_flags: integer; rules_channel_id: ?snowflake;
        max_presences?: ?integer; max_members?: integer; vanity_url_code: ?string; description: ?string;
        banner: ?string; premium_tier: integer; premium_subscription_count?: integer; preferred_locale: string;
        public_updates_channel_id: ?snowflake; max_video_channel_users?: integer;
        max_stage_video_channel_users?: integer; approximate_member_count?: integer;
        approximate_presence_count?: integer; welcome_screen?: any; nsfw_level: integer; stickers?: [any];
        premium_progress_bar_enabled: boolean; safety_alerts_channel_id: ?snowflake; incidents_data: ?any""",
    # events/gateway-events#guild-create-guild-create-extra-fields
    "guild_create": """+guild; joined_at: time; large: boolean; unavailable?: boolean; member_count: integer;
        voice_states: [any]; members: [member]; channels: [channel]; threads: [channel]; presences: [any];
        stage_instances: [any]; guild_scheduled_events: [any]; soundboard_sounds: [any]""",
    # resources/guild#unavailable-guild-object
    "unavailable_guild": "id: snowflake; unavailable: boolean",
    # events/gateway-events#ready-ready-event-fields
    "ready": """v: integer; user: user; guilds: [unavailable_guild]; session_id: string; resume_gateway_url: string;
        shard?: [integer]; application: ready_application; private_channels: [any]""",
    "ready_application": "id: snowflake; flags: integer",
    # events/gateway#get-gateway-bot-json-response
    "gateway_bot": "url: string; shards: integer; session_start_limit: session_start_limit",
    "session_start_limit": "total: integer; remaining: integer; reset_after: integer; max_concurrency: integer",
    # resources/application#application-object-application-structure
    "application": """id: snowflake; name: string; icon: ?string; description: string; rpc_origins?: [string];
        bot_public: boolean; bot_require_code_grant: boolean; bot?: user; terms_of_service_url?: string;
        privacy_policy_url?: string; owner?: user; verify_key: string; team: ?any; guild_id?: snowflake; guild?: any;
        primary_sku_id?: snowflake; slug?: string; cover_image?: string; flags?: integer; flags_new?: string;
        approximate_guild_count?: integer; approximate_user_install_count?: integer;
        approximate_user_authorization_count?: integer; redirect_uris?: [string]; interactions_endpoint_url?: ?string;
        role_connections_verification_url?: ?string; event_webhooks_url?: ?string; event_webhooks_status?: any;
        event_webhooks_types?: [string]; tags?: [string]; install_params?: any; integration_types_config?: any;
        custom_install_url?: string""",
    # events/gateway-events#message-delete-message-delete-event-fields
    "message_delete": "id: snowflake; channel_id: snowflake; guild_id?: snowflake",
    # events/gateway-events#message-reaction-add-message-reaction-add-event-fields
    "reaction_add": """user_id: snowflake; channel_id: snowflake; message_id: snowflake; guild_id?: snowflake;
        member?: member; emoji: emoji; message_author_id?: snowflake; burst: boolean; burst_colors?: [string];
        type: integer""",
    # events/gateway-events#message-reaction-remove-message-reaction-remove-event-fields
    "reaction_remove": """user_id: snowflake; channel_id: snowflake; message_id: snowflake; guild_id?: snowflake;
        emoji: emoji; burst: boolean; type: integer""",
    # events/gateway-events#typing-start-typing-start-event-fields
    "typing_start": """channel_id: snowflake; guild_id?: snowflake; user_id: snowflake; timestamp: integer;
        member?: member""",
    # events/gateway-events#guild-members-chunk-guild-members-chunk-event-fields
    "members_chunk": """guild_id: snowflake; members: [member]; chunk_index: integer; chunk_count: integer;
        not_found?: [any]; presences?: [any]; nonce?: string""",
    # interactions/receiving-and-responding#interaction-object-interaction-structure
    "interaction": """id: snowflake; application_id: snowflake; type: integer; data?: any; guild?: any;
        guild_id?: snowflake; channel?: channel; channel_id?: snowflake; member?: member; user?: user; token: string;
        version: integer; message?: message; app_permissions: string; locale?: string; guild_locale?: string;
        entitlements: [any]; authorizing_integration_owners: any; context?: integer; attachment_size_limit: integer""",
    # interactions/receiving-and-responding#interaction-object-message-component-data-structure
    "component_data": "custom_id: string; component_type: integer; values?: [string]; resolved?: any",
    # interactions/receiving-and-responding#interaction-object-application-command-data-structure
    "command_data": """id: snowflake; name: string; type: integer; resolved?: any; options?: [any];
        guild_id?: snowflake; target_id?: snowflake""",
    # interactions/receiving-and-responding#interaction-callback-interaction-callback-response-object
    "callback_response": "interaction: callback; resource?: callback_resource",
    "callback": """id: snowflake; type: integer; activity_instance_id?: string; response_message_id?: snowflake;
        response_message_loading?: boolean; response_message_ephemeral?: boolean""",
    "callback_resource": "type: integer; activity_instance?: any; message?: message",
    # interactions/application-commands#application-command-object-application-command-structure
    "command": """id: snowflake; type?: integer; application_id: snowflake; guild_id?: snowflake; name: string;
        name_localizations?: ?any; description: string; description_localizations?: ?any; options?: [any];
        default_member_permissions: ?string; dm_permission?: boolean; default_permission?: ?boolean; nsfw?: boolean;
        integration_types?: [integer]; contexts?: ?any; version: snowflake; handler?: integer""",
    # topics/rate-limits#exceeding-a-rate-limit-rate-limit-response-structure
    "rate_limited": "message: string; retry_after: number; global: boolean; code?: integer",
    # reference#error-messages
    "error": "code: integer; message: string; errors?: any",
}

_PLAIN = {
    "string": lambda v: isinstance(v, str),
    "integer": lambda v: isinstance(v, int) and not isinstance(v, bool),
    "number": lambda v: isinstance(v, (int, float)) and not isinstance(v, bool),
    "boolean": lambda v: isinstance(v, bool),
    "snowflake": lambda v: isinstance(v, str) and re.fullmatch(r"\d{15,20}", v) is not None,
    "time": lambda v: isinstance(v, str) and datetime.fromisoformat(v).tzinfo is not None,
    "any": lambda v: True,
}


def fields_of(shape: str) -> dict[str, str]:
    """The fields of a shape; `+other` takes another's over."""
    fields: dict[str, str] = {}
    for part in re.split(r";\s*", SHAPES[shape].strip()):
        if part.startswith("+"):
            fields |= fields_of(part[1:])
        else:
            name, _, kind = part.partition(":")
            fields[name.strip()] = kind.strip()
    return fields


def problems(value: object, kind: str, where: str = "") -> list[str]:
    """Where `value` departs from the published structure; nothing if it keeps to it."""
    if kind.startswith("?"):
        return [] if value is None else problems(value, kind[1:], where)
    if kind.startswith("["):
        if not isinstance(value, list):
            return [f"{where}: {value!r} is no array"]
        return [p for n, item in enumerate(value) for p in problems(item, kind[1:-1], f"{where}[{n}]")]
    if kind in _PLAIN:
        return [] if _PLAIN[kind](value) else [f"{where}: {value!r} is no {kind}"]
    if not isinstance(value, dict):
        return [f"{where}: {value!r} is no {kind}"]
    wanted = {name.removesuffix("?"): (name.endswith("?"), t) for name, t in fields_of(kind).items()}
    found = [f"{where}.{name}: missing" for name, (optional, _) in wanted.items() if not optional and name not in value]
    found += [f"{where}.{name}: not in Discord's {kind}" for name in value if name not in wanted]
    for name, (_, inner) in wanted.items():
        if name in value:
            found += problems(value[name], inner, f"{where}.{name}")
    return found


def keeps_to(value: object, shape: str) -> bool:
    """Asserts that a payload has the published structure."""
    found = problems(value, shape, shape)
    assert not found, "\n".join(found)
    return True
