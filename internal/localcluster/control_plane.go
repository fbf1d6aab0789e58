package localcluster

import (
	"context"
	"log/slog"
	"net"

	"github.com/berthproject/berth/apiserver"
	"github.com/berthproject/berth/apiserver/auth/pki"
	"github.com/berthproject/berth/apiserver/componentstatus"
	"github.com/berthproject/berth/controllers/componentserver"
	"github.com/berthproject/berth/controllers/scheduler"
	"github.com/berthproject/berth/internal/cli"
	"github.com/berthproject/berth/internal/controllermanager"
	"github.com/berthproject/berth/internal/rungroup"
	"github.com/berthproject/berth/internal/settings"
)

// ControlPlane configures the scheduler and the controllers.
type ControlPlane struct {
	Settings settings.Settings
	// SchedulerListener and ControllersListener are the listeners for metrics; nil: the component serves none.
	SchedulerListener, ControllersListener net.Listener
	// Log is the scheduler's log; nil: no logging.
	Log *slog.Logger
	// OnStatusServer is called before the controllers' endpoint serves. It starts other components
	// whose metrics the endpoint serves. It may be nil.
	OnStatusServer func(*controllermanager.StatusServer) error
}

// Start starts the scheduler, the controllers and the certificates controller, each with the
// permissions of its user.
func (c ControlPlane) Start(group *rungroup.Group, server *apiserver.Server) error {
	config, authority := server.LoopbackConfig(), server.Authority()
	c.Settings.Scheduler.LeaderElection.Enabled = false // one scheduler per process
	options := scheduler.FromSettings(c.Settings)
	options.Config, options.Listener, options.Log, options.Decisions, options.Inputs = cli.Impersonate(config, pki.Scheduler().Name), c.SchedulerListener, c.Log, c.Settings.Decisions, c.Settings.Inputs
	options.OnStart = func(livez func() error) {
		server.SetComponentCheck(componentstatus.Scheduler, func(context.Context) error { return livez() })
	}
	var err error
	if options.Certificate, err = ServingCertificate(authority, "kube-scheduler"); err != nil {
		return err
	}
	group.Start("scheduler", func(ctx context.Context) error { return scheduler.Run(ctx, options) })
	status := controllermanager.NewStatusServer(c.ControllersListener, c.Settings)
	if status.Certificate, err = ServingCertificate(authority, "kube-controller-manager"); err != nil {
		return err
	}
	if c.OnStatusServer != nil {
		if err := c.OnStatusServer(status); err != nil {
			return err
		}
	}
	config = cli.Impersonate(config, pki.ControllerManager().Name)
	if err := status.Serve(group.Ctx, &group.WaitGroup, config); err != nil {
		return err
	}
	if err := controllermanager.Start(group, config, authority.CAPEM(), c.Settings, status); err != nil {
		return err
	}
	// A controller that ends stops the group, so the controllers are healthy while the group runs.
	server.SetComponentCheck(componentstatus.ControllerManager, func(context.Context) error { return context.Cause(group.Ctx) })
	group.Start("certificates", func(ctx context.Context) error { return RunCertificates(ctx, server) })
	return nil
}

// ServingCertificate returns a serving certificate of a component on this machine, signed
// by the cluster's CA. It is renewed before it expires.
func ServingCertificate(authority *pki.Authority, component string) (componentserver.Certificate, error) {
	return authority.RenewingServing(component, pki.APIServerAltNames(nil))
}
