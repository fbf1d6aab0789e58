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
	// patience is how long anything is waited for: far longer than it takes, for loaded machines.
	patience = 60 * time.Second
	// lookEvery is how often it is looked for what no watch tells.
	lookEvery = 100 * time.Millisecond
)

// seen is a pod with the times at which the watch has shown first that it came to something.
type seen struct {
	pod                        *corev1.Pod
	made, bound, ready, failed time.Time
	deleted, gone              time.Time
}

// cast is all pods of the namespace, those that are gone included.
type cast struct {
	mu      sync.Mutex
	pods    map[types.UID]*seen
	changed chan struct{} // closed at the next change
}

// watch follows the pods of the namespace until ctx ends.
func watch(ctx context.Context, client kubernetes.Interface) (*cast, error) {
	c := &cast{pods: map[types.UID]*seen{}, changed: make(chan struct{})}
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(Namespace))
	informer := factory.Core().V1().Pods().Informer()
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { c.note(o, false) },
		UpdateFunc: func(_, o any) { c.note(o, false) },
		DeleteFunc: func(o any) { c.note(o, true) },
	}); err != nil {
		return nil, err
	}
	factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		return nil, fmt.Errorf("the pods of namespace %s cannot be watched: %w", Namespace, ctx.Err())
	}
	return c, nil
}

func (c *cast) note(object any, gone bool) {
	if last, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = last.Obj
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
		s = &seen{made: now}
		c.pods[pod.UID] = s
	}
	s.pod = pod
	first(&s.bound, now, pod.Spec.NodeName != "")
	first(&s.ready, now, isReady(pod))
	first(&s.failed, now, pod.Status.Phase == corev1.PodFailed)
	first(&s.deleted, now, pod.DeletionTimestamp != nil)
	first(&s.gone, now, gone)
	close(c.changed)
	c.changed = make(chan struct{})
}

// first sets at to now the first time that it is so.
func first(at *time.Time, now time.Time, so bool) {
	if so && at.IsZero() {
		*at = now
	}
}

func isReady(p *corev1.Pod) bool {
	return p.DeletionTimestamp == nil && p.Status.Phase == corev1.PodRunning && slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// of are the pods of an application that are not gone, by name; of all for "".
func (c *cast) of(app string) (out []seen) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.pods {
		if s.gone.IsZero() && (app == "" || s.pod.Labels["app"] == app) {
			out = append(out, *s)
		}
	}
	slices.SortFunc(out, func(a, b seen) int { return strings.Compare(a.pod.Name, b.pod.Name) })
	return out
}

// by is a pod by its uid.
func (c *cast) by(uid types.UID) seen {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.pods[uid]; s != nil {
		return *s
	}
	return seen{pod: &corev1.Pod{}}
}

func (c *cast) next() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.changed
}

// until waits until missing says "", that is, that nothing is missing; it looks at each
// change of a pod, and now and then.
func (c *cast) until(ctx context.Context, missing func() string) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		next := c.next()
		what := missing()
		if what == "" {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("not within %s: %s", span(patience), what)
		case <-next:
		case <-tick.C:
		}
	}
}

// ready waits until just n pods of an application run, all of them Ready, and returns them.
func (c *cast) ready(ctx context.Context, app string, n int) (out []seen, err error) {
	err = c.until(ctx, func() string {
		out = nil
		for _, s := range c.of(app) {
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

// last is the latest of a time of pods.
func last(pods []seen, of func(seen) time.Time) (at time.Time) {
	for _, p := range pods {
		if t := of(p); t.After(at) {
			at = t
		}
	}
	return at
}

// older waits until all pods were made in a second before this one: records tell a pod that was there from
// one that came by the second of its creation.
func (c *cast) older(ctx context.Context) error {
	return c.until(ctx, func() string {
		for _, p := range c.of("") {
			if time.Since(p.pod.CreationTimestamp.Time) < time.Second {
				return p.pod.Name + " is new"
			}
		}
		return ""
	})
}
