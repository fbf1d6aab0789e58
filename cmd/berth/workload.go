//go:build linux

package main

import (
	"os"
	"os/signal"

	"github.com/spf13/cobra"

	"github.com/berthproject/berth/agent/testprogram"
)

// workloadCommand returns the hidden program of test and demo pods, which parses its own
// flags.
func workloadCommand() *cobra.Command {
	return &cobra.Command{
		Use: "workload [FLAGS | COMMAND]", Short: "Run the test program of test and demo pods", Hidden: true,
		DisableFlagParsing: true,
		Run: func(cmd *cobra.Command, args []string) {
			signal.Reset(terminationSignals()...) // the program handles signals itself
			os.Exit(testprogram.Main(args, cmd.OutOrStdout(), cmd.ErrOrStderr()))
		},
	}
}
