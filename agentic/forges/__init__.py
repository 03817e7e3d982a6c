"""Adapters of the hosts of repositories: GitHub and Forgejo."""
