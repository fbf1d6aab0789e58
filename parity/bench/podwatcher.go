package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// podWatcher records when each pod is first seen and when it is bound, with one watch.
type podWatcher struct {
	mu        sync.Mutex
	seen      map[string]time.Time
	bound     map[string]time.Duration // time from first seen to bound
	perNode   map[string]int
	last      time.Time // of the last binding
	onPending func(*corev1.Pod)
}

// watchPods starts a watch and records the pods after the first list. It calls onPending, which may
// be nil, with each new pod without a node. A watch that the server closes is restarted at once,
// because a pause would count as latency of the scheduler.
func watchPods(ctx context.Context, client kubernetes.Interface, onPending func(*corev1.Pod)) (*podWatcher, error) {
	w := &podWatcher{seen: map[string]time.Time{}, bound: map[string]time.Duration{}, perNode: map[string]int{}, onPending: onPending}
	_, informer := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: cache.NewListWatchFromClient(client.CoreV1().RESTClient(), "pods", corev1.NamespaceAll, fields.Everything()),
		ObjectType:    &corev1.Pod{},
		Handler: cache.ResourceEventHandlerDetailedFuncs{
			AddFunc: func(pod any, first bool) {
				if !first {
					w.record(pod.(*corev1.Pod))
				}
			},
			UpdateFunc: func(_, pod any) { w.record(pod.(*corev1.Pod)) },
		},
	})
	go informer.RunWithContext(ctx)
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		return nil, fmt.Errorf("the list of pods: %w", ctx.Err())
	}
	return w, nil
}

func (w *podWatcher) record(pod *corev1.Pod) {
	now := time.Now()
	w.mu.Lock()
	from, ok := w.seen[pod.Name]
	if !ok {
		w.seen[pod.Name], from = now, now
	}
	if _, done := w.bound[pod.Name]; pod.Spec.NodeName != "" && !done {
		w.bound[pod.Name], w.last = now.Sub(from), now
		w.perNode[pod.Spec.NodeName]++
	}
	w.mu.Unlock()
	if !ok && pod.Spec.NodeName == "" && w.onPending != nil {
		w.onPending(pod)
	}
}

// count returns the numbers of pods that were bound and that were seen.
func (w *podWatcher) count() (bound, seen int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.bound), len(w.seen)
}

// summarize sets the fields of a that follow from the bindings since from.
func (w *podWatcher) summarize(a *arrival, from time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	a.seconds = w.last.Sub(from).Seconds()
	latencies := slices.Sorted(maps.Values(w.bound))
	a.p50, a.p99 = latencies[len(latencies)/2], latencies[len(latencies)*99/100]
	for _, n := range w.perNode {
		a.maxPerNode = max(a.maxPerNode, n)
	}
	a.used = len(w.perNode)
}
