"""One page that shows a person what was learned: the data in it, where things are on its map, and the page itself."""
