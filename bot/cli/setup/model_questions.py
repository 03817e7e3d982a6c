"""The questions of setup about models: keys, addresses, Ollama, and which models the four tiers hold.

Each answer is tried at once: a key or an address by asking for the list of models, a model's name against that list and
the price map.
"""

from __future__ import annotations

import asyncio
import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

from agentic.models.ollama import Ollama, find_ollama
from agentic.models.providers.catalogue import BY_NAME, OLLAMA, Provider, provider_of
from agentic.models.providers.prices import Prices, price_from, prices_from, to_set
from agentic.models.providers.server_check import SHOWN, flaw, lists, nearest, talkers, unlisted
from agentic.models.tier_config import NUMBERS, SETTING, TierChoice, doubts_about, tiers_from
from bot.cli.checks.model_access import KEYED, Answer, ask, said, verdict
from bot.cli.console import tell
from bot.cli.setup.draft import Draft
from bot.cli.setup.prompts import MARKS, SetupFailed, SetupPrompts, Unusable, secret_in
from bot.config.settings_errors import PREFIX

Read = TypeVar("Read")

NONE, OLLAMA_CHOICE, OWN_CHOICE = "none", "ollama", "own"
SPEAKS = ("openai", "anthropic")
"""The interfaces of a server of one's own, by the provider whose variables it takes."""
TIERS: Mapping[int, str] = {
    1: "small talk, no tools",
    2: "tasks start here",
    3: "when tier 2 is stuck",
    4: "last and most expensive",
}
PRICES = f"{PREFIX}PRICES"
OLLAMA_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class ModelArguments:
    """The command's arguments about models; an empty one has to be asked for."""

    key_files: tuple[tuple[str, Path], ...] = ()
    """(provider, file that holds its key)."""
    addresses: tuple[tuple[str, str], ...] = ()
    """(provider, base URL)."""
    ollama: str | None = None
    """Ollama's address; '' for the usual one."""
    tiers: tuple[tuple[int, str], ...] = ()
    """(number, names with commas)."""
    prices: tuple[str, ...] = ()

    @property
    def answers(self) -> bool:
        """Whether they answer where models come from."""
        return bool(self.key_files or self.addresses or self.ollama is not None)


class ModelQuestions:
    """Asks about models, and puts the answers into the draft."""

    def __init__(self, order: ModelArguments, prompts: SetupPrompts, draft: Draft) -> None:
        self.order = order
        self.prompts = prompts
        self.draft = draft
        self.lists: dict[str, tuple[str, ...]] = {}
        """Models that answered, by provider."""
        self.asked: set[str] = set()
        self.insisted: set[str] = set()

    def sources(self) -> None:
        """Ask where models come from, and show the tiers that follow."""
        tell("\nModels")
        self._prices(self.order.prices)
        self._show_present()
        if self.order.answers or self.prompts.proposals:
            self._ordered()
        else:
            self._ask_sources()
        for number, names in self.order.tiers:
            self._set_tier(number, _flag(f"--tier {number}", partial(self._names, number), names))
        self.show_tiers()

    def show_tiers(self) -> None:
        """Show which models each tier holds with what is set so far."""
        choice = self.choice()
        if choice.source == "tour":
            tell("  ! No model yet: the bot starts with a scripted tour. Run setup again when you have a key.")
            return
        held = {tier.number: ", ".join(tier.models) for tier in choice.tiers}
        tell(f"\n  Which model does what ({choice.told}):")
        for number, use in TIERS.items():
            tell(f"    tier {number}  {use:<24} {held.get(number, '–')}")
        for model in choice.models:
            provider = provider_of(model)
            names = self.lists.get(provider.name, ()) if provider is not None else ()
            wrong = unlisted(provider, self.draft.env, names, model) if provider is not None and names else None
            if wrong is not None:
                tell(f"  ! {wrong.said}. {wrong.instead}")

    def tiers(self) -> None:
        """Ask whether a tier is to hold other models."""
        while number := self.prompts.ask("Change the models of a tier? (1 to 4; Enter: no)", "--tier", read=_number):
            present = next((tier.models for tier in self.choice().tiers if tier.number == number), ())

            def read(said: str, number: int = number, present: tuple[str, ...] = present) -> tuple[str, ...]:
                return present if said == ", ".join(present) else self._names(number, said)

            question = f"Models of tier {number}, best first, separated by commas"
            self._set_tier(number, self.prompts.ask(question, "--tier", proposal=", ".join(present), read=read))
            self.show_tiers()

    def choice(self) -> TierChoice:
        """Return the tiers with what is set so far."""
        values = [self.draft.value(f"{SETTING}{number}") for number in NUMBERS]
        return tiers_from(values, self.draft.env, self._known())

    # --- where models come from -------------------------------------------------------------------------------

    def _show_present(self) -> None:
        """Try what is set already."""
        flags = {name for name, _ in (*self.order.key_files, *self.order.addresses)}
        for provider in (*KEYED.values(), BY_NAME["ollama"]):
            if not provider.is_set_up(self.draft.env) or provider.name in flags:
                continue
            answer = self._answer(provider)
            keyless = verdict(answer) == "refused" and not provider.key(self.draft.env)
            if not keyless or self.prompts.proposals:  # else the key is asked for next
                self._tell(provider, answer)

    def _ordered(self) -> None:
        """Take the answers of the flags."""
        for name, address in self.order.addresses:
            self._set_address(BY_NAME[name], _flag(f"--base-url {name}", _address(BY_NAME[name]), address))
        keys = dict(self.order.key_files)
        for name, file in keys.items():
            self._set_key(KEYED[name], secret_in(file), again=False)
        for name in dict(self.order.addresses):
            if name not in keys:
                self._tell(BY_NAME[name], self._answer(BY_NAME[name]))
        if self.order.ollama is not None:
            self._use_ollama(_flag("--ollama", _ollama, self.order.ollama))

    def _ask_sources(self) -> None:
        found = asyncio.run(find_ollama(env=self.draft.env))
        tell(f"  A key of one provider is enough: {', '.join(KEYED)}.")
        there = f" (found {_models(found)})" if found is not None and found.models else ""
        tell(f"  ollama: free models on your own machine{there}.")
        tell("  own: a server with an address of its own that speaks like OpenAI or Anthropic.")
        while name := self._asked_for_source(found):
            if name == OLLAMA_CHOICE:
                at = found.address if found is not None else OLLAMA
                self._use_ollama(self.prompts.ask("Address of Ollama", "--ollama", proposal=at, read=_ollama))
            elif name == OWN_CHOICE:
                self._ask_own()
            else:
                self._ask_key(KEYED[name])

    def _asked_for_source(self, found: Ollama | None) -> str:
        names = (*KEYED, OLLAMA_CHOICE, OWN_CHOICE, NONE)

        def read(said: str) -> str:
            name = said.lower()
            if name and name not in names:
                raise Unusable(f"Write one of: {', '.join(names)}.")
            return name.replace(NONE, "")

        nothing = self.choice().source == "tour" and self.prompts.at_terminal  # a pipe's lines mean the same everywhere
        proposal = OLLAMA_CHOICE if nothing and found is not None and found.models else ""
        skip = f"{NONE}: skip" if proposal else "Enter to skip"
        return self.prompts.ask(f"Which provider? ({skip})", "--key PROVIDER=FILE", proposal=proposal, read=read)

    def _ask_key(self, provider: Provider) -> None:
        had = self.draft.value(provider.keys[0])
        while True:
            key = self.prompts.ask(
                f"Key of {provider.title}", f"--key {provider.name}=FILE", proposal=had, shown="set" if had else "",
                secret=True, read=_key,
            )  # fmt: skip
            if self._set_key(provider, key, again=self.prompts.at_terminal):
                return

    def _ask_own(self) -> None:
        def speaks(said: str) -> Provider:
            if said.lower() not in SPEAKS:
                raise Unusable(f"Write one of: {', '.join(SPEAKS)}.")
            return BY_NAME[said.lower()]

        provider = self.prompts.ask("It speaks like (openai, anthropic)", "--base-url", proposal=SPEAKS[0], read=speaks)
        variable = provider.addresses[0]
        had = self.draft.value(variable)
        question = "Its address, such as https://models.example.org/v1"
        before = self.choice()
        address = self.prompts.ask(question, "--base-url", proposal=had, read=_address(provider))
        self._set_address(provider, address)
        had = self.draft.value(provider.keys[0])
        while True:
            key = self.prompts.ask(
                "Its key" + ("" if had else " (Enter: it needs none)"), "--key", proposal=had,
                shown="set" if had else "", secret=True, read=lambda said: _key(said) if said else "",
            )  # fmt: skip
            if self._set_key(provider, key, again=self.prompts.at_terminal):
                break
        self._offer(f"{provider.name}/", self.lists.get(provider.name, ()), before)

    def _use_ollama(self, found: Ollama) -> None:
        """Keep its address where it is not the usual one, and propose one of its models."""
        before = self.choice()
        if found.address != OLLAMA or self.draft.value("OLLAMA_API_BASE"):
            self.draft.set("OLLAMA_API_BASE", found.address)
        names = tuple(model.partition("/")[2] for model in found.models)
        if not names:
            tell(f"  ! Ollama at {found.address} has no model yet. Get one: ollama pull qwen3")
            return
        tell(f"  ✔ Ollama at {found.address} has {_models(found)}")
        self.lists["ollama"] = self.lists["ollama_chat"] = names
        self._offer("ollama_chat/", names, before)

    def _offer(self, prefix: str, names: Sequence[str], before: TierChoice) -> None:
        """Let a listed model be chosen for tier 2; the tiers that keys give beside it stay."""
        names = talkers(names)
        if not names or 2 in dict(self.order.tiers):
            return
        provider = prefix[:-1]
        if all(lists(names, model) for model in self.choice().models if model.startswith(prefix)) and (
            self.choice().source == "defaults" and provider in KEYED
        ):
            return

        def read(said: str) -> tuple[str, ...]:
            return self._names(2, said if said.startswith(prefix) or not said else prefix + said)

        if not self.prompts.proposals and len(names) > 1:
            tell(f"  Its models: {_few(names)}")
        chosen = self.prompts.ask("Which one should do the work?", "--tier 2=NAME", proposal=names[0], read=read)
        self._set_tier(2, chosen, before)

    # --- answers, each tried ----------------------------------------------------------------------------------

    def _set_address(self, provider: Provider, address: str) -> None:
        self.draft.set(provider.addresses[0], address)
        self._forget(provider)

    def _set_key(self, provider: Provider, key: str, *, again: bool) -> bool:
        """Try a key and keep it; False where it is refused and can be asked ``again``."""
        env = {**self.draft.env, provider.keys[0]: _key(key) if key else ""}
        answer = asyncio.run(ask(provider, env))
        self._tell(provider, answer)
        if verdict(answer) == "refused":
            if not again:
                raise SetupFailed(f"{provider.title} refuses the key.")
            return False
        if verdict(answer) != "ok":
            tell("    It is kept, unchecked.")
        if isinstance(answer, tuple):
            self.lists[provider.name] = answer
        self.asked.add(provider.name)
        self.draft.set(provider.keys[0], env[provider.keys[0]])
        return True

    def _tell(self, provider: Provider, answer: Answer) -> None:
        todo = "" if isinstance(answer, tuple) or not answer.instead else f". {answer.instead}."
        tell(f"  {MARKS[verdict(answer)]} {said(provider, answer, self.draft.env)}{todo}")

    def _answer(self, provider: Provider) -> Answer:
        answer = asyncio.run(ask(provider, self.draft.env))
        self.asked.add(provider.name)
        if isinstance(answer, tuple):
            self.lists[provider.name] = answer
        return answer

    def _forget(self, provider: Provider) -> None:
        self.asked.discard(provider.name)
        self.lists.pop(provider.name, None)

    def _listed(self, provider: Provider | None) -> tuple[str, ...]:
        """Return the models that a provider lists, asked once; () where it can't say."""
        if provider is None:
            return ()
        if provider.name not in self.lists and provider.name not in self.asked:
            self._answer(provider)
        return self.lists.get(provider.name, ())

    # --- names and prices -------------------------------------------------------------------------------------

    def _names(self, number: int, said: str) -> tuple[str, ...]:
        """Read the models of a tier; raises ``Unusable`` for a name that nobody knows, once."""
        names = tuple(dict.fromkeys(name.strip() for name in said.split(",") if name.strip()))
        for name in names:
            self._check(number, name)
        for name in names:
            if not self._known().priced(name):
                self._ask_price(name)
        return names

    def _check(self, number: int, name: str) -> None:
        """Raise ``Unusable`` for a typo, with what it may have been; the same answer once more is taken."""
        prices, listed = self._known(), self._listed(provider_of(name))
        problems = doubts_about(f"{SETTING}{number}", name, self.draft.env, prices)
        for problem in problems:
            if "price" not in problem.said:
                raise Unusable(f"{problem.said[:1].upper()}{problem.said[1:]}. {problem.instead}.")
        if lists(listed, name) if listed else prices.priced(name):
            return
        if name in self.insisted or name in prices.extra:
            return
        provider, slash, bare = name.partition("/")
        if listed:
            near = nearest(listed, bare or name)
            near = f"{provider}/{near}" if near and slash else near
        else:
            near = next(iter(difflib.get_close_matches(name, list(prices.names()), n=1, cutoff=0.8)), "")
        if not near and not listed:
            return
        self.insisted.add(name)
        hint = f"Did you mean {near}?" if near else f"There are: {', '.join(listed[:SHOWN])}."
        again = " Write it again to use it anyway." if self.prompts.at_terminal else ""
        raise Unusable(f"I don't know a model {name}. {hint}{again}")

    def _ask_price(self, name: str) -> None:
        """Ask what a model costs; without a price no budget could be kept, so it would not be asked."""

        def read(said: str) -> str:
            try:
                price_from(f"{name}={said}")
            except ValueError:
                raise Unusable(f"Write it like 0.5/1.5, or 0/0 if it is free. Later: {to_set(name)}.") from None
            return said

        tell(f"  The price of {name} is not known, and without one no budget can be kept.")
        price = self.prompts.ask(
            "US dollars for a million tokens, in/out (0/0: free)", f"--price {name}=IN/OUT", read=read
        )
        self._prices([f"{name}={price}"])

    def _prices(self, given: Sequence[str]) -> None:
        if not given:
            return
        kept = [each.strip() for each in self.draft.value(PRICES).split(",") if each.strip()]
        names = {price_from(each)[0] for each in given}
        kept = [each for each in kept if each.rpartition("=")[0].strip() not in names]
        self.draft.set(PRICES, ",".join((*kept, *given)))

    def _known(self) -> Prices:
        """Return the price map with the prices of the file; one that can't be read is named at the end."""
        try:
            return Prices(prices_from(self.draft.value(PRICES)))
        except ValueError:
            return Prices()

    def _set_tier(self, number: int, names: Sequence[str], before: TierChoice | None = None) -> None:
        """Set one tier; the others keep the models that the keys give them, or gave them ``before``."""
        choice = before or self.choice()
        if choice.source == "defaults":
            for tier in choice.tiers:
                self.draft.set(f"{SETTING}{tier.number}", ",".join(tier.models))
        self.draft.set(f"{SETTING}{number}", ",".join(names))


def _flag(flag: str, read: Callable[[str], Read], given: str) -> Read:
    """Read what a flag says; raises ``SetupFailed`` with the flag's name."""
    try:
        return read(given)
    except Unusable as why:
        raise SetupFailed(f"{flag}: {why}") from None


def _number(said: str) -> int:
    if not said or said.lower() in ("no", "n"):
        return 0
    if said not in ("1", "2", "3", "4"):
        raise Unusable("Write 1, 2, 3 or 4, or press Enter.")
    return int(said)


def _key(said: str) -> str:
    key = said.strip()
    if not key or not (key.isascii() and key.isprintable() and " " not in key):
        raise Unusable("A key is one word. Copy it from your account at the provider.")
    return key


def _address(provider: Provider) -> Callable[[str], str]:
    """Return what reads an address of this provider; raises ``Unusable``."""

    def read(said: str) -> str:
        address = said.strip().rstrip("/")
        if not address:
            raise Unusable("Write an address that begins with https:// or http://.")
        if (wrong := flaw(provider, {provider.addresses[0]: address})) is not None:
            raise Unusable(f"{wrong.said}. {wrong.instead}.")
        return address

    return read


def _ollama(said: str) -> Ollama:
    """Find the Ollama at an address; raises ``Unusable`` where none answers."""
    address = _address(BY_NAME["ollama"])(said or OLLAMA)
    found = asyncio.run(find_ollama(OLLAMA_SECONDS, address=address))
    if found is None:
        raise Unusable(f"No Ollama answers at {address}. Start it (ollama serve), or write another address.")
    return found


def _models(found: Ollama) -> str:
    names = [model.partition("/")[2] for model in found.models]
    return f"{len(names)} model{'s' * (len(names) != 1)}: {_few(names, 3)}"


def _few(names: Sequence[str], most: int = SHOWN) -> str:
    return ", ".join(names[:most]) + " …" * (len(names) > most)
