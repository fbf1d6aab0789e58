package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/klog/v2"

	"github.com/berthproject/berth/apiserver"
	"github.com/berthproject/berth/internal/cli"
	"github.com/berthproject/berth/internal/localcluster"
	"github.com/berthproject/berth/internal/settings"
)

func serverCommand() *cobra.Command {
	o := apiserver.DefaultOptions()
	var configs []string
	cmd := &cobra.Command{
		Use:   "server",
		Short: "Run the Kubernetes-compatible API server",
		Long: `Serves the Kubernetes API from an embedded or an external etcd. Run berth
controller with it: pods need the default ServiceAccount, which a controller
creates in each namespace.`,
		Example: `  berth server --data-dir ./data
  berth server --etcd-servers https://e1:2379,https://e2:2379 \
    --etcd-cafile ca.pem --etcd-certfile c.pem --etcd-keyfile k.pem`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			loaded, err := settings.Load(configs)
			if err != nil {
				return err
			}
			localcluster.ApplySettings(&o, loaded, cmd.Flags().Changed)
			server, err := newServer(cmd.Context(), o, cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			go func() {
				select {
				case <-server.Ready():
					cli.Printf(cmd.OutOrStdout(), "API server ready at https://%s, kubeconfig %s. Run `berth controller` with it.\n", server.Address(), server.KubeconfigPath())
					if err := localcluster.RunCertificates(cmd.Context(), server); err != nil {
						klog.ErrorS(err, "Failed to start the certificate controller")
					}
				case <-cmd.Context().Done():
				}
			}()
			return server.Run(cmd.Context())
		},
	}
	addServerFlags(cmd.Flags(), &o)
	settings.AddFlag(cmd.Flags(), &configs)
	cmd.AddCommand(serverCheckCommand())
	return cmd
}

// addAuditAndEncryptionFlags adds the flags of the audit log, the audit webhook and encryption at rest.
func addAuditAndEncryptionFlags(flags *pflag.FlagSet, o *apiserver.Options) {
	a := o.Audit
	flags.StringVar(&a.PolicyFile, "audit-policy-file", "", "file with an audit Policy; without it nothing is recorded")
	flags.StringVar(&a.LogOptions.Path, "audit-log-path", "", "file of the audit log; - for standard output")
	flags.IntVar(&a.LogOptions.MaxAge, "audit-log-maxage", a.LogOptions.MaxAge, "days to keep old files of the audit log")
	flags.IntVar(&a.LogOptions.MaxBackups, "audit-log-maxbackup", a.LogOptions.MaxBackups, "number of old files of the audit log to keep; 0: no limit")
	flags.IntVar(&a.LogOptions.MaxSize, "audit-log-maxsize", a.LogOptions.MaxSize, "megabytes of the audit log before it is rotated")
	flags.BoolVar(&a.LogOptions.Compress, "audit-log-compress", false, "compress old files of the audit log")
	flags.StringVar(&a.LogOptions.Format, "audit-log-format", a.LogOptions.Format, "format of the audit log: json or legacy")
	flags.StringVar(&a.LogOptions.BatchOptions.Mode, "audit-log-mode", a.LogOptions.BatchOptions.Mode, "when the log is written: batch, blocking (before the response) or blocking-strict (the request fails if its event cannot be written)")
	flags.StringVar(&a.WebhookOptions.ConfigFile, "audit-webhook-config-file", "", "kubeconfig of the audit webhook")
	flags.StringVar(&a.WebhookOptions.BatchOptions.Mode, "audit-webhook-mode", a.WebhookOptions.BatchOptions.Mode, "when events are sent: batch, blocking or blocking-strict")
	flags.StringVar(&o.EncryptionConfigFile, "encryption-provider-config", "", "file with an EncryptionConfiguration: how objects are encrypted in etcd")
	flags.BoolVar(&o.EncryptionConfigReload, "encryption-provider-config-automatic-reload", false, "read --encryption-provider-config again when it changes")
}

// newServer creates an API server. It prints a line if etcd does not respond within a
// second.
func newServer(ctx context.Context, o apiserver.Options, w io.Writer) (*apiserver.Server, error) {
	if len(o.EtcdServers) > 0 {
		notice := time.AfterFunc(time.Second, func() {
			fmt.Fprintf(w, "Waiting for etcd at %s\n", strings.Join(o.EtcdServers, ", "))
		})
		defer notice.Stop()
	}
	return apiserver.New(ctx, o)
}

func addServerFlags(flags *pflag.FlagSet, o *apiserver.Options) {
	flags.StringVar(&o.Listen, "listen", o.Listen, "HTTPS address as HOST:PORT; port 0 for a free one")
	flags.StringVar(&o.AdvertiseAddress, "advertise-address", "", "IP address of this server in the endpoints of the Service default/kubernetes (default: the address of --listen, or the host's if that is a loopback or unspecified address)")
	flags.StringVar(&o.DataDir, "data-dir", o.DataDir, "directory for the embedded etcd, the certificates and the admin kubeconfig")
	flags.StringVar(&o.TokenAuthFile, "token-auth-file", "", `CSV file of static bearer tokens: token,user,uid,"group1,group2"`)
	flags.StringSliceVar(&o.EtcdServers, "etcd-servers", nil, "URLs of an external etcd cluster (default: embedded etcd)")
	flags.StringVar(&o.EtcdCAFile, "etcd-cafile", "", "PEM file of the CA of etcd's certificates")
	flags.StringVar(&o.EtcdCertFile, "etcd-certfile", "", "PEM file of the client certificate for etcd")
	flags.StringVar(&o.EtcdKeyFile, "etcd-keyfile", "", "PEM file of the key of --etcd-certfile")
	flags.StringVar(&o.ServiceClusterIPRange, "service-cluster-ip-range", o.ServiceClusterIPRange, "CIDR of Service cluster IPs")
	flags.StringSliceVar(&o.DisableAdmissionPlugins, "disable-admission-plugins", nil, "admission plugins to disable")
	flags.StringVar(&o.AdmissionConfigFile, "admission-control-config-file", "", "file with an AdmissionConfiguration: options of PodSecurity and ResourceQuota")
	flags.Int64Var(&o.NodeTolerationSeconds.NotReady, "default-not-ready-toleration-seconds", o.NodeTolerationSeconds.NotReady, "tolerationSeconds for node.kubernetes.io/not-ready of pods without that toleration")
	flags.Int64Var(&o.NodeTolerationSeconds.Unreachable, "default-unreachable-toleration-seconds", o.NodeTolerationSeconds.Unreachable, "tolerationSeconds for node.kubernetes.io/unreachable of pods without that toleration")
	flags.IntVar(&o.MaxRequestsInFlight, "max-requests-inflight", o.MaxRequestsInFlight, "maximum number of concurrent requests, added to that of --max-mutating-requests-inflight; API priority and fairness divides the sum among the priority levels")
	flags.IntVar(&o.MaxMutatingRequestsInFlight, "max-mutating-requests-inflight", o.MaxMutatingRequestsInFlight, "maximum number of concurrent requests, added to that of --max-requests-inflight; API priority and fairness divides the sum among the priority levels")
	addAuditAndEncryptionFlags(flags, o)
	flags.BoolVar(&o.StoredOnlyWarnings, "stored-only-warnings", o.StoredOnlyWarnings, "return a warning when an object of a kind that no controller handles is created")
	flags.BoolVar(&o.StrictResourceVersions, "strict-resource-versions", o.StrictResourceVersions, "reject non-numeric resource versions with 400 or 422; kube-apiserver answers some with 500")
}
