package podvalidation

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/berthproject/berth/apiserver/podvalidation/podfields"
)

// Limits of a new pod, far above what pods use. Each term costs memory and scheduling time for all pods.
// Kubernetes limits only the size of an object.
const (
	maxAffinityTerms       = 128  // of one list
	maxRequirements        = 128  // of one term or selector
	maxRequirementValues   = 4096 // of one requirement: a term may name nodes
	maxTermNamespaces      = 1024 // of one term
	maxSpreadConstraints   = 64
	maxTolerations         = 256
	maxSchedulingGates     = 64
	maxNodeSelectorEntries = 128
)

// listLength is the length of one list of a pod that has a limit.
type listLength struct {
	path         *field.Path
	count, limit int
}

// validateTermLimits rejects lists that are longer than their limit. An update may retain a longer list but not
// extend it. old is the spec before an update, or nil.
func (c *errorCollector) validateTermLimits(spec, old *corev1.PodSpec, path *field.Path) {
	oldCounts := map[string]int{}
	if old != nil {
		for _, l := range limitedLists(old, path) {
			oldCounts[l.path.String()] = l.count
		}
	}
	for _, l := range limitedLists(spec, path) {
		if l.count > l.limit && l.count > oldCounts[l.path.String()] {
			c.add(field.TooMany(l.path, l.count, l.limit))
		}
	}
}

// ValidateTemplateTermLimits applies the limits of a new pod to the pod template at path, because pods of a larger
// template could not be created. old is the template before an update, or nil.
func ValidateTemplateTermLimits(template, old *corev1.PodTemplateSpec, path *field.Path) field.ErrorList {
	var r errorCollector
	var oldSpec *corev1.PodSpec
	if old != nil {
		oldSpec = &old.Spec
	}
	r.validateTermLimits(&template.Spec, oldSpec, path.Child("spec"))
	return r.errs
}

// limitedLists returns the lists of a pod spec that have a limit.
func limitedLists(spec *corev1.PodSpec, path *field.Path) []listLength {
	lists := []listLength{
		{path.Child("nodeSelector"), len(spec.NodeSelector), maxNodeSelectorEntries},
		{path.Child("tolerations"), len(spec.Tolerations), maxTolerations},
		{path.Child("topologySpreadConstraints"), len(spec.TopologySpreadConstraints), maxSpreadConstraints},
		{path.Child("schedulingGates"), len(spec.SchedulingGates), maxSchedulingGates},
	}
	if affinity := spec.Affinity; affinity != nil {
		fldPath := path.Child("affinity")
		lists = append(lists, nodeAffinityLists(affinity.NodeAffinity, fldPath.Child("nodeAffinity"))...)
		if pods := affinity.PodAffinity; pods != nil {
			lists = append(lists, podAffinityLists(pods.RequiredDuringSchedulingIgnoredDuringExecution, pods.PreferredDuringSchedulingIgnoredDuringExecution, fldPath.Child("podAffinity"))...)
		}
		if pods := affinity.PodAntiAffinity; pods != nil {
			lists = append(lists, podAffinityLists(pods.RequiredDuringSchedulingIgnoredDuringExecution, pods.PreferredDuringSchedulingIgnoredDuringExecution, fldPath.Child("podAntiAffinity"))...)
		}
	}
	for i, c := range spec.TopologySpreadConstraints {
		if c.LabelSelector != nil {
			lists = append(lists, requirementLists(len(c.LabelSelector.MatchLabels)+len(c.LabelSelector.MatchExpressions), labelValueCounts(c.LabelSelector.MatchExpressions), path.Child("topologySpreadConstraints").Index(i).Child("labelSelector"))...)
		}
	}
	return lists
}

func nodeAffinityLists(affinity *corev1.NodeAffinity, path *field.Path) (lists []listLength) {
	if affinity == nil {
		return nil
	}
	if required := affinity.RequiredDuringSchedulingIgnoredDuringExecution; required != nil {
		fldPath := path.Child(podfields.RequiredTerms, "nodeSelectorTerms")
		lists = append(lists, listLength{fldPath, len(required.NodeSelectorTerms), maxAffinityTerms})
		for i := range required.NodeSelectorTerms {
			lists = append(lists, nodeTermLists(&required.NodeSelectorTerms[i], fldPath.Index(i))...)
		}
	}
	preferred := affinity.PreferredDuringSchedulingIgnoredDuringExecution
	fldPath := path.Child(podfields.PreferredTerms)
	lists = append(lists, listLength{fldPath, len(preferred), maxAffinityTerms})
	for i := range preferred {
		lists = append(lists, nodeTermLists(&preferred[i].Preference, fldPath.Index(i).Child("preference"))...)
	}
	return lists
}

func nodeTermLists(term *corev1.NodeSelectorTerm, path *field.Path) []listLength {
	var values []int
	for _, r := range term.MatchExpressions {
		values = append(values, len(r.Values))
	}
	return append(requirementLists(len(term.MatchExpressions), values, path), listLength{path.Child("matchFields"), len(term.MatchFields), maxRequirements})
}

func podAffinityLists(required []corev1.PodAffinityTerm, preferred []corev1.WeightedPodAffinityTerm, path *field.Path) []listLength {
	fldPath := path.Child(podfields.RequiredTerms)
	lists := []listLength{{fldPath, len(required), maxAffinityTerms}, {path.Child(podfields.PreferredTerms), len(preferred), maxAffinityTerms}}
	for i := range required {
		lists = append(lists, podTermLists(&required[i], fldPath.Index(i))...)
	}
	for i := range preferred {
		lists = append(lists, podTermLists(&preferred[i].PodAffinityTerm, path.Child(podfields.PreferredTerms).Index(i).Child("podAffinityTerm"))...)
	}
	return lists
}

// podTermLists returns the lists within an inter-pod affinity term.
func podTermLists(term *corev1.PodAffinityTerm, path *field.Path) []listLength {
	lists := []listLength{{path.Child("namespaces"), len(term.Namespaces), maxTermNamespaces}}
	if s := term.LabelSelector; s != nil {
		lists = append(lists, requirementLists(len(s.MatchLabels)+len(s.MatchExpressions), labelValueCounts(s.MatchExpressions), path.Child("labelSelector"))...)
	}
	if s := term.NamespaceSelector; s != nil {
		lists = append(lists, requirementLists(len(s.MatchLabels)+len(s.MatchExpressions), labelValueCounts(s.MatchExpressions), path.Child("namespaceSelector"))...)
	}
	return lists
}

// requirementLists returns the requirements of a term or selector, and the values of each expression.
func requirementLists(count int, values []int, path *field.Path) []listLength {
	lists := []listLength{{path.Child("matchExpressions"), count, maxRequirements}}
	for i, n := range values {
		lists = append(lists, listLength{path.Child("matchExpressions").Index(i).Child("values"), n, maxRequirementValues})
	}
	return lists
}

// labelValueCounts returns the number of values of each expression.
func labelValueCounts(expressions []metav1.LabelSelectorRequirement) (counts []int) {
	for _, r := range expressions {
		counts = append(counts, len(r.Values))
	}
	return counts
}
