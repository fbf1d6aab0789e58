package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/berthproject/berth/apiserver"
	"github.com/berthproject/berth/internal/settings"
)

// serverCommand runs the API server alone.
func serverCommand() *cobra.Command {
	o := apiserver.DefaultOptions()
	var configs []string
	cmd := &cobra.Command{
		Use:   "server",
		Short: "Run the Kubernetes-compatible API server",
		Long: `Serves the Kubernetes API from an embedded etcd, or from yours. Pods need a service
account, which berth controller makes in each namespace; run it beside.`,
		Example: `  berth server --data-dir ./data
  berth server --etcd-servers https://e1:2379,https://e2:2379 --etcd-cafile ca.pem --etcd-certfile c.pem --etcd-keyfile k.pem`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			settings, err := settings.Load(configs)
			if err != nil {
				return err
			}
			applyServerConfig(cmd.Flags(), &o, settings)
			server, err := newServer(cmd.Context(), o, cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			go func() {
				select {
				case <-server.Ready():
					fmt.Fprintf(cmd.OutOrStdout(), "API server ready at https://%s, kubeconfig %s; run berth controller beside it\n", server.Address(), server.KubeconfigPath())
				case <-cmd.Context().Done():
				}
			}()
			return server.Run(cmd.Context())
		},
	}
	addServerFlags(cmd.Flags(), &o)
	settings.AddFlag(cmd.Flags(), &configs)
	return cmd
}

// newServer makes an API server, and says if that takes long because etcd does not answer.
func newServer(ctx context.Context, o apiserver.Options, w io.Writer) (*apiserver.Server, error) {
	if len(o.EtcdServers) > 0 {
		patience := time.AfterFunc(time.Second, func() {
			fmt.Fprintf(w, "waiting for etcd at %s\n", strings.Join(o.EtcdServers, ", "))
		})
		defer patience.Stop()
	}
	return apiserver.New(ctx, o)
}

// addServerFlags are the API server's flags, for every subcommand that starts one.
func addServerFlags(flags *pflag.FlagSet, o *apiserver.Options) {
	flags.StringVar(&o.Listen, "listen", o.Listen, "HOST:PORT to serve HTTPS on; port 0 takes a free one")
	flags.StringVar(&o.DataDir, "data-dir", o.DataDir, "directory of the embedded etcd, the certificates and the admin kubeconfig")
	flags.StringVar(&o.TokenAuthFile, "token-auth-file", "", `CSV file of static bearer tokens: token,user,uid,"group1,group2"`)
	flags.StringSliceVar(&o.EtcdServers, "etcd-servers", nil, "URLs of an etcd cluster to use instead of the embedded one")
	flags.StringVar(&o.EtcdCAFile, "etcd-cafile", "", "PEM file of the authority that signed etcd's certificates")
	flags.StringVar(&o.EtcdCertFile, "etcd-certfile", "", "PEM file of the certificate to show to etcd")
	flags.StringVar(&o.EtcdKeyFile, "etcd-keyfile", "", "PEM file of the key of --etcd-certfile")
	flags.StringVar(&o.ServiceClusterIPRange, "service-cluster-ip-range", o.ServiceClusterIPRange, "CIDR that services get their addresses from")
	flags.StringSliceVar(&o.DisableAdmissionPlugins, "disable-admission-plugins", nil, "admission plugins to leave out")
	flags.Int64Var(&o.NodeTolerationSeconds.NotReady, "default-not-ready-toleration-seconds", o.NodeTolerationSeconds.NotReady, "how long pods that do not say so stay on a node that is not ready")
	flags.Int64Var(&o.NodeTolerationSeconds.Unreachable, "default-unreachable-toleration-seconds", o.NodeTolerationSeconds.Unreachable, "the same for a node that is silent")
	flags.IntVar(&o.MaxRequestsInFlight, "max-requests-inflight", o.MaxRequestsInFlight, "reads answered at a time; more get 429")
	flags.IntVar(&o.MaxMutatingRequestsInFlight, "max-mutating-requests-inflight", o.MaxMutatingRequestsInFlight, "writes answered at a time; more get 429")
	flags.BoolVar(&o.StoredOnlyWarnings, "stored-only-warnings", o.StoredOnlyWarnings, "warn creators of kinds that nothing acts on yet")
	flags.BoolVar(&o.StrictResourceVersions, "strict-resource-versions", o.StrictResourceVersions, "answer resource versions that are no numbers with 400 or 422 everywhere; kube-apiserver answers some with 500")
}
