package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/transport"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/feature"
)

// ExternalConfig configures the connection to an etcd cluster.
type ExternalConfig struct {
	// Servers are URLs, such as https://10.0.0.1:2379.
	Servers []string
	// CAFile, CertFile and KeyFile are paths of PEM files: the CA that verifies the servers, and the
	// client certificate with its key. Empty means the CAs of the system, and no certificate.
	CAFile, CertFile, KeyFile string
}

// OpenExternal connects to an etcd cluster. It returns an error if the cluster does not respond
// within 20 seconds.
func OpenExternal(ctx context.Context, c ExternalConfig) (*Backend, error) {
	cfg := clientv3.Config{
		Endpoints:            c.Servers,
		DialTimeout:          20 * time.Second,
		DialKeepAliveTime:    30 * time.Second,
		DialKeepAliveTimeout: 10 * time.Second,
		Logger:               zap.NewNop(), // the caller gets all errors
	}
	if c.CAFile != "" || c.CertFile != "" || c.KeyFile != "" {
		info := transport.TLSInfo{TrustedCAFile: c.CAFile, CertFile: c.CertFile, KeyFile: c.KeyFile}
		tls, err := info.ClientConfig()
		if err != nil {
			return nil, fmt.Errorf("loading the TLS files of etcd (--etcd-cafile %q, --etcd-certfile %q, --etcd-keyfile %q): %w", c.CAFile, c.CertFile, c.KeyFile, err)
		}
		cfg.TLS = tls
	}
	// The connection outlives ctx, which bounds the startup only.
	cfg.Context = context.WithoutCancel(ctx)
	client, err := clientv3.New(cfg)
	if err != nil {
		return nil, fmt.Errorf("connecting to etcd at %s: %w", strings.Join(c.Servers, ","), err)
	}
	probeCtx, cancel := context.WithTimeout(ctx, cfg.DialTimeout)
	defer cancel()
	if _, err := client.Get(probeCtx, "/registry/health"); err != nil {
		_ = client.Close()
		return nil, fmt.Errorf("etcd at %s does not respond (--etcd-servers): %w", strings.Join(c.Servers, ","), err)
	}
	feature.DefaultFeatureSupportChecker.CheckClient(client.Ctx(), client, storage.RequestWatchProgress)
	b := newBackend(client, func() clientv3.Watcher { return clientv3.NewWatcher(client) }, nil, func() {})
	b.members = nil
	for _, server := range c.Servers {
		b.members = append(b.members, func(ctx context.Context) error {
			status, err := client.Status(ctx, server)
			if err != nil {
				return err
			}
			return memberHealth(status)
		})
	}
	b.reportSize(func(ctx context.Context) (int64, error) {
		status, err := client.Status(ctx, c.Servers[0])
		if err != nil {
			return 0, err
		}
		return status.DbSize, nil
	})
	return b, nil
}

// memberHealth returns an error if the member has no leader, or reports errors such as alarms.
func memberHealth(status *clientv3.StatusResponse) error {
	if len(status.Errors) > 0 {
		return fmt.Errorf("etcd reports: %s", strings.Join(status.Errors, "; "))
	}
	if status.Leader == 0 {
		return errors.New("etcd has no leader")
	}
	return nil
}
