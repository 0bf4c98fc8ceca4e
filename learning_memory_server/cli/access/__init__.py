"""Commands' access to the data: operations in a hub (`connection`, `hub_client`), else in the command's process."""
