package executor

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/scheduling"
	"github.com/berthproject/berth/explain"
	"github.com/berthproject/berth/internal/displacer"
)

// reportUnschedulable writes the PodScheduled condition, unless it already has this status, reason and message, and
// records a FailedScheduling event, unless e.Retry is set.
func (x *Executor) reportUnschedulable(ctx context.Context, e scheduling.ReportUnschedulable) scheduling.Outcome {
	reason := corev1.PodReasonUnschedulable
	if e.Summary.Outcome == decision.Errored {
		reason = corev1.PodReasonSchedulerError
	}
	text := explain.Message(e.Summary)
	if !e.Retry {
		x.o.Events.Record(e.Pod, corev1.EventTypeWarning, "FailedScheduling", "Scheduling", text)
	}
	return x.setPodScheduled(ctx, e.Pod, reason, text)
}

// reportGated writes that a pod is gated. For scheduling gates the API server has set the condition at creation;
// for other gates an event is recorded too.
func (x *Executor) reportGated(ctx context.Context, e scheduling.ReportGated) scheduling.Outcome {
	reason, text := corev1.PodReasonUnschedulable, explain.GatedMessage(e.Verdict)
	if e.Verdict.Plugin == decision.SchedulingGates {
		reason = corev1.PodReasonSchedulingGated
	}
	if c := x.o.PodScheduled(e.Pod); c != nil && c.Status == corev1.ConditionFalse && c.Reason == reason &&
		(c.Message == text || e.Verdict.Plugin == decision.SchedulingGates) {
		return scheduling.Outcome{}
	}
	if reason != corev1.PodReasonSchedulingGated {
		x.o.Events.Record(e.Pod, corev1.EventTypeWarning, "FailedScheduling", "Scheduling", text)
	}
	return x.setPodScheduled(ctx, e.Pod, reason, text)
}

// setPodScheduled patches PodScheduled=False into the pod's status unless the condition
// has the same reason and message.
func (x *Executor) setPodScheduled(ctx context.Context, p *model.Pod, reason, message string) scheduling.Outcome {
	existing := x.o.PodScheduled(p)
	if existing != nil && existing.Status == corev1.ConditionFalse && existing.Reason == reason && existing.Message == message {
		return scheduling.Outcome{}
	}
	c := map[string]any{"type": corev1.PodScheduled, "status": corev1.ConditionFalse, "reason": reason, "message": message}
	if existing == nil || existing.Status != corev1.ConditionFalse {
		c["lastTransitionTime"] = x.o.Now().UTC().Format(time.RFC3339)
	}
	_, err := displacer.PatchStatus(ctx, x.o.Client, p, "", map[string]any{"conditions": []any{c}})
	return outcome(err)
}
