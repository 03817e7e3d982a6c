"""What an attacker tries, in kinds: how many forms were tried in each area, and how many came through."""
