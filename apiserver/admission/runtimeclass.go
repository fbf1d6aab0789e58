package admission

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/initializer"
	"k8s.io/client-go/informers"
	nodelisters "k8s.io/client-go/listers/node/v1"
)

var errOverheadMismatch = errors.New("pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead")

// runtimeClass sets the overhead and the scheduling constraints of a pod's RuntimeClass.
type runtimeClass struct {
	*admission.Handler
	kubeClient
	cache  cacheTracker
	lister nodelisters.RuntimeClassLister
}

var (
	_ admission.MutationInterface                  = &runtimeClass{}
	_ admission.ValidationInterface                = &runtimeClass{}
	_ initializer.WantsExternalKubeInformerFactory = &runtimeClass{}
	_ initializer.WantsExternalKubeClientSet       = &runtimeClass{}
)

func newRuntimeClass() *runtimeClass {
	return &runtimeClass{Handler: admission.NewHandler(admission.Create, admission.Update, admission.Delete)}
}

// SetExternalKubeInformerFactory implements initializer.WantsExternalKubeInformerFactory.
func (r *runtimeClass) SetExternalKubeInformerFactory(f informers.SharedInformerFactory) {
	informer := f.Node().V1().RuntimeClasses()
	r.lister, r.cache.hasSynced = informer.Lister(), informer.Informer().HasSynced
}

// Admit sets overhead, node selector and tolerations of a new pod.
func (r *runtimeClass) Admit(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	pod, ok := a.GetObject().(*corev1.Pod)
	if !ok || !isForResource(a, corev1.Resource("pods")) || a.GetOperation() != admission.Create {
		return nil
	}
	class, err := r.getClass(ctx, a, pod)
	if err != nil || class == nil {
		return err
	}
	if class.Overhead != nil {
		if pod.Spec.Overhead != nil && !equality.Semantic.DeepEqual(class.Overhead.PodFixed, pod.Spec.Overhead) {
			return admission.NewForbidden(a, errOverheadMismatch)
		}
		pod.Spec.Overhead = class.Overhead.PodFixed.DeepCopy()
	}
	if class.Scheduling == nil {
		return nil
	}
	for key, value := range class.Scheduling.NodeSelector {
		if current, ok := pod.Spec.NodeSelector[key]; ok && current != value {
			return admission.NewForbidden(a, fmt.Errorf("conflict: runtimeClass.Scheduling.NodeSelector[%s] = %s; pod.Spec.NodeSelector[%s] = %s", key, value, key, current))
		}
		if pod.Spec.NodeSelector == nil {
			pod.Spec.NodeSelector = map[string]string{}
		}
		pod.Spec.NodeSelector[key] = value
	}
	for _, t := range class.Scheduling.Tolerations {
		if !containsToleration(pod.Spec.Tolerations, t) {
			pod.Spec.Tolerations = append(pod.Spec.Tolerations, t)
		}
	}
	return nil
}

func containsToleration(list []corev1.Toleration, t corev1.Toleration) bool {
	for _, existing := range list {
		if equality.Semantic.DeepEqual(existing, t) {
			return true
		}
	}
	return false
}

// Validate rejects an overhead that differs from the class's. It records changes of classes. New
// classes need no record: a class that is not in the cache is read from the store.
func (r *runtimeClass) Validate(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	if isForResource(a, nodev1.Resource("runtimeclasses")) && a.GetOperation() != admission.Create {
		r.cache.recordWrite("")
	}
	pod, ok := a.GetObject().(*corev1.Pod)
	if !ok || !isForResource(a, corev1.Resource("pods")) || a.GetOperation() != admission.Create {
		return nil
	}
	class, err := r.getClass(ctx, a, pod)
	switch {
	case err != nil:
		return err
	case class == nil || class.Overhead == nil:
		if pod.Spec.Overhead != nil {
			return admission.NewForbidden(a, errors.New("pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"))
		}
	case pod.Spec.Overhead == nil || !equality.Semantic.DeepEqual(class.Overhead.PodFixed, pod.Spec.Overhead):
		return admission.NewForbidden(a, errOverheadMismatch)
	}
	return nil
}

// getClass returns the RuntimeClass of the pod, or nil if it has none.
func (r *runtimeClass) getClass(ctx context.Context, a admission.Attributes, pod *corev1.Pod) (*nodev1.RuntimeClass, error) {
	if pod.Spec.RuntimeClassName == nil || !isObjectName(*pod.Spec.RuntimeClassName) {
		return nil, nil
	}
	name := *pod.Spec.RuntimeClassName
	if !r.cache.isStale("") {
		if class, err := r.lister.Get(name); err == nil {
			return class, nil
		}
	}
	class, err := r.client.NodeV1().RuntimeClasses().Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, admission.NewForbidden(a, fmt.Errorf("pod rejected: RuntimeClass %q not found", name))
	}
	if err != nil {
		return nil, err
	}
	return class, nil
}
