"""The one way out of a sandbox: which hosts it may reach, and the proxy on our side that holds it to them.

A sandbox has no network.  Its commands speak to a relay on its own loopback, that to a Unix socket of ours (``doors``),
and there ``proxy`` decides:

    command -> 127.0.0.1 in the sandbox -> door -> proxy: list, then names resolved here, addresses, server name -> host

Without I/O: ``host_list``, ``addresses``, ``client_hello``, ``http_request``, ``proxy_checks``.
"""
