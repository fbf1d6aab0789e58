package store

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// AdmitPod sets what the API server sets at creation: the priority and preemption policy of the class,
// default tolerations of not-ready and unreachable nodes, and the condition of scheduling gates.
func (s *Store) AdmitPod(p *corev1.Pod) {
	addDefaultTolerations(&p.Spec)
	if p.Spec.Priority == nil {
		s.setPriority(p)
	}
	if len(p.Spec.SchedulingGates) > 0 && len(p.Status.Conditions) == 0 {
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse,
			Reason: corev1.PodReasonSchedulingGated, Message: "Scheduling is blocked due to non-empty scheduling gates",
			LastTransitionTime: metav1.NewTime(s.now().Truncate(time.Second))}}
	}
}

// defaultTolerationSeconds is how long pods tolerate not-ready and unreachable nodes by default.
const defaultTolerationSeconds = int64(300)

func addDefaultTolerations(s *corev1.PodSpec) {
	for _, key := range []string{corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable} {
		tolerates := func(t corev1.Toleration) bool {
			return (t.Key == key || t.Key == "" && t.Operator == corev1.TolerationOpExists) && (t.Effect == corev1.TaintEffectNoExecute || t.Effect == "")
		}
		if !slices.ContainsFunc(s.Tolerations, tolerates) {
			seconds := defaultTolerationSeconds
			s.Tolerations = append(slices.Clip(s.Tolerations), corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: &seconds})
		}
	}
}

func (s *Store) setPriority(p *corev1.Pod) {
	var priority int32
	policy := corev1.PreemptLowerPriority
	for _, o := range s.List(PriorityClasses) {
		c, ok := o.(*schedulingv1.PriorityClass)
		if ok && (c.Name == p.Spec.PriorityClassName || p.Spec.PriorityClassName == "" && c.GlobalDefault) {
			priority = c.Value
			if c.PreemptionPolicy != nil {
				policy = *c.PreemptionPolicy
			}
		}
	}
	p.Spec.Priority = &priority
	if p.Spec.PreemptionPolicy == nil {
		p.Spec.PreemptionPolicy = &policy
	}
}
