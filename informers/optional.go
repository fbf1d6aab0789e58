package informers

import (
	"context"
	"slices"
	"time"

	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/berthproject/berth/api/v1alpha1"
)

// minDiscoveryBackoff is the first delay between two discovery requests. While the server does not serve a kind,
// the delay doubles up to maxDiscoveryBackoff.
const (
	minDiscoveryBackoff = 10 * time.Second
	maxDiscoveryBackoff = 5 * time.Minute
)

// optionalKinds returns the kinds that not every server serves, by group and version. They are watched
// as soon as they are served.
func (s *Source) optionalKinds() map[string][]kind {
	out := map[string][]kind{
		resourcev1.SchemeGroupVersion.String(): {
			newKind("resourceclaims", &resourcev1.ResourceClaim{}, s.client.ResourceV1().ResourceClaims(""), s.converter.ResourceClaim),
		},
	}
	if s.holds != nil {
		out[v1alpha1.GroupVersion.String()] = []kind{s.holdKind()}
	}
	return out
}

// holdKind returns the kind of Holds. While access is forbidden the source works without Holds.
func (s *Source) holdKind() kind {
	k := newKind(v1alpha1.HoldsResource, &v1alpha1.Hold{}, s.holds.Holds(""), s.converter.Hold)
	list, watchKind := k.list, k.watch
	report := func(err error) {
		switch {
		case err == nil:
			s.setServed(v1alpha1.HoldsResource, true)
		case apierrors.IsForbidden(err), apierrors.IsNotFound(err):
			s.setServed(v1alpha1.HoldsResource, false)
		}
	}
	k.list = func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		out, err := list(ctx, o)
		report(err)
		return out, err
	}
	k.watch = func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
		out, err := watchKind(ctx, o)
		if err == nil { // a failed watch does not mean that the kind is not served
			report(nil)
		}
		return out, err
	}
	return k
}

// runWhenServed waits until a kind is served and then watches it.
func (s *Source) runWhenServed(ctx context.Context, groupVersion string, k kind) {
	for backoff := minDiscoveryBackoff; ; {
		served, determined := s.resourceServed(groupVersion, k.name)
		switch {
		case served:
			s.setServed(k.name, true)
			s.runReflector(ctx, k)
			return
		case determined:
			s.setServed(k.name, false)
		default: // discovery failed
			backoff = minDiscoveryBackoff
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(backoff):
		}
		backoff = min(2*backoff, maxDiscoveryBackoff)
	}
}

// resourceServed reports whether a resource is served, and whether that could be determined. If discovery is
// forbidden it returns true: the list request then shows whether the resource may be read.
func (s *Source) resourceServed(groupVersion, resource string) (served, determined bool) {
	list, err := s.client.Discovery().ServerResourcesForGroupVersion(groupVersion)
	if apierrors.IsForbidden(err) {
		return true, true
	}
	if err != nil {
		return false, apierrors.IsNotFound(err)
	}
	return slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool { return r.Name == resource }), true
}
