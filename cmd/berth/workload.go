package main

import (
	"os"
	"os/signal"

	"github.com/spf13/cobra"

	"github.com/berthproject/berth/agent/testprogram"
)

// workloadCommand is the program of test and demo pods; it has flags of its own.
func workloadCommand() *cobra.Command {
	return &cobra.Command{
		Use: "workload [FLAGS | COMMAND]", Short: "Serve, take memory, write, fork or end, as a pod of a test does", Hidden: true,
		DisableFlagParsing: true,
		Run: func(cmd *cobra.Command, args []string) {
			signal.Reset(terminationSignals()...) // it listens to those that it is to hear
			os.Exit(testprogram.Main(args, cmd.OutOrStdout(), cmd.ErrOrStderr()))
		},
	}
}
