package displacement

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/berthproject/berth/internal/conversion"
	"github.com/berthproject/berth/sim"
	"github.com/berthproject/berth/sim/store"
)

// Store is the part of a displacer.Store that is the same for all actors: the in-memory API.
type Store struct {
	World *sim.World
	// Execute executes a write after its latency.
	Execute func(write func() error) error
	// OnUpdateBudget is called before an update of a budget is stored, with the status before it.
	OnUpdateBudget func(before *policyv1.PodDisruptionBudgetStatus, b *policyv1.PodDisruptionBudget)
}

// Pod implements displacer.Store.
func (s *Store) Pod(_ context.Context, namespace, name string) (*corev1.Pod, error) {
	if p := s.World.API().Pod(store.Key(namespace, name)); p != nil {
		return p, nil
	}
	return nil, apierrors.NewNotFound(corev1.Resource("pods"), name)
}

// Budget implements displacer.Store.
func (s *Store) Budget(_ context.Context, namespace, name string) (*policyv1.PodDisruptionBudget, error) {
	if b := s.budget(store.Key(namespace, name)); b != nil {
		return b, nil
	}
	return nil, apierrors.NewNotFound(policyv1.Resource("poddisruptionbudgets"), name)
}

func (s *Store) budget(key string) *policyv1.PodDisruptionBudget {
	o, _ := s.World.API().Get(store.PodDisruptionBudgets, key)
	b, _ := o.(*policyv1.PodDisruptionBudget)
	return b
}

// UpdateBudget implements displacer.Store.
func (s *Store) UpdateBudget(_ context.Context, b *policyv1.PodDisruptionBudget) (*policyv1.PodDisruptionBudget, error) {
	key := store.KeyOf(b)
	err := s.Execute(func() error {
		return s.World.API().Update(store.PodDisruptionBudgets, key, store.Precondition{UID: string(b.UID), ResourceVersion: b.ResourceVersion}, func(o store.Object) error {
			stored, ok := o.(*policyv1.PodDisruptionBudget)
			if !ok {
				return store.ErrUnchanged
			}
			before := stored.Status
			stored.Status = b.Status
			s.OnUpdateBudget(&before, stored)
			return nil
		})
	})
	return s.budget(key), err
}

// RestoreCondition implements displacer.Store.
func (s *Store) RestoreCondition(_ context.Context, p *corev1.Pod, c *corev1.PodCondition) error {
	return s.UpdateConditions(store.Precondition{UID: string(p.UID), ResourceVersion: p.ResourceVersion}, store.KeyOf(p), func(p *corev1.Pod) {
		conversion.RestoreDisruptionTarget(p, c)
	})
}

// UpdateConditions updates the conditions of a pod.
func (s *Store) UpdateConditions(required store.Precondition, key string, change func(*corev1.Pod)) error {
	return s.Execute(func() error {
		return s.World.API().UpdatePod(key, required, func(p *corev1.Pod) error {
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
