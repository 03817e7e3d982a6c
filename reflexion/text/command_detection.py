"""Command lines in a text, as far as they reach beyond reading and testing in the workspace.  Pure.

A command is told from a sentence by three things: a program whose name is no word of English; a program that is known to
act on something, with a verb of doing after it; or the form of a command (an option, a pipe, a path that is run).
"""

from __future__ import annotations

import re
from typing import Final

_SHAPED: Final = re.compile(
    r"""(?ix)
        \|\s*(?:ba|z|da|k)?sh\b | \binto\s+(?:ba|z|da|k)?sh\b | &&\s*\w | \$\((?![A-Z_]{1,40}\)) | (?:^|\s)\$\s\w
      | (?:^|\s)>{1,2}\s*[~/]\S | \bkill(?:all)?\s+-\w
      | \w(?<!\bwith)(?<!\bflag)(?<!\boption)(?<!\bpass)(?<!\bneeds)(?<!\badd)(?<!\buse)(?<!\bwithout)(?<!\bpytest)
          (?<!\bjest)(?<!\btox)(?<!\bruff)(?<!\bmypy)(?<!\bdiff)(?<!\blog)(?<!\bstatus)(?<!\bblame)(?<!\bgrep)\s+--?
          (?!m\s+(?:unittest|pytest|doctest)\b)[a-z][\w-]*
      | (?:^|\s)\.{0,2}/[\w./-]+\.(?:sh|py|pl|rb|js|bat|ps1)\b | \b(?:run|execute|start|source)\s+\.{0,2}/\w
      | \b(?:eval|exec|system|popen|__import__)\s*\( | \bsubprocess\.\w | \bshell\s*=\s*true\b | \biex\b
      | (?-i:\b(?:Invoke|Start|New|Set|Remove|Get|Add|Stop|Clear|Out)-[A-Z]\w+)
      | \b(?:drop|truncate)\s+(?:table|database|schema)\b | \bdelete\s+from\s+\w
      | (?<!\w)`(?=\S)(?!make\s+(?:build|tests?|check|lint)`)(?:[^`\s]*+[^\S\n][^`\n]*+|[^`\n]*+\n[^`\n]*+)`"""
)
_PROGRAMS: Final = re.compile(
    r"""(?ix) (?<![\w./-])(?:
        sudo|doas|curl|wget|chmod|chown|chgrp|setfacl|ssh|scp|sftp|rsync|rclone|nc|ncat|netcat|socat|telnet|dd|mkfs(?:\.\w+)?
      | rm|rmdir|shred|wipefs|fdisk|parted|iptables|nft|ufw|crontab|nohup|setsid|xargs|ssh-(?:add|copy-id|keygen)
      | systemd-\w+|\w+ctl|\w+-cli|\w+-playbook|\w+admin(?=\s+\w+\s+\w)|kubectx|k9s|kustomize|gcloud|gsutil|bq|aws|az|gh|glab
      | terraform|tofu|terragrunt|pulumi|helm|skaffold|twine|flit|psql|pg_(?:dump|restore|ctl)\w*|mysqldump|mongosh?
      | dropdb|createdb|dropuser|createuser|sqlcmd|rabbitmqadmin|sendmail|mailx|mutt|nmap|useradd|usermod|userdel|passwd
      | pipx|uvx?|npx|pnpx|bunx|powershell|pwsh|bash|zsh|cmd\.exe|schtasks|regedit|msiexec|osascript
      )\s+[-./\w$"'~*]"""
)
"""Programs that reach out, destroy, or run others."""
_VERBS: Final = (
    r"(?:apply|bind|bump|clean|clear|clone|commit|config|create|delete|deploy|deprecate|destroy|disable|download|drop|enable|"
    r"erase|exec|expire|flush\w*|force\w*|import|init|install|invoke|kill|link|load|login|logout|migrate|move|overwrite|promote|"
    r"prune|publish|pull|purge|push|rebase|release|remote|remove|reset|restart|restore|revert|revoke|rm|rmi|rollback|downgrade|run|save|"
    r"scale|send|set|shutdown|start|stop|submit|sync|tag|terminate|transfer|truncate|undeploy|uninstall|unpublish|up|update|"
    r"upgrade|upload|wipe|yank|down|copy|cp|put|merge|retire|cancel|abort|pg:\w+|filter-\w+|update-ref|gc)\b(?!-)"
)
_KNOWN: Final = re.compile(
    rf"""(?ix) (?<![\w./-])(?:
        (?:git|svn|hg|jj)\s+(?:(?:stash|branch|tag|remote|worktree|submodule|reflog|lfs|notes)\s+)?(?:checkout|switch|{_VERBS})
      | (?:make|just|task|rake|invoke|tox|nox|ant|gradlew?|mvnw?|bazel|mix|lein|sbt)\s+{_VERBS}
      | (?:npm|yarn|pnpm|bun)\s+(?:i|ci|add|dlx|exec|audit|owner|access|{_VERBS})
      | (?:docker|podman|buildah|compose|docker-compose|nerdctl|vagrant|packer|nomad|consul|vault|ansible|argocd|flux|oc|kops
          |heroku|vercel|netlify|firebase|fly|flyctl|wrangler|railway|render|surge|serverless|sls|sam|cdk|eb|amplify|copilot
          |flyway|liquibase|alembic|prisma|knex|sequelize|typeorm|celery|dramatiq|kafka-\w+
          |pip3?|poetry|hatch|pdm|conda|mamba|gem|bundle|cargo|go|composer|dotnet|nuget|choco|winget|brew|apt|apt-get|dnf|yum|apk
          |pacman|snap|flatpak|port|zypper|service|supervisor|pm2|mail|mysql|mariadb|sqlite3)
        \s+(?:\w[\w:-]*\s+){{0,2}}?(?:get|add|build|wheel|task|logs|{_VERBS})
      | (?:rails|rake|mix|artisan|manage\.py|django-admin)\s+(?:\w+[:.])*(?:fresh|{_VERBS})
      | (?:killall|pkill|reboot|poweroff)\s+\w
      | (?:python[\d.]*|node|perl|ruby|php|sh|deno|bun)
        \s+(?:-(?!m\s+(?:unittest|pytest|doctest)\b)\w|[\w./-]+\.(?:py|js|ts|pl|rb|php|sh)\b)
      )"""
)
"""Programs that also only look, with a verb of doing after them."""
_DOES: Final = re.compile(
    r"""(?ix) \b(?:run|call|execute|type|enter|invoke|issue|use|try|by|with|via|do)\s+
        (?!(?:a|an|the|this|that|these|those|our|your|its|their|no|each|every|any|all|it|and|or|to|not)\b)
        [a-z][\w-]+\s+(?:deploy|destroy|publish|unpublish|uninstall|terminate|purge|yank|wipe)\b"""
)
"""Whatever the program is called."""
_OUTSIDE: Final = re.compile(
    r"""(?ix) \b(?:force-)?(?:deploy|publish|release|roll\s+out|push|merge|delete|drop|destroy|purge|wipe
          |restart|reboot|shut\s+down|upload|e?-?mail|post|send|trigger|notify|close|approve|overwrite|truncate|migrate|reset)
        \s+(?:[\w'-]+\s+){0,3}?
        (?:prod|production|pull\s+requests?|merge\s+requests?|web\s?hooks?|(?:package|container|image|npm|docker)\s+registry
          |main\s+branch|master|upstream|live\s+\w+|customers?|mailing\s+list|cluster|bucket)\b
      | \b(?:call|use)\s+(?:[\w'-]+\s+){0,3}?web\s?hooks?\b | \bforce-push"""
)
"""The same in words: an act on what others use."""


def holds_command(text: str) -> bool:
    """Whether it holds a command line that a person has to look at first."""
    return any(form.search(text) for form in (_SHAPED, _PROGRAMS, _KNOWN, _DOES, _OUTSIDE))
