package load

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
)

// podWatcher tracks the pods of a run.
type podWatcher struct {
	mu            sync.Mutex
	placed        map[string]bool   // by name
	unschedulable map[string]string // condition message by name
	lastChange    time.Time
}

// watchPods watches the pods of the run until ctx is done.
func watchPods(ctx context.Context, o Options) (*podWatcher, error) {
	w := &podWatcher{placed: map[string]bool{}, unschedulable: map[string]string{}, lastChange: time.Now()}
	factory := informers.NewSharedInformerFactoryWithOptions(o.Client, 0, informers.WithNamespace(o.Namespace),
		informers.WithTweakListOptions(func(l *metav1.ListOptions) { l.LabelSelector = RunLabel + "=" + o.Name }))
	informer := factory.Core().V1().Pods().Informer()
	// Store only the fields that observe reads.
	if err := informer.SetTransform(func(obj any) (any, error) {
		if p, ok := obj.(*corev1.Pod); ok {
			return &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: p.Name, UID: p.UID, ResourceVersion: p.ResourceVersion},
				Spec:       corev1.PodSpec{NodeName: p.Spec.NodeName},
				Status:     corev1.PodStatus{Conditions: p.Status.Conditions},
			}, nil
		}
		return obj, nil
	}); err != nil {
		return nil, err
	}
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: w.observe, UpdateFunc: func(_, obj any) { w.observe(obj) },
	}); err != nil {
		return nil, err
	}
	factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		return nil, fmt.Errorf("watching pods: %w", ctx.Err())
	}
	return w, nil
}

// observe records whether a pod is scheduled or unschedulable.
func (w *podWatcher) observe(obj any) {
	p, ok := obj.(*corev1.Pod)
	if !ok {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if p.Spec.NodeName != "" {
		if !w.placed[p.Name] {
			w.lastChange = time.Now()
		}
		w.placed[p.Name] = true
		delete(w.unschedulable, p.Name)
		return
	}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			if _, ok := w.unschedulable[p.Name]; !ok {
				w.lastChange = time.Now()
			}
			w.unschedulable[p.Name] = c.Message
		}
	}
}

// progress returns the numbers of scheduled and unschedulable pods and the time since the last
// change.
func (w *podWatcher) progress() (scheduled, unschedulable int, sinceChange time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.placed), len(w.unschedulable), time.Since(w.lastChange)
}
