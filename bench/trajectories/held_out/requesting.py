"""Requests to an interface with varying arguments: each says something new, or each is turned down in the same words."""

from __future__ import annotations

from bench.trajectories.acting import finish, python, shell, write
from bench.trajectories.story import Family, Story
from bench.trajectories.words import NOUNS, stamp

DENIALS = (
    '{"error":"invalid_signature","request_id":"%s"}',
    '{"message":"Field \'region\' is not valid","time":"%s"}',
    "HTTP/1.1 401 Unauthorized\ndate: %s\nwww-authenticate: Bearer",
    'psql: error: FATAL: password authentication failed for user "app" at %s',
)


def healthy(story: Story) -> None:
    """Three or four errors, each another one, and then page after page of answers."""
    rng = story.rng
    thing = rng.choice(NOUNS)
    missing = rng.sample(("name", "owner", "region", "size", "token", "kind"), rng.randint(2, 4))
    for number, field in enumerate(missing):
        body = ", ".join(missing[:number])
        output = f'{{"error":"missing field: {field}","request_id":"{rng.randbytes(6).hex()}"}}'
        story.turn(shell(story, f"curl -s -X POST api.local/{thing} -d '{{{body}}}'", output, code=22))
        if rng.random() < 0.25:
            story.turn(shell(story, f"curl -s -X POST api.local/{thing} -d '{{{body} }}'", output, code=22))
    for page in range(1, rng.randint(3, 7)):
        rows = ",".join(f'"{rng.choice(NOUNS)}-{rng.randint(1, 999)}"' for _ in range(4))
        story.turn(shell(story, f"curl -s 'api.local/{thing}?page={page}'", f"[{rows}]"))
    story.turn(write(story, f"{thing}.json", "rows", 40))
    story.turn(finish(story))


def stuck(story: Story) -> None:
    """Headers, quotes, bodies and users are varied, in the shell or in Python; the answer is the same but for its id."""
    rng = story.rng
    thing, denial = rng.choice(NOUNS), rng.choice(DENIALS)
    in_python = rng.random() < 0.3
    story.turn(shell(story, "env | cut -d= -f1 | sort", "HOME\nPATH\nPWD"))
    story.leads_nowhere()
    for number in range(rng.randint(8, 13)):
        answer = denial % (stamp(story) if rng.random() < 0.5 else rng.randbytes(8).hex())
        header = rng.choice(
            ("-H 'X-Api: 2'", "-H 'Accept: */*'", "", "--compressed", f"-d 'n={number}'", f"-d 'try={number}'")
        )
        if in_python:
            story.turn(
                python(story, f"r = call({thing!r}, attempt={number})", traceback=f"Traceback\nApiError: {answer}")
            )
        else:
            code = rng.choice((0, 22)) if number == 0 else 22
            story.turn(shell(story, f"curl -s {header} api.local/{thing}/{number}", answer, code=code))


FAMILY = Family("requesting", {"healthy": healthy, "stuck": stuck})
