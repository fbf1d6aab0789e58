package subresource

import (
	"context"
	"strconv"

	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/feature"
	"k8s.io/klog/v2"
)

// listLatest lists what a selector takes of a store's namespace as it is now, from the watch cache. A list that asks for nothing but
// the present would wait there for etcd to tell how far its watch has come, which is asked every 100 ms; this asks at once.
func listLatest(ctx context.Context, s *registry.Store, selector labels.Selector) (runtime.Object, error) {
	opts := &metainternalversion.ListOptions{LabelSelector: selector}
	if feature.DefaultFeatureSupportChecker.Supports(storage.RequestWatchProgress) {
		now, err := s.Storage.Storage.GetCurrentResourceVersion(ctx)
		if err != nil {
			return nil, err
		}
		opts.ResourceVersion, opts.ResourceVersionMatch = strconv.FormatUint(now, 10), metav1.ResourceVersionMatchNotOlderThan
		if err := s.Storage.Storage.RequestWatchProgress(ctx); err != nil {
			klog.V(4).InfoS("The store was not asked how far its watch has come; the cache asks in a moment", "resource", s.DefaultQualifiedResource, "err", err)
		}
	}
	return s.List(ctx, opts)
}
