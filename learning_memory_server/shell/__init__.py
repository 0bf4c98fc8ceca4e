"""Parse shell scripts: their commands, with words, texts and files."""
