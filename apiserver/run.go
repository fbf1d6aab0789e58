package apiserver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"time"

	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/klog/v2"

	"github.com/berthproject/berth/apiserver/auth/pki"
)

const (
	// bootstrapWithin bounds how long the objects of every cluster may take to be made.
	bootstrapWithin = time.Minute
	// readyPoll is how often a starting server asks itself whether it is ready.
	readyPoll = 20 * time.Millisecond
	// renewEvery is how often certificates are looked at.
	renewEvery = 12 * time.Hour
)

// Run serves until ctx is done, then lets requests in flight finish, ends
// watches and closes the store. It may be called once.
func (s *Server) Run(ctx context.Context) error {
	defer s.backend.Close()
	if err := s.writeKubeconfig(); err != nil {
		s.Close()
		return err
	}
	prepared := s.generic.PrepareRun()
	go s.announce(ctx)
	err := prepared.RunWithContext(ctx)
	if err != nil && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("serving on %s: %w", s.Address(), err)
	}
	return nil
}

// KubeconfigPath is where Run writes the admin's kubeconfig.
func (s *Server) KubeconfigPath() string {
	if s.options.Kubeconfig != "" {
		return s.options.Kubeconfig
	}
	return filepath.Join(s.options.DataDir, "kubeconfig")
}

func (s *Server) writeKubeconfig() error {
	return s.authority.Kubeconfig(s.KubeconfigPath(), "https://"+s.reachable(), pki.Admin())
}

// reachable is the address that a client on this machine can use.
func (s *Server) reachable() string {
	host, port, err := net.SplitHostPort(s.Address())
	if err != nil {
		return s.Address()
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port)
}

// announce closes ready when /readyz says ok.
func (s *Server) announce(ctx context.Context) {
	tick := time.NewTicker(readyPoll)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := s.client.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error(); err == nil {
			close(s.ready)
			return
		}
	}
}

// addHooks registers what runs once the handlers answer. /readyz waits for all of it.
func (s *Server) addHooks() error {
	if err := s.generic.AddPostStartHook("berth-bootstrap", s.bootstrap); err != nil {
		return err
	}
	return s.generic.AddPostStartHook("berth-keep-access", func(hook genericapiserver.PostStartHookContext) error {
		go s.security.Run(hook)
		go s.services.Sweep(hook)
		go keepKubernetes(hook, s.client, s.serviceIP.String(), s.port())
		go s.authority.KeepServing(hook, renewEvery, pki.ServerNames(s.serviceIP, s.host()), func(err error) {
			klog.ErrorS(err, "Certificates could not be renewed; trying again later", "every", renewEvery)
		})
		return nil
	})
}

// port is where this server listens.
func (s *Server) port() int { return s.listener.Addr().(*net.TCPAddr).Port }

// bootstrap is tried until it succeeds: the watch caches may still be filling.
func (s *Server) bootstrap(hook genericapiserver.PostStartHookContext) error {
	ctx, cancel := context.WithTimeout(hook, bootstrapWithin)
	defer cancel()
	for {
		err := s.security.Bootstrap(ctx)
		if err == nil {
			err = bootstrap(ctx, s.client, s.serviceIP.String(), s.port())
		}
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("making the objects of every cluster: %w", err)
		case <-time.After(readyPoll):
		}
	}
}
