"""A host of repositories on loopback: git over HTTP, and the parts of GitHub's and Forgejo's API that Threadwright uses.

Stands alone: it imports nothing of the product.  It is for trying out and for tests, and keeps its pull requests in memory.
"""

from bot.local_forge.forge_records import FORGE_TOKEN, Account, HostedRepository, Pull
from bot.local_forge.local_forge import LocalForge
from bot.local_forge.misbehaviour import Misbehaviour
from bot.local_forge.webhook_sender import Webhook

__all__ = ["FORGE_TOKEN", "Account", "HostedRepository", "LocalForge", "Misbehaviour", "Pull", "Webhook"]
