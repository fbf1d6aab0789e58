package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"github.com/berthproject/berth/internal/cli"
	"github.com/berthproject/berth/internal/settings"
	"github.com/berthproject/berth/ui"
	"github.com/berthproject/berth/ui/answers"
)

// uiOptions holds the flags of `berth ui`.
type uiOptions struct {
	cli.Cluster
	journal, policyFile string
	configs             []string
	port                uint16
	browser             bool
}

func uiCommand() *cobra.Command {
	var o uiOptions
	cmd := &cobra.Command{
		Use:   "ui",
		Short: "Serve the web page of a cluster on this machine",
		Long: `Serves the web page on a loopback address and prints a link, which signs in
once. In a terminal of a desktop session, it also opens the link in a browser.
The page uses the kubeconfig's credentials and shows what its user may read. It
shows the fleet, pods, the queue, displacements, disruption budgets, zones, the
pressure of nodes, and previews of drains and of the descheduler. It changes
nothing.

The journal next to the kubeconfig is read by default (--journal). Press Ctrl-C
to stop; this ends the session.`,
		Example: `  berth ui
  berth ui --kubeconfig ~/.kube/config --port 8081`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	f := cmd.Flags()
	o.Cluster.AddFlags(f)
	f.StringVar(&o.journal, "journal", "", "journal `directory` of berth up or berth scheduler (default: the one next to the kubeconfig)")
	f.StringVar(&o.policyFile, "policy-config-file", "", "DeschedulerPolicy `file` for previews of the descheduler (default: that of berth descheduler)")
	f.Uint16Var(&o.port, "port", 0, "port on the loopback address; 0 for a free one")
	f.BoolVar(&o.browser, "browser", true, "open the link in a browser if the output is a terminal of a desktop session")
	settings.AddFlag(f, &o.configs)
	return cmd
}

func (o *uiOptions) run(ctx context.Context, out, errOut io.Writer) error {
	loaded, err := settings.Load(o.configs)
	if err != nil {
		return err
	}
	config, err := o.Config("berth-ui")
	if err != nil {
		return err
	}
	dir, err := journalDir(o.journal, &o.Cluster)
	if err != nil {
		return err
	}
	policy, err := readPolicy("--policy-config-file", o.policyFile)
	if err != nil {
		return err
	}
	source := answers.Source{Settings: loaded, Journal: dir, Policy: policy.Policy}
	page, err := ui.New(ui.Options{Cluster: config, OneTimeLink: true, Answers: source.Answers(), PolicyFile: o.policyFile})
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", fmt.Sprint(o.port)))
	if err != nil {
		return fmt.Errorf("--port %d: must be free: %w", o.port, err)
	}
	link := fmt.Sprintf("http://%s%s", listener.Addr(), page.Link())
	fmt.Fprintf(out, "Open this link, which signs in once:\n\n  %s\n\nPress Ctrl-C to stop.\n", link)
	if o.browser && canOpenBrowser(out) {
		remove, err := openBrowser(browserCommand(), link)
		defer remove()
		if err != nil {
			fmt.Fprintln(errOut, err)
		}
	}
	server := &http.Server{Handler: page, ReadHeaderTimeout: 10 * time.Second}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving the web page: %w", err)
	}
	return nil
}
