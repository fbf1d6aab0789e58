package feed

import (
	"context"
	"slices"
	"time"

	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/berthproject/berth/api/v1alpha1"
)

// askAgain is how long to wait after a server did not say what it serves.
const askAgain = 10 * time.Second

// optional are the kinds that not every server has, by group and version. Where they
// are not served they are not read.
func (f *Feed) optional() map[string][]kind {
	out := map[string][]kind{
		resourcev1.SchemeGroupVersion.String(): {
			read("resourceclaims", &resourcev1.ResourceClaim{}, f.client.ResourceV1().ResourceClaims(""), f.intake.ResourceClaim),
		},
	}
	if f.holds != nil {
		out[v1alpha1.GroupVersion.String()] = []kind{f.holdKind()}
	}
	return out
}

// holdKind is how holds are read. Who must not read them goes without.
func (f *Feed) holdKind() kind {
	k := read(v1alpha1.Holds, &v1alpha1.Hold{}, f.holds.Holds(""), f.intake.Hold)
	list := k.list
	k.list = func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		out, err := list(ctx, o)
		if apierrors.IsForbidden(err) {
			f.tell(v1alpha1.Holds, false)
		}
		return out, err
	}
	return k
}

// serves asks until it is told whether a resource is served; it is not known when the
// context ends before.
func (f *Feed) serves(ctx context.Context, groupVersion, resource string) (served, known bool) {
	for {
		list, err := f.client.Discovery().ServerResourcesForGroupVersion(groupVersion)
		switch {
		case err == nil:
			return slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool { return r.Name == resource }), true
		case apierrors.IsNotFound(err):
			return false, true
		}
		select {
		case <-ctx.Done():
			return false, false
		case <-time.After(askAgain):
		}
	}
}
