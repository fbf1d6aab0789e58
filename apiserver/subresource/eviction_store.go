package subresource

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage"
	storeerr "k8s.io/apiserver/pkg/storage/errors"

	"github.com/berthproject/berth/engine/displacement"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/internal/conversion"
	"github.com/berthproject/berth/internal/displacer"
)

// evictionStore is the store of an eviction. It updates pods and budgets directly in etcd, without strategies and
// admission. The context of its methods has the namespace.
type evictionStore struct {
	*EvictionREST
	lock *sync.Mutex
}

var _ displacer.EvictionStore = evictionStore{}

// detachedTimeout limits the part of an attempt to evict that its client cannot cancel. It is less than budget.EntryAge.
const detachedTimeout = time.Minute

func (s evictionStore) Lock() func() {
	s.lock.Lock()
	return s.lock.Unlock
}

func (s evictionStore) Pod(ctx context.Context, _, name string) (*corev1.Pod, error) {
	return getStored[*corev1.Pod](ctx, s.pods, name)
}

func (s evictionStore) Budget(ctx context.Context, _, name string) (*policyv1.PodDisruptionBudget, error) {
	return getStored[*policyv1.PodDisruptionBudget](ctx, s.budgets, name)
}

// getStored reads an object.
func getStored[T runtime.Object](ctx context.Context, s *genericregistry.Store, name string) (out T, err error) {
	obj, err := s.Get(ctx, name, &metav1.GetOptions{})
	if err != nil {
		return out, err
	}
	out, ok := obj.(T)
	if !ok {
		return out, fmt.Errorf("want a %T named %s, got %T", out, name, obj)
	}
	return out, nil
}

func (s evictionStore) Budgets(ctx context.Context, _ *model.Pod) ([]*policyv1.PodDisruptionBudget, error) {
	obj, err := listLatest(ctx, s.budgets, labels.Everything())
	if err != nil {
		return nil, err
	}
	list, ok := obj.(*policyv1.PodDisruptionBudgetList)
	if !ok {
		return nil, fmt.Errorf("want a list of disruption budgets, got %T", obj)
	}
	out := make([]*policyv1.PodDisruptionBudget, len(list.Items))
	for i := range list.Items {
		out[i] = &list.Items[i]
	}
	return out, nil
}

// Members lists only the pods that the budgets select, so the cost of an eviction does not grow with the other pods of
// the namespace.
func (s evictionStore) Members(ctx context.Context, budgets []*policyv1.PodDisruptionBudget) ([]*model.Pod, error) {
	var out []*model.Pod
	seen := map[types.UID]bool{}
	for _, b := range budgets {
		selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
		if err != nil {
			continue // an invalid selector selects no pods
		}
		list, err := listLatest(ctx, s.pods, selector)
		if err != nil {
			return nil, err
		}
		pods, ok := list.(*corev1.PodList)
		if !ok {
			return nil, fmt.Errorf("want a list of pods, got %T", list)
		}
		for i := range pods.Items {
			if p := &pods.Items[i]; !seen[p.UID] {
				seen[p.UID] = true
				out = append(out, conversion.BudgetPod(p))
			}
		}
	}
	return out, nil
}

func (s evictionStore) UpdateBudget(ctx context.Context, b *policyv1.PodDisruptionBudget) (*policyv1.PodDisruptionBudget, error) {
	out := &policyv1.PodDisruptionBudget{}
	unchanged := storage.Preconditions{UID: &b.UID, ResourceVersion: &b.ResourceVersion}
	err := updateStored(ctx, s.budgets, policyv1.Resource("poddisruptionbudgets"), b.Name, out, unchanged, func(stored *policyv1.PodDisruptionBudget) {
		stored.Status = b.Status
	})
	return out, err
}

// SetCondition keeps a condition that another request has set.
func (s evictionStore) SetCondition(ctx context.Context, w displacer.ConditionWrite) (displacer.ConditionResult, error) {
	out := displacer.ConditionResult{Pod: &corev1.Pod{}}
	uid := types.UID(w.Pod.UID)
	preconditions := storage.Preconditions{UID: &uid}
	if w.Version != "" {
		preconditions.ResourceVersion = &w.Version
	}
	err := updateStored(ctx, s.pods, corev1.Resource("pods"), w.Pod.Name, out.Pod, preconditions, func(p *corev1.Pod) {
		out.Set, out.Previous = conversion.SetDisruptionTarget(p, *w.Condition)
	})
	return out, err
}

func (s evictionStore) RestoreCondition(ctx context.Context, p *corev1.Pod, c *corev1.PodCondition) error {
	unchanged := storage.Preconditions{UID: &p.UID, ResourceVersion: &p.ResourceVersion}
	return updateStored(ctx, s.pods, corev1.Resource("pods"), p.Name, &corev1.Pod{}, unchanged, func(stored *corev1.Pod) {
		conversion.RestoreDisruptionTarget(stored, c)
	})
}

// updateStored updates a stored object and writes the result to out. The storage does not write an unchanged object.
func updateStored[T runtime.Object](ctx context.Context, s *genericregistry.Store, resource schema.GroupResource, name string, out T, p storage.Preconditions, change func(T)) error {
	key, err := s.KeyFunc(ctx, name)
	if err != nil {
		return err
	}
	err = s.Storage.GuaranteedUpdate(ctx, key, out, false, &p, storage.SimpleUpdate(func(obj runtime.Object) (runtime.Object, error) {
		current, ok := obj.(T)
		if !ok {
			return nil, fmt.Errorf("want a %T at %s, got %T", current, key, obj)
		}
		change(current)
		return current, nil
	}), false, nil)
	if status := apierrors.APIStatus(nil); err == nil || errors.As(err, &status) {
		return err
	}
	return storeerr.InterpretUpdateError(storeerr.InterpretGetError(err, resource, name), resource, name)
}

func (s evictionStore) Record(ctx context.Context, r *displacement.Record) error {
	return s.record(ctx, r)
}

func (s evictionStore) Delete(ctx context.Context, p *model.Pod, o metav1.DeleteOptions) error {
	_, _, err := s.deleter.Delete(ctx, p.Name, rest.ValidateAllObjectFunc, &o)
	return err
}

func (s evictionStore) Detach(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), detachedTimeout)
}

// Sleep sleeps with jitter.
func (s evictionStore) Sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d/2 + rand.N(d/2+1))
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}
