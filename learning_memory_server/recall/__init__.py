"""The search engine: how a text is scored for a query, whatever is searched.

The path of a query, from `VectorIndex.search_hybrid`:

1. `hybrid`: the best candidates by vector (semantic) and by terms (lexical), each scored in both.
2. `dates`: a question's dates in ISO, next to their words.
3. `terms`: a text or a query as the stems and names that count as its terms.
4. `fusion`: the formula that makes one score of both, with its measurements.
5. `reranking`: a model, if one is configured, reads the best results once more.
6. `floor`: the score below which results are left out, where one was measured.
7. `explanation`: the parts of a result's score, which every result carries.

Without an index, `lexical` ranks the journal's texts directly. `timing` logs how long a search took.
`observation.searcher` and `memories.searcher` search experiences and memories with these.
"""
