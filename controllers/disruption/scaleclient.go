package disruption

import (
	"context"
	"strings"
	"sync"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/scale"
	"k8s.io/utils/clock"

	"github.com/berthproject/berth/engine/model"
)

// scaleClient reads scale subresources, using discovery.
type scaleClient struct {
	clock     clock.PassiveClock
	discovery discovery.DiscoveryInterface
	mapper    meta.ResettableRESTMapper
	client    scale.ScalesGetter

	mu           sync.Mutex
	withoutScale map[schema.GroupVersionResource]bool // resources without a scale subresource
	lastReset    time.Time                            // when the discovery data, including that of mapper, was reset
}

// discoveryTTL bounds the age of discovery data: a custom resource definition may be created or get a scale.
const discoveryTTL = retryInterval / 2

// NewScaleClient returns Scales for an API server.
func NewScaleClient(config *rest.Config, d discovery.DiscoveryInterface, c clock.PassiveClock) (Scales, error) {
	cached := memory.NewMemCacheClient(d)
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(cached)
	client, err := scale.NewForConfig(config, mapper, dynamic.LegacyAPIPathResolverFunc, scale.NewDiscoveryScaleKindResolver(d))
	if err != nil {
		return nil, err
	}
	return &scaleClient{clock: c, discovery: d, mapper: mapper, client: client, withoutScale: map[schema.GroupVersionResource]bool{}}, nil
}

// Scale implements Scales.
func (c *scaleClient) Scale(ctx context.Context, namespace string, o model.Owner) (*autoscalingv1.Scale, error) {
	c.resetIfOutdated()
	gv, err := schema.ParseGroupVersion(o.APIVersion)
	if err != nil {
		return nil, &NoScaleError{Resource: o.APIVersion + " " + o.Kind}
	}
	mapping, err := c.mapper.RESTMapping(schema.GroupKind{Group: gv.Group, Kind: o.Kind}, gv.Version)
	if meta.IsNoMatchError(err) {
		return nil, &NoScaleError{Resource: strings.ToLower(o.Kind) + "." + gv.Group}
	}
	if err != nil {
		return nil, err
	}
	resource := mapping.Resource.GroupResource()
	if c.hasNoScale(mapping.Resource) {
		return nil, &NoScaleError{Resource: resource.String()}
	}
	s, err := c.client.Scales(namespace).Get(ctx, resource, o.Name, metav1.GetOptions{})
	if err == nil {
		return s, nil
	}
	supported, discoveryErr := c.supportsScale(mapping.Resource)
	switch {
	case discoveryErr == nil && !supported:
		return nil, &NoScaleError{Resource: resource.String()}
	case apierrors.IsNotFound(err):
		return nil, nil
	}
	return nil, err
}

// resetIfOutdated removes the discovery data if it is older than discoveryTTL.
func (c *scaleClient) resetIfOutdated() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.clock.Since(c.lastReset) < discoveryTTL {
		return
	}
	c.mapper.Reset()
	clear(c.withoutScale)
	c.lastReset = c.clock.Now()
}

func (c *scaleClient) hasNoScale(r schema.GroupVersionResource) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.withoutScale[r]
}

// supportsScale reports whether a resource has a scale subresource. It caches the absence of one.
func (c *scaleClient) supportsScale(r schema.GroupVersionResource) (bool, error) {
	list, err := c.discovery.ServerResourcesForGroupVersion(r.GroupVersion().String())
	if err != nil {
		return false, err
	}
	for i := range list.APIResources {
		if list.APIResources[i].Name == r.Resource+"/scale" {
			return true, nil
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.withoutScale[r] = true
	return false, nil
}
