package store

import (
	"context"
	"fmt"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/kubernetes"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/etcd3"
	"k8s.io/apiserver/pkg/storage/feature"
	"k8s.io/utils/clock"
)

// compactInterval is how often old revisions are compacted. Watches from older revisions must list
// again.
const compactInterval = 5 * time.Minute

// Backend is a connection to the etcd that stores the objects.
type Backend struct {
	client    *kubernetes.Client
	compactor etcd3.Compactor
	// newWatcher opens a separate watch stream.
	newWatcher func() clientv3.Watcher
	members    []func(context.Context) error // checks of the members of etcd
	live       *liveness
	spaceError func() error // the reason for which etcd or its file system rejects writes; nil if unknown
	space      *spaceGuard  // nil for an external etcd
	closers    []func()
}

// newBackend starts compaction. guard may be nil. onClose is called last when the backend closes.
func newBackend(client *clientv3.Client, newWatcher func() clientv3.Watcher, guard *spaceGuard, onClose func()) *Backend {
	if guard != nil {
		client.KV = spaceKV{client.KV, guard}
	}
	// The tracker adds the latency of etcd to request metrics and traces.
	client.KV = sizeLimitKV{etcd3.NewETCDLatencyTracker(client.KV)}
	compactor := etcd3.NewCompactor(client, compactInterval, clock.RealClock{}, nil)
	b := &Backend{
		client:     wrapClient(client),
		compactor:  compactor,
		newWatcher: newWatcher,
		space:      guard,
		closers:    []func(){compactor.Stop, func() { _ = client.Close() }, onClose},
	}
	b.members = []func(context.Context) error{b.Check}
	b.live = &liveness{request: b.request}
	return b
}

func wrapClient(client *clientv3.Client) *kubernetes.Client {
	wrapped := &kubernetes.Client{Client: client}
	wrapped.Kubernetes = wrapped
	return wrapped
}

// newResourceClient returns a client with a separate watch stream and a function that closes the
// stream. etcd reports progress on a stream only after every watch on it has started. On a shared
// stream, a new watch in a store without writes would delay the watch caches of all resources.
func (b *Backend) newResourceClient() (*kubernetes.Client, func()) {
	client := clientv3.NewCtxClient(b.client.Ctx())
	client.KV, client.Lease, client.Cluster = b.client.KV, b.client.Lease, b.client.Cluster
	client.Maintenance, client.Auth = b.client.Maintenance, b.client.Auth
	client.Watcher = b.newWatcher()
	return wrapClient(client), func() { _ = client.Watcher.Close() }
}

// Check returns an error if etcd does not respond within two seconds.
func (b *Backend) Check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	return b.request(ctx)
}

// CheckLive returns an error if etcd refuses connections, or has not responded for ten seconds. It returns within 200 ms.
func (b *Backend) CheckLive(ctx context.Context) error { return b.live.check(ctx) }

func (b *Backend) request(ctx context.Context) error {
	if _, err := b.client.Get(ctx, "/registry/health", kubernetes.GetOptions{}); err != nil {
		return fmt.Errorf("etcd does not respond: %w", err)
	}
	return nil
}

// MemberChecks returns a health check for each member of etcd, in the configured order.
func (b *Backend) MemberChecks() []func(context.Context) error { return b.members }

// CheckWritable returns the reason why etcd rejects writes, if known. This is a readiness failure, not a
// liveness failure: deleting objects makes etcd writable again.
func (b *Backend) CheckWritable() error {
	if b.spaceError == nil {
		return nil
	}
	return b.spaceError()
}

// Close stops compaction, closes the client and stops an embedded etcd.
func (b *Backend) Close() {
	for _, f := range b.closers {
		f()
	}
	b.closers = nil
}

// inProcessEndpoints has an endpoint for the feature check. Without endpoints the check assumes that
// watch progress is unsupported, and streaming lists would fail.
type inProcessEndpoints struct{ version string }

func (e inProcessEndpoints) Endpoints() []string { return []string{"in-process"} }

func (e inProcessEndpoints) Status(context.Context, string) (*clientv3.StatusResponse, error) {
	return &clientv3.StatusResponse{Version: e.version}, nil
}

func enableWatchProgress(ctx context.Context, etcdVersion string) {
	feature.DefaultFeatureSupportChecker.CheckClient(ctx, inProcessEndpoints{etcdVersion}, storage.RequestWatchProgress)
}
