package displacement

import (
	"cmp"
	"context"
	"fmt"
	"slices"
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
	"github.com/berthproject/berth/internal/displacer"
	"github.com/berthproject/berth/internal/eviction"
	"github.com/berthproject/berth/sim/kubeclient"
	"github.com/berthproject/berth/sim/store"
)

// evictionStore is the in-memory API as the handler of one eviction uses it. Other requests run before each write, and
// a fault can end the handler there.
type evictionStore struct {
	*Server
	request         *eviction.Request
	remainingWrites int // writes until a fault ends the request; negative: none does
	record          enginedisplacement.Record
}

var _ displacer.EvictionStore = &evictionStore{}

// write executes a write after its latency, in which other requests run. It ends the request if a fault does so before
// this write.
func (s *evictionStore) write(f func() error) error {
	if s.remainingWrites == 0 {
		s.evictions.Exit()
	}
	s.remainingWrites--
	s.sleep(s.w.Latency())
	return s.w.As(actor, f)
}

func (s *evictionStore) Pod(_ context.Context, namespace, name string) (*corev1.Pod, error) {
	if p := s.w.API().Pod(store.Key(namespace, name)); p != nil {
		return p, nil
	}
	return nil, apierrors.NewNotFound(corev1.Resource("pods"), name)
}

func (s *evictionStore) Budget(_ context.Context, namespace, name string) (*policyv1.PodDisruptionBudget, error) {
	if b := store.Get[*policyv1.PodDisruptionBudget](s.w.API(), store.Key(namespace, name)); b != nil {
		return b, nil
	}
	return nil, apierrors.NewNotFound(policyv1.Resource("poddisruptionbudgets"), name)
}

func (s *evictionStore) UpdateBudget(_ context.Context, b *policyv1.PodDisruptionBudget) (*policyv1.PodDisruptionBudget, error) {
	key, unchanged := store.KeyOf(b), store.Precondition{UID: string(b.UID), ResourceVersion: b.ResourceVersion}
	err := s.write(func() error {
		return store.Update(s.w.API(), key, unchanged, func(stored *policyv1.PodDisruptionBudget) error {
			stored.Status = b.Status
			return nil
		})
	})
	return store.Get[*policyv1.PodDisruptionBudget](s.w.API(), key), err
}

// updateConditions updates the conditions of a pod.
func (s *evictionStore) updateConditions(required store.Precondition, key string, change func(*corev1.Pod)) error {
	return s.write(func() error {
		return s.w.API().UpdatePod(key, required, func(p *corev1.Pod) error {
			before := p.Status.Conditions
			p.Status.Conditions = slices.Clone(before)
			change(p)
			if equality.Semantic.DeepEqual(before, p.Status.Conditions) {
				return store.ErrUnchanged // etcd does not write an unchanged object
			}
			return nil
		})
	})
}

// Lock does nothing: a request that waits must not block others.
func (s *evictionStore) Lock() func() { return func() {} }

func (s *evictionStore) Budgets(_ context.Context, p *model.Pod) ([]*policyv1.PodDisruptionBudget, error) {
	return s.ledger.BudgetsOf(s.w.API().Pod(p.Key())), nil
}

func (s *evictionStore) Members(_ context.Context, list []*policyv1.PodDisruptionBudget) (out []*model.Pod, _ error) {
	seen := map[types.UID]bool{}
	for _, b := range list {
		for _, p := range s.ledger.Pods(b) {
			if !seen[p.UID] {
				seen[p.UID] = true
				out = append(out, s.w.BudgetPod(p))
			}
		}
	}
	return out, nil
}

func (s *evictionStore) SetCondition(_ context.Context, w displacer.ConditionWrite) (out displacer.ConditionResult, err error) {
	err = s.updateConditions(store.Precondition{UID: w.Pod.UID, ResourceVersion: w.Version}, w.Pod.Key(), func(p *corev1.Pod) {
		out.Set, out.Previous = conversion.SetDisruptionTarget(p, *w.Condition)
	})
	out.Pod = s.w.API().Pod(w.Pod.Key())
	return out, err
}

// RestoreCondition implements displacer.Store.
func (s *evictionStore) RestoreCondition(_ context.Context, p *corev1.Pod, c *corev1.PodCondition) error {
	return s.updateConditions(store.Precondition{UID: string(p.UID), ResourceVersion: p.ResourceVersion}, store.KeyOf(p), func(p *corev1.Pod) {
		conversion.RestoreDisruptionTarget(p, c)
	})
}

// Record implements displacer.Store. The API server writes the record with a separate client.
func (s *evictionStore) Record(ctx context.Context, r *enginedisplacement.Record) error {
	s.record = *r
	if s.remainingWrites == 0 {
		s.evictions.Exit()
	}
	s.remainingWrites--
	return s.displacer.WriteRecord(ctx, r)
}

// Delete implements displacer.Store.
func (s *evictionStore) Delete(_ context.Context, pod *model.Pod, o metav1.DeleteOptions) error {
	if s.request.DryRun {
		return nil
	}
	required := store.Precondition{UID: string(*o.Preconditions.UID)}
	if o.Preconditions.ResourceVersion != nil {
		required.ResourceVersion = *o.Preconditions.ResourceVersion
	}
	return s.write(func() error {
		p := s.w.API().Pod(pod.Key())
		displaces := p != nil && required.Check(store.Pods, p) == nil && p.DeletionTimestamp == nil && !store.Finished(p)
		if displaces {
			s.w.Notify(kubeclient.DeletingPod{Actor: actor, Pod: p, Cause: &s.record})
		}
		if err := s.w.API().DeletePod(pod.Key(), required, o.GracePeriodSeconds); err != nil || !displaces {
			return err
		}
		s.w.Log("eviction", "displace", pod.Key(), fmt.Sprintf("%s on %s is evicted by %s", pod.Key(), p.Spec.NodeName, cmp.Or(s.request.RequestedBy, "a client")))
		return nil
	})
}

func (s *evictionStore) Detach(ctx context.Context) (context.Context, context.CancelFunc) {
	return ctx, func() {} // no client cancels it
}

func (s *evictionStore) Sleep(_ context.Context, d time.Duration) { s.sleep(d) }
