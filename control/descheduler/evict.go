package descheduler

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berthproject/berth/actuate"
	"github.com/berthproject/berth/engine/model"
)

// Component is the name under which evictions are asked for; requester is that which the Kubernetes descheduler
// gives, for those who look for it.
const (
	Component = "descheduler"
	requester = "sigs.k8s.io/descheduler"
)

// leave is a pod that is to be evicted.
type leave struct {
	pod               *model.Pod
	strategy, profile string
	reason            string // the strategy's, with its numbers; may be empty
}

// rule is what the record says.
func (l *leave) rule() string {
	if l.reason == "" {
		return l.strategy
	}
	return l.strategy + ": " + l.reason
}

// evict asks the API for an eviction, counts and tells.
func (r *Runner) evict(ctx context.Context, l *leave) actuate.Evicted {
	a := actuate.Evict(ctx, r.o.Client, actuate.Eviction{Pod: l.pod, Grace: r.o.Policy.Grace, Annotations: map[string]string{
		"requested-by": requester, "reason": fmt.Sprintf("triggered by %s/%s: %s", l.profile, l.strategy, l.reason),
		"berth.dev/requested-by": Component, "berth.dev/reason": l.rule()}})
	result := "success"
	switch {
	case a.Gone:
		return a
	case !a.Granted:
		result = "error"
		if r.o.Policy.FailureEvents {
			r.event(ctx, l, corev1.EventTypeWarning, "EvictionFailed", fmt.Sprintf("pod eviction from %s node by %s failed: %s", l.pod.NodeName, requester, a.Words))
		}
	default:
		r.event(ctx, l, corev1.EventTypeNormal, "Descheduled", fmt.Sprintf("pod eviction from %s node by %s: %s", l.pod.NodeName, requester, l.rule()))
	}
	r.metrics.evicted(result, l)
	return a
}

// telling is how long an event may take. That it cannot be written stops nothing.
const telling = 5 * time.Second

// event tells of a pod.
func (r *Runner) event(ctx context.Context, l *leave, kind, reason, note string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), telling)
	defer cancel()
	p, now := l.pod, time.Now()
	e := &corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: fmt.Sprintf("%s.%x", p.Name[:min(len(p.Name), 230)], now.UnixNano())},
		InvolvedObject: corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: p.Namespace, Name: p.Name, UID: types.UID(p.UID), ResourceVersion: p.ResourceVersion},
		Type:           kind, Reason: reason, Message: actuate.Truncate(note), Source: corev1.EventSource{Component: Component},
		FirstTimestamp: metav1.NewTime(now), LastTimestamp: metav1.NewTime(now), Count: 1}
	if _, err := r.o.Client.CoreV1().Events(p.Namespace).Create(ctx, e, metav1.CreateOptions{}); err != nil {
		r.o.Log.Error(err, "An event was not written", "pod", p.Key(), "reason", reason)
	}
}
