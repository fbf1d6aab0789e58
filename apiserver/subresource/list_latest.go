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

// listLatest lists the current objects that match the selector, from the watch cache. A consistent
// list would wait for the next progress notification of etcd, which the cache requests every 100
// ms; listLatest requests one immediately.
func listLatest(ctx context.Context, s *registry.Store, selector labels.Selector) (runtime.Object, error) {
	opts := &metainternalversion.ListOptions{LabelSelector: selector}
	if feature.DefaultFeatureSupportChecker.Supports(storage.RequestWatchProgress) {
		revision, err := s.Storage.Storage.GetCurrentResourceVersion(ctx)
		if err != nil {
			return nil, err
		}
		opts.ResourceVersion, opts.ResourceVersionMatch = strconv.FormatUint(revision, 10), metav1.ResourceVersionMatchNotOlderThan
		if err := s.Storage.Storage.RequestWatchProgress(ctx); err != nil {
			klog.V(4).InfoS("Failed to request a watch progress notification; the cache requests one periodically", "resource", s.DefaultQualifiedResource, "err", err)
		}
	}
	return s.List(ctx, opts)
}
