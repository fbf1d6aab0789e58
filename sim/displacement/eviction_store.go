package displacement

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	enginedisplacement "github.com/berthproject/berth/engine/displacement"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/internal/conversion"
	"github.com/berthproject/berth/internal/eviction"
	"github.com/berthproject/berth/sim"
	"github.com/berthproject/berth/sim/budgets"
	"github.com/berthproject/berth/sim/store"
)

// evictionStore is the in-memory API as the handler of one eviction uses it. Other requests run before each write, and
// a fault can end the handler there.
type evictionStore struct {
	*Server
	namespace       string
	request         *EvictionRequest
	remainingWrites int // writes until a fault ends the request; negative: none does
	record          enginedisplacement.Record
}

var _ eviction.Store = &evictionStore{}

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

func (s *evictionStore) Pod(_ context.Context, name string) (*corev1.Pod, error) {
	if p := s.w.API().Pod(store.Key(s.namespace, name)); p != nil {
		return p, nil
	}
	return nil, apierrors.NewNotFound(corev1.Resource("pods"), name)
}

func (s *evictionStore) Budgets(_ context.Context, pod *corev1.Pod) (out []*policyv1.PodDisruptionBudget, _ error) {
	for _, key := range s.ledger.BudgetsOf(pod) {
		o, _ := s.w.API().Get(store.PodDisruptionBudgets, key)
		if b, ok := o.(*policyv1.PodDisruptionBudget); ok {
			out = append(out, b)
		}
	}
	return out, nil
}

func (s *evictionStore) PodsOf(_ context.Context, list []*policyv1.PodDisruptionBudget) (out []*model.Pod, _ error) {
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

func (s *evictionStore) UpdatePod(_ context.Context, name string, uid types.UID, change func(*corev1.Pod) error) (*corev1.Pod, error) {
	s.beforeWrite()
	key := store.Key(s.namespace, name)
	err := s.w.API().UpdatePod(key, store.Precondition{UID: string(uid)}, func(p *corev1.Pod) error {
		before := p.Status.Conditions
		p.Status.Conditions = slices.Clone(before)
		if err := change(p); err != nil {
			return err
		}
		if c := conversion.DisruptionTarget(p); c != nil {
			// The API has whole seconds.
			c.LastTransitionTime = metav1.NewTime(c.LastTransitionTime.Truncate(time.Second))
		}
		if equality.Semantic.DeepEqual(before, p.Status.Conditions) {
			return store.ErrUnchanged // etcd does not write an unchanged object
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return s.w.API().Pod(key), nil
}

func (s *evictionStore) UpdateBudgetStatus(_ context.Context, b *policyv1.PodDisruptionBudget, unchanged bool, change func(*policyv1.PodDisruptionBudget) bool) error {
	s.beforeWrite()
	p := store.Precondition{UID: string(b.UID)}
	if unchanged {
		p.ResourceVersion = b.ResourceVersion
	}
	return s.w.API().Update(store.PodDisruptionBudgets, store.KeyOf(b), p, func(o store.Object) error {
		stored, ok := o.(*policyv1.PodDisruptionBudget)
		if !ok || !change(stored) {
			return store.ErrUnchanged
		}
		if unchanged { // a debit
			_, name, _ := strings.Cut(s.request.Pod, "/")
			s.w.Notify(budgets.Debited{Budget: stored, Names: []string{name}})
		}
		return nil
	})
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

func (s *evictionStore) DeletePod(_ context.Context, name string, o *metav1.DeleteOptions) error {
	if s.request.DryRun {
		return nil
	}
	s.beforeWrite()
	d := &Displacement{Grace: o.GracePeriodSeconds, RespectsBudgets: true, Record: s.record, Message: "is evicted by " + cmp.Or(s.request.Requester, "a client"),
		Pod: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name, UID: *o.Preconditions.UID}}}
	if o.Preconditions.ResourceVersion != nil {
		d.ResourceVersion = *o.Preconditions.ResourceVersion
	}
	return s.Delete(d, "eviction")
}

func (s *evictionStore) Detach(ctx context.Context) (context.Context, context.CancelFunc) {
	return ctx, func() {} // no client cancels it
}

func (s *evictionStore) Now() time.Time { return s.w.Now() }

func (s *evictionStore) Sleep(_ context.Context, d time.Duration) { s.sleep(d) }
