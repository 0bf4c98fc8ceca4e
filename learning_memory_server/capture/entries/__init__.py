"""GHAP entries: recording them while work goes on, importing them, and searching the resolved ones.

`collector` is the life of an entry, `documents` its texts on the four axes, `persister` its way to the index. `query`
and `searcher` find experiences. `importing` reads entries from files, with `foreign` for what other programs wrote.
"""
