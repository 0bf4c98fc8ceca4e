"""The command line: `app` names the module of each command, which is imported when the command runs."""
