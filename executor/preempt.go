package executor

import (
	"context"
	"time"

	"github.com/berthproject/berth/engine/displacement"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/scheduling"
	"github.com/berthproject/berth/internal/displacer"
)

// maxPreemptTimeout bounds a Preempt of many victims. It is shorter than the time after which the
// machine repeats the effect.
const maxPreemptTimeout = 100 * time.Second

func (x *Executor) timeoutFor(e scheduling.Effect) time.Duration {
	switch e := e.(type) {
	case scheduling.Preempt:
		return max(x.o.Timeout, min(maxPreemptTimeout, x.o.Timeout+time.Duration(len(e.Plan.Victims))*time.Second))
	case scheduling.Bind, scheduling.CallExtenders, scheduling.CallPreemptionExtenders:
		return max(x.o.Timeout, x.o.Extenders.MaxDuration())
	}
	return x.o.Timeout
}

// preempt nominates the pod, unless it waits for a resize, and displaces the victims. A refused displacement is undone;
// after any other failure the machine repeats the effect.
func (x *Executor) preempt(ctx context.Context, e scheduling.Preempt) scheduling.Outcome {
	if out := x.beginPreemption(ctx, e); out.Result != scheduling.Done {
		return out
	}
	o, failure := x.displacer.Run(ctx, preemptionSpec(e))
	return preemptionOutcome(e, o, failure)
}

// preemptionSpec returns the displacement of the victims of a preemption.
func preemptionSpec(e scheduling.Preempt) displacement.Spec {
	spec := displacement.Spec{Record: displacement.Record{Cause: displacement.Preemption, Preemptor: e.Pod, Node: e.Plan.Node},
		Attempt: e.Choice, Debits: e.Plan.Debits, Resume: e.Retry}
	for _, v := range e.Plan.Victims {
		spec.Victims = append(spec.Victims, displacement.Victim{Pod: v})
	}
	return spec
}

// beginPreemption nominates the pod, or checks that it still waits for its resize.
func (x *Executor) beginPreemption(ctx context.Context, e scheduling.Preempt) scheduling.Outcome {
	if e.Resize {
		return x.requireDeferredResize(ctx, e.Pod)
	}
	out := x.nominate(ctx, e.Pod, &e.Plan.Node)
	if out.Result == scheduling.Refused {
		out.Reason = "nominating the pod: " + out.Reason
	}
	return out
}

// preemptionOutcome converts the outcome of the displacement of preemptionSpec. After a refusal, the next attempt uses
// the present state of the budgets.
func preemptionOutcome(e scheduling.Preempt, o *displacement.Outcome, failure displacer.Failure) scheduling.Outcome {
	out := scheduling.Outcome{Result: scheduling.Unknown}
	switch o.Kind {
	case displacement.Displaced:
		return scheduling.Outcome{}
	case displacement.Refused:
		refused := displacer.RefusedError{Budget: o.Verdict.Budget, Required: o.Required}
		return scheduling.Outcome{Result: scheduling.Refused, Reason: refused.Error(), Budgets: append([]*model.Budget{o.Verdict.Budget}, o.Refunded...)}
	case displacement.Failed:
		out.Result = scheduling.Refused
	}
	out.Reason = "displacing pod " + e.Plan.Victims[o.Victim].Key() + ": " + failure.Err.Error()
	return out
}
