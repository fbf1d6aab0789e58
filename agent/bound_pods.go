package agent

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
)

// BoundPods returns all pods bound to the node as last seen, including terminated and rejected
// ones, ordered by namespace and name. Callers must not modify them.
func (a *Agent) BoundPods(node string) []*corev1.Pod {
	store, ok := a.boundPods.Load().(cache.Store)
	if !ok {
		return nil
	}
	var out []*corev1.Pod
	for _, obj := range store.List() {
		if p, ok := obj.(*corev1.Pod); ok && p.Spec.NodeName == node {
			out = append(out, p)
		}
	}
	slices.SortFunc(out, compareByName)
	return out
}
