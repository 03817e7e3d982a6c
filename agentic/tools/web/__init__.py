"""Tools that read the web: one page, one request, a search whose pages are read and whose answer names its sources."""
