package store

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ApplyDefaults sets the defaults that an API server and a node agent would set, as far as the
// simulation reads them. Pods get a namespace, scheduler name, restart policy, grace period,
// requests that are missing but have a limit, and a phase. Nodes get a host name, allocatable
// resources and the condition Ready.
func ApplyDefaults(o Object) {
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

// MarkJoining sets the state of a node that has just registered: Ready is False. As the API server
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
