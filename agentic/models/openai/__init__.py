"""Chat completions: OpenAI's protocol, spoken over HTTP and through LiteLLM."""
