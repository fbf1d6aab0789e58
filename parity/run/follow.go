package main

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	watchtools "k8s.io/client-go/tools/watch"
)

// follower notes when each pod is seen for the first time, and when bound, in one watch.
type follower struct {
	mu     sync.Mutex
	seen   map[string]time.Time
	bound  map[string]time.Duration // from seen to bound
	on     map[string]int
	last   time.Time // binding
	unseen func(*corev1.Pod)
}

// watcher watches all pods.
type watcher struct{ client kubernetes.Interface }

func (w watcher) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	return w.client.CoreV1().Pods("").Watch(ctx, options)
}

// follow begins to watch; unseen, which may be nil, is called with each pod that appears without a node.
func follow(ctx context.Context, client kubernetes.Interface, unseen func(*corev1.Pod)) (*follower, error) {
	list, err := client.CoreV1().Pods("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	// The server ends watches that do not keep up for a moment; this one then goes on.
	w, err := watchtools.NewRetryWatcherWithContext(ctx, list.ResourceVersion, watcher{client})
	if err != nil {
		return nil, err
	}
	f := &follower{seen: map[string]time.Time{}, bound: map[string]time.Duration{}, on: map[string]int{}, unseen: unseen}
	go func() {
		defer w.Stop()
		for e := range w.ResultChan() {
			if pod, ok := e.Object.(*corev1.Pod); ok {
				f.note(pod)
			}
		}
	}()
	return f, nil
}

func (f *follower) note(pod *corev1.Pod) {
	now := time.Now()
	f.mu.Lock()
	from, known := f.seen[pod.Name]
	if !known {
		f.seen[pod.Name], from = now, now
	}
	if _, done := f.bound[pod.Name]; pod.Spec.NodeName != "" && !done {
		f.bound[pod.Name], f.last = now.Sub(from), now
		f.on[pod.Spec.NodeName]++
	}
	f.mu.Unlock()
	if !known && pod.Spec.NodeName == "" && f.unseen != nil {
		f.unseen(pod)
	}
}

func (f *follower) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.bound)
}
