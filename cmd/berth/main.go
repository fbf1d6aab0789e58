package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

func main() {
	quietLogs()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := root().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "berth:", err)
		os.Exit(1)
	}
}

func root() *cobra.Command {
	cmd := &cobra.Command{
		Use:           "berth",
		Short:         "Berth decides where every pod of a cluster runs, and when it must move",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	cmd.AddCommand(upCommand(), serverCommand(), schedulerCommand(), controllerCommand(), agentCommand(),
		kubectlCommand(), explainCommand(), loadCommand(), configCommand(), credentialsCommand())
	return cmd
}
