package quota

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	quotav1 "k8s.io/apiserver/pkg/quota/v1"
	"k8s.io/apiserver/pkg/quota/v1/generic"
	"k8s.io/utils/ptr"
)

func list(pairs ...string) corev1.ResourceList {
	out := corev1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		out[corev1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return out
}

func pod(change func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "ns"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c"}}}}
	change(p)
	return p
}

func TestUsage(t *testing.T) {
	past, future := metav1.NewTime(time.Now().Add(-time.Hour)), metav1.NewTime(time.Now().Add(time.Hour))
	for name, tc := range map[string]struct {
		resource string
		obj      runtime.Object
		want     corev1.ResourceList
	}{
		"requests and limits": {"pods", pod(func(p *corev1.Pod) {
			p.Spec.Containers[0].Resources = corev1.ResourceRequirements{Requests: list("cpu", "1", "example.com/gpu", "2", "hugepages-2Mi", "4Mi"), Limits: list("cpu", "2", "example.com/gpu", "2")}
		}), list("count/pods", "1", "pods", "1", "cpu", "1", "requests.cpu", "1", "limits.cpu", "2", "requests.example.com/gpu", "2", "hugepages-2Mi", "4Mi", "requests.hugepages-2Mi", "4Mi")},
		"finished": {"pods", pod(func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }), list("count/pods", "1")},
		"past its grace period": {"pods", pod(func(p *corev1.Pod) {
			p.DeletionTimestamp, p.DeletionGracePeriodSeconds = &past, ptr.To[int64](1)
		}), list("count/pods", "1")},
		"in its grace period": {"pods", pod(func(p *corev1.Pod) {
			p.DeletionTimestamp, p.DeletionGracePeriodSeconds = &future, ptr.To[int64](1)
		}), list("count/pods", "1", "pods", "1")},
		"load balancer without node ports": {"services", &corev1.Service{Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer,
			AllocateLoadBalancerNodePorts: ptr.To(false), Ports: []corev1.ServicePort{{Port: 1}, {Port: 2, NodePort: 30001}}}},
			list("count/services", "1", "services", "1", "services.loadbalancers", "1", "services.nodeports", "1")},
		"claim with a larger allocated size": {"persistentvolumeclaims", &corev1.PersistentVolumeClaim{
			Spec:   corev1.PersistentVolumeClaimSpec{Resources: corev1.VolumeResourceRequirements{Requests: list("storage", "1Gi")}},
			Status: corev1.PersistentVolumeClaimStatus{AllocatedResources: list("storage", "2Gi")}},
			list("count/persistentvolumeclaims", "1", "persistentvolumeclaims", "1", "requests.storage", "2Gi")},
		"legacy name": {"secrets", &corev1.Secret{}, list("count/secrets", "1", "secrets", "1")},
	} {
		got, err := generic.NewRegistry(Evaluators(nil)).Get(schema.GroupResource{Resource: tc.resource}).Usage(tc.obj)
		if err != nil || !quotav1.Equals(got, tc.want) {
			t.Errorf("%s: got %v and error %v, want %v", name, got, err, tc.want)
		}
	}
}

func TestPodScopes(t *testing.T) {
	type requirement = corev1.ScopedResourceSelectorRequirement
	high := pod(func(p *corev1.Pod) {
		p.Spec.PriorityClassName, p.Spec.ActiveDeadlineSeconds = "high", ptr.To[int64](9)
		p.Spec.Containers[0].Resources.Requests = list("cpu", "1")
		p.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{
			{PodAffinityTerm: corev1.PodAffinityTerm{Namespaces: []string{"other"}}}}}}
	})
	gpuOnly := pod(func(p *corev1.Pod) { p.Spec.Containers[0].Resources.Requests = list("example.com/gpu", "1") })
	for name, tc := range map[string]struct {
		scope         requirement
		high, gpuOnly bool
	}{
		"terminating":              {requirement{ScopeName: corev1.ResourceQuotaScopeTerminating}, true, false},
		"not terminating":          {requirement{ScopeName: corev1.ResourceQuotaScopeNotTerminating}, false, true},
		"best effort":              {requirement{ScopeName: corev1.ResourceQuotaScopeBestEffort}, false, true},
		"not best effort":          {requirement{ScopeName: corev1.ResourceQuotaScopeNotBestEffort}, true, false},
		"cross-namespace affinity": {requirement{ScopeName: corev1.ResourceQuotaScopeCrossNamespacePodAffinity, Operator: corev1.ScopeSelectorOpExists}, true, false},
		"any priority class":       {requirement{ScopeName: corev1.ResourceQuotaScopePriorityClass, Operator: corev1.ScopeSelectorOpExists}, true, false},
		"no priority class":        {requirement{ScopeName: corev1.ResourceQuotaScopePriorityClass, Operator: corev1.ScopeSelectorOpDoesNotExist}, false, true},
		"the priority class":       {requirement{ScopeName: corev1.ResourceQuotaScopePriorityClass, Operator: corev1.ScopeSelectorOpIn, Values: []string{"high"}}, true, false},
		"another priority class":   {requirement{ScopeName: corev1.ResourceQuotaScopePriorityClass, Operator: corev1.ScopeSelectorOpNotIn, Values: []string{"high"}}, false, true},
	} {
		for p, want := range map[*corev1.Pod]bool{high: tc.high, gpuOnly: tc.gpuOnly} {
			if got, err := podMatchesScope(tc.scope, p); err != nil || got != want {
				t.Errorf("%s: got %v and error %v, want %v for %+v", name, got, err, want, p.Spec)
			}
		}
	}
}

func TestClaimScope(t *testing.T) {
	changing := &corev1.PersistentVolumeClaim{Spec: corev1.PersistentVolumeClaimSpec{VolumeAttributesClassName: ptr.To("gold")},
		Status: corev1.PersistentVolumeClaimStatus{CurrentVolumeAttributesClassName: ptr.To("silver")}}
	for value, want := range map[string]bool{"gold": true, "silver": true, "bronze": false} {
		scope := corev1.ScopedResourceSelectorRequirement{ScopeName: corev1.ResourceQuotaScopeVolumeAttributesClass, Operator: corev1.ScopeSelectorOpIn, Values: []string{value}}
		if got, err := claimMatchesScope(scope, changing); err != nil || got != want {
			t.Errorf("%s: got %v and error %v, want %v", value, got, err, want)
		}
	}
}

func TestRequiredResources(t *testing.T) {
	noRequests := pod(func(*corev1.Pod) {})
	const want = "must specify limits.memory for: c; requests.cpu for: c"
	if err := podConstraints([]corev1.ResourceName{"requests.cpu", "limits.memory", "limits.ephemeral-storage", "pods"}, noRequests); err == nil || err.Error() != want {
		t.Errorf("pod without requests: got error %v, want %s", err, want)
	}
	podLevel := pod(func(p *corev1.Pod) { p.Spec.Resources = &corev1.ResourceRequirements{Requests: list("cpu", "1")} })
	if err := podConstraints([]corev1.ResourceName{"requests.cpu"}, podLevel); err != nil {
		t.Errorf("pod with requests: got error %v, want none", err)
	}
}
