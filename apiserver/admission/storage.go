package admission

import (
	"context"
	"errors"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/initializer"
	"k8s.io/client-go/informers"
	storagelisters "k8s.io/client-go/listers/storage/v1"
)

// Finalizers that keep a volume or claim while something uses it.
const (
	claimProtection  = "kubernetes.io/pvc-protection"
	volumeProtection = "kubernetes.io/pv-protection"
)

var storageClasses = storagev1.Resource("storageclasses")

// classes reads storage classes.
type classes struct {
	client
	cache  cached
	lister storagelisters.StorageClassLister
}

// SetExternalKubeInformerFactory takes the shared caches.
func (c *classes) SetExternalKubeInformerFactory(f informers.SharedInformerFactory) {
	informer := f.Storage().V1().StorageClasses()
	c.lister, c.cache.synced = informer.Lister(), informer.Informer().HasSynced
}

func (c *classes) list(ctx context.Context) ([]*storagev1.StorageClass, error) {
	if !c.cache.stale("") {
		return c.lister.List(labels.Everything())
	}
	list, err := c.kube.StorageV1().StorageClasses().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	all := make([]*storagev1.StorageClass, len(list.Items))
	for i := range list.Items {
		all[i] = &list.Items[i]
	}
	return all, nil
}

func (c *classes) get(ctx context.Context, name string) (*storagev1.StorageClass, error) {
	if !c.cache.stale("") {
		if class, err := c.lister.Get(name); err == nil {
			return class, nil
		}
	}
	return c.kube.StorageV1().StorageClasses().Get(ctx, name, metav1.GetOptions{})
}

// defaultClass gives claims without a class the default one.
type defaultClass struct {
	*admission.Handler
	classes
}

var (
	_ admission.MutationInterface                  = &defaultClass{}
	_ admission.ValidationInterface                = &defaultClass{}
	_ initializer.WantsExternalKubeInformerFactory = &defaultClass{}
	_ initializer.WantsExternalKubeClientSet       = &defaultClass{}
)

func newDefaultClass() *defaultClass {
	return &defaultClass{Handler: admission.NewHandler(admission.Create, admission.Update, admission.Delete)}
}

// Admit sets the class of a new claim that names none, neither in the field nor in the old annotation.
func (d *defaultClass) Admit(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	if !about(a, corev1.Resource("persistentvolumeclaims")) || a.GetOperation() != admission.Create {
		return nil
	}
	claim, ok := a.GetObject().(*corev1.PersistentVolumeClaim)
	if !ok {
		return nil
	}
	if _, annotated := claim.Annotations[corev1.BetaStorageClassAnnotation]; annotated || claim.Spec.StorageClassName != nil {
		return nil
	}
	all, err := d.list(ctx)
	if err != nil {
		return admission.NewForbidden(a, err)
	}
	if class := newestDefault(all); class != nil {
		name := class.Name
		claim.Spec.StorageClassName = &name
	}
	return nil
}

// newestDefault is the default class made last, nil if there is none.
func newestDefault(all []*storagev1.StorageClass) *storagev1.StorageClass {
	var defaults []*storagev1.StorageClass
	for _, class := range all {
		if class.Annotations["storageclass.kubernetes.io/is-default-class"] == "true" ||
			class.Annotations["storageclass.beta.kubernetes.io/is-default-class"] == "true" {
			defaults = append(defaults, class)
		}
	}
	if len(defaults) == 0 {
		return nil
	}
	return slices.MinFunc(defaults, func(a, b *storagev1.StorageClass) int {
		if c := b.CreationTimestamp.Compare(a.CreationTimestamp.Time); c != 0 {
			return c
		}
		return strings.Compare(a.Name, b.Name)
	})
}

// Validate only notes that classes change.
func (d *defaultClass) Validate(_ context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	if about(a, storageClasses) {
		d.cache.note("")
	}
	return nil
}

// protection puts finalizers on volumes and claims.
type protection struct{ *admission.Handler }

var _ admission.MutationInterface = &protection{}

func newProtection() *protection { return &protection{admission.NewHandler(admission.Create)} }

// Admit adds the finalizer of the kind.
func (p *protection) Admit(_ context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	if a.GetSubresource() != "" {
		return nil
	}
	switch obj := a.GetObject().(type) {
	case *corev1.PersistentVolumeClaim:
		protect(&obj.ObjectMeta, claimProtection)
	case *corev1.PersistentVolume:
		protect(&obj.ObjectMeta, volumeProtection)
	}
	return nil
}

func protect(m *metav1.ObjectMeta, finalizer string) {
	if !slices.Contains(m.Finalizers, finalizer) {
		m.Finalizers = append(m.Finalizers, finalizer)
	}
}

// resize guards the growth of claims.
type resize struct {
	*admission.Handler
	classes
}

var (
	_ admission.ValidationInterface                = &resize{}
	_ initializer.WantsExternalKubeInformerFactory = &resize{}
	_ initializer.WantsExternalKubeClientSet       = &resize{}
)

func newResize() *resize {
	return &resize{Handler: admission.NewHandler(admission.Create, admission.Update, admission.Delete)}
}

// Validate lets a bound claim grow if its class allows it.
func (r *resize) Validate(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	if about(a, storageClasses) {
		r.cache.note("")
		return nil
	}
	if !about(a, corev1.Resource("persistentvolumeclaims")) || a.GetOperation() != admission.Update {
		return nil
	}
	claim, isClaim := a.GetObject().(*corev1.PersistentVolumeClaim)
	old, wasClaim := a.GetOldObject().(*corev1.PersistentVolumeClaim)
	if !isClaim || !wasClaim {
		return nil
	}
	now, before := claim.Spec.Resources.Requests[corev1.ResourceStorage], old.Spec.Resources.Requests[corev1.ResourceStorage]
	if now.Cmp(before) <= 0 {
		return nil
	}
	if old.Status.Phase != corev1.ClaimBound {
		return admission.NewForbidden(a, errors.New("Only bound persistent volume claims can be expanded")) //nolint:staticcheck // kube-apiserver's text
	}
	name := className(claim)
	if name == "" || name != className(old) || !r.growable(ctx, name) {
		return admission.NewForbidden(a, errors.New("only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize"))
	}
	return nil
}

func (r *resize) growable(ctx context.Context, name string) bool {
	class, err := r.get(ctx, name)
	return err == nil && class.AllowVolumeExpansion != nil && *class.AllowVolumeExpansion
}

func className(c *corev1.PersistentVolumeClaim) string {
	if name, found := c.Annotations[corev1.BetaStorageClassAnnotation]; found {
		return name
	}
	if c.Spec.StorageClassName != nil {
		return *c.Spec.StorageClassName
	}
	return ""
}
