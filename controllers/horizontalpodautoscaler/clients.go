package horizontalpodautoscaler

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/discovery"
	discoverycache "k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/scale"
	metricsclient "k8s.io/metrics/pkg/client/clientset/versioned/typed/metrics/v1beta1"
	"k8s.io/metrics/pkg/client/custom_metrics"
	"k8s.io/metrics/pkg/client/external_metrics"
)

// Clients reads metrics, and reads and writes the scale of targets.
type Clients struct {
	Mapper   meta.RESTMapper
	Scales   scale.ScalesGetter
	Resource metricsclient.PodMetricsesGetter
	Custom   custom_metrics.CustomMetricsClient
	// CustomVersions caches the versions of custom.metrics.k8s.io. It may be nil.
	CustomVersions custom_metrics.AvailableAPIsGetter
	External       external_metrics.ExternalMetricsClient
}

// NewClients returns the clients of an API server. They discover its kinds on first use.
func NewClients(config *rest.Config, d discovery.DiscoveryInterface) (Clients, error) {
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(discoverycache.NewMemCacheClient(d))
	scales, err := scale.NewForConfig(rest.CopyConfig(config), mapper, dynamic.LegacyAPIPathResolverFunc, scale.NewDiscoveryScaleKindResolver(d))
	if err != nil {
		return Clients{}, err
	}
	resource, err := metricsclient.NewForConfig(config)
	if err != nil {
		return Clients{}, err
	}
	external, err := external_metrics.NewForConfig(config)
	if err != nil {
		return Clients{}, err
	}
	versions := custom_metrics.NewAvailableAPIsGetter(d)
	return Clients{
		Mapper: mapper, Scales: scales, Resource: resource, External: external,
		Custom: custom_metrics.NewForConfig(config, mapper, versions), CustomVersions: versions,
	}, nil
}

// discoveryTTL bounds the age of discovery data: kinds and versions of metrics may appear later.
const discoveryTTL = 30 * time.Second

// resetDiscovery drops discovery data.
func (c *Clients) resetDiscovery() {
	meta.MaybeResetRESTMapper(c.Mapper)
	if c.CustomVersions != nil {
		c.CustomVersions.Invalidate()
	}
}
