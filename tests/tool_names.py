"""The tools that a client must find, in the order of the listing; said here once, and not taken from the server."""

NAMES = [
    "start_ghap",
    "update_ghap",
    "resolve_ghap",
    "get_active_ghap",
    "get_ghap_entry",
    "list_ghap_entries",
    "get_clusters",
    "get_cluster_members",
    "validate_value",
    "store_value",
    "judge_value",
    "list_values",
    "search_experiences",
    "add_memory",
    "search_memory",
    "delete_memory",
    "get_stats",
]
