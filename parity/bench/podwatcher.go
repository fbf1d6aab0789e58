package main

import (
	"context"
	"fmt"
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
	on        map[string]int
	last      time.Time // of the last binding
	onPending func(*corev1.Pod)
}

// watchPods starts a watch and records what comes after the first list. The function
// onPending, which may be nil, is called with each new pod without a node. A watch that the
// server closes is restarted at once, because a pause would look like a slow scheduler.
func watchPods(ctx context.Context, client kubernetes.Interface, onPending func(*corev1.Pod)) (*podWatcher, error) {
	f := &podWatcher{seen: map[string]time.Time{}, bound: map[string]time.Duration{}, on: map[string]int{}, onPending: onPending}
	_, informer := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: cache.NewListWatchFromClient(client.CoreV1().RESTClient(), "pods", corev1.NamespaceAll, fields.Everything()),
		ObjectType:    &corev1.Pod{},
		Handler: cache.ResourceEventHandlerDetailedFuncs{
			AddFunc: func(pod any, first bool) {
				if !first {
					f.record(pod.(*corev1.Pod))
				}
			},
			UpdateFunc: func(_, pod any) { f.record(pod.(*corev1.Pod)) },
		},
	})
	go informer.RunWithContext(ctx)
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		return nil, fmt.Errorf("the list of pods: %w", ctx.Err())
	}
	return f, nil
}
func (f *podWatcher) record(pod *corev1.Pod) {
	now := time.Now()
	f.mu.Lock()
	from, ok := f.seen[pod.Name]
	if !ok {
		f.seen[pod.Name], from = now, now
	}
	if _, done := f.bound[pod.Name]; pod.Spec.NodeName != "" && !done {
		f.bound[pod.Name], f.last = now.Sub(from), now
		f.on[pod.Spec.NodeName]++
	}
	f.mu.Unlock()
	if !ok && pod.Spec.NodeName == "" && f.onPending != nil {
		f.onPending(pod)
	}
}

func (f *podWatcher) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.bound)
}
