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
	"github.com/berthproject/berth/internal/conversion"
	"github.com/berthproject/berth/internal/journal"
)

// Displacer is the only code path that displaces pods. It debits disruption budgets if requested, sets the
// DisruptionTarget condition, writes the event and the journal line, and deletes the pod. Every step is idempotent,
// also when another process repeats it after a crash.
type Displacer struct {
	Client kubernetes.Interface
	Now    func() time.Time
	// Component is the reporting controller of events, such as taint-eviction-controller.
	// Instance identifies the process.
	Component, Instance string
	Journal             *journal.Journal // nil: none
	// OnRecordLost is called with the kind of record that could not be written, an event or a journal line. Such an
	// error does not stop the displacement. It may be nil.
	OnRecordLost func(kind string, err error)
	// OnDebitForbidden is called with each budget that must not be updated. It may be nil.
	OnDebitForbidden func(b *model.Budget, err error)
	// OnDisplaced is called once for each displacement: when its record is written, or when the API server rejects the
	// record permanently. It is not called for records that another actor has written. It may be nil.
	OnDisplaced func(rec *journal.Displacement)

	dedup deduplicator
}

// Displacement is a request to a Displacer.
type Displacement struct {
	Pod         *corev1.Pod // as last observed; its UID is a precondition of every write
	Cause       displacement.Cause
	RequestedBy string // the requester, such as a user name; empty: the component itself
	Rule        string // the rule that applies, with its values; may be empty
	// MessagePrefix begins the message of the condition. Empty selects the default of the cause.
	MessagePrefix string
	// Debits are the budget debits to apply. Overrule applies them even if a budget does not allow it.
	// Entries are the debits that the caller has applied already.
	Debits   []decision.Debit
	Overrule bool
	Entries  []displacement.Entry
	// Phase, if set, is written into the pod's status together with the condition.
	Phase corev1.PodPhase
	// Grace is the grace period in seconds; nil selects the pod's own.
	Grace *int64
	// ResourceVersion, if set, is a precondition of the first write. If the pod
	// has changed, Displace returns a conflict.
	ResourceVersion string
}

// Displace displaces a pod. It returns nil if the pod is deleted or another pod has its name. It returns a
// *RefusedError if a budget does not allow the displacement, and a conflict if the pod does not have the given
// ResourceVersion.
func (d *Displacer) Displace(ctx context.Context, x Displacement) error {
	if x.Pod == nil || x.Pod.UID == "" {
		return errors.New("displacing pod: missing UID")
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

func (x *Displacement) record() *displacement.Record {
	return &displacement.Record{Cause: x.Cause, Victim: victimModel(x.Pod), Node: x.Pod.Spec.NodeName, Requester: x.RequestedBy, MessagePrefix: x.MessagePrefix,
		Rule: x.Rule, Grace: x.Grace, Entries: x.Entries}
}

// RecordOf returns the displacement record that follows from the pod and the cause alone.
func RecordOf(p *corev1.Pod, c displacement.Cause, at time.Time, writer string) *journal.Displacement {
	return journal.NewDisplacement((&Displacement{Pod: p, Cause: c}).record(), at, writer)
}

// victimModel converts the fields of a pod that a record contains.
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

// DisruptionTarget returns the DisruptionTarget condition of a record.
func (d *Displacer) DisruptionTarget(r *displacement.Record) corev1.PodCondition {
	return conversion.NewDisruptionTarget(r.Cause.Reason(), TruncateNote(r.Message()), d.Now().UTC().Truncate(time.Second))
}

// setDisruptionTarget writes the condition unless the pod has it, and the phase if one is given. It reports whether
// it wrote anything.
func (d *Displacer) setDisruptionTarget(ctx context.Context, r *displacement.Record, p *corev1.Pod, phase corev1.PodPhase, version string) (wrote bool, err error) {
	status := map[string]any{}
	if !hasCondition(p, r.Cause) {
		status["conditions"] = []any{conversion.DisruptionTargetPatch(d.DisruptionTarget(r))}
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

// checkUID returns the conflict if another pod has the name. The API server also returns a conflict for a pod that
// changes continuously. That error is retryable.
func (d *Displacer) checkUID(ctx context.Context, p *model.Pod, conflict error) error {
	current, err := d.Client.CoreV1().Pods(p.Namespace).Get(ctx, p.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if string(current.UID) == p.UID {
		return fmt.Errorf("the pod keeps changing: %v", conflict) // not a conflict to the caller
	}
	return conflict
}

// hasCondition reports whether a pod has the DisruptionTarget condition of a cause.
func hasCondition(p *corev1.Pod, c displacement.Cause) bool {
	condition := conversion.ActiveDisruptionTarget(p)
	return condition != nil && condition.Reason == c.Reason()
}

func (d *Displacer) deletePod(ctx context.Context, r *displacement.Record, version string) error {
	uid := types.UID(r.Victim.UID)
	o := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}, GracePeriodSeconds: r.Grace}
	if version != "" {
		o.Preconditions.ResourceVersion = &version
	}
	err := d.Client.CoreV1().Pods(r.Victim.Namespace).Delete(ctx, r.Victim.Name, o)
	if version == "" && isDeletedOrReplaced(err) {
		return nil
	}
	return err
}

// isDeletedOrReplaced reports whether an error means that the pod was deleted, or replaced by another one
// of the same name.
func isDeletedOrReplaced(err error) bool {
	return apierrors.IsNotFound(err) || apierrors.IsConflict(err)
}

// patchStatus merges fields into the status of a pod, with its UID as a precondition.
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
