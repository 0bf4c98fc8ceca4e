"""What a client's hooks are told, and what is learned from them: text in, text out, whatever the client."""
