package admission

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"
)

func classOf(name string, value int32, globalDefault bool, policy corev1.PreemptionPolicy) *schedulingv1.PriorityClass {
	return &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Value: value, GlobalDefault: globalDefault, PreemptionPolicy: &policy}
}

func TestPodsGetPriorityOfClass(t *testing.T) {
	high := classOf("high", 10, false, corev1.PreemptNever)
	standard := classOf("standard", 5, true, corev1.PreemptLowerPriority)
	for name, tc := range map[string]struct {
		pod       func(*corev1.Pod)
		noDefault bool
		rejection string
		class     string
		value     int32
		policy    corev1.PreemptionPolicy
	}{
		"class by name":              {pod: func(p *corev1.Pod) { p.Spec.PriorityClassName = "high" }, class: "high", value: 10, policy: corev1.PreemptNever},
		"default class":              {class: "standard", value: 5, policy: corev1.PreemptLowerPriority},
		"no default class":           {noDefault: true, policy: corev1.PreemptLowerPriority},
		"value of the default class": {pod: func(p *corev1.Pod) { p.Spec.Priority = ptr[int32](5) }, class: "standard", value: 5, policy: corev1.PreemptLowerPriority},
		"another value":              {pod: func(p *corev1.Pod) { p.Spec.Priority = ptr[int32](0) }, rejection: "the integer value of priority (0) must not be provided in pod spec; priority admission controller computed 5 from the given PriorityClass name"},
		"unknown class":              {pod: func(p *corev1.Pod) { p.Spec.PriorityClassName = "none" }, rejection: "no PriorityClass with name none was found"},
		"another policy":             {pod: func(p *corev1.Pod) { p.Spec.PreemptionPolicy = ptr(corev1.PreemptNever) }, rejection: "the string value of PreemptionPolicy (Never) must not be provided in pod spec; priority admission controller computed PreemptLowerPriority from the given PriorityClass name"},
	} {
		plugin := initialize(t, newPriority(), high)
		if !tc.noDefault {
			plugin = initialize(t, newPriority(), high, standard)
		}
		pod := podOf(tc.pod)
		if got := admit(t, plugin, create(corev1.Resource("pods"), pod)); got != tc.rejection {
			t.Errorf("%s: got rejection %q, want %q", name, got, tc.rejection)
		}
		if tc.rejection != "" {
			continue
		}
		if s := pod.Spec; s.PriorityClassName != tc.class || *s.Priority != tc.value || *s.PreemptionPolicy != tc.policy {
			t.Errorf("%s: got class %q, priority %d, policy %s, want %q, %d, %s", name, s.PriorityClassName, *s.Priority, *s.PreemptionPolicy, tc.class, tc.value, tc.policy)
		}
	}
}

func TestPriorityIsUnchangedOnUpdate(t *testing.T) {
	old := podOf(func(p *corev1.Pod) {
		p.Spec.Priority, p.Spec.PreemptionPolicy = ptr[int32](7), ptr(corev1.PreemptNever)
	})
	pod := podOf(nil)
	admit(t, initialize(t, newPriority()), request(admission.Update, corev1.Resource("pods"), "", pod, old))
	if pod.Spec.Priority == nil || *pod.Spec.Priority != 7 || *pod.Spec.PreemptionPolicy != corev1.PreemptNever {
		t.Errorf("pod after the update: got %+v, want priority 7 and policy Never", pod.Spec)
	}
}

// TestPriorityClassRestrictions checks that a second default class and the deletion of a system class are rejected.
func TestPriorityClassRestrictions(t *testing.T) {
	first := classOf("first", 1, true, corev1.PreemptNever)
	plugin := initialize(t, newPriority(), first)
	if got, want := admit(t, plugin, create(priorityClasses, classOf("second", 2, true, corev1.PreemptNever))), "PriorityClass first is already marked as global default"; got != want {
		t.Errorf("second default class: got rejection %q, want %q", got, want)
	}
	if got := admit(t, plugin, request(admission.Update, priorityClasses, "", first, first)); got != "" {
		t.Errorf("update of the default class: got rejection %q, want none", got)
	}
	system := classOf("system-node-critical", 2000001000, false, corev1.PreemptLowerPriority)
	if got, want := admit(t, plugin, request(admission.Delete, priorityClasses, "", nil, system)), "this is a system priority class and cannot be deleted"; got != want {
		t.Errorf("deletion of a system class: got rejection %q, want %q", got, want)
	}
}

// TestNewPriorityClassIsFound checks that a pod gets a new default class that is not in the cache yet.
func TestNewPriorityClassIsFound(t *testing.T) {
	plugin := initialize(t, newPriority())
	class := classOf("new", 3, true, corev1.PreemptNever)
	admit(t, plugin, create(priorityClasses, class))
	if _, err := plugin.client.SchedulingV1().PriorityClasses().Create(t.Context(), class, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	pod := podOf(nil)
	if got := admit(t, plugin, create(corev1.Resource("pods"), pod)); got != "" || pod.Spec.PriorityClassName != "new" {
		t.Errorf("pod: got rejection %q, class %q, want class new", got, pod.Spec.PriorityClassName)
	}
}
