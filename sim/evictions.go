package sim

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/engine/budget"
	"github.com/berthproject/berth/engine/displace"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/sim/store"
)

// Eviction is a request to evict a pod.
type Eviction struct {
	Pod   string // namespace/name
	UID   string // that it must have; empty: any
	By    string // who asks
	Rule  string // of who asks; empty: none
	Grace *int64 // nil: the pod's own
	Dry   bool   // nothing is to be written
}

// Answer is what the API server says to a request.
type Answer struct {
	Code  int // of HTTP; 0: there was no answer in time
	Text  string
	Retry time.Duration // when it says to ask again
}

// String is the answer in a line.
func (a Answer) String() string {
	if a.Code == 0 {
		return "no answer"
	}
	s := fmt.Sprint(a.Code)
	if a.Text != "" {
		s += " " + a.Text
	}
	if a.Retry > 0 {
		s += fmt.Sprintf(" (again in %v)", a.Retry)
	}
	return s
}

// eviction is a request to evict a pod that the API server is at. It does one thing at
// an instant, and other requests are served in between; where it is cut off it ends.
type eviction struct {
	w     *World
	ask   Eviction
	pod   *corev1.Pod
	taken []taken // with their entries, from earlier tries, too
	entry []displace.Entry
	tries int
	steps int // until it is cut off; negative: never
	heard func(Answer)
}

const refusedByScenario = "refused by the scenario"

// How the server tries again when a budget changes under its hands.
const (
	evictTries = 20
	evictPause = 500 * time.Millisecond // the longest; it grows to that
)

// Evict asks the API server to evict a pod, and has what it answers told, unless that
// gets lost.
func (w *World) Evict(e Eviction, heard func(Answer)) {
	r := &eviction{w: w, ask: e, steps: -1, heard: heard}
	ending := w.faults.request("evict", e.Pod)
	if ending != Fine {
		w.tell("fault", ending.String(), e.Pod, "the request of "+or(e.By, "somebody")+" to evict "+faultWords[ending])
	}
	lost := func() { w.after(10*time.Second, func() { heard(Answer{}) }) }
	switch ending {
	case Refuse, Clash:
		w.after(2*w.o.Latency, func() { heard(Answer{Code: http.StatusInternalServerError, Text: refusedByScenario}) })
		return
	case Lost:
		lost()
		return
	case Unheard, Silent, Late:
		r.heard = func(Answer) { lost() }
	case Partly: // the server ends in the middle of it
		if r.steps = w.faults.after; r.steps == 0 {
			r.steps = 1 + int(w.faults.roll("evict/cut/"+e.Pod)%4)
		}
		r.heard = func(Answer) {}
		lost()
	case Fine:
	}
	w.after(w.o.Latency, r.judge)
}

// next goes on with the request, unless it is cut off here.
func (r *eviction) next(f func()) {
	if r.steps == 0 {
		return
	}
	r.steps--
	r.w.after(r.w.o.Latency, f)
}

func (r *eviction) answer(a Answer) {
	r.w.after(r.w.o.Latency, func() { r.heard(a) })
}

// fail answers with an error of the store.
func (r *eviction) fail(err error) {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		r.answer(Answer{Code: int(status.Status().Code), Text: err.Error()})
		return
	}
	r.answer(Answer{Code: http.StatusInternalServerError, Text: err.Error()})
}

// judge asks the budgets, as they and the pods are at this instant.
func (r *eviction) judge() {
	w := r.w
	r.pod = w.api.Pod(r.ask.Pod)
	switch {
	case r.pod == nil:
		r.answer(Answer{Code: http.StatusNotFound, Text: "pods " + r.ask.Pod + " not found"})
		return
	case r.ask.UID != "" && string(r.pod.UID) != r.ask.UID:
		r.answer(Answer{Code: http.StatusConflict, Text: "the uid is " + string(r.pod.UID) + " and not " + r.ask.UID})
		return
	}
	var budgets []*model.Budget
	var pods []*model.Pod
	for _, key := range w.cover.of(r.pod) {
		if o, ok := w.api.Get(store.Budgets, key); ok {
			if b, ok := o.(*policyv1.PodDisruptionBudget); ok {
				budgets = append(budgets, w.intake.Budget(b))
			}
		}
		for _, p := range w.cover.members(key) {
			pods = append(pods, w.standing(p))
		}
		if len(budgets) > 1 { // a pod under several is counted once for each
			pods = distinct(pods)
		}
	}
	rules := w.o.Evictions
	for _, t := range r.taken {
		rules.Mine = append(rules.Mine, t.budget.Name)
	}
	v := rules.Judge(w.standing(r.pod), budgets, pods, w.now)
	switch {
	case v.Result == budget.Several:
		r.answer(Answer{Code: http.StatusInternalServerError, Text: v.Why})
	case v.Result == budget.Forbidden:
		r.answer(Answer{Code: http.StatusForbidden, Text: v.Why})
	case v.Result == budget.Refused:
		w.counts.Refused++
		r.answer(Answer{Code: http.StatusTooManyRequests, Text: v.Why, Retry: v.Retry})
	case r.ask.Dry:
		r.answer(Answer{Code: http.StatusCreated})
	default:
		before := len(r.taken)
		r.next(func() { r.debit(v, 0, before) })
	}
}

// distinct leaves out the pods that were there before.
func distinct(pods []*model.Pod) []*model.Pod {
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

// debit takes one from the ith budget that is to be paid, if it is as it was judged. If one is not, this try gives back
// what it has taken; before it, as many were taken.
func (r *eviction) debit(v budget.Verdict, i, before int) {
	w := r.w
	if i == len(v.Pay) {
		r.mark(v.Guarded)
		return
	}
	m := v.Pay[i]
	key := store.Key(m.Namespace, m.Name)
	err := w.api.Change(store.Budgets, key, store.Precondition{ResourceVersion: m.ResourceVersion}, func(o store.Object) error {
		b, ok := o.(*policyv1.PodDisruptionBudget)
		if !ok {
			return store.ErrNothing
		}
		entries := maps.Clone(b.Status.DisruptedPods)
		if entries == nil {
			entries = map[string]metav1.Time{}
		}
		entries[r.pod.Name] = metav1.NewTime(w.now)
		r.entry = append(r.entry, displace.Entry{Budget: b.Name, Before: b.Status.DisruptionsAllowed, After: b.Status.DisruptionsAllowed - 1})
		b.Status.DisruptedPods = entries
		b.Status.DisruptionsAllowed--
		w.audit.debited(b, []string{r.pod.Name}, 2*w.o.Latency)
		return nil
	})
	switch {
	case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		r.refund(before)
		r.again()
	case err != nil:
		r.refund(before)
		r.fail(err)
	default:
		r.taken = append(r.taken, taken{budget: m, names: []string{r.pod.Name}, paid: 1})
		r.next(func() { r.debit(v, i+1, before) })
	}
}

// refund gives back what was taken, but for the first so many.
func (r *eviction) refund(but int) {
	r.w.refund(r.taken[but:])
	r.taken, r.entry = r.taken[:but], r.entry[:but]
}

// again judges anew, since something has changed meanwhile.
func (r *eviction) again() {
	if r.tries++; r.tries < evictTries {
		r.w.after(min(evictPause, 5*time.Millisecond<<min(r.tries, 10)), r.judge)
		return
	}
	r.lapse(Answer{Code: http.StatusGatewayTimeout, Text: "the pod and its disruption budgets changed again and again", Retry: 10 * time.Second})
}

// mark, tell and remove are the displacement itself. Guarded: the pod must still be as it was judged.
func (r *eviction) mark(guarded bool) {
	d := r.displacement()
	if r.pod.DeletionTimestamp != nil || finished(r.pod) {
		r.remove(d) // it is not displaced: it is going, or has ended
		return
	}
	now := r.w.api.Pod(r.ask.Pod)
	if now == nil || now.UID != r.pod.UID {
		r.lapse(Answer{Code: http.StatusConflict, Text: "the pod is another one by now"})
		return
	}
	if guarded && now.ResourceVersion != r.pod.ResourceVersion {
		r.again()
		return
	}
	if err := r.w.mark(d); err != nil {
		r.lapse(Answer{Code: http.StatusInternalServerError, Text: err.Error()})
		return
	}
	if now = r.w.api.Pod(r.ask.Pod); guarded && now != nil {
		d.version = now.ResourceVersion
	}
	r.next(func() {
		_ = r.w.record(&d.record, "apiserver")
		r.next(func() { r.remove(d) })
	})
}

// lapse answers that nothing was done, and gives back what was taken for it, unless somebody is at displacing the pod:
// he may count on the entry.
func (r *eviction) lapse(a Answer) {
	p := r.w.api.Pod(r.ask.Pod)
	if r.w.o.KeepFailedDebits || p != nil && (p.DeletionTimestamp != nil || disrupted(p) != nil) {
		r.taken, r.entry = nil, nil
	}
	r.refund(0)
	r.answer(a)
}

func (r *eviction) displacement() *displacement {
	return &displacement{pod: r.pod, grace: r.ask.Grace, obeys: true, words: "is evicted by " + or(r.ask.By, "somebody"),
		record: displace.Record{Cause: displace.API, Victim: r.w.model(r.pod), Node: r.pod.Spec.NodeName, By: r.ask.By, Rule: r.ask.Rule, Grace: r.ask.Grace, Entries: r.entry}}
}

func (r *eviction) remove(d *displacement) {
	switch err := r.w.driveOut(d, "eviction"); {
	case apierrors.IsConflict(err):
		r.again()
	case err != nil && !apierrors.IsNotFound(err):
		r.fail(err)
	default:
		r.answer(Answer{Code: http.StatusCreated})
	}
}
