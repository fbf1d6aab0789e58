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
	"github.com/berthproject/berth/internal/displacer"
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
func (req *evictionRequest) recordRule() string {
	if req.reason == "" {
		return req.strategy
	}
	return req.strategy + ": " + req.reason
}

// evict requests an eviction, and records the metric and the event unless the pod is already deleted.
func (r *Runner) evict(ctx context.Context, req *evictionRequest) executor.EvictionResult {
	limited, cancel := r.env.WithTimeout(ctx, executor.EvictTimeout)
	defer cancel()
	eviction := executor.Evict(limited, r.o.Client, executor.Eviction{Pod: req.pod, Grace: r.o.Policy.Grace, Annotations: map[string]string{
		"requested-by": upstreamRequester, "reason": fmt.Sprintf("triggered by %s/%s: %s", req.profile, req.strategy, req.reason),
		"berth.dev/requested-by": Component, "berth.dev/reason": req.recordRule()}})
	result := "success"
	switch {
	case eviction.AlreadyDeleted:
		return eviction
	case !eviction.Granted:
		result = "error"
		if r.o.Policy.EvictionFailureEvents {
			r.recordEvent(ctx, req, corev1.EventTypeWarning, "EvictionFailed", fmt.Sprintf("pod eviction from %s node by %s failed: %s", req.pod.NodeName, upstreamRequester, eviction.Message))
		}
	default:
		r.recordEvent(ctx, req, corev1.EventTypeNormal, "Descheduled", fmt.Sprintf("pod eviction from %s node by %s: %s", req.pod.NodeName, upstreamRequester, req.recordRule()))
	}
	r.metrics.observeEviction(result, req)
	return eviction
}

// eventTimeout bounds the creation of an event. A failure is only logged.
const eventTimeout = 5 * time.Second

// maxNamePrefix is the maximum length of the pod's name in the name of an event, which has at most 253 characters.
const maxNamePrefix = 230

func (r *Runner) recordEvent(ctx context.Context, req *evictionRequest, eventType, reason, note string) {
	ctx, cancel := r.env.WithTimeout(context.WithoutCancel(ctx), eventTimeout)
	defer cancel()
	p, now := req.pod, r.env.Now()
	e := &corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: fmt.Sprintf("%s.%x", p.Name[:min(len(p.Name), maxNamePrefix)], now.UnixNano())},
		InvolvedObject: corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: p.Namespace, Name: p.Name, UID: types.UID(p.UID), ResourceVersion: p.ResourceVersion},
		Type:           eventType, Reason: reason, Message: displacer.TruncateNote(note), Source: corev1.EventSource{Component: Component},
		FirstTimestamp: metav1.NewTime(now), LastTimestamp: metav1.NewTime(now), Count: 1}
	if _, err := r.o.Client.CoreV1().Events(p.Namespace).Create(ctx, e, metav1.CreateOptions{}); err != nil {
		r.o.Log.Error(err, "Failed to record an event", "pod", p.Key(), "reason", reason)
	}
}
