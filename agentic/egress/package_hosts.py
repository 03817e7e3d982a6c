"""The hosts of the usual package indexes, by bare name: what the preset ``packages`` opens."""

PACKAGE_HOSTS = (
    # Python
    "pypi.org", "files.pythonhosted.org",
    # JavaScript
    "registry.npmjs.org", "registry.yarnpkg.com",
    # Rust
    "crates.io", "index.crates.io", "static.crates.io",
    # Go
    "proxy.golang.org", "sum.golang.org",
    # Debian
    "deb.debian.org", "security.debian.org",
)  # fmt: skip
