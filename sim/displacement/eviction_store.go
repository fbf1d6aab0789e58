package displacement

import (
	"cmp"
	"context"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	enginedisplacement "github.com/berthproject/berth/engine/displacement"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/internal/conversion"
	"github.com/berthproject/berth/internal/displacer"
	"github.com/berthproject/berth/sim"
	"github.com/berthproject/berth/sim/budgets"
	"github.com/berthproject/berth/sim/store"
)

// evictionStore is the in-memory API as the handler of one eviction uses it. Other requests run before each write, and
// a fault can end the handler there.
type evictionStore struct {
	*Server
	Store
	request         *EvictionRequest
	remainingWrites int // writes until a fault ends the request; negative: none does
	record          enginedisplacement.Record
}

var _ displacer.EvictionStore = &evictionStore{}

// newEvictionStore returns the store of a request. remainingWrites is the number of writes until a fault ends it; negative:
// none does.
func newEvictionStore(s *Server, r *EvictionRequest, remainingWrites int) *evictionStore {
	e := &evictionStore{Server: s, request: r, remainingWrites: remainingWrites}
	e.Store = Store{World: s.w, Execute: func(write func() error) error {
		e.beforeWrite()
		return write()
	}, OnUpdateBudget: func(before *policyv1.PodDisruptionBudgetStatus, b *policyv1.PodDisruptionBudget) {
		_, name, _ := strings.Cut(r.Pod, "/")
		_, debited := before.DisruptedPods[name]
		if _, debits := b.Status.DisruptedPods[name]; debits && !debited {
			s.w.Notify(budgets.Debited{Budget: b, Names: []string{name}})
		}
	}}
	return e
}

// beforeWrite lets other requests run. It ends the request if a fault does so before this write.
func (s *evictionStore) beforeWrite() {
	if s.remainingWrites == 0 {
		s.evictions.Exit()
	}
	s.remainingWrites--
	s.sleep(s.w.Latency())
}

// Lock does nothing: a request that waits must not block others.
func (s *evictionStore) Lock() func() { return func() {} }

func (s *evictionStore) Budgets(_ context.Context, p *model.Pod) (out []*policyv1.PodDisruptionBudget, _ error) {
	for _, key := range s.ledger.BudgetsOf(s.w.API().Pod(p.Key())) {
		if b := s.budget(key); b != nil {
			out = append(out, b)
		}
	}
	return out, nil
}

func (s *evictionStore) Members(_ context.Context, list []*policyv1.PodDisruptionBudget) (out []*model.Pod, _ error) {
	seen := map[types.UID]bool{}
	for _, b := range list {
		for _, p := range s.ledger.Members(store.KeyOf(b)) {
			if !seen[p.UID] {
				seen[p.UID] = true
				out = append(out, s.w.BudgetPod(p))
			}
		}
	}
	return out, nil
}

func (s *evictionStore) SetCondition(_ context.Context, w displacer.ConditionWrite) (out displacer.ConditionResult, err error) {
	err = s.UpdateConditions(store.Precondition{UID: w.Pod.UID, ResourceVersion: w.Version}, w.Pod.Key(), func(p *corev1.Pod) {
		out.Set, out.Previous = conversion.SetDisruptionTarget(p, *w.Condition)
	})
	out.Pod = s.w.API().Pod(w.Pod.Key())
	return out, err
}

func (s *evictionStore) Record(_ context.Context, r *enginedisplacement.Record) error {
	s.beforeWrite()
	s.record = *r
	fault := s.w.Faults().OfWrite(sim.RequestEvent, s.request.Pod)
	s.w.LogFault(fault, sim.RequestEvent, "apiserver", s.request.Pod)
	err := sim.PerformWrite(fault, s.request.Pod, func() error { return CreateRecordEvent(s.w, r, "apiserver") })
	if apierrors.IsConflict(err) || apierrors.IsInvalid(err) || apierrors.IsForbidden(err) {
		return nil // a rejected event does not stop the displacement
	}
	return err
}

func (s *evictionStore) Delete(_ context.Context, pod *model.Pod, o metav1.DeleteOptions) error {
	if s.request.DryRun {
		return nil
	}
	s.beforeWrite()
	d := &Displacement{Grace: o.GracePeriodSeconds, RespectsBudgets: true, Record: s.record, Message: "is evicted by " + cmp.Or(s.request.Requester, "a client"),
		Pod: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name, UID: *o.Preconditions.UID}}}
	if o.Preconditions.ResourceVersion != nil {
		d.ResourceVersion = *o.Preconditions.ResourceVersion
	}
	return s.Server.Delete(d, "eviction")
}

func (s *evictionStore) Detach(ctx context.Context) (context.Context, context.CancelFunc) {
	return ctx, func() {} // no client cancels it
}

func (s *evictionStore) Sleep(_ context.Context, d time.Duration) { s.sleep(d) }
