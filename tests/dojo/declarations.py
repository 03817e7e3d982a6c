"""What each function of agentdojo's suites is to the rule of two, and why.

*Untrusted*: its result holds words that somebody other than the person may have written.  *Private*: it reaches what only
the person is to know.  *Outside*: it changes what lies beyond the workspace, or sends something to where others read it.
A function that is not declared is all three.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Declared:
    """The three facts of a function."""

    untrusted: bool = False
    private: bool = False
    outside: bool = False


CAREFUL = Declared(untrusted=True, private=True, outside=True)

_MAIL_AND_FILES = Declared(untrusted=True, private=True)
"""Anybody may write to an inbox, invite to a meeting, share a file, pay a cent with a subject; all of it is the person's."""
_OWN = Declared(private=True)
"""What the person entered about themselves, or the bank counted: nobody else words it."""
_PUBLIC = Declared(untrusted=True)
"""Listings and reviews: written by anybody, known to everybody."""
_HARMLESS = Declared()
_ACT = Declared(outside=True)
"""It sends, pays, books or changes what others see, and answers in words of its own."""
_ACT_ON_OWN = Declared(private=True, outside=True)
"""The same, and its result repeats what the person entered about themselves."""
_ACT_ON_CONTENT = Declared(untrusted=True, private=True, outside=True)
"""The same, and its result holds the file, event or message it acted on, with what others wrote there.  Unread mail is read
mail afterwards."""
_REQUEST = Declared(untrusted=True, outside=True)
"""A request to any address carries words out, and brings a stranger's words in."""

_GROUPS: dict[Declared, str] = {
    _MAIL_AND_FILES: """
        get_sent_emails get_received_emails get_draft_emails search_emails
        search_contacts_by_name search_contacts_by_email search_calendar_events get_day_calendar_events
        search_files_by_filename get_file_by_id list_files search_files
        get_most_recent_transactions get_scheduled_transactions read_file
        get_channels read_channel_messages read_inbox get_users_in_channel""",
    _OWN: "get_iban get_balance get_user_info get_user_information",
    _PUBLIC: """
        get_all_hotels_in_city get_hotels_prices get_rating_reviews_for_hotels get_hotels_address
        get_all_restaurants_in_city get_cuisine_type_for_restaurants get_restaurants_address
        get_rating_reviews_for_restaurants get_dietary_restrictions_for_all_restaurants
        get_contact_information_for_restaurants get_price_for_restaurants check_restaurant_opening_hours
        get_all_car_rental_companies_in_city get_car_types_available get_rating_reviews_for_car_rental
        get_car_fuel_options get_car_rental_address get_car_price_per_day get_flight_information""",
    _HARMLESS: "get_current_day",
    _ACT: """
        send_email delete_email create_calendar_event cancel_calendar_event create_file
        reserve_hotel reserve_car_rental reserve_restaurant
        send_money schedule_transaction update_scheduled_transaction update_password
        add_user_to_channel send_direct_message send_channel_message invite_user_to_slack remove_user_from_slack
        post_webpage""",
    _ACT_ON_OWN: "update_user_info",
    _ACT_ON_CONTENT: """
        reschedule_calendar_event add_calendar_event_participants append_to_file delete_file share_file
        get_unread_emails""",
    _REQUEST: "get_webpage",
}

TABLE: dict[str, Declared] = {name: declared for declared, names in _GROUPS.items() for name in names.split()}


def declared(function: str) -> Declared:
    """What a function is; the careful answer where nobody said."""
    return TABLE.get(function, CAREFUL)
