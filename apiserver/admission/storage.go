package admission

import (
	"context"
	"errors"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/initializer"
	"k8s.io/client-go/informers"
	storagelisters "k8s.io/client-go/listers/storage/v1"
)

// Finalizers that protect volumes and claims in use.
const (
	claimProtection  = "kubernetes.io/pvc-protection"
	volumeProtection = "kubernetes.io/pv-protection"
)

var storageClasses = storagev1.Resource("storageclasses")

// storageClassReader reads storage classes.
type storageClassReader struct {
	kubeClient
	cache  cacheTracker
	lister storagelisters.StorageClassLister
}

// SetExternalKubeInformerFactory implements initializer.WantsExternalKubeInformerFactory.
func (c *storageClassReader) SetExternalKubeInformerFactory(f informers.SharedInformerFactory) {
	informer := f.Storage().V1().StorageClasses()
	c.lister, c.cache.hasSynced = informer.Lister(), informer.Informer().HasSynced
}

func (c *storageClassReader) list(ctx context.Context) ([]*storagev1.StorageClass, error) {
	if !c.cache.isStale("") {
		return c.lister.List(labels.Everything())
	}
	list, err := c.client.StorageV1().StorageClasses().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	classes := make([]*storagev1.StorageClass, len(list.Items))
	for i := range list.Items {
		classes[i] = &list.Items[i]
	}
	return classes, nil
}

func (c *storageClassReader) get(ctx context.Context, name string) (*storagev1.StorageClass, error) {
	if !c.cache.isStale("") {
		if class, err := c.lister.Get(name); err == nil {
			return class, nil
		}
	}
	return c.client.StorageV1().StorageClasses().Get(ctx, name, metav1.GetOptions{})
}

// defaultStorageClass sets the default class of claims without a class.
type defaultStorageClass struct {
	*admission.Handler
	storageClassReader
}

var (
	_ admission.MutationInterface                  = &defaultStorageClass{}
	_ admission.ValidationInterface                = &defaultStorageClass{}
	_ initializer.WantsExternalKubeInformerFactory = &defaultStorageClass{}
	_ initializer.WantsExternalKubeClientSet       = &defaultStorageClass{}
)

func newDefaultStorageClass() *defaultStorageClass {
	return &defaultStorageClass{Handler: admission.NewHandler(admission.Create, admission.Update, admission.Delete)}
}

// Admit sets the class of a new claim that has no class in the field or in the beta annotation.
func (d *defaultStorageClass) Admit(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	if !isForResource(a, corev1.Resource("persistentvolumeclaims")) || a.GetOperation() != admission.Create {
		return nil
	}
	claim, ok := a.GetObject().(*corev1.PersistentVolumeClaim)
	if !ok {
		return nil
	}
	if _, annotated := claim.Annotations[corev1.BetaStorageClassAnnotation]; annotated || claim.Spec.StorageClassName != nil {
		return nil
	}
	classes, err := d.list(ctx)
	if err != nil {
		return admission.NewForbidden(a, err)
	}
	claim.Spec.StorageClassName = newestDefault(classes, "storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class")
	return nil
}

// Validate records changes of classes.
func (d *defaultStorageClass) Validate(_ context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	if isForResource(a, storageClasses) {
		d.cache.recordWrite("")
	}
	return nil
}

// storageObjectInUseProtection adds protection finalizers to volumes and claims.
type storageObjectInUseProtection struct{ *admission.Handler }

var _ admission.MutationInterface = &storageObjectInUseProtection{}

func newStorageObjectInUseProtection() *storageObjectInUseProtection {
	return &storageObjectInUseProtection{admission.NewHandler(admission.Create)}
}

// Admit adds the finalizer of the kind.
func (p *storageObjectInUseProtection) Admit(_ context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	if a.GetSubresource() != "" {
		return nil
	}
	switch obj := a.GetObject().(type) {
	case *corev1.PersistentVolumeClaim:
		addFinalizer(&obj.ObjectMeta, claimProtection)
	case *corev1.PersistentVolume:
		addFinalizer(&obj.ObjectMeta, volumeProtection)
	}
	return nil
}

func addFinalizer(m *metav1.ObjectMeta, finalizer string) {
	if !slices.Contains(m.Finalizers, finalizer) {
		m.Finalizers = append(m.Finalizers, finalizer)
	}
}

// persistentVolumeClaimResize restricts the expansion of claims.
type persistentVolumeClaimResize struct {
	*admission.Handler
	storageClassReader
}

var (
	_ admission.ValidationInterface                = &persistentVolumeClaimResize{}
	_ initializer.WantsExternalKubeInformerFactory = &persistentVolumeClaimResize{}
	_ initializer.WantsExternalKubeClientSet       = &persistentVolumeClaimResize{}
)

func newPersistentVolumeClaimResize() *persistentVolumeClaimResize {
	return &persistentVolumeClaimResize{Handler: admission.NewHandler(admission.Create, admission.Update, admission.Delete)}
}

// Validate allows the expansion of a bound claim only if its class allows expansion.
func (r *persistentVolumeClaimResize) Validate(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	if isForResource(a, storageClasses) {
		r.cache.recordWrite("")
		return nil
	}
	if !isForResource(a, corev1.Resource("persistentvolumeclaims")) || a.GetOperation() != admission.Update {
		return nil
	}
	claim, isClaim := a.GetObject().(*corev1.PersistentVolumeClaim)
	old, wasClaim := a.GetOldObject().(*corev1.PersistentVolumeClaim)
	if !isClaim || !wasClaim {
		return nil
	}
	requested, previous := claim.Spec.Resources.Requests[corev1.ResourceStorage], old.Spec.Resources.Requests[corev1.ResourceStorage]
	if requested.Cmp(previous) <= 0 {
		return nil
	}
	if old.Status.Phase != corev1.ClaimBound {
		return admission.NewForbidden(a, errors.New("Only bound persistent volume claims can be expanded")) //nolint:staticcheck // kube-apiserver's text
	}
	name := storageClassName(claim)
	if name == "" || name != storageClassName(old) || !r.allowsResize(ctx, name) {
		return admission.NewForbidden(a, errors.New("only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize"))
	}
	return nil
}

func (r *persistentVolumeClaimResize) allowsResize(ctx context.Context, name string) bool {
	class, err := r.get(ctx, name)
	return err == nil && class.AllowVolumeExpansion != nil && *class.AllowVolumeExpansion
}

func storageClassName(c *corev1.PersistentVolumeClaim) string {
	if name, ok := c.Annotations[corev1.BetaStorageClassAnnotation]; ok {
		return name
	}
	if c.Spec.StorageClassName != nil {
		return *c.Spec.StorageClassName
	}
	return ""
}
