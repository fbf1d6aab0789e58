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

// compactInterval is how often old revisions are dropped; watches older than that must list again.
const compactInterval = 5 * time.Minute

// Backend is an etcd that objects are kept in.
type Backend struct {
	client    *kubernetes.Client
	compactor etcd3.Compactor
	// newWatcher opens a stream of watches of its own.
	newWatcher func() clientv3.Watcher
	spaceError func() error // why nothing can be written; nil: nobody knows
	closers    []func()
}

// newBackend starts compaction; close runs last when the backend stops.
func newBackend(client *clientv3.Client, watcher func() clientv3.Watcher, close func()) *Backend {
	// The tracker makes etcd's part of a request's latency visible in metrics and traces.
	client.KV = sizeLimitKV{etcd3.NewETCDLatencyTracker(client.KV)}
	compactor := etcd3.NewCompactor(client, compactInterval, clock.RealClock{}, nil)
	return &Backend{
		client:     wrapClient(client),
		compactor:  compactor,
		newWatcher: watcher,
		closers:    []func(){compactor.Stop, func() { _ = client.Close() }, close},
	}
}

func wrapClient(client *clientv3.Client) *kubernetes.Client {
	wrapped := &kubernetes.Client{Client: client}
	wrapped.Kubernetes = wrapped
	return wrapped
}

// newResourceClient is the same client with a watch stream of its own, which the
// returned function ends. etcd reports progress to a stream only when every
// watch on it has begun: on a shared stream one fresh watch, in a store to
// which nobody writes, would hold up the caches of all resources.
func (b *Backend) newResourceClient() (*kubernetes.Client, func()) {
	own := clientv3.NewCtxClient(b.client.Ctx())
	own.KV, own.Lease, own.Cluster = b.client.KV, b.client.Lease, b.client.Cluster
	own.Maintenance, own.Auth = b.client.Maintenance, b.client.Auth
	own.Watcher = b.newWatcher()
	return wrapClient(own), func() { _ = own.Watcher.Close() }
}

// Check says whether etcd answers within two seconds.
func (b *Backend) Check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	if _, err := b.client.Get(ctx, "/registry/health", kubernetes.GetOptions{}); err != nil {
		return fmt.Errorf("etcd does not answer: %w", err)
	}
	return nil
}

// CheckWritable says why etcd takes no writes, as far as that is known. It is no fault of this process, which still answers: who
// deletes objects mends it.
func (b *Backend) CheckWritable() error {
	if b.spaceError == nil {
		return nil
	}
	return b.spaceError()
}

// Close stops compaction, the client and, if it is embedded, etcd itself.
func (b *Backend) Close() {
	for _, f := range b.closers {
		f()
	}
	b.closers = nil
}

// inProcessEndpoints stands in for a client with endpoints. Without endpoints the
// library assumes that watch progress is unsupported, and lists that stream would end in an error.
type inProcessEndpoints struct{ version string }

func (c inProcessEndpoints) Endpoints() []string { return []string{"in-process"} }

func (c inProcessEndpoints) Status(context.Context, string) (*clientv3.StatusResponse, error) {
	return &clientv3.StatusResponse{Version: c.version}, nil
}

func enableWatchProgress(ctx context.Context, etcdVersion string) {
	feature.DefaultFeatureSupportChecker.CheckClient(ctx, inProcessEndpoints{etcdVersion}, storage.RequestWatchProgress)
}
