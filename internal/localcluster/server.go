package localcluster

import (
	"context"

	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"

	"github.com/berthproject/berth/apiserver"
	"github.com/berthproject/berth/apiserver/auth/pki"
	"github.com/berthproject/berth/controllers/certificates"
	"github.com/berthproject/berth/controllers/runner"
	"github.com/berthproject/berth/internal/cli"
	"github.com/berthproject/berth/internal/eviction"
	"github.com/berthproject/berth/internal/rungroup"
	"github.com/berthproject/berth/internal/settings"
)

// ApplySettings sets the options of the API server that configuration files have, except those
// whose flag is overridden. A nil overridden means that no flag is.
func ApplySettings(o *apiserver.Options, s settings.Settings, overridden func(flag string) bool) {
	c := s.Berth.APIServer
	for name, set := range map[string]func(){
		"default-not-ready-toleration-seconds":   func() { o.NodeTolerationSeconds.NotReady = int64(c.DefaultNotReadyTolerationSeconds) },
		"default-unreachable-toleration-seconds": func() { o.NodeTolerationSeconds.Unreachable = int64(c.DefaultUnreachableTolerationSeconds) },
		"max-requests-inflight":                  func() { o.MaxRequestsInFlight = c.MaxRequestsInFlight },
		"max-mutating-requests-inflight":         func() { o.MaxMutatingRequestsInFlight = c.MaxMutatingRequestsInFlight },
		"stored-only-warnings":                   func() { o.StoredOnlyWarnings = c.StoredOnlyWarnings },
		"strict-resource-versions":               func() { o.StrictResourceVersions = c.StrictResourceVersions },
		"disable-admission-plugins":              func() { o.DisableAdmissionPlugins = c.DisableAdmissionPlugins },
	} {
		if overridden == nil || !overridden(name) {
			set()
		}
	}
	b := s.Berth.Budgets
	o.Evictions = eviction.Options{Rules: b.EvictionRules(), Refund: b.RefundFailedEvictions, IncludeReason: b.ExplainRefusals}
}

// StartServer starts the API server, which ends last, and blocks until it is ready. It returns an
// error if the group ends first.
func StartServer(group *rungroup.Group, server *apiserver.Server) error {
	group.StartLast("API server", server.Run)
	select {
	case <-server.Ready():
		return nil
	case <-group.Ctx.Done():
		return context.Cause(group.Ctx)
	}
}

// RunCertificates approves and signs certificate requests. It runs with the API server, which has
// the key of the authority.
func RunCertificates(ctx context.Context, server *apiserver.Server) error {
	config := cli.Impersonate(server.LoopbackConfig(), pki.Component("certificates").Name)
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	return certificates.Run(ctx, client, server.Authority(), server.ReservedNames(), runner.Production(), klog.Background())
}
