"""Recall: what is known that bears on a question.

The index is searched while it is ready and in time (`index.ranking` has the scores), else the journal (`lexical`).
"""
