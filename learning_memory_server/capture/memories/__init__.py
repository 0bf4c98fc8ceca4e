"""Memories: texts that people and agents want kept, divided into chunks, stored and found again.

`store` adds and deletes, `log` is the journal's side. `structure` finds the parts of a text, `chunking` packs them into
chunks, `documents` makes those ready for the index. `query` and `searcher` find them; `prefilter` spares a lexical
search the chunks of a long text that cannot match.
"""
