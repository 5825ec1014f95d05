"""The subcommands of the laboratory, which join `gim` by the entry points of `gim.commands`."""
