"""Shell texts, read: which commands they run, with which words, texts and files."""
