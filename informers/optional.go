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
func (f *Source) optionalKinds() map[string][]kind {
	out := map[string][]kind{
		resourcev1.SchemeGroupVersion.String(): {
			newKind("resourceclaims", &resourcev1.ResourceClaim{}, f.client.ResourceV1().ResourceClaims(""), f.converter.ResourceClaim),
		},
	}
	if f.holds != nil {
		out[v1alpha1.GroupVersion.String()] = []kind{f.holdKind()}
	}
	return out
}

// holdKind returns the kind of Holds. While access is forbidden the source works without Holds.
func (f *Source) holdKind() kind {
	k := newKind(v1alpha1.HoldsResource, &v1alpha1.Hold{}, f.holds.Holds(""), f.converter.Hold)
	list, watchKind := k.list, k.watch
	report := func(err error) {
		switch {
		case err == nil:
			f.setServed(v1alpha1.HoldsResource, true)
		case apierrors.IsForbidden(err), apierrors.IsNotFound(err):
			f.setServed(v1alpha1.HoldsResource, false)
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
func (f *Source) runWhenServed(ctx context.Context, groupVersion string, k kind) {
	for pause := minDiscoveryBackoff; ; {
		served, known := f.resourceServed(groupVersion, k.name)
		switch {
		case served:
			f.setServed(k.name, true)
			f.runReflector(ctx, k)
			return
		case known:
			f.setServed(k.name, false)
		default:
			pause = minDiscoveryBackoff
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		pause = min(2*pause, maxDiscoveryBackoff)
	}
}

// resourceServed reports whether a resource is served, and whether that is known. If discovery is forbidden it
// returns true: the list request then shows whether the resource may be read.
func (f *Source) resourceServed(groupVersion, resource string) (served, known bool) {
	list, err := f.client.Discovery().ServerResourcesForGroupVersion(groupVersion)
	if apierrors.IsForbidden(err) {
		return true, true
	}
	if err != nil {
		return false, apierrors.IsNotFound(err)
	}
	return slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool { return r.Name == resource }), true
}
