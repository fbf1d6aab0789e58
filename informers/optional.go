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

// minDiscoveryBackoff is how long to wait before a server is asked again what it serves. As long as
// it says that it does not serve a kind the pause is doubled, up to askSeldom.
const (
	minDiscoveryBackoff = 10 * time.Second
	maxDiscoveryBackoff = 5 * time.Minute
)

// optionalKinds are the kinds that not every server has, by group and version. They are read
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

// holdKind is how holds are read. Who must not read them goes without, until he may.
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
		if err == nil { // that a list cannot be watched says nothing
			report(nil)
		}
		return out, err
	}
	return k
}

// runWhenServed follows a kind from the moment on in which it is served.
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

// resourceServed says whether a resource is served, if the server says so. Of one that does not say it to this user the
// list is tried: whether that may be read is another matter.
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
