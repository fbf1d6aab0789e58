package registry

import (
	"context"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/registry/rest"
)

// In watches and updates, but not in lists, the generic server returns 500 for a resource version that is
// not a number. StrictResourceVersions makes it a client error (docs/reference/differences.md).

// Watch rejects an invalid resource version like List does.
func (r *REST) Watch(ctx context.Context, options *metainternalversion.ListOptions) (watch.Interface, error) {
	if options != nil && r.strictResourceVersions {
		if err := resourceVersionError(field.NewPath("resourceVersion"), options.ResourceVersion); err != nil {
			return nil, apierrors.NewBadRequest("invalid resource version: " + err.Error())
		}
	}
	return r.Store.Watch(ctx, options)
}

// Update updates an object, through WrapUpdate if it is set.
func (r *REST) Update(ctx context.Context, name string, info rest.UpdatedObjectInfo, create rest.ValidateObjectFunc, update rest.ValidateObjectUpdateFunc, forceCreate bool, options *metav1.UpdateOptions) (runtime.Object, bool, error) {
	if r.strictResourceVersions {
		info = withResourceVersionCheck(r.kind.GroupVersionKind().GroupKind(), name, info)
	}
	run := func(ctx context.Context) (runtime.Object, bool, error) {
		return r.Store.Update(ctx, name, info, create, update, forceCreate, options)
	}
	if r.WrapUpdate != nil {
		return r.WrapUpdate(ctx, run)
	}
	return run(ctx)
}

// withResourceVersionCheck wraps info to reject updated objects with an invalid resource version.
func withResourceVersionCheck(kind schema.GroupKind, name string, info rest.UpdatedObjectInfo) rest.UpdatedObjectInfo {
	return rest.WrapUpdatedObjectInfo(info, func(_ context.Context, obj, _ runtime.Object) (runtime.Object, error) {
		m, err := meta.Accessor(obj)
		if err != nil {
			return nil, err
		}
		if fieldErr := resourceVersionError(field.NewPath("metadata", "resourceVersion"), m.GetResourceVersion()); fieldErr != nil {
			return nil, apierrors.NewInvalid(kind, name, field.ErrorList{fieldErr})
		}
		return obj, nil
	})
}

func resourceVersionError(path *field.Path, version string) *field.Error {
	if version == "" {
		return nil
	}
	if _, err := strconv.ParseUint(version, 10, 64); err != nil {
		return field.Invalid(path, version, err.Error())
	}
	return nil
}
