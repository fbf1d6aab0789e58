package descheduler

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/executor"
)

// Component is the name under which the descheduler requests evictions; upstreamRequester is
// the one that the Kubernetes descheduler uses, for tools that search for it.
const (
	Component         = "descheduler"
	upstreamRequester = "sigs.k8s.io/descheduler"
)

// evictionRequest is a pod to evict.
type evictionRequest struct {
	pod               *model.Pod
	strategy, profile string
	reason            string // from the strategy, with numbers; may be empty
}

// recordRule returns the rule of the displacement record.
func (l *evictionRequest) recordRule() string {
	if l.reason == "" {
		return l.strategy
	}
	return l.strategy + ": " + l.reason
}

// evict requests an eviction and records the metric and the event.
func (r *Runner) evict(ctx context.Context, l *evictionRequest) executor.EvictionResult {
	a := executor.Evict(ctx, r.o.Client, executor.Eviction{Pod: l.pod, Grace: r.o.Policy.Grace, Annotations: map[string]string{
		"requested-by": upstreamRequester, "reason": fmt.Sprintf("triggered by %s/%s: %s", l.profile, l.strategy, l.reason),
		"berth.dev/requested-by": Component, "berth.dev/reason": l.recordRule()}})
	result := "success"
	switch {
	case a.AlreadyDeleted:
		return a
	case !a.Granted:
		result = "error"
		if r.o.Policy.EvictionFailureEvents {
			r.recordEvent(ctx, l, corev1.EventTypeWarning, "EvictionFailed", fmt.Sprintf("pod eviction from %s node by %s failed: %s", l.pod.NodeName, upstreamRequester, a.Message))
		}
	default:
		r.recordEvent(ctx, l, corev1.EventTypeNormal, "Descheduled", fmt.Sprintf("pod eviction from %s node by %s: %s", l.pod.NodeName, upstreamRequester, l.recordRule()))
	}
	r.metrics.observeEviction(result, l)
	return a
}

// eventTimeout bounds the creation of an event. A failure is only logged.
const eventTimeout = 5 * time.Second

// recordEvent records an event about a pod.
func (r *Runner) recordEvent(ctx context.Context, l *evictionRequest, kind, reason, note string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), eventTimeout)
	defer cancel()
	p, now := l.pod, r.clock.Now()
	e := &corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: fmt.Sprintf("%s.%x", p.Name[:min(len(p.Name), 230)], now.UnixNano())},
		InvolvedObject: corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: p.Namespace, Name: p.Name, UID: types.UID(p.UID), ResourceVersion: p.ResourceVersion},
		Type:           kind, Reason: reason, Message: executor.TruncateNote(note), Source: corev1.EventSource{Component: Component},
		FirstTimestamp: metav1.NewTime(now), LastTimestamp: metav1.NewTime(now), Count: 1}
	if _, err := r.o.Client.CoreV1().Events(p.Namespace).Create(ctx, e, metav1.CreateOptions{}); err != nil {
		r.o.Log.Error(err, "Failed to record an event", "pod", p.Key(), "reason", reason)
	}
}
