package displacement

import (
	"cmp"
	"errors"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/berthproject/berth/engine/budget"
	enginedisplacement "github.com/berthproject/berth/engine/displacement"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/internal/budgetstatus"
	"github.com/berthproject/berth/internal/conversion"
	"github.com/berthproject/berth/sim/budgets"
	"github.com/berthproject/berth/sim/store"
)

// eviction is an eviction request that the API server is executing. Each step is atomic; other
// requests run in between. A fault can end it between steps.
type eviction struct {
	*Server
	request        EvictionRequest
	pod            *corev1.Pod
	debits         []budgets.Debit // budget debits, of earlier attempts as well
	entries        []enginedisplacement.Entry
	attempts       int
	remainingSteps int // number of steps until a fault ends it; negative: none does
	onResponse     func(EvictionResponse)
}

// Retries when a budget changes during the request.
const (
	evictionAttempts = 20
	maxEvictionPause = 500 * time.Millisecond // upper limit of the growing pause
)

// runNext runs the next step unless a fault ends the request.
func (r *eviction) runNext(f func()) {
	if r.remainingSteps == 0 {
		return
	}
	r.remainingSteps--
	r.w.After(r.w.Latency(), f)
}

func (r *eviction) respond(a EvictionResponse) {
	r.w.After(r.w.Latency(), func() { r.onResponse(a) })
}

// fail responds with an error of the store.
func (r *eviction) fail(err error) {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		r.respond(EvictionResponse{Code: int(status.Status().Code), Message: err.Error()})
		return
	}
	r.respond(EvictionResponse{Code: http.StatusInternalServerError, Message: err.Error()})
}

// checkBudgets decides by the current budgets and pods whether to evict.
func (r *eviction) checkBudgets() {
	w := r.w
	r.pod = w.API().Pod(r.request.Pod)
	switch {
	case r.pod == nil:
		r.respond(EvictionResponse{Code: http.StatusNotFound, Message: "pods " + r.request.Pod + " not found"})
		return
	case r.request.UID != "" && string(r.pod.UID) != r.request.UID:
		r.respond(EvictionResponse{Code: http.StatusConflict, Message: "the uid is " + string(r.pod.UID) + " and not " + r.request.UID})
		return
	}
	var covering []*model.Budget
	var pods []*model.Pod
	for _, key := range r.ledger.BudgetsOf(r.pod) {
		if o, ok := w.API().Get(store.PodDisruptionBudgets, key); ok {
			if b, ok := o.(*policyv1.PodDisruptionBudget); ok {
				covering = append(covering, w.Converter().Budget(b))
			}
		}
		for _, p := range r.ledger.Members(key) {
			pods = append(pods, w.BudgetPod(p))
		}
		if len(covering) > 1 { // a pod with several budgets must be counted once
			pods = uniquePods(pods)
		}
	}
	rules := r.o.Evictions
	for _, t := range r.debits {
		rules.OwnEntries = append(rules.OwnEntries, t.Budget.Name)
	}
	v := rules.Check(w.BudgetPod(r.pod), covering, pods, w.Now())
	switch {
	case v.Result == budget.MultipleBudgets:
		r.respond(EvictionResponse{Code: http.StatusInternalServerError, Message: v.Reason})
	case v.Result == budget.Forbidden:
		r.respond(EvictionResponse{Code: http.StatusForbidden, Message: v.Reason})
	case v.Result == budget.Refused:
		w.Notify(Refused{})
		r.respond(EvictionResponse{Code: http.StatusTooManyRequests, Message: v.Reason, RetryAfter: v.RetryAfter})
	case r.request.DryRun:
		r.respond(EvictionResponse{Code: http.StatusCreated})
	default:
		before := len(r.debits)
		r.runNext(func() { r.debit(v, 0, before) })
	}
}

// uniquePods removes duplicates.
func uniquePods(pods []*model.Pod) []*model.Pod {
	seen := map[string]bool{}
	out := pods[:0:0]
	for _, p := range pods {
		if !seen[p.UID] {
			seen[p.UID] = true
			out = append(out, p)
		}
	}
	return out
}

// debit debits the ith budget of the verdict if it has not changed; otherwise it refunds the
// debits of this attempt. earlier is the number of debits of earlier attempts.
func (r *eviction) debit(v budget.Verdict, i, earlier int) {
	w := r.w
	if i == len(v.Debits) {
		r.setDisruptionTarget(v.RequireUnchanged)
		return
	}
	m := v.Debits[i]
	debit := budgetstatus.Debit{Granted: []string{r.pod.Name}}
	key := store.Key(m.Namespace, m.Name)
	err := w.API().Update(store.PodDisruptionBudgets, key, store.Precondition{ResourceVersion: m.ResourceVersion}, func(o store.Object) error {
		b, ok := o.(*policyv1.PodDisruptionBudget)
		if !ok {
			return store.ErrUnchanged
		}
		r.entries = append(r.entries, debit.Apply(b, w.Now())[r.pod.Name])
		w.Notify(budgets.Debited{Budget: b, Names: []string{r.pod.Name}})
		return nil
	})
	switch {
	case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		r.refund(earlier)
		r.retry()
	case err != nil:
		r.refund(earlier)
		r.fail(err)
	default:
		r.debits = append(r.debits, budgets.Debit{Debit: debit, Budget: m})
		r.runNext(func() { r.debit(v, i+1, earlier) })
	}
}

// refund refunds all debits except the first n.
func (r *eviction) refund(n int) {
	r.ledger.Refund(r.debits[n:])
	r.debits, r.entries = r.debits[:n], r.entries[:n]
}

// retry decides again after a change.
func (r *eviction) retry() {
	if r.attempts++; r.attempts < evictionAttempts {
		r.w.After(min(maxEvictionPause, 5*time.Millisecond<<min(r.attempts, 10)), r.checkBudgets)
		return
	}
	r.abort(EvictionResponse{Code: http.StatusGatewayTimeout, Message: "the pod and its disruption budgets kept changing", RetryAfter: 10 * time.Second})
}

// setDisruptionTarget starts the displacement: condition, event, deletion. If requireUnchanged is set,
// the pod must not have changed since the decision.
func (r *eviction) setDisruptionTarget(requireUnchanged bool) {
	d := r.newDisplacement()
	if r.pod.DeletionTimestamp != nil || store.Finished(r.pod) {
		r.deletePod(d) // it is terminating or has finished: no displacement
		return
	}
	current := r.w.API().Pod(r.request.Pod)
	if current == nil || current.UID != r.pod.UID {
		r.abort(EvictionResponse{Code: http.StatusConflict, Message: "the pod was replaced by another one"})
		return
	}
	if requireUnchanged && current.ResourceVersion != r.pod.ResourceVersion {
		r.retry()
		return
	}
	if err := r.Server.setDisruptionTarget(d); err != nil {
		r.abort(EvictionResponse{Code: http.StatusInternalServerError, Message: err.Error()})
		return
	}
	if current = r.w.API().Pod(r.request.Pod); requireUnchanged && current != nil {
		d.ResourceVersion = current.ResourceVersion
	}
	r.runNext(func() {
		_ = CreateRecordEvent(r.w, &d.Record, "apiserver")
		r.runNext(func() { r.deletePod(d) })
	})
}

// abort responds with a failure and refunds the debits, unless another actor is displacing the
// pod and may rely on them.
func (r *eviction) abort(a EvictionResponse) {
	p := r.w.API().Pod(r.request.Pod)
	if r.o.KeepFailedDebits || p != nil && (p.DeletionTimestamp != nil || conversion.ActiveDisruptionTarget(p) != nil) {
		r.debits, r.entries = nil, nil
	}
	r.refund(0)
	r.respond(a)
}

func (r *eviction) newDisplacement() *Displacement {
	return &Displacement{Pod: r.pod, Grace: r.request.Grace, RespectsBudgets: true, Message: "is evicted by " + cmp.Or(r.request.Requester, "a client"),
		Record: enginedisplacement.Record{Cause: enginedisplacement.API, Victim: r.w.Model(r.pod), Node: r.pod.Spec.NodeName, Requester: r.request.Requester, Rule: r.request.Rule, Grace: r.request.Grace, Entries: r.entries}}
}

func (r *eviction) deletePod(d *Displacement) {
	switch err := r.Delete(d, "eviction"); {
	case apierrors.IsConflict(err):
		r.retry()
	case err != nil && !apierrors.IsNotFound(err):
		r.fail(err)
	default:
		r.respond(EvictionResponse{Code: http.StatusCreated})
	}
}
