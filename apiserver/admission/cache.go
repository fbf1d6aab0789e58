package admission

import (
	"errors"
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/client-go/kubernetes"
)

// cacheLag is for how long after a write the informer's cache is not trusted to have it.
const cacheLag = 2 * time.Second

var errNoClient = errors.New("admission plugin was not given a client and informers")

// cacheTracker knows whether the cache of one resource can be trusted. The zero value trusts nothing.
type cacheTracker struct {
	hasSynced func() bool

	mu        sync.Mutex
	lastWrite map[string]time.Time // by namespace: the last write seen; what is over for long is swept out by the next write
}

// stale says that a reader has to ask the store for what is in a namespace, "" for what is in none.
func (c *cacheTracker) stale(namespace string) bool {
	if c.hasSynced == nil || !c.hasSynced() {
		return true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Since(c.lastWrite[namespace]) < cacheLag
}

// recordWrite remembers a write that is being admitted.
func (c *cacheTracker) recordWrite(namespace string) {
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.DeleteFunc(c.lastWrite, func(_ string, at time.Time) bool { return now.Sub(at) >= cacheLag })
	if c.lastWrite == nil {
		c.lastWrite = map[string]time.Time{}
	}
	c.lastWrite[namespace] = now
}

// kubeClient is the part of a plugin that reads the store.
type kubeClient struct{ client kubernetes.Interface }

// SetExternalKubeClientSet takes the client that the server hands to plugins.
func (c *kubeClient) SetExternalKubeClientSet(kube kubernetes.Interface) { c.client = kube }

// ValidateInitialization fails where the server handed out nothing.
func (c *kubeClient) ValidateInitialization() error {
	if c.client == nil {
		return errNoClient
	}
	return nil
}

// isForResource says whether a request is for a resource itself, not for a subresource.
func isForResource(a admission.Attributes, resource schema.GroupResource) bool {
	return a.GetResource().GroupResource() == resource && a.GetSubresource() == ""
}
