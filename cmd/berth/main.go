package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/berthproject/berth/internal/cli"
)

func main() {
	quietLogs()
	extendRootPath()
	ctx, stop := signal.NotifyContext(context.Background(), terminationSignals()...)
	defer stop()
	context.AfterFunc(ctx, func() {
		signal.Ignore(syscall.SIGHUP) // a closed terminal sends SIGHUP twice: from the kernel and from the shell
		stop()                        // a second Ctrl-C ends the process at once
	})
	root := programCommand(os.Args[0], os.Args[1:])
	if err := root.ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, root.DisplayName()+":", cli.AddHint(err))
		os.Exit(cli.ExitCode(err))
	}
}

// terminationSignals returns the signals that end a command gracefully. SIGHUP is one of
// them unless it is ignored, as with nohup.
func terminationSignals() []os.Signal {
	if signal.Ignored(syscall.SIGHUP) {
		return []os.Signal{os.Interrupt, syscall.SIGTERM}
	}
	return []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}
}

func rootCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "berth",
		Short: "Berth decides where every pod of a cluster runs",
		Long: `Berth decides where every pod of a Kubernetes cluster runs, and when it must
move. berth up starts a cluster in one process. The other commands run one
component, or explain, drain, deschedule, replay and simulate a cluster.`,
		Example: `  berth up
  berth kubectl apply -f examples/pods.yaml
  berth explain pod web-7`,
		Version:       currentVersion().String(),
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	cmd.SetFlagErrorFunc(cli.FlagError)
	addVerbosity(cmd.PersistentFlags())
	cli.SetHelpWidth(cmd)
	cmd.AddCommand(upCommand(), serverCommand(), schedulerCommand(), controllerCommand(), deschedulerCommand(), agentCommand(),
		kubectlCommand(), explainCommand(), evictionsCommand(), queueCommand(), uiCommand(), zonesCommand(), drainCommand(), snapshotCommand(), simulateCommand(), replayCommand(), loadCommand(),
		configCommand(), credentialsCommand(), demoCommand(), manCommand(), versionCommand())
	cmd.AddCommand(linuxCommands()...)
	addCompletionCommand(cmd)
	addCompletions(cmd)
	cli.RejectUnknownSubcommands(cmd)
	return cmd
}

// addCompletionCommand adds cobra's completion command, with lines of at most 80 columns.
func addCompletionCommand(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	completion, _, err := root.Find([]string{"completion"})
	if err != nil {
		return
	}
	completion.Example = "  berth completion bash > /etc/bash_completion.d/berth"
	examples := map[string]string{
		"bash":       "  source <(berth completion bash)",
		"fish":       "  berth completion fish | source",
		"powershell": "  berth completion powershell | Out-String | Invoke-Expression",
		"zsh":        "  source <(berth completion zsh)",
	}
	for _, shell := range completion.Commands() {
		shell.Example = examples[shell.Name()]
		shell.Long = strings.ReplaceAll(shell.Long, "If it is not installed already, you can install it", "If it is not installed, install it")
	}
}

// extendRootPath appends the sbin directories for root, so that mkfs.ext4 and iptables are
// found after a plain su.
func extendRootPath() {
	if os.Geteuid() == 0 {
		_ = os.Setenv("PATH", strings.TrimPrefix(os.Getenv("PATH")+":/usr/sbin:/sbin", ":"))
	}
}
