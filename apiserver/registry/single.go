package registry

import (
	"context"

	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/registry/rest"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// single is REST without DeleteCollection: the library offers every verb that
// a storage has a method for.
type single struct{ r *REST }

var (
	_ rest.Getter                 = single{}
	_ rest.Lister                 = single{}
	_ rest.Watcher                = single{}
	_ rest.CreaterUpdater         = single{}
	_ rest.GracefulDeleter        = single{}
	_ rest.ShortNamesProvider     = single{}
	_ rest.ResetFieldsStrategy    = single{}
	_ rest.StorageVersionProvider = single{}
)

func (s single) New() runtime.Object                    { return s.r.New() }
func (s single) NewList() runtime.Object                { return s.r.NewList() }
func (s single) Destroy()                               { s.r.Destroy() }
func (s single) NamespaceScoped() bool                  { return s.r.NamespaceScoped() }
func (s single) GetSingularName() string                { return s.r.GetSingularName() }
func (s single) ShortNames() []string                   { return s.r.ShortNames() }
func (s single) Categories() []string                   { return s.r.Categories() }
func (s single) ReadinessCheck() error                  { return s.r.ReadinessCheck() }
func (s single) StorageVersion() runtime.GroupVersioner { return s.r.StorageVersion() }

func (s single) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	return s.r.GetResetFields()
}

func (s single) Get(ctx context.Context, name string, options *metav1.GetOptions) (runtime.Object, error) {
	return s.r.Get(ctx, name, options)
}

func (s single) List(ctx context.Context, options *metainternalversion.ListOptions) (runtime.Object, error) {
	return s.r.List(ctx, options)
}

func (s single) Watch(ctx context.Context, options *metainternalversion.ListOptions) (watch.Interface, error) {
	return s.r.Watch(ctx, options)
}

func (s single) ConvertToTable(ctx context.Context, object, options runtime.Object) (*metav1.Table, error) {
	return s.r.ConvertToTable(ctx, object, options)
}

func (s single) Create(ctx context.Context, obj runtime.Object, validate rest.ValidateObjectFunc, options *metav1.CreateOptions) (runtime.Object, error) {
	return s.r.Create(ctx, obj, validate, options)
}

func (s single) Update(ctx context.Context, name string, info rest.UpdatedObjectInfo, create rest.ValidateObjectFunc, update rest.ValidateObjectUpdateFunc, force bool, options *metav1.UpdateOptions) (runtime.Object, bool, error) {
	return s.r.Update(ctx, name, info, create, update, force, options)
}

func (s single) Delete(ctx context.Context, name string, validate rest.ValidateObjectFunc, options *metav1.DeleteOptions) (runtime.Object, bool, error) {
	return s.r.Delete(ctx, name, validate, options)
}
