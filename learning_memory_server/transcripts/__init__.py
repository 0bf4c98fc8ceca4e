"""What earlier sessions of a client left on this machine: reading its transcripts."""
