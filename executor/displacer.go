package executor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/displacement"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/internal/journal"
)

// Displacer is the door that pods are displaced through, whoever does it: budgets, if
// asked for, then the condition, then the event and the journal, then the deletion. Whoever
// repeats a displacement, here or after a crash in another process, makes nothing twice.
type Displacer struct {
	Client kubernetes.Interface
	Now    func() time.Time
	// Component is the reporting controller of events, e.g. taint-eviction-controller;
	// Instance is which copy of it this is.
	Component, Instance string
	Journal             *journal.Journal // nil: none
	// OnRecordLost is told of what could not be recorded, an event or a line; that stops no
	// displacement. It may be nil.
	OnRecordLost func(what string, err error)
	// OnDebitForbidden is told of budgets that may not be written; it may be nil.
	OnDebitForbidden func(b *model.Budget, err error)
	// OnDisplaced is told of each displacement once: when its record is written, or turns out never to be; not of one that
	// somebody else has written. It may be nil.
	OnDisplaced func(rec *journal.Displacement)

	dedup deduplicator
}

// Displacement is what is asked of a Displacer.
type Displacement struct {
	Pod   *corev1.Pod // as last seen; its uid is a precondition of all that is done
	Cause displacement.Cause
	By    string // who asks, e.g. a user; empty: the component by itself
	Rule  string // the rule that applies, with its numbers; may be empty
	// Opening is what the condition's message begins with; empty: the cause's own words.
	Opening string
	// Debits are what it takes from budgets. Overrule: they are booked even when a budget does not
	// allow it. Entries are what the caller has taken from budgets already.
	Debits   []decision.Debit
	Overrule bool
	Entries  []displacement.Entry
	// Phase, if given, becomes the pod's with its condition.
	Phase corev1.PodPhase
	// Grace is how many seconds the pod is given; nil: its own.
	Grace *int64
	// ResourceVersion, if given, is one more precondition of the first write; if the pod
	// has changed, the answer is a conflict.
	ResourceVersion string
}

// Displace displaces a pod. It returns nil when the pod is gone, or a namesake has taken its
// place; a *RefusedError when a budget does not allow it; a conflict when the pod is
// not of the given ResourceVersion any more.
func (d *Displacer) Displace(ctx context.Context, x Displacement) error {
	if x.Pod == nil || x.Pod.UID == "" {
		return errors.New("displacing a pod: it has no uid")
	}
	r := x.record()
	if len(x.Debits) > 0 {
		entries, err := d.Debit(ctx, x.Debits, []*model.Pod{r.Victim}, x.Overrule)
		if err != nil {
			return err
		}
		r.Entries = append(r.Entries, entries[r.Victim.Key()]...)
	}
	wrote, err := d.setDisruptionTarget(ctx, r, x.Pod, x.Phase, x.ResourceVersion)
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) && x.ResourceVersion == "" {
		return nil
	}
	if err != nil {
		return err
	}
	if err := d.WriteRecord(ctx, r); err != nil {
		return err
	}
	if wrote {
		x.ResourceVersion = ""
	}
	return d.deletePod(ctx, r, x.ResourceVersion)
}

// record is the record of a displacement.
func (x *Displacement) record() *displacement.Record {
	return &displacement.Record{Cause: x.Cause, Victim: victimModel(x.Pod), Node: x.Pod.Spec.NodeName, Requester: x.By, MessagePrefix: x.Opening,
		Rule: x.Rule, Grace: x.Grace, Entries: x.Entries}
}

// RecordOf is the record of a pod that was displaced, as far as the pod and the cause tell.
func RecordOf(p *corev1.Pod, c displacement.Cause, at time.Time, writer string) *journal.Displacement {
	return journal.NewDisplacement((&Displacement{Pod: p, Cause: c}).record(), at, writer)
}

// victimModel is what a record says of a pod.
func victimModel(p *corev1.Pod) *model.Pod {
	out := &model.Pod{Namespace: p.Namespace, Name: p.Name, UID: string(p.UID), NodeName: p.Spec.NodeName, Created: p.CreationTimestamp.Time,
		ResourceVersion: p.ResourceVersion, Spec: &model.PodSpec{SchedulerName: p.Spec.SchedulerName}}
	if p.Spec.Priority != nil {
		out.Spec.Priority = *p.Spec.Priority
	}
	if o := metav1.GetControllerOfNoCopy(p); o != nil {
		out.Owner = model.Owner{APIVersion: o.APIVersion, Kind: o.Kind, Name: o.Name, UID: string(o.UID)}
	}
	return out
}

// DisruptionTarget is the DisruptionTarget condition of a record.
func (d *Displacer) DisruptionTarget(r *displacement.Record) corev1.PodCondition {
	return corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: r.Cause.Reason(),
		Message: TruncateNote(r.Message()), LastTransitionTime: metav1.NewTime(d.Now().UTC().Truncate(time.Second))}
}

// setDisruptionTarget writes the condition unless the pod has it, and the phase, if one is given; it says whether it
// wrote anything.
func (d *Displacer) setDisruptionTarget(ctx context.Context, r *displacement.Record, p *corev1.Pod, phase corev1.PodPhase, version string) (wrote bool, err error) {
	status := map[string]any{}
	if !hasCondition(p, r.Cause) {
		c := d.DisruptionTarget(r)
		status["conditions"] = []any{map[string]any{"type": c.Type, "status": c.Status, "reason": c.Reason, "message": c.Message, "lastTransitionTime": c.LastTransitionTime}}
	}
	if phase != "" && p.Status.Phase != phase {
		status["phase"] = phase
	}
	if len(status) == 0 {
		return false, nil
	}
	err = patchStatus(ctx, d.Client, r.Victim, version, status)
	if apierrors.IsConflict(err) && version == "" {
		err = d.checkUID(ctx, r.Victim, err)
	}
	return true, err
}

// checkUID returns a conflict if another pod has the name. A pod that others write all the time is answered so, too;
// that is to be tried again.
func (d *Displacer) checkUID(ctx context.Context, p *model.Pod, conflict error) error {
	found, err := d.Client.CoreV1().Pods(p.Namespace).Get(ctx, p.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if string(found.UID) == p.UID {
		return fmt.Errorf("it is changed all the time: %v", conflict) // no conflict to who asks
	}
	return conflict
}

// hasCondition says whether a pod is marked for a cause.
func hasCondition(p *corev1.Pod, c displacement.Cause) bool {
	for i := range p.Status.Conditions {
		if have := &p.Status.Conditions[i]; have.Type == corev1.DisruptionTarget {
			return have.Status == corev1.ConditionTrue && have.Reason == c.Reason()
		}
	}
	return false
}

// deletePod deletes the victim.
func (d *Displacer) deletePod(ctx context.Context, r *displacement.Record, version string) error {
	uid := types.UID(r.Victim.UID)
	o := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}, GracePeriodSeconds: r.Grace}
	if version != "" {
		o.Preconditions.ResourceVersion = &version
	}
	err := d.Client.CoreV1().Pods(r.Victim.Namespace).Delete(ctx, r.Victim.Name, o)
	if version == "" && isGone(err) {
		return nil
	}
	return err
}

// isGone says whether an error means that the pod is not there any more, or another one is.
func isGone(err error) bool { return apierrors.IsNotFound(err) || apierrors.IsConflict(err) }

// patchStatus merges fields into the status of a pod, and of no namesake.
func patchStatus(ctx context.Context, client kubernetes.Interface, p *model.Pod, version string, status map[string]any) error {
	meta := map[string]any{"uid": p.UID}
	if version != "" {
		meta["resourceVersion"] = version
	}
	patch, err := json.Marshal(map[string]any{"metadata": meta, "status": status})
	if err != nil {
		return err
	}
	_, err = client.CoreV1().Pods(p.Namespace).Patch(ctx, p.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	return err
}
