"""The gateway: WebSocket connections, sessions, resuming."""
