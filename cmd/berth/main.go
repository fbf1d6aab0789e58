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
		signal.Ignore(syscall.SIGHUP) // a terminal that closes says so twice: the kernel, and the shell
		stop()                        // a second Ctrl-C ends at once
	})
	if err := rootCommand().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "berth:", cli.AddHint(err))
		os.Exit(cli.ExitCode(err))
	}
}

// terminationSignals are the signals by which a command is asked to end: a terminal that is closed asks as Ctrl-C does, but not who was
// started with nohup.
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
		Example: `  berth up
  berth kubectl apply -f examples/pods.yaml
  berth explain pod web-7`,
		Version:       version(),
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	cmd.SetFlagErrorFunc(cli.FlagError)
	cmd.AddCommand(upCommand(), serverCommand(), schedulerCommand(), controllerCommand(), deschedulerCommand(), agentCommand(),
		kubectlCommand(), explainCommand(), evictionsCommand(), queueCommand(), zonesCommand(), drainCommand(), simulateCommand(), loadCommand(), imageCommand(), configCommand(), credentialsCommand(), demoCommand(), workloadCommand(), versionCommand())
	return cmd
}

// extendRootPath has root find mkfs.ext4 and iptables also where only the user's programs are on PATH, as after plain su.
func extendRootPath() {
	if os.Geteuid() == 0 {
		_ = os.Setenv("PATH", strings.TrimPrefix(os.Getenv("PATH")+":/usr/sbin:/sbin", ":"))
	}
}
