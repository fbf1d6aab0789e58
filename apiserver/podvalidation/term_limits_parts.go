package podvalidation

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// podTermParts returns the lists within an inter-pod affinity term.
func podTermParts(term *corev1.PodAffinityTerm, path *field.Path) []listLength {
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
