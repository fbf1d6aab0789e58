package apiserver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"path/filepath"
	"runtime/debug"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/klog/v2"

	"github.com/berthproject/berth/apiserver/auth/pki"
	"github.com/berthproject/berth/apiserver/customresources"
)

const (
	// bootstrapTimeout bounds the creation of the system objects at startup.
	bootstrapTimeout = time.Minute
	// readyPollInterval is the interval at which a starting server checks whether it is ready.
	readyPollInterval = 20 * time.Millisecond
	// startDuration is the time after readiness until the components that start next in the process are idle.
	startDuration = 10 * time.Second
	// certificateRenewInterval is how often the server checks its certificates for renewal.
	certificateRenewInterval = 12 * time.Hour
)

// Run serves until ctx is done. It then waits for requests in flight, ends watches and closes the
// store. Run must be called at most once.
func (s *Server) Run(ctx context.Context) error {
	defer s.backend.Close()
	if err := s.writeKubeconfig(); err != nil {
		s.Close()
		return err
	}
	prepared, err := s.chain.aggregator.PrepareRun()
	if err != nil {
		s.Close()
		return err
	}
	if err := customresources.ServeOpenAPIv3(s.chain.extensions); err != nil {
		s.Close()
		return err
	}
	go s.signalReady(ctx)
	err = prepared.Run(ctx)
	if err != nil && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("serving on %s: %w", s.Address(), err)
	}
	return nil
}

// KubeconfigPath returns the path of the admin kubeconfig that Run writes.
func (s *Server) KubeconfigPath() string {
	if s.options.Kubeconfig != "" {
		return s.options.Kubeconfig
	}
	return filepath.Join(s.options.DataDir, "kubeconfig")
}

func (s *Server) writeKubeconfig() error {
	return s.authority.Kubeconfig(s.KubeconfigPath(), "https://"+s.clientAddress(), pki.Admin())
}

// clientAddress returns the address that clients on this machine use.
func (s *Server) clientAddress() string {
	host, port, err := net.SplitHostPort(s.Address())
	if err != nil {
		return s.Address()
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port)
}

// signalReady closes ready once /readyz returns 200. It excludes the check etcd-space, because components
// must start before they can free space. After startDuration it returns memory to the operating system.
func (s *Server) signalReady(ctx context.Context) {
	tick := time.NewTicker(readyPollInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := s.client.Discovery().RESTClient().Get().AbsPath("/readyz").Param("exclude", "etcd-space").Do(ctx).Error(); err == nil {
			close(s.ready)
			break
		}
	}
	select {
	case <-ctx.Done():
	case <-time.After(startDuration):
		debug.FreeOSMemory() // the start leaves more garbage than live objects
	}
}

// addPostStartHooks registers the work that starts once the handlers serve. /readyz waits for the
// hooks.
func (s *Server) addPostStartHooks() error {
	s.endpoints = &kubernetesEndpoints{announcer: s.backend, client: s.client}
	if ip, ok := netip.AddrFromSlice(s.advertised); ok {
		s.endpoints.address = netip.AddrPortFrom(ip.Unmap(), uint16(s.listenPort()))
	}
	if err := s.generic.AddPreShutdownHook("berth-withdraw-endpoint", s.endpoints.withdraw); err != nil {
		return err
	}
	if err := s.generic.AddPostStartHook("berth-bootstrap", s.bootstrap); err != nil {
		return err
	}
	if err := s.generic.AddPostStartHook("berth-fairness", s.maintainFairness); err != nil {
		return err
	}
	return s.generic.AddPostStartHook("berth-keep-access", func(hook genericapiserver.PostStartHookContext) error {
		go s.security.Run(hook)
		go s.serviceAllocator.RunRepair(hook)
		go s.dynamicAdmission.run(hook)
		go runKubernetesServiceController(hook, s.client, s.serviceIP.String(), s.listenPort())
		go s.authority.RunRenewal(hook, certificateRenewInterval, s.certificateNames(), func(err error) {
			klog.ErrorS(err, "Failed to renew certificates; retrying", "interval", certificateRenewInterval)
		})
		go wait.UntilWithContext(hook, func(context.Context) {
			if err := s.writeKubeconfig(); err != nil {
				klog.ErrorS(err, "Failed to renew the admin kubeconfig; retrying", "interval", certificateRenewInterval)
			}
		}, certificateRenewInterval)
		return nil
	})
}

// listenPort returns the port that the server listens on.
func (s *Server) listenPort() int { return s.listener.Addr().(*net.TCPAddr).Port }

// bootstrap creates the built-in roles and the system objects, and then starts the controllers of the
// server's endpoints and of ServiceCIDRs. It retries until bootstrapTimeout, because the watch caches may
// still be filling.
func (s *Server) bootstrap(hook genericapiserver.PostStartHookContext) error {
	ctx, cancel := context.WithTimeout(hook, bootstrapTimeout)
	defer cancel()
	for {
		err := s.security.Bootstrap(ctx)
		if err == nil {
			err = createSystemObjects(ctx, s.client, s.serviceIP.String(), s.listenPort())
		}
		if err == nil {
			go s.endpoints.run(hook)
			go runDefaultServiceCIDR(hook, s.client, s.options.ServiceClusterIPRange)
			go newServiceCIDRController(s.client, s.options.ServiceClusterIPRange).run(hook)
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("creating the system objects: %w", err)
		case <-time.After(readyPollInterval):
		}
	}
}
