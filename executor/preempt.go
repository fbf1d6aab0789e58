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

// victim is a victim of a preemption with its progress.
type victim struct {
	pod       *model.Pod
	hasTarget bool // it has the DisruptionTarget condition
	deleted   bool // it is deleted, or being deleted with the condition
	recorded  bool // its record needs no further write
}

// preempt nominates the pod, debits the budgets, and displaces the victims. Each step up to the condition is done
// for all victims before the next step begins. No step is repeated: a victim that has the condition, set by this or
// another process, has been debited already.
func (x *Executor) preempt(ctx context.Context, e scheduling.Preempt) scheduling.Outcome {
	if out := x.nominate(ctx, e.Pod, &e.Plan.Node); out.Result != scheduling.Done {
		if out.Result == scheduling.Refused {
			out.Reason = "nominating the pod: " + out.Reason
		}
		return out
	}
	victims, err := x.victimStates(ctx, e)
	if err != nil {
		return scheduling.Outcome{Result: scheduling.Unknown, Reason: err.Error()}
	}
	entries, err := x.displacer.Debit(ctx, e.Plan.Debits, e.Plan.Victims, displacement.Preemption.Policy().Overrules(e.Choice))
	if refused := (*RefusedError)(nil); errors.As(err, &refused) {
		out := scheduling.Outcome{Result: scheduling.Refused, Reason: err.Error()}
		for _, b := range append([]*policyv1.PodDisruptionBudget{refused.Budget}, refused.Refunded...) { // the next attempt uses the present state of the budgets
			out.Budgets = append(out.Budgets, x.o.ConvertBudget(b))
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
		if err := x.setDisruptionTarget(ctx, &victims[i], record(&victims[i])); err != nil {
			return preemptError(victims[i].pod, err, deleted)
		}
	}
	for i := range victims {
		v := &victims[i]
		if v.deleted && v.recorded {
			continue
		}
		err := x.recordAndDelete(ctx, v, record(v))
		deleted = deleted || v.deleted
		if err != nil {
			return preemptError(v.pod, err, deleted)
		}
	}
	return scheduling.Outcome{}
}

// preemptError converts an error that ends a Preempt to an outcome. Once a victim is deleted, the effect cannot be
// refused any longer and is retried.
func preemptError(p *model.Pod, err error, deleted bool) scheduling.Outcome {
	out := scheduling.Outcome{Result: scheduling.Unknown, Reason: "displacing pod " + p.Key() + ": " + err.Error()}
	if isDefiniteRejection(err) && !apierrors.IsTooManyRequests(err) && !deleted {
		out.Result = scheduling.Refused
	}
	return out
}

// victimStates returns the progress of each victim. For a repeated effect it reads the pods from the API server.
func (x *Executor) victimStates(ctx context.Context, e scheduling.Preempt) ([]victim, error) {
	var out []victim
	for _, p := range e.Plan.Victims {
		v := victim{pod: p, hasTarget: p.DisruptionReason == displacement.Preemption.Reason()}
		if e.Retry {
			current, err := x.o.Client.CoreV1().Pods(p.Namespace).Get(ctx, p.Name, metav1.GetOptions{})
			switch {
			case apierrors.IsNotFound(err):
				v.deleted, v.recorded = true, !x.displacer.dedup.isUnanswered(p.UID)
			case err != nil:
				return nil, err
			default:
				v.hasTarget = hasCondition(current, displacement.Preemption)
				v.recorded = string(current.UID) != p.UID
				v.deleted = v.recorded || v.hasTarget && current.DeletionTimestamp != nil
			}
		}
		out = append(out, v)
	}
	return out, nil
}

// setDisruptionTarget writes the DisruptionTarget condition. A victim that was deleted or replaced needs no
// further step.
func (x *Executor) setDisruptionTarget(ctx context.Context, v *victim, r *displacement.Record) error {
	if v.hasTarget || v.deleted {
		return nil
	}
	_, err := x.displacer.setDisruptionTarget(ctx, r, &corev1.Pod{}, "", "")
	if isDeletedOrReplaced(err) {
		v.deleted, v.recorded = true, true
		return nil
	}
	return err
}

// recordAndDelete writes the record of a victim and deletes it with its own grace period, in this order: a crash
// between the two would otherwise leave a deleted pod without a record. If the deletion is then forbidden, the
// record describes a displacement that did not happen.
func (x *Executor) recordAndDelete(ctx context.Context, v *victim, r *displacement.Record) error {
	if !v.recorded {
		err := x.displacer.tryWriteRecord(ctx, r)
		if err != nil && !isPermanent(err) {
			return err
		}
		if err != nil { // a record that cannot be written does not stop the preemption
			x.o.Events.dropped.Add(1)
		}
		v.recorded = true
	}
	if v.deleted {
		return nil
	}
	err := x.displacer.deletePod(ctx, r, "")
	v.deleted = err == nil
	return err
}
