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

// cached knows whether the cache of one resource can be trusted. The zero value trusts nothing.
type cached struct {
	synced func() bool

	mu      sync.Mutex
	written map[string]time.Time // by namespace: the last write seen; what is over for long is swept out by the next write
}

// stale says that a reader has to ask the store for what is in a namespace, "" for what is in none.
func (c *cached) stale(namespace string) bool {
	if c.synced == nil || !c.synced() {
		return true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Since(c.written[namespace]) < cacheLag
}

// note remembers a write that is being admitted.
func (c *cached) note(namespace string) {
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.DeleteFunc(c.written, func(_ string, at time.Time) bool { return now.Sub(at) >= cacheLag })
	if c.written == nil {
		c.written = map[string]time.Time{}
	}
	c.written[namespace] = now
}

// client is the part of a plugin that reads the store.
type client struct{ kube kubernetes.Interface }

// SetExternalKubeClientSet takes the client that the server hands to plugins.
func (c *client) SetExternalKubeClientSet(kube kubernetes.Interface) { c.kube = kube }

// ValidateInitialization fails where the server handed out nothing.
func (c *client) ValidateInitialization() error {
	if c.kube == nil {
		return errNoClient
	}
	return nil
}

// about says whether a request is for a resource itself, not for a subresource.
func about(a admission.Attributes, resource schema.GroupResource) bool {
	return a.GetResource().GroupResource() == resource && a.GetSubresource() == ""
}
