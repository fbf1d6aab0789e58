package displacer

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/kubernetes"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/displacement"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/internal/conversion"
	"github.com/berthproject/berth/internal/journal"
)

// Displacer displaces pods with a client. It writes their records. Every step is idempotent, also when another process
// repeats it after a crash.
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
	// OnEventRejected is called with the error of an event that the API server never accepts. If it is nil,
	// OnRecordLost is called.
	OnEventRejected func(err error)
	// OnDebitForbidden is called with each budget whose update the API server forbids. It may be nil.
	OnDebitForbidden func(b *model.Budget, err error)
	// OnUndoFailed and UndoTimeout are passed to the Driver. They may be nil and 0.
	OnUndoFailed func(a displacement.Action, err error)
	UndoTimeout  time.Duration
	// OnDisplaced is called once for each displacement: when its record is written, or when the API server rejects the
	// record permanently. It is not called for records that another actor has written. It may be nil.
	OnDisplaced func(rec *journal.Displacement)
	// ConvertBudget converts a disruption budget. Nil selects the default.
	ConvertBudget func(*policyv1.PodDisruptionBudget) *model.Budget
	// LockBudget and WithTimeout are passed to the Driver. They may be nil.
	LockBudget  func(ctx context.Context, namespace, name string) (unlock func(), err error)
	WithTimeout func(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc)

	dedup deduplicator
}

// Displacement is the displacement of one pod.
type Displacement struct {
	Pod         *corev1.Pod // as last observed; its UID is a precondition of every write
	Cause       displacement.Cause
	RequestedBy string // the requester, such as a user name; empty: the component itself
	Rule        string // the rule that applies, with its values; may be empty
	// MessagePrefix begins the message of the condition. Empty selects the default of the cause.
	MessagePrefix string
	// Debits are the budget debits to apply, in the order of the budgets' names.
	Debits []decision.Debit
	// Failed also writes the phase Failed into the pod's status.
	Failed bool
	// Grace is the grace period in seconds; nil selects the pod's own.
	Grace *int64
}

// RefusedError reports that a budget does not allow a displacement. The pod is unchanged.
type RefusedError struct {
	Budget   *model.Budget // as it was read
	Required int
	// Refunded are the other budgets whose earlier debits were refunded, in their present state.
	Refunded []*model.Budget
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("disruption budget %s/%s allows %d disruptions, %d requested", e.Budget.Namespace, e.Budget.Name, displacement.Allowed(e.Budget), e.Required)
}

// Displace displaces a pod. It returns nil if the pod is deleted or another pod has its name. It returns a
// *RefusedError if a budget does not allow the displacement. After any other error the caller must call Displace again.
func (d *Displacer) Displace(ctx context.Context, x Displacement) error {
	switch {
	case x.Pod == nil:
		return errors.New("displacing a pod: Pod: must be set")
	case x.Pod.UID == "":
		return fmt.Errorf("displacing pod %s/%s: metadata.uid: must be set", x.Pod.Namespace, x.Pod.Name)
	}
	spec := displacement.Spec{Record: x.record(), Attempt: 1, Victims: []displacement.Victim{{Pod: PodModel(x.Pod), Fail: x.Failed}}, Debits: x.Debits}
	o, failure := d.Run(ctx, spec)
	switch o.Kind {
	case displacement.Displaced:
		return nil
	case displacement.Refused:
		return &RefusedError{Budget: o.Verdict.Budget, Required: o.Required, Refunded: o.Refunded}
	}
	return failure.unlessConflict()
}

// unlessConflict returns the error. It replaces a conflict with an error that does not match apierrors.IsConflict.
func (f Failure) unlessConflict() error {
	if apierrors.IsConflict(f.Err) {
		if w, ok := f.Action.(displacement.WriteDebit); ok {
			return fmt.Errorf("disruption budget %s/%s keeps changing: %v", w.Budget.Namespace, w.Budget.Name, f.Err)
		}
		return fmt.Errorf("the pod keeps changing: %v", f.Err)
	}
	return f.Err
}

// Run executes a displacement of one or more pods.
func (d *Displacer) Run(ctx context.Context, spec displacement.Spec) (*displacement.Outcome, Failure) {
	driver := Driver{Now: d.Now, ConvertBudget: d.ConvertBudget, OnDebitForbidden: d.OnDebitForbidden,
		OnUndoFailed: d.OnUndoFailed, UndoTimeout: d.UndoTimeout, WithTimeout: d.WithTimeout, LockBudget: d.LockBudget, IsUnanswered: d.dedup.isUnanswered}
	if driver.ConvertBudget == nil {
		driver.ConvertBudget = conversion.New().Budget
	}
	return driver.Run(ctx, clientStore{d}, spec)
}

func (x *Displacement) record() displacement.Record {
	return displacement.Record{Cause: x.Cause, Requester: x.RequestedBy, MessagePrefix: x.MessagePrefix, Rule: x.Rule, Grace: x.Grace}
}

// RecordOf returns the displacement record that follows from the pod and the cause alone.
func RecordOf(p *corev1.Pod, c displacement.Cause, at time.Time, writer string) *journal.Displacement {
	return journal.NewDisplacement(&displacement.Record{Cause: c, Victim: PodModel(p), Node: p.Spec.NodeName}, at, writer)
}
