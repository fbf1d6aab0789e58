package demo

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

const (
	// waitTimeout bounds every wait. It allows for loaded machines.
	waitTimeout = 60 * time.Second
	// pollInterval is the interval of polls for objects without a watch.
	pollInterval = 100 * time.Millisecond
)

// podTimes is a pod with the times of its observed transitions.
type podTimes struct {
	pod                           *corev1.Pod
	created, bound, ready, failed time.Time
	deleted, removed              time.Time // when the deletion was requested and when it was complete
}

// podTracker tracks all pods of the namespace, deleted ones included.
type podTracker struct {
	mu      sync.Mutex
	pods    map[types.UID]*podTimes
	changed chan struct{} // closed at the next change
}

// watchPods tracks the pods of the namespace until ctx is done.
func watchPods(ctx context.Context, client kubernetes.Interface) (*podTracker, error) {
	c := &podTracker{pods: map[types.UID]*podTimes{}, changed: make(chan struct{})}
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(Namespace))
	informer := factory.Core().V1().Pods().Informer()
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { c.observe(o, false) },
		UpdateFunc: func(_, o any) { c.observe(o, false) },
		DeleteFunc: func(o any) { c.observe(o, true) },
	}); err != nil {
		return nil, err
	}
	factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		return nil, fmt.Errorf("the pods of namespace %s cannot be watched: %w", Namespace, ctx.Err())
	}
	return c, nil
}

func (c *podTracker) observe(object any, removed bool) {
	if tombstone, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = tombstone.Obj
	}
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return
	}
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.pods[pod.UID]
	if s == nil {
		s = &podTimes{created: now}
		c.pods[pod.UID] = s
	}
	s.pod = pod
	setOnce(&s.bound, now, pod.Spec.NodeName != "")
	setOnce(&s.ready, now, isReady(pod))
	setOnce(&s.failed, now, pod.Status.Phase == corev1.PodFailed)
	setOnce(&s.deleted, now, pod.DeletionTimestamp != nil)
	setOnce(&s.removed, now, removed)
	close(c.changed)
	c.changed = make(chan struct{})
}

// setOnce sets t to now the first time that reached is true.
func setOnce(t *time.Time, now time.Time, reached bool) {
	if reached && t.IsZero() {
		*t = now
	}
}

func isReady(p *corev1.Pod) bool {
	return p.DeletionTimestamp == nil && p.Status.Phase == corev1.PodRunning && slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// list returns the existing pods of an application by name; "" means all.
func (c *podTracker) list(app string) (out []podTimes) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.pods {
		if s.removed.IsZero() && (app == "" || s.pod.Labels["app"] == app) {
			out = append(out, *s)
		}
	}
	slices.SortFunc(out, func(a, b podTimes) int { return strings.Compare(a.pod.Name, b.pod.Name) })
	return out
}

func (c *podTracker) get(uid types.UID) podTimes {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.pods[uid]; s != nil {
		return *s
	}
	return podTimes{pod: &corev1.Pod{}}
}

// nextChange returns a channel that is closed at the next change of a pod.
func (c *podTracker) nextChange() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.changed
}

// waitFor calls blocker after each change of a pod and at each pollInterval, until blocker returns "".
// Otherwise blocker returns why the wait continues. An error contains the last reason.
func (c *podTracker) waitFor(ctx context.Context, blocker func() string) error {
	ctx, cancel := context.WithTimeout(ctx, waitTimeout)
	defer cancel()
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		next := c.nextChange()
		reason := blocker()
		if reason == "" {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("timed out after %s: %s", formatDuration(waitTimeout), reason)
		case <-next:
		case <-tick.C:
		}
	}
}

// waitReady waits until exactly n pods of an application are Ready, and returns them.
func (c *podTracker) waitReady(ctx context.Context, app string, n int) (out []podTimes, err error) {
	err = c.waitFor(ctx, func() string {
		out = nil
		for _, s := range c.list(app) {
			if isReady(s.pod) {
				out = append(out, s)
			}
		}
		if len(out) != n {
			return fmt.Sprintf("%d of %d pods of %s are Ready", len(out), n, app)
		}
		return ""
	})
	return out, err
}

func latest(pods []podTimes, timeOf func(podTimes) time.Time) (last time.Time) {
	for _, p := range pods {
		if t := timeOf(p); t.After(last) {
			last = t
		}
	}
	return last
}

// waitUntilOlder waits until all pods are at least a second old, because records identify
// replacements by creation times in seconds.
func (c *podTracker) waitUntilOlder(ctx context.Context) error {
	return c.waitFor(ctx, func() string {
		for _, p := range c.list("") {
			if time.Since(p.pod.CreationTimestamp.Time) < time.Second {
				return p.pod.Name + " is new"
			}
		}
		return ""
	})
}
