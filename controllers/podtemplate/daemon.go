package podtemplate

import (
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Labels of a DaemonSet's pods: the revision, which a StatefulSet's pods also have, and, for older clients, the
// template generation.
const (
	RevisionLabel   = appsv1.ControllerRevisionHashLabelKey
	generationLabel = "pod-template-generation"
)

// nodeNameField is the field selector key for a node's name.
const nodeNameField = "metadata.name"

// DaemonPod returns the pod of a DaemonSet for a node, with a node affinity to the
// node and the tolerations of daemon pods.
func DaemonPod(ds *appsv1.DaemonSet, owner metav1.OwnerReference, hash, node string) *corev1.Pod {
	pod := Pod(&ds.Spec.Template, ds.Namespace, owner)
	pod.Labels = maps.Clone(pod.Labels)
	if pod.Labels == nil {
		pod.Labels = map[string]string{}
	}
	pod.Labels[RevisionLabel] = hash
	if n := ds.Annotations[appsv1.DeprecatedTemplateGeneration]; n != "" {
		pod.Labels[generationLabel] = n
	}
	AddDaemonTolerations(&pod.Spec)
	pinToNode(&pod.Spec, node)
	return pod
}

// AddDaemonTolerations adds the tolerations of daemon pods.
func AddDaemonTolerations(spec *corev1.PodSpec) {
	tolerate := func(key string, effect corev1.TaintEffect) {
		spec.Tolerations = slices.DeleteFunc(spec.Tolerations, func(t corev1.Toleration) bool {
			return t.Key == key && t.Effect == effect && t.Operator == corev1.TolerationOpExists && t.Value == ""
		})
		spec.Tolerations = append(spec.Tolerations, corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists, Effect: effect})
	}
	tolerate(corev1.TaintNodeNotReady, corev1.TaintEffectNoExecute)
	tolerate(corev1.TaintNodeUnreachable, corev1.TaintEffectNoExecute)
	tolerate(corev1.TaintNodeDiskPressure, corev1.TaintEffectNoSchedule)
	tolerate(corev1.TaintNodeMemoryPressure, corev1.TaintEffectNoSchedule)
	tolerate(corev1.TaintNodePIDPressure, corev1.TaintEffectNoSchedule)
	tolerate(corev1.TaintNodeUnschedulable, corev1.TaintEffectNoSchedule)
	if spec.HostNetwork {
		tolerate(corev1.TaintNodeNetworkUnavailable, corev1.TaintEffectNoSchedule)
	}
}

// pinToNode replaces the required node affinity with one for the node's name.
func pinToNode(spec *corev1.PodSpec, node string) {
	if spec.Affinity == nil {
		spec.Affinity = &corev1.Affinity{}
	}
	if spec.Affinity.NodeAffinity == nil {
		spec.Affinity.NodeAffinity = &corev1.NodeAffinity{}
	}
	spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution = &corev1.NodeSelector{
		NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchFields: []corev1.NodeSelectorRequirement{
			{Key: nodeNameField, Operator: corev1.NodeSelectorOpIn, Values: []string{node}},
		}}},
	}
}

// DaemonNode returns the node that a DaemonSet's pod is on or has affinity to, or "".
func DaemonNode(p *corev1.Pod) string {
	if p.Spec.NodeName != "" {
		return p.Spec.NodeName
	}
	a := p.Spec.Affinity
	if a == nil || a.NodeAffinity == nil || a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return ""
	}
	for _, term := range a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
		for _, f := range term.MatchFields {
			if f.Key == nodeNameField && f.Operator == corev1.NodeSelectorOpIn && len(f.Values) == 1 {
				return f.Values[0]
			}
		}
	}
	return ""
}
