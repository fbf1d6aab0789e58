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

// noDeleteCollection is REST without DeleteCollection. The generic server serves every verb that a
// storage implements.
type noDeleteCollection struct{ r *REST }

var (
	_ rest.Getter                 = noDeleteCollection{}
	_ rest.Lister                 = noDeleteCollection{}
	_ rest.Watcher                = noDeleteCollection{}
	_ rest.CreaterUpdater         = noDeleteCollection{}
	_ rest.GracefulDeleter        = noDeleteCollection{}
	_ rest.ShortNamesProvider     = noDeleteCollection{}
	_ rest.ResetFieldsStrategy    = noDeleteCollection{}
	_ rest.StorageVersionProvider = noDeleteCollection{}
)

func (s noDeleteCollection) New() runtime.Object                    { return s.r.New() }
func (s noDeleteCollection) NewList() runtime.Object                { return s.r.NewList() }
func (s noDeleteCollection) Destroy()                               { s.r.Destroy() }
func (s noDeleteCollection) NamespaceScoped() bool                  { return s.r.NamespaceScoped() }
func (s noDeleteCollection) GetSingularName() string                { return s.r.GetSingularName() }
func (s noDeleteCollection) ShortNames() []string                   { return s.r.ShortNames() }
func (s noDeleteCollection) Categories() []string                   { return s.r.Categories() }
func (s noDeleteCollection) ReadinessCheck() error                  { return s.r.ReadinessCheck() }
func (s noDeleteCollection) StorageVersion() runtime.GroupVersioner { return s.r.StorageVersion() }

func (s noDeleteCollection) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	return s.r.GetResetFields()
}

func (s noDeleteCollection) Get(ctx context.Context, name string, options *metav1.GetOptions) (runtime.Object, error) {
	return s.r.Get(ctx, name, options)
}

func (s noDeleteCollection) List(ctx context.Context, options *metainternalversion.ListOptions) (runtime.Object, error) {
	return s.r.List(ctx, options)
}

func (s noDeleteCollection) Watch(ctx context.Context, options *metainternalversion.ListOptions) (watch.Interface, error) {
	return s.r.Watch(ctx, options)
}

func (s noDeleteCollection) ConvertToTable(ctx context.Context, object, options runtime.Object) (*metav1.Table, error) {
	return s.r.ConvertToTable(ctx, object, options)
}

func (s noDeleteCollection) Create(ctx context.Context, obj runtime.Object, validate rest.ValidateObjectFunc, options *metav1.CreateOptions) (runtime.Object, error) {
	return s.r.Create(ctx, obj, validate, options)
}

func (s noDeleteCollection) Update(ctx context.Context, name string, info rest.UpdatedObjectInfo, create rest.ValidateObjectFunc, update rest.ValidateObjectUpdateFunc, force bool, options *metav1.UpdateOptions) (runtime.Object, bool, error) {
	return s.r.Update(ctx, name, info, create, update, force, options)
}

func (s noDeleteCollection) Delete(ctx context.Context, name string, validate rest.ValidateObjectFunc, options *metav1.DeleteOptions) (runtime.Object, bool, error) {
	return s.r.Delete(ctx, name, validate, options)
}
