package displacer

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berthproject/berth/engine/displacement"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/internal/apierror"
	"github.com/berthproject/berth/internal/budgetstatus"
	"github.com/berthproject/berth/internal/conversion"
)

// Driver executes displacements on a Store. Its methods may be called concurrently.
type Driver struct {
	Now func() time.Time
	// ConvertBudget converts a disruption budget.
	ConvertBudget func(*policyv1.PodDisruptionBudget) *model.Budget
	// OnDebitForbidden is called with each budget whose debit the API server rejects. It may be nil.
	OnDebitForbidden func(b *model.Budget, err error)
	// OnUndoFailed is called with each failed request to clear a condition or to refund a debit. It may be nil.
	OnUndoFailed func(a displacement.Action, err error)
	// UndoTimeout limits the time for undoing a displacement on a Store that is not an EvictionStore; 0: no limit. The end
	// of Run's context may be the reason for the undoing and does not cancel it.
	UndoTimeout time.Duration
	// WithTimeout is context.WithTimeout by the clock of Now. Nil selects context.WithTimeout.
	WithTimeout func(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc)
	// LockBudget serializes the debits of a budget in this process until unlock is called, so that they do not conflict. It
	// returns an error if ctx ends first. It may be nil.
	LockBudget func(ctx context.Context, namespace, name string) (unlock func(), err error)
	// IsUnanswered reports whether the event of a pod was sent and its response was lost. It may be nil.
	IsUnanswered func(uid string) bool
}

// Failure is the last failed request of a displacement.
type Failure struct {
	Action displacement.Action
	Err    error
}

// Run executes a displacement. It returns the failure that ended it, if any. The spec of an eviction requires an
// EvictionStore.
func (d *Driver) Run(ctx context.Context, s Store, spec displacement.Spec) (*displacement.Outcome, Failure) {
	r := run{Driver: d, store: s, spec: &spec, conditions: make([]ownCondition, len(spec.Victims))}
	r.evictions, _ = s.(EvictionStore)
	defer r.leaveStage()
	defer r.unlockBudget()
	m := displacement.New(spec)
	var result displacement.Result
	for {
		action := m.Next(d.Now(), result)
		if action == nil {
			return m.Outcome(), r.failure
		}
		r.enterStage(ctx, action.Stage())
		result = displacement.Result{}
		err := r.lockBudget(action)
		if err == nil {
			result, err = r.execute(action)
		}
		if err != nil {
			result.Status = statusOf(action, err)
			r.noteFailure(action, err, result.Status)
		}
	}
}

// noteFailure keeps the failure of a displacement. It reports a failure of its undoing to OnUndoFailed instead.
func (r *run) noteFailure(a displacement.Action, err error, s displacement.Status) {
	switch {
	case a.Stage() != displacement.Undoing:
		r.failure = Failure{a, err}
	case r.OnUndoFailed != nil && s != displacement.Absent && s != displacement.Conflict:
		r.OnUndoFailed(a, err)
	}
}

// statusOf converts the error of a request. A WriteRecord has no precondition, so each of its rejections is permanent.
func statusOf(action displacement.Action, err error) displacement.Status {
	_, isRecord := action.(displacement.WriteRecord)
	switch {
	case isRecord && isPermanent(err):
		return displacement.Rejected
	case apierrors.IsNotFound(err):
		return displacement.Absent
	case apierrors.IsConflict(err):
		return displacement.Conflict
	case isPermanent(err):
		return displacement.Rejected
	}
	return displacement.Unknown
}

// isPermanent reports whether the API server will never accept the request.
func isPermanent(err error) bool {
	return apierror.IsRejected(err) && !apierrors.IsTooManyRequests(err)
}

// run is a displacement in progress.
type run struct {
	*Driver
	store     Store
	evictions EvictionStore // nil if store is not an EvictionStore
	spec      *displacement.Spec
	failure   Failure

	conditions []ownCondition // by victim
	budgets    []readBudget

	// stage is the current stage, with its context and the function that leaves it.
	stage   displacement.Stage
	ctx     context.Context
	release func()

	unlock func() // of the budget that is being debited; nil: none
}

// ownCondition is the condition that the displacement has set on a victim, and the one that it replaced.
type ownCondition struct{ set, previous *corev1.PodCondition }

// readBudget is a budget as it was read.
type readBudget struct {
	model  *model.Budget
	object *policyv1.PodDisruptionBudget
}

// enterStage begins a stage. On an EvictionStore it holds the lock during Granting, and the client cannot cancel the
// later stages. On another store the caller cannot cancel the undoing.
func (r *run) enterStage(ctx context.Context, s displacement.Stage) {
	if r.ctx != nil && r.stage == s {
		return
	}
	r.leaveStage()
	r.stage, r.ctx = s, ctx
	switch {
	case r.evictions == nil && s == displacement.Undoing:
		r.ctx = context.WithoutCancel(ctx)
		if r.UndoTimeout > 0 {
			withTimeout := r.WithTimeout
			if withTimeout == nil {
				withTimeout = context.WithTimeout
			}
			r.ctx, r.release = withTimeout(r.ctx, r.UndoTimeout)
		}
	case r.evictions == nil:
	case s == displacement.Granting:
		r.release = r.evictions.Lock()
	default:
		r.ctx, r.release = r.evictions.Detach(ctx)
	}
}

func (r *run) leaveStage() {
	if r.release != nil {
		r.release()
	}
	r.release, r.ctx = nil, nil
}

// lockBudget locks a budget when it is read for a debit, and unlocks it at the action after the debit.
func (r *run) lockBudget(action displacement.Action) (err error) {
	if _, ok := action.(displacement.WriteDebit); ok {
		return nil
	}
	r.unlockBudget()
	if a, ok := action.(displacement.ReadBudget); ok && a.Stage() == displacement.Granting && r.LockBudget != nil {
		r.unlock, err = r.LockBudget(r.ctx, a.Namespace, a.Name)
	}
	return err
}

func (r *run) unlockBudget() {
	if r.unlock != nil {
		r.unlock()
	}
	r.unlock = nil
}

func (r *run) execute(action displacement.Action) (displacement.Result, error) {
	switch a := action.(type) {
	case displacement.ReadVictim:
		return r.readVictim(a)
	case displacement.ReadBudgets:
		return r.readBudgets(a)
	case displacement.ReadMembers:
		return r.readMembers(a)
	case displacement.ReadBudget:
		b, err := r.store.Budget(r.ctx, a.Namespace, a.Name)
		if err != nil {
			return displacement.Result{}, err
		}
		return displacement.Result{Budgets: []*model.Budget{r.addBudget(b)}}, nil
	case displacement.WriteDebit:
		return r.updateBudget(a.Budget, func(b *policyv1.PodDisruptionBudget) { budgetstatus.Debit(b, a.Debit, r.Now()) })
	case displacement.WriteRefund:
		return r.updateBudget(a.Budget, func(b *policyv1.PodDisruptionBudget) { budgetstatus.Refund(b, a.Debit, r.Now()) })
	case displacement.SkipDebit:
		if r.OnDebitForbidden != nil {
			r.OnDebitForbidden(a.Budget, r.failure.Err)
		}
		r.failure = Failure{}
	case displacement.SetCondition:
		return r.setCondition(a)
	case displacement.ClearCondition:
		return r.clearCondition(a)
	case displacement.WriteRecord:
		return displacement.Result{}, r.store.Record(r.ctx, a.Record)
	case displacement.Delete:
		return displacement.Result{}, r.delete(a)
	case displacement.Wait:
		r.evictions.Sleep(r.ctx, a.Delay)
	}
	return displacement.Result{}, nil
}

// errNoEvictions is returned if the spec of an eviction is run on a store of another kind.
var errNoEvictions = errors.New("the store does not serve evictions")

// addBudget converts a budget that was read or updated, and keeps the object for objectOf.
func (r *run) addBudget(b *policyv1.PodDisruptionBudget) *model.Budget {
	m := r.ConvertBudget(b)
	r.budgets = append(r.budgets, readBudget{m, b})
	return m
}

// objectOf returns the object from which addBudget converted m, or nil.
func (r *run) objectOf(m *model.Budget) *policyv1.PodDisruptionBudget {
	for i := len(r.budgets) - 1; i >= 0; i-- {
		if r.budgets[i].model == m {
			return r.budgets[i].object
		}
	}
	return nil
}

func (r *run) readBudgets(a displacement.ReadBudgets) (out displacement.Result, err error) {
	if r.evictions == nil {
		return out, errNoEvictions
	}
	list, err := r.evictions.Budgets(r.ctx, a.Pod)
	for _, b := range list {
		out.Budgets = append(out.Budgets, r.addBudget(b))
	}
	return out, err
}

func (r *run) readMembers(a displacement.ReadMembers) (out displacement.Result, err error) {
	objects := make([]*policyv1.PodDisruptionBudget, len(a.Budgets))
	for i, b := range a.Budgets {
		objects[i] = r.objectOf(b)
	}
	out.Pods, err = r.evictions.Members(r.ctx, objects)
	return out, err
}

// updateBudget changes the status of a copy of a budget and writes it.
func (r *run) updateBudget(m *model.Budget, change func(*policyv1.PodDisruptionBudget)) (displacement.Result, error) {
	next := *r.objectOf(m)
	change(&next)
	updated, err := r.store.UpdateBudget(r.ctx, &next)
	if err != nil {
		return displacement.Result{}, err
	}
	return displacement.Result{Budgets: []*model.Budget{r.addBudget(updated)}}, nil
}

func (r *run) readVictim(a displacement.ReadVictim) (out displacement.Result, err error) {
	p, err := r.store.Pod(r.ctx, a.Pod.Namespace, a.Pod.Name)
	if err != nil {
		out.Uncertain = r.IsUnanswered != nil && r.IsUnanswered(a.Pod.UID)
		return out, err
	}
	return displacement.Result{Pod: PodModel(p), Own: r.isOwn(a.Victim, p)}, nil
}

// isOwn reports whether a pod has the condition that this displacement has set.
func (r *run) isOwn(victim int, p *corev1.Pod) bool {
	c, own := conversion.ActiveDisruptionTarget(p), r.conditions[victim].set
	return c != nil && own != nil && equality.Semantic.DeepEqual(c, own)
}

func (r *run) setCondition(a displacement.SetCondition) (out displacement.Result, err error) {
	w := ConditionWrite{Pod: a.Record.Victim, Version: a.Version}
	if a.Mark {
		c := r.DisruptionTarget(a.Record)
		w.Condition = &c
	}
	if a.Fail {
		w.Phase = corev1.PodFailed
	}
	result, err := r.store.SetCondition(r.ctx, w)
	if err != nil {
		return out, err
	}
	if result.Set {
		r.conditions[a.Victim] = ownCondition{set: conversion.ActiveDisruptionTarget(result.Pod).DeepCopy(), previous: result.Previous}
	}
	return displacement.Result{Pod: PodModel(result.Pod), Own: r.isOwn(a.Victim, result.Pod)}, nil
}

// DisruptionTarget returns the DisruptionTarget condition of a record.
func (d *Driver) DisruptionTarget(r *displacement.Record) corev1.PodCondition {
	return conversion.NewDisruptionTarget(r.Cause.Reason(), TruncateNote(r.Message()), d.Now().UTC().Truncate(time.Second))
}

func (r *run) clearCondition(a displacement.ClearCondition) (out displacement.Result, err error) {
	p, err := r.store.Pod(r.ctx, a.Pod.Namespace, a.Pod.Name)
	if err != nil {
		return out, err
	}
	out.Pod = PodModel(p)
	adopted := a.Adopted && out.Pod.DisruptionReason == r.spec.Record.Cause.Reason()
	if out.Pod.UID != a.Pod.UID || out.Pod.Deleting || !adopted && !r.isOwn(a.Victim, p) {
		return out, nil
	}
	if err := r.store.RestoreCondition(r.ctx, p, r.conditions[a.Victim].previous); err != nil {
		return displacement.Result{}, err
	}
	r.conditions[a.Victim] = ownCondition{}
	out.Pod.DisruptionReason = ""
	return out, nil
}

func (r *run) delete(a displacement.Delete) error {
	o := metav1.DeleteOptions{GracePeriodSeconds: a.Grace}
	if a.DryRun {
		o.DryRun = []string{metav1.DryRunAll}
	}
	uid := types.UID(a.Pod.UID)
	o.Preconditions = &metav1.Preconditions{UID: &uid}
	if a.Version != "" {
		o.Preconditions.ResourceVersion = &a.Version
	}
	return r.store.Delete(r.ctx, a.Pod, o)
}

// PodModel converts the fields of a pod that displacements read.
func PodModel(p *corev1.Pod) *model.Pod {
	out := conversion.BudgetPod(p)
	out.Spec = &model.PodSpec{SchedulerName: p.Spec.SchedulerName}
	if p.Spec.Priority != nil {
		out.Spec.Priority = *p.Spec.Priority
	}
	return out
}
