"""An index on loopback for pip, npm, cargo, go and git, over TLS with a certificate of its own."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import io
import json
import ssl
import subprocess
import tarfile
import zipfile
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from pathlib import Path

from aiohttp import web

NAME = "index.test"
MODULE = "example.test/tiny"
GO_MOD = f"module {MODULE}\n\ngo 1.16\n"


@dataclass
class IndexServer:
    """Where it listens, its certificate, and what it was asked for."""

    port: int
    certificate: Path
    asked: list[str] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"https://{NAME}:{self.port}"


def wheel() -> bytes:
    """A package of one line."""
    info = "tinypkg-1.0.dist-info"
    files = {
        "tinypkg/__init__.py": "ANSWER = 42\n",
        f"{info}/METADATA": "Metadata-Version: 2.1\nName: tinypkg\nVersion: 1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    files[f"{info}/RECORD"] = "".join(f"{name},,\n" for name in [*files, f"{info}/RECORD"])
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return out.getvalue()


def packed(**files: str) -> bytes:
    """A gzipped tar of files by path."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        for path, text in files.items():
            member = tarfile.TarInfo(path)
            member.size = len(text.encode())
            archive.addfile(member, io.BytesIO(text.encode()))
    return out.getvalue()


def npm_archive() -> bytes:
    described = json.dumps({"name": "tiny-lib", "version": "1.0.0", "main": "index.js"})
    return packed(**{"package/package.json": described, "package/index.js": "module.exports = 42\n"})


def crate() -> bytes:
    manifest = '[package]\nname = "tiny-crate"\nversion = "1.0.0"\nedition = "2021"\n'
    return packed(**{
        "tiny-crate-1.0.0/Cargo.toml": manifest, "tiny-crate-1.0.0/src/lib.rs": "pub const ANSWER: u32 = 42;\n",
    })  # fmt: skip


def module() -> bytes:
    """A module of Go's, as a proxy of modules gives it."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr(f"{MODULE}@v1.0.0/go.mod", GO_MOD)
        archive.writestr(f"{MODULE}@v1.0.0/tiny.go", "package tiny\n\nconst Answer = 42\n")
    return out.getvalue()


def repository(folder: Path) -> None:
    """A bare repository that can be fetched as plain files."""
    work = folder / "work"
    script = (
        "git init -q -b main work && cd work && echo hello > README && git add . && "
        "git -c user.name=t -c user.email=t@t commit -qm one && cd .. && git clone -q --bare work repo.git && "
        "cd repo.git && git update-server-info"
    )
    subprocess.run(["sh", "-ec", script], cwd=folder, check=True)
    assert work.exists()


@contextlib.asynccontextmanager
async def index_server(folder: Path) -> AsyncGenerator[IndexServer]:
    """Serve until the block ends."""
    key, certificate = folder / "key.pem", folder / "ca.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
         "-subj", f"/CN={NAME}", "-addext", f"subjectAltName=DNS:{NAME}", "-addext", "basicConstraints=critical,CA:FALSE",
         "-keyout", key, "-out", certificate],
        check=True, capture_output=True,
    )  # fmt: skip
    repository(folder)
    server = IndexServer(0, certificate)
    answers: dict[str, bytes] = {}

    async def answer(request: web.Request) -> web.StreamResponse:
        server.asked.append(request.path)
        if request.path.startswith("/repo.git/"):
            file = folder / request.path.lstrip("/")
            return web.FileResponse(file) if file.is_file() else web.Response(status=404)
        known = answers.get(request.path)
        kind = "text/html" if request.path.startswith("/wheels/") else "application/json"
        return web.Response(body=known, content_type=kind) if known is not None else web.Response(status=404)

    application = web.Application()
    application.router.add_route("*", "/{path:.*}", answer)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    runner = web.AppRunner(application)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context)
    await site.start()
    server.port = runner.addresses[0][1]
    archive = npm_archive()
    packument = {
        "name": "tiny-lib", "dist-tags": {"latest": "1.0.0"},
        "versions": {"1.0.0": {"name": "tiny-lib", "version": "1.0.0", "dist": {
            "tarball": f"{server.url}/tiny-lib/-/tiny-lib-1.0.0.tgz",
            "integrity": "sha512-" + base64.b64encode(hashlib.sha512(archive).digest()).decode(),
        }}},
    }  # fmt: skip
    entry = {
        "name": "tiny-crate", "vers": "1.0.0", "deps": [], "cksum": hashlib.sha256(crate()).hexdigest(), "features": {},
        "yanked": False,
    }  # fmt: skip
    answers |= {
        "/wheels/tinypkg/": b'<a href="/files/tinypkg-1.0-py3-none-any.whl">tinypkg-1.0-py3-none-any.whl</a>',
        "/files/tinypkg-1.0-py3-none-any.whl": wheel(),
        "/tiny-lib": json.dumps(packument).encode(), "/tiny-lib/-/tiny-lib-1.0.0.tgz": archive,
        "/index/config.json": json.dumps({"dl": f"{server.url}/crates"}).encode(),
        "/index/ti/ny/tiny-crate": json.dumps(entry).encode(), "/crates/tiny-crate/1.0.0/download": crate(),
        f"/go/{MODULE}/@v/list": b"v1.0.0\n",
        f"/go/{MODULE}/@v/v1.0.0.info": b'{"Version": "v1.0.0"}',
        f"/go/{MODULE}/@v/v1.0.0.mod": GO_MOD.encode(), f"/go/{MODULE}/@v/v1.0.0.zip": module(),
        "/hello": b'"hello"',
    }  # fmt: skip
    try:
        yield server
    finally:
        await runner.cleanup()
