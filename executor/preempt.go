package executor

import (
	"context"
	"errors"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/engine/displacement"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/scheduling"
)

// maxPreemptTimeout bounds a Preempt of many victims; it stays below the time after which the
// machine asks again.
const maxPreemptTimeout = 100 * time.Second

// timeoutFor is how long an effect may take.
func (a *Executor) timeoutFor(e scheduling.Effect) time.Duration {
	switch e := e.(type) {
	case scheduling.Preempt:
		return max(a.o.Timeout, min(maxPreemptTimeout, a.o.Timeout+time.Duration(len(e.Plan.Victims))*time.Second))
	case scheduling.Bind, scheduling.CallExtenders, scheduling.CallPreemptionExtenders:
		return max(a.o.Timeout, a.o.Extenders.MaxDuration())
	}
	return a.o.Timeout
}

// victim is a pod to be driven out, as far as that has come.
type victim struct {
	pod      *model.Pod
	marked   bool // the condition is there
	deleted  bool // it is deleted, or being deleted with the condition
	recorded bool // nothing is to be told of it any more
}

// preempt nominates the pod, debits the budgets, and drives the victims out. Each step up to the
// condition is done for all victims before the next one begins, and none is done twice: whoever finds a
// pod with the condition, here or in another process, knows that it is paid for and what is
// left to do.
func (a *Executor) preempt(ctx context.Context, e scheduling.Preempt) scheduling.Outcome {
	if out := a.nominate(ctx, e.Pod, &e.Plan.Node); out.Result != scheduling.Done {
		if out.Result == scheduling.Refused {
			out.Reason = "nominating it: " + out.Reason
		}
		return out
	}
	victims, err := a.victimStates(ctx, e)
	if err != nil {
		return scheduling.Outcome{Result: scheduling.Unknown, Reason: err.Error()}
	}
	entries, err := a.displacer.Debit(ctx, e.Plan.Debits, e.Plan.Victims, displacement.Preemption.Policy().Overrules(e.Choice))
	if refused := (*RefusedError)(nil); errors.As(err, &refused) {
		out := scheduling.Outcome{Result: scheduling.Refused, Reason: err.Error()}
		for _, b := range append([]*policyv1.PodDisruptionBudget{refused.Budget}, refused.Refunded...) { // the next choice is made on what they are now
			out.Budgets = append(out.Budgets, a.o.ConvertBudget(b))
		}
		return out
	}
	if err != nil {
		return scheduling.Outcome{Result: scheduling.Unknown, Reason: err.Error()}
	}
	record := func(v *victim) *displacement.Record {
		return &displacement.Record{Cause: displacement.Preemption, Preemptor: e.Pod, Victim: v.pod, Node: e.Plan.Node, Entries: entries[v.pod.Key()]}
	}
	deleted := slices.ContainsFunc(victims, func(v victim) bool { return v.deleted })
	for i := range victims {
		if err := a.setDisruptionTarget(ctx, &victims[i], record(&victims[i])); err != nil {
			return preemptError(victims[i].pod, err, deleted)
		}
	}
	for i := range victims {
		v := &victims[i]
		if v.deleted && v.recorded {
			continue
		}
		err := a.recordAndDelete(ctx, v, record(v))
		deleted = deleted || v.deleted
		if err != nil {
			return preemptError(v.pod, err, deleted)
		}
	}
	return scheduling.Outcome{}
}

// preemptError words an error that ends a Preempt. Once a victim is deleted it cannot be
// refused any more: it is asked again.
func preemptError(p *model.Pod, err error, deleted bool) scheduling.Outcome {
	out := scheduling.Outcome{Result: scheduling.Unknown, Reason: "displacing pod " + p.Key() + ": " + err.Error()}
	if isDefiniteRejection(err) && !apierrors.IsTooManyRequests(err) && !deleted {
		out.Result = scheduling.Refused
	}
	return out
}

// victimStates says how far each victim is. When the same was asked before, the API
// knows better than what is remembered.
func (a *Executor) victimStates(ctx context.Context, e scheduling.Preempt) ([]victim, error) {
	var out []victim
	for _, p := range e.Plan.Victims {
		v := victim{pod: p, marked: p.DisruptionReason == displacement.Preemption.Reason()}
		if e.Retry {
			found, err := a.o.Client.CoreV1().Pods(p.Namespace).Get(ctx, p.Name, metav1.GetOptions{})
			switch {
			case apierrors.IsNotFound(err):
				v.deleted, v.recorded = true, !a.displacer.dedup.isUnanswered(p.UID)
			case err != nil:
				return nil, err
			default:
				v.marked = hasCondition(found, displacement.Preemption)
				v.recorded = string(found.UID) != p.UID
				v.deleted = v.recorded || v.marked && found.DeletionTimestamp != nil
			}
		}
		out = append(out, v)
	}
	return out, nil
}

// setDisruptionTarget writes the DisruptionTarget condition, which is the record of the displacement. One that
// turns out to be gone is what was wanted.
func (a *Executor) setDisruptionTarget(ctx context.Context, v *victim, r *displacement.Record) error {
	if v.marked || v.deleted {
		return nil
	}
	_, err := a.displacer.setDisruptionTarget(ctx, r, &corev1.Pod{}, "", "")
	if isGone(err) {
		v.deleted, v.recorded = true, true
		return nil
	}
	return err
}

// recordAndDelete tells of a victim, and deletes it with its own grace period. In this order, as a crash between the two would
// otherwise leave a pod that is gone and of which nobody knows why; a victim that then may not be deleted has been told of in vain.
func (a *Executor) recordAndDelete(ctx context.Context, v *victim, r *displacement.Record) error {
	if !v.recorded {
		err := a.displacer.tryWriteRecord(ctx, r)
		if err != nil && !isPermanent(err) {
			return err
		}
		if err != nil { // that it cannot be written stops nothing
			a.o.Events.dropped.Add(1)
		}
		v.recorded = true
	}
	if v.deleted {
		return nil
	}
	err := a.displacer.deletePod(ctx, r, "")
	v.deleted = err == nil
	return err
}
