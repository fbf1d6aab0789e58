package feed

import (
	"context"
	"slices"
	"time"

	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/engine/model"
)

// askAgain is how long to wait after a server did not say what it serves.
const askAgain = 10 * time.Second

// optional are the kinds that not every server has, by group and version. Nobody
// waits for them: Synced does not, and where they are not served they are not read.
func (f *Feed) optional() map[string][]kind {
	return map[string][]kind{
		resourcev1.SchemeGroupVersion.String(): {
			read("resourceclaims", &resourcev1.ResourceClaim{}, f.client.ResourceV1().ResourceClaims(""), f.intake.ResourceClaim,
				func(ns, name, _ string) any { return &model.ResourceClaim{Namespace: ns, Name: name} }),
		},
	}
}

// serves asks until it is told whether a resource is served.
func (f *Feed) serves(ctx context.Context, groupVersion, resource string) bool {
	for {
		list, err := f.client.Discovery().ServerResourcesForGroupVersion(groupVersion)
		switch {
		case err == nil:
			return slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool { return r.Name == resource })
		case apierrors.IsNotFound(err):
			return false
		}
		select {
		case <-ctx.Done():
			return false
		case <-time.After(askAgain):
		}
	}
}
