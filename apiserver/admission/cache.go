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

// cacheLag is how long after a write the informer cache is considered stale.
const cacheLag = 2 * time.Second

var errNoClient = errors.New("admission plugin needs a client and informers")

// cacheTracker tracks whether the informer cache of a resource is up to date. The zero value
// considers it stale.
type cacheTracker struct {
	hasSynced func() bool

	mu        sync.Mutex
	lastWrite map[string]time.Time // last write per namespace; recordWrite removes expired entries
}

// isStale reports whether a reader must bypass the cache for the objects of a namespace. "" stands
// for cluster-scoped objects.
func (c *cacheTracker) isStale(namespace string) bool {
	if c.hasSynced == nil || !c.hasSynced() {
		return true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Since(c.lastWrite[namespace]) < cacheLag
}

// recordWrite records a write that is being admitted.
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

// kubeClient implements initializer.WantsExternalKubeClientSet for plugins.
type kubeClient struct{ client kubernetes.Interface }

// SetExternalKubeClientSet implements initializer.WantsExternalKubeClientSet.
func (c *kubeClient) SetExternalKubeClientSet(kube kubernetes.Interface) { c.client = kube }

// ValidateInitialization returns an error if no client was set.
func (c *kubeClient) ValidateInitialization() error {
	if c.client == nil {
		return errNoClient
	}
	return nil
}

// isForResource reports whether a request is for the resource itself and not for a subresource.
func isForResource(a admission.Attributes, resource schema.GroupResource) bool {
	return a.GetResource().GroupResource() == resource && a.GetSubresource() == ""
}
