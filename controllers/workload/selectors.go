package workload

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
)

// KeyOf returns the queue key of an object.
func KeyOf(o metav1.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}
}

// Selects reports whether a workload with this selector may adopt an object without controller. An object without
// labels is never adopted. A malformed selector selects nothing.
func Selects(selector *metav1.LabelSelector, orphan metav1.Object) bool {
	set := orphan.GetLabels()
	if len(set) == 0 {
		return false
	}
	s, err := metav1.LabelSelectorAsSelector(selector)
	return err == nil && s.Matches(labels.Set(set))
}
