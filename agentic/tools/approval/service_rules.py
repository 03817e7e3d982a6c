"""Commands to a service or a database that delete what it keeps: a volume, a table, a project."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from agentic.bash.command_output import UNKNOWN
from agentic.tools.approval.gated_command import Found, GatedCommand, Runs, name_of
from agentic.tools.approval.script_rules import SQL_TOOLS

_LOST = "deletes data that a service keeps"
_ALWAYS = "(always)"
_TABLE = """
docker: volume rm | volume prune | system prune --volumes | compose down -v | compose down --volumes | compose rm -fsv
docker-compose: down -v | down --volumes
podman: volume rm | volume prune | system reset
kubectl: delete
helm: uninstall | delete
terraform: destroy | apply -destroy | state rm
tofu: destroy
pulumi: destroy
aws: s3 rm | s3 rb | s3 sync --delete
gsutil: rm -r | rsync -d
gcloud: delete
az: delete
rclone: purge | delete | sync
s3cmd: del
gh: repo delete | release delete | api DELETE
curl: DELETE
crontab: -r | -ri | /dev/null
dropdb: (always)
mysqladmin: drop
pg_restore: --clean | -c
redis-cli: flushall | flushdb | … del | del *
mongosh: dropDatabase( | .drop() | Many({}) | remove({})
mongo: dropDatabase( | .drop() | Many({}) | remove({})
mongorestore: --drop
mongoimport: --drop
rails: db:drop | db:reset | db:schema:load
rake: db:drop | db:reset | db:schema:load
manage.py: flush | reset_db | zero
alembic: downgrade base
prisma: migrate reset | --force-reset
sequelize: db:drop | undo:all
sequelize-cli: db:drop | undo:all
typeorm: schema:drop
knex: migrate:rollback --all
artisan: migrate:fresh | db:wipe | migrate:reset
mix: ecto.drop | ecto.reset
flyway: clean
liquibase: drop-all
diesel: database reset
sqlx: database drop
supabase: db reset
lvremove: (always)
zfs: destroy
zpool: destroy
btrfs: subvolume delete
mdadm: --zero-superblock
cryptsetup: luksErase | luksFormat
userdel: -r
deluser: --remove-home
npm: unpublish
gio: trash
heroku: pg:reset | apps:destroy
fly: destroy
vercel: remove
firebase: firestore:delete
vagrant: destroy
virsh: --remove-all-storage
restic: forget
borg: delete
kafka-topics: --delete
rabbitmqctl: reset
nats: purge
etcdctl: del
vault: delete
consul: delete
pwsh: Remove-Item
vim: %d | !rm
ex: %d | !rm
ed: 1,$d | ,d | !rm
"""
"""Of each program, words that together, in any order, delete what it keeps; … is what cannot be known."""
_SERVICES = {
    name: tuple(each.strip().replace("…", UNKNOWN) for each in wanted.split(" | "))
    for name, _, wanted in (line.partition(": ") for line in _TABLE.strip().splitlines())
}
_HARMLESS = frozenset(("--dry-run", "--dryrun", "--dry-run=client", "--dry-run=server", "--help"))
_SCRIPTS = frozenset(("manage.py", "artisan"))
"""Programs that an interpreter is given as its first word."""
MOST_WORDS, MOST_GIVEN = 60, 2_000


def service(command: GatedCommand) -> Iterator[Found]:
    """A command to a service or a database, by its words."""
    name, words, simple = command.name, command.words[1:], command.simple
    if words and (inner := name_of(words[0])) in _SCRIPTS:
        name, words = inner, words[1:]
    if name not in _SERVICES or _HARMLESS & set(words):
        return
    if name == "curl" and any("localhost" in word or "127.0.0.1" in word for word in words):
        return
    given = (simple.stdin or simple.stdin_file)[:MOST_GIVEN]
    said = f" {' '.join(words[:MOST_WORDS])} {given} ".replace("-XDELETE", "DELETE")
    said = said.lower() if name == "redis-cli" else said
    if any(all(part in said for part in _parts(wanted)) for wanted in _SERVICES[name]):
        yield _LOST


def container(command: GatedCommand) -> Iterator[Found]:
    """``docker exec``: a shell or a program for databases that it starts."""
    if "exec" not in command.words:
        return
    inner = command.words[command.words.index("exec") + 1 :]
    starts = (at for at, word in enumerate(inner) if name_of(word) in SQL_TOOLS | {"sh", "bash", "dropdb"})
    if (at := next(starts, None)) is not None:
        yield Runs(simple=replace(command.simple, words=inner[at:]))


def _parts(wanted: str) -> list[str]:
    words = [] if wanted == _ALWAYS else wanted.split()
    return [f" {word} " if word.isalpha() or word.startswith("-") else word for word in words]
