package admission

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// newestDefault returns the name of the newest class that one of the annotations marks as default. It
// returns nil if there is no default class.
func newestDefault[T metav1.Object](classes []T, annotations ...string) *string {
	var defaults []T
	for _, class := range classes {
		if slices.ContainsFunc(annotations, func(key string) bool { return class.GetAnnotations()[key] == "true" }) {
			defaults = append(defaults, class)
		}
	}
	if len(defaults) == 0 {
		return nil
	}
	name := slices.MinFunc(defaults, func(a, b T) int {
		if c := b.GetCreationTimestamp().Compare(a.GetCreationTimestamp().Time); c != 0 {
			return c
		}
		return strings.Compare(a.GetName(), b.GetName())
	}).GetName()
	return &name
}
