"""Reads the web for an agent: requests to hosts that a policy names, pages as text, search engines.

web_client      one request, or a page with its redirects: judged, resolved here, within bounds
page_reader     an answer as readable text; HTML is parsed in a short-lived process (page_process)
search_engines  SearXNG by its address, or public engines through ddgs
"""
