package admission

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/initializer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
)

// initialize initializes a plugin with a client and synced informers of the objects, and returns it.
func initialize[P admission.Interface](t *testing.T, plugin P, objects ...runtime.Object) P {
	t.Helper()
	kube := fake.NewClientset(objects...)
	factory := informers.NewSharedInformerFactory(kube, 0)
	initializer.New(kube, nil, factory, nil, nil, nil, t.Context().Done(), nil).Initialize(plugin)
	if validator, ok := any(plugin).(admission.InitializationValidator); ok {
		if err := validator.ValidateInitialization(); err != nil {
			t.Fatal(err)
		}
	}
	factory.Start(t.Context().Done())
	factory.WaitForCacheSync(t.Context().Done())
	return plugin
}

// create returns the attributes of a create request.
func create(resource schema.GroupResource, obj runtime.Object) admission.Attributes {
	return request(admission.Create, resource, "", obj, nil)
}

// request returns the attributes of a request. One of obj and old may be nil.
func request(op admission.Operation, resource schema.GroupResource, subresource string, obj, old runtime.Object) admission.Attributes {
	m, ok := obj.(metav1.Object)
	if !ok {
		m, _ = old.(metav1.Object)
	}
	gvr := resource.WithVersion("v1")
	return admission.NewAttributesRecord(obj, old, gvr.GroupVersion().WithKind(strings.TrimSuffix(resource.Resource, "s")),
		m.GetNamespace(), m.GetName(), gvr, subresource, op, nil, false, nil)
}

// admit runs mutation and validation of a plugin and returns the reason of a rejection.
func admit(t *testing.T, plugin admission.Interface, a admission.Attributes) string {
	t.Helper()
	var err error
	if p, ok := plugin.(admission.MutationInterface); ok && plugin.Handles(a.GetOperation()) {
		err = p.Admit(t.Context(), a, nil)
	}
	if p, ok := plugin.(admission.ValidationInterface); ok && err == nil && plugin.Handles(a.GetOperation()) {
		err = p.Validate(t.Context(), a, nil)
	}
	if err == nil {
		return ""
	}
	_, reason, _ := strings.Cut(err.Error(), " is forbidden: ")
	if reason == "" {
		return err.Error()
	}
	return reason
}

// podOf returns a pod with one container. change may be nil.
func podOf(change func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "ns"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "app:1"}}}}
	if change != nil {
		change(pod)
	}
	return pod
}

func ptr[T any](v T) *T { return &v }
