package main

import "github.com/spf13/cobra"

// linuxCommands returns the subcommands that require Linux.
func linuxCommands() []*cobra.Command {
	return []*cobra.Command{imageCommand(), runtimeCommand(), workloadCommand()}
}
