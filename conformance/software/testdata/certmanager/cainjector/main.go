// Command cainjector runs the controllers of cert-manager's packages that inject CA certificates.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	apiregistration "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	config "github.com/cert-manager/cert-manager/internal/apis/config/cainjector"
	configscheme "github.com/cert-manager/cert-manager/internal/apis/config/cainjector/scheme"
	"github.com/cert-manager/cert-manager/internal/kube"
	certmanager "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	configv1alpha1 "github.com/cert-manager/cert-manager/pkg/apis/config/cainjector/v1alpha1"
	"github.com/cert-manager/cert-manager/pkg/controller/cainjector"
	"github.com/cert-manager/cert-manager/pkg/logs"
	"github.com/cert-manager/cert-manager/pkg/util"
)

// leaseName is the Lease that the chart's Role allows.
const leaseName = "cert-manager-cainjector-leader-election"

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "cainjector:", err)
		os.Exit(1)
	}
}

// run parses the flags of the chart and runs the controllers until the process is interrupted.
func run(args []string) error {
	c, err := defaults()
	if err != nil {
		return err
	}
	flags := pflag.NewFlagSet("cainjector", pflag.ContinueOnError)
	flags.StringVar(&c.LeaderElectionConfig.Namespace, "leader-election-namespace", c.LeaderElectionConfig.Namespace, "namespace of the Lease")
	flags.StringVar(&c.MetricsListenAddress, "metrics-listen-address", c.MetricsListenAddress, "address of the metrics, or 0 for none")
	logs.AddFlags(&c.Logging, flags)
	if err := flags.Parse(args); err != nil {
		return err
	}
	if err := logs.ValidateAndApply(&c.Logging); err != nil {
		return err
	}
	ctrl.SetLogger(logs.Log)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return inject(ctx, c)
}

// defaults returns the project's default configuration.
func defaults() (*config.CAInjectorConfiguration, error) {
	s, _, err := configscheme.NewSchemeAndCodecs()
	if err != nil {
		return nil, err
	}
	versioned, c := &configv1alpha1.CAInjectorConfiguration{}, &config.CAInjectorConfiguration{}
	s.Default(versioned)
	return c, s.Convert(versioned, c, nil)
}

// inject runs the controllers while this process holds the Lease.
func inject(ctx context.Context, c *config.CAInjectorConfiguration) error {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{scheme.AddToScheme, certmanager.AddToScheme, apiextensions.AddToScheme, apiregistration.AddToScheme} {
		if err := add(s); err != nil {
			return err
		}
	}
	cluster, err := kube.BuildClientConfig("", c.KubeConfig)
	if err != nil {
		return err
	}
	election := c.LeaderElectionConfig
	manager, err := ctrl.NewManager(util.RestConfigWithUserAgent(cluster, "cainjector"), ctrl.Options{
		Scheme:                        s,
		Metrics:                       server.Options{BindAddress: c.MetricsListenAddress},
		LeaderElection:                election.Enabled,
		LeaderElectionID:              leaseName,
		LeaderElectionNamespace:       election.Namespace,
		LeaderElectionReleaseOnCancel: true,
		LeaseDuration:                 &election.LeaseDuration,
		RenewDeadline:                 &election.RenewDeadline,
		RetryPeriod:                   &election.RetryPeriod,
		// The controllers watch only the metadata of Secrets, and get their data.
		Client: client.Options{Cache: &client.CacheOptions{DisableFor: []client.Object{&corev1.Secret{}}}},
	})
	if err != nil {
		return err
	}
	enabled := c.EnableInjectableConfig
	if err := cainjector.RegisterAllInjectors(ctx, manager, cainjector.SetupOptions{
		Namespace:                    c.Namespace,
		IgnoreNamespaces:             c.IgnoreNamespaces,
		EnableCertificatesDataSource: c.EnableDataSourceConfig.Certificates,
		EnabledReconcilersFor: map[string]bool{
			cainjector.MutatingWebhookConfigurationName:   enabled.MutatingWebhookConfigurations,
			cainjector.ValidatingWebhookConfigurationName: enabled.ValidatingWebhookConfigurations,
			cainjector.APIServiceName:                     enabled.APIServices,
			cainjector.CustomResourceDefinitionName:       enabled.CustomResourceDefinitions,
		},
	}); err != nil {
		return err
	}
	return manager.Start(ctx)
}
