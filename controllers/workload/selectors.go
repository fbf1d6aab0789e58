package workload

import (
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
)

// KeyOf is what loops know an object by.
func KeyOf(o metav1.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}
}

// Selects says whether a workload with this selector may adopt what has no controller. What has no labels is nobody's, whatever
// the selector; one that cannot be read selects nothing.
func Selects(selector *metav1.LabelSelector, orphan metav1.Object) bool {
	has := orphan.GetLabels()
	if len(has) == 0 {
		return false
	}
	s, err := metav1.LabelSelectorAsSelector(selector)
	return err == nil && s.Matches(labels.Set(has))
}

// IgnoreNotFound drops the error that something is not there (any more): then there is nothing to do about it.
func IgnoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
