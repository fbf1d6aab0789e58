package main

import "github.com/spf13/cobra"

// linuxCommands returns the subcommands that need a machine that can run containers.
func linuxCommands() []*cobra.Command {
	return []*cobra.Command{imageCommand(), runtimeCommand(), workloadCommand()}
}
