"""The index: vectors and terms of what is in the journal, from which it can be rebuilt at any time.

`document` is what goes in, `embedding` makes its vector, `recipe` says how points are made. `index` joins the model and
the engine; `writer` is the only way in, with `reconciling` for what is pending. `moving` fills another engine.
"""
