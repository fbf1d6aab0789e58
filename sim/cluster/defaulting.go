package cluster

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/sim/store"
)

// ApplyDefaults sets the defaults that an API server and a node agent would set, as far as
// scheduling reads them: scheduler name, namespace, phase, grace period, allocatable, host
// name and condition Ready.
func ApplyDefaults(o store.Object) {
	switch o := o.(type) {
	case *corev1.Node:
		defaultNode(o)
	case *corev1.Pod:
		defaultPod(o)
	}
}

func defaultNode(n *corev1.Node) {
	if n.Labels[corev1.LabelHostname] == "" {
		labels := map[string]string{corev1.LabelHostname: n.Name}
		for k, v := range n.Labels {
			labels[k] = v
		}
		n.Labels = labels
	}
	if n.Status.Allocatable == nil {
		n.Status.Allocatable = n.Status.Capacity
	}
	if len(n.Status.Conditions) == 0 {
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	}
}

// MarkJoining makes a node one that has just registered and is not Ready. As the API server
// does (TaintNodesByCondition), it adds the not-ready taint; Ready nodes do not get it here,
// since it would be removed at once.
func MarkJoining(n *corev1.Node) {
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionFalse, Reason: "KubeletNotReady"}}
	n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule})
}

func defaultPod(p *corev1.Pod) {
	if p.Namespace == "" {
		p.Namespace = metav1.NamespaceDefault
	}
	s := &p.Spec
	if s.SchedulerName == "" {
		s.SchedulerName = corev1.DefaultSchedulerName
	}
	if s.RestartPolicy == "" {
		s.RestartPolicy = corev1.RestartPolicyAlways
	}
	if s.TerminationGracePeriodSeconds == nil {
		grace := int64(30)
		s.TerminationGracePeriodSeconds = &grace
	}
	for i := range s.Containers {
		r := &s.Containers[i].Resources
		for name, q := range r.Limits {
			if _, ok := r.Requests[name]; !ok {
				requests := r.Requests.DeepCopy()
				if requests == nil {
					requests = corev1.ResourceList{}
				}
				requests[name] = q
				r.Requests = requests
			}
		}
	}
	if p.Status.Phase == "" {
		p.Status.Phase = corev1.PodPending
	}
}

// AdmitPod sets what the API server sets at creation: the priority of the class, default
// tolerations of lost nodes, and the condition of scheduling gates.
func (w *Cluster) AdmitPod(p *corev1.Pod) {
	addDefaultTolerations(&p.Spec)
	if p.Spec.Priority == nil {
		w.setPriority(p)
	}
	if len(p.Spec.SchedulingGates) > 0 && len(p.Status.Conditions) == 0 {
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse,
			Reason: corev1.PodReasonSchedulingGated, Message: "Scheduling is blocked due to non-empty scheduling gates",
			LastTransitionTime: metav1.NewTime(w.now.Truncate(time.Second))}}
	}
}

// defaultTolerationSeconds is how long pods tolerate lost nodes by default.
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

func (w *Cluster) setPriority(p *corev1.Pod) {
	var priority int32
	policy := corev1.PreemptLowerPriority
	for _, o := range w.api.List(store.PriorityClasses) {
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
