package answers

import (
	"cmp"
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/scheduling"
	"github.com/berthproject/berth/explain"
	"github.com/berthproject/berth/internal/recording"
	"github.com/berthproject/berth/internal/reports"
)

// queueAt returns the pending pods at a time in the format of `berth queue -o json`.
func (a Source) queueAt(ctx context.Context, config *rest.Config, namespace string, at time.Time) ([]byte, error) {
	if err := requireList(ctx, config, corev1.Resource("pods"), namespace); err != nil {
		return nil, err
	}
	state, err := reports.StateAt(a.Journal, at)
	if err != nil {
		return nil, err
	}
	var list []explain.PendingPod
	for _, p := range podsIn(state, namespace) {
		if p.NodeName == "" && !p.Deleting {
			d, _ := state.LastDecision(p.UID)
			list = append(list, pendingPodAt(p, d))
		}
	}
	explain.SortPendingPods(list)
	return explain.QueueJSON(list)
}

// pendingPodAt describes a pending pod from the last decision about it, as queueEntry does from its conditions.
func pendingPodAt(p *model.Pod, d recording.Decision) explain.PendingPod {
	out := explain.PendingPod{Pod: p.Key(), Scheduler: p.Spec.SchedulerName, Priority: p.Spec.Priority, State: explain.PendingNew,
		Created: p.Created, Since: p.Created, Nominated: p.NominatedNodeName, Gates: p.Spec.Gates}
	switch e := d.Effect.(type) {
	case scheduling.ReportUnschedulable:
		out.State, out.Since, out.Message = explain.PendingUnschedulable, d.At, explain.Message(e.Summary)
		if e.Summary.Error != "" {
			out.State = explain.PendingError
		}
	case scheduling.Preempt:
		out.Nominated, out.Since = cmp.Or(out.Nominated, e.Plan.Node), d.At
	}
	switch {
	case len(out.Gates) > 0:
		out.State = explain.PendingGated
	case out.Nominated != "":
		out.State = explain.PendingNominated
	}
	return out
}

// explainPodAt returns what `berth explain pod -o json` would have returned at a time.
func (a Source) explainPodAt(ctx context.Context, config *rest.Config, namespace, name string, at time.Time) ([]byte, error) {
	if err := requireDecisionResources(ctx, config); err != nil {
		return nil, err
	}
	x, err := reports.ExplainRecordedPod(a.Settings, a.Journal, namespace, name, at)
	if err != nil {
		return nil, err
	}
	return x.JSON()
}
