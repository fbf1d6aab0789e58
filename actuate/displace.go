package actuate

import (
	"context"
	"errors"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/engine/displace"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/scheduling"
)

// longest bounds a Preempt of many victims; it stays below the time after which the
// machine asks again.
const longest = 100 * time.Second

// limitOf is how long an effect may take.
func (a *Actuator) limitOf(e scheduling.Effect) time.Duration {
	switch e := e.(type) {
	case scheduling.Preempt:
		return max(a.o.Timeout, min(longest, a.o.Timeout+time.Duration(len(e.Plan.Victims))*time.Second))
	case scheduling.Bind, scheduling.Ask, scheduling.AskVictims:
		return max(a.o.Timeout, a.o.Extenders.Limit())
	}
	return a.o.Timeout
}

// victim is a pod to be driven out, as far as that has come.
type victim struct {
	pod    *model.Pod
	marked bool // the condition is there
	gone   bool // it is deleted, or being deleted with the condition
	told   bool // nothing is to be told of it any more
}

// preempt nominates the pod, debits the budgets, and drives the victims out. Each step up to the
// condition is done for all victims before the next one begins, and none is done twice: whoever finds a
// pod with the condition, here or in another process, knows that it is paid for and what is
// left to do.
func (a *Actuator) preempt(ctx context.Context, e scheduling.Preempt) scheduling.Outcome {
	if out := a.nominate(ctx, e.Pod, &e.Plan.Node); out.Result != scheduling.Done {
		if out.Result == scheduling.Refused {
			out.Why = "nominating it: " + out.Why
		}
		return out
	}
	victims, err := a.victims(ctx, e)
	if err != nil {
		return scheduling.Outcome{Result: scheduling.Unknown, Why: err.Error()}
	}
	entries, err := a.door.Debit(ctx, e.Plan.Debits, e.Plan.Victims, displace.Preemption.Policy().Overrules(e.Number))
	if refused := (*RefusedError)(nil); errors.As(err, &refused) {
		out := scheduling.Outcome{Result: scheduling.Refused, Why: err.Error()}
		for _, b := range append([]*policyv1.PodDisruptionBudget{refused.Budget}, refused.Refunded...) { // the next choice is made on what they are now
			out.Budgets = append(out.Budgets, a.o.Budget(b))
		}
		return out
	}
	if err != nil {
		return scheduling.Outcome{Result: scheduling.Unknown, Why: err.Error()}
	}
	record := func(v *victim) *displace.Record {
		return &displace.Record{Cause: displace.Preemption, For: e.Pod, Victim: v.pod, Node: e.Plan.Node, Entries: entries[v.pod.Key()]}
	}
	deleted := slices.ContainsFunc(victims, func(v victim) bool { return v.gone })
	for i := range victims {
		if err := a.mark(ctx, &victims[i], record(&victims[i])); err != nil {
			return displacing(victims[i].pod, err, deleted)
		}
	}
	for i := range victims {
		v := &victims[i]
		if v.gone && v.told {
			continue
		}
		err := a.drive(ctx, v, record(v))
		deleted = deleted || v.gone
		if err != nil {
			return displacing(v.pod, err, deleted)
		}
	}
	return scheduling.Outcome{}
}

// displacing words an error that ends a Preempt. Once a victim is deleted it cannot be
// refused any more: it is asked again.
func displacing(p *model.Pod, err error, deleted bool) scheduling.Outcome {
	out := scheduling.Outcome{Result: scheduling.Unknown, Why: "displacing pod " + p.Key() + ": " + err.Error()}
	if certain(err) && !apierrors.IsTooManyRequests(err) && !deleted {
		out.Result = scheduling.Refused
	}
	return out
}

// victims says how far each victim is. When the same was asked before, the API
// knows better than what is remembered.
func (a *Actuator) victims(ctx context.Context, e scheduling.Preempt) ([]victim, error) {
	var out []victim
	for _, p := range e.Plan.Victims {
		v := victim{pod: p, marked: p.Disrupted == displace.Preemption.Reason()}
		if e.Again {
			found, err := a.o.Client.CoreV1().Pods(p.Namespace).Get(ctx, p.Name, metav1.GetOptions{})
			switch {
			case apierrors.IsNotFound(err):
				v.gone, v.told = true, !a.door.tally.sent(p.UID)
			case err != nil:
				return nil, err
			default:
				v.marked = hasCondition(found, displace.Preemption)
				v.told = string(found.UID) != p.UID
				v.gone = v.told || v.marked && found.DeletionTimestamp != nil
			}
		}
		out = append(out, v)
	}
	return out, nil
}

// mark writes the DisruptionTarget condition, which is the record of the displacement. One that
// turns out to be gone is what was wanted.
func (a *Actuator) mark(ctx context.Context, v *victim, r *displace.Record) error {
	if v.marked || v.gone {
		return nil
	}
	_, err := a.door.mark(ctx, r, &corev1.Pod{}, "", "")
	if gone(err) {
		v.gone, v.told = true, true
		return nil
	}
	return err
}

// drive tells of a victim, and deletes it with its own grace period. In this order, as a crash between the two would
// otherwise leave a pod that is gone and of which nobody knows why; a victim that then may not be deleted has been told of in vain.
func (a *Actuator) drive(ctx context.Context, v *victim, r *displace.Record) error {
	if !v.told {
		err := a.door.tell(ctx, r)
		if err != nil && !settled(err) {
			return err
		}
		if err != nil { // that it cannot be written stops nothing
			a.o.Events.dropped.Add(1)
		}
		v.told = true
	}
	if v.gone {
		return nil
	}
	err := a.door.remove(ctx, r, "")
	v.gone = err == nil
	return err
}
