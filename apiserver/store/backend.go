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

// compactEvery is how often old revisions are dropped; watches older than that must list again.
const compactEvery = 5 * time.Minute

// Backend is an etcd that objects are kept in.
type Backend struct {
	client    *kubernetes.Client
	compactor etcd3.Compactor
	// watcher opens a stream of watches of its own.
	watcher func() clientv3.Watcher
	full    func() error // why nothing can be written; nil: nobody knows
	closers []func()
}

// newBackend starts compaction; close runs last when the backend stops.
func newBackend(client *clientv3.Client, watcher func() clientv3.Watcher, close func()) *Backend {
	// The tracker makes etcd's part of a request's latency visible in metrics and traces.
	client.KV = sized{etcd3.NewETCDLatencyTracker(client.KV)}
	compactor := etcd3.NewCompactor(client, compactEvery, clock.RealClock{}, nil)
	return &Backend{
		client:    wrap(client),
		compactor: compactor,
		watcher:   watcher,
		closers:   []func(){compactor.Stop, func() { _ = client.Close() }, close},
	}
}

func wrap(client *clientv3.Client) *kubernetes.Client {
	wrapped := &kubernetes.Client{Client: client}
	wrapped.Kubernetes = wrapped
	return wrapped
}

// forResource is the same client with a watch stream of its own, which the
// returned function ends. etcd reports progress to a stream only when every
// watch on it has begun: on a shared stream one fresh watch, in a store to
// which nobody writes, would hold up the caches of all resources.
func (b *Backend) forResource() (*kubernetes.Client, func()) {
	own := clientv3.NewCtxClient(b.client.Ctx())
	own.KV, own.Lease, own.Cluster = b.client.KV, b.client.Lease, b.client.Cluster
	own.Maintenance, own.Auth = b.client.Maintenance, b.client.Auth
	own.Watcher = b.watcher()
	return wrap(own), func() { _ = own.Watcher.Close() }
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

// Writable says why etcd takes no writes, as far as that is known. It is no fault of this process, which still answers: who
// deletes objects mends it.
func (b *Backend) Writable() error {
	if b.full == nil {
		return nil
	}
	return b.full()
}

// Close stops compaction, the client and, if it is embedded, etcd itself.
func (b *Backend) Close() {
	for _, f := range b.closers {
		f()
	}
	b.closers = nil
}

// inProcess stands in for a client with endpoints. Without endpoints the
// library assumes that watch progress is unsupported, and lists that stream would end in an error.
type inProcess struct{ version string }

func (c inProcess) Endpoints() []string { return []string{"in-process"} }

func (c inProcess) Status(context.Context, string) (*clientv3.StatusResponse, error) {
	return &clientv3.StatusResponse{Version: c.version}, nil
}

func announceProgress(ctx context.Context, etcdVersion string) {
	feature.DefaultFeatureSupportChecker.CheckClient(ctx, inProcess{etcdVersion}, storage.RequestWatchProgress)
}
