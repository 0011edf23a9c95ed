"""Does a Bash rule cover a command? A deliberately simple reading: plain commands for allow, every word for deny."""
