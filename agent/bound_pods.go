package agent

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
)

// BoundPods returns all pods bound to the node as the watch last reported them, including terminated and
// rejected ones, ordered by namespace and name. Static pods replace their mirror pods. Callers must not modify
// the pods.
func (a *Agent) BoundPods(node string) []*corev1.Pod {
	var out []*corev1.Pod
	for _, p := range a.listStaticPods() {
		out = append(out, p)
	}
	if store, ok := a.boundPods.Load().(cache.Store); ok {
		for _, obj := range store.List() {
			if p, ok := obj.(*corev1.Pod); ok && p.Spec.NodeName == node && !a.isMirrorPod(p) {
				out = append(out, p)
			}
		}
	}
	slices.SortFunc(out, compareByName)
	return out
}
