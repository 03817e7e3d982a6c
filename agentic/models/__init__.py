"""Adapters of the port ``LanguageModel``, and what is known of models.

Which adapter      router: Anthropic's models directly, ``scripted/`` in the process, the rest through LiteLLM
Anthropic          anthropic_direct (the SDK), anthropic_wire (bytes out), anthropic_answer (events in)
LiteLLM            litellm_route, litellm_facade (the one place that knows it), litellm_answer, openai_wire, schema_mode
Every route        finishing: calls, recovery, repair, counting, prices; failures, streams (both clocks), characters
Known of models    tiers, prices, providers, ollama
Scripted           scripted (tests), tour (no model configured), endpoint with replies and captured (HTTP, for tests)
"""
