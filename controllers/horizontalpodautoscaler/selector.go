package horizontalpodautoscaler

import (
	"slices"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
)

// findOverlapping returns key and the other autoscalers of its namespace that select one of the pods, sorted. It returns
// nil if there are no others.
func findOverlapping(states map[types.NamespacedName]*autoscalerState, key types.NamespacedName, pods []labels.Set) []string {
	var names []string
	for other, s := range states {
		if other == key || other.Namespace != key.Namespace || s.selector == nil {
			continue
		}
		if slices.ContainsFunc(pods, func(p labels.Set) bool { return s.selector.Matches(p) }) {
			names = append(names, other.String())
		}
	}
	if len(names) == 0 {
		return nil
	}
	names = append(names, key.String())
	slices.Sort(names)
	return names
}
