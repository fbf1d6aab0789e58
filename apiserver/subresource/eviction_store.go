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
	"github.com/berthproject/berth/internal/eviction"
)

// evictionStore is the store of an eviction. It updates pods and budgets directly in etcd, without strategies and
// admission. The context of its methods has the namespace.
type evictionStore struct {
	*EvictionREST
	lock *sync.Mutex
}

var _ eviction.Store = evictionStore{}

// detachedTimeout limits the part of an eviction that its client cannot cancel. It is less than budget.EntryAge.
const detachedTimeout = time.Minute

func (s evictionStore) Lock() func() {
	s.lock.Lock()
	return s.lock.Unlock
}

func (s evictionStore) Pod(ctx context.Context, name string) (*corev1.Pod, error) {
	obj, err := s.pods.Get(ctx, name, &metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return nil, fmt.Errorf("want a Pod named %s, got %T", name, obj)
	}
	return pod, nil
}

func (s evictionStore) Budgets(ctx context.Context, _ *corev1.Pod) ([]*policyv1.PodDisruptionBudget, error) {
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

// PodsOf lists only the pods that the budgets select, so the cost of an eviction does not grow with the other pods of
// the namespace.
func (s evictionStore) PodsOf(ctx context.Context, budgets []*policyv1.PodDisruptionBudget) ([]*model.Pod, error) {
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

func (s evictionStore) UpdatePod(ctx context.Context, name string, uid types.UID, change func(*corev1.Pod) error) (*corev1.Pod, error) {
	out := &corev1.Pod{}
	var preconditions storage.Preconditions
	if uid != "" {
		preconditions.UID = &uid
	}
	err := updateStored(ctx, s.pods, corev1.Resource("pods"), name, out, preconditions, change)
	return out, err
}

func (s evictionStore) UpdateBudgetStatus(ctx context.Context, b *policyv1.PodDisruptionBudget, unchanged bool, change func(*policyv1.PodDisruptionBudget) bool) error {
	preconditions := storage.Preconditions{UID: &b.UID}
	if unchanged {
		preconditions.ResourceVersion = &b.ResourceVersion
	}
	return updateStored(ctx, s.budgets, policyv1.Resource("poddisruptionbudgets"), b.Name, &policyv1.PodDisruptionBudget{}, preconditions, func(b *policyv1.PodDisruptionBudget) error {
		change(b) // the storage does not write an unchanged object
		return nil
	})
}

// updateStored updates a stored object and writes the result to out. An error of change is returned unchanged.
func updateStored[T runtime.Object](ctx context.Context, s *genericregistry.Store, resource schema.GroupResource, name string, out T, p storage.Preconditions, change func(T) error) error {
	key, err := s.KeyFunc(ctx, name)
	if err != nil {
		return err
	}
	var changeErr error
	err = s.Storage.GuaranteedUpdate(ctx, key, out, false, &p, storage.SimpleUpdate(func(obj runtime.Object) (runtime.Object, error) {
		current, ok := obj.(T)
		if !ok {
			return nil, fmt.Errorf("want a %T at %s, got %T", current, key, obj)
		}
		changeErr = change(current)
		return current, changeErr
	}), false, nil)
	if status := apierrors.APIStatus(nil); err == nil || changeErr != nil || errors.As(err, &status) {
		return err
	}
	return storeerr.InterpretUpdateError(storeerr.InterpretGetError(err, resource, name), resource, name)
}

func (s evictionStore) Record(ctx context.Context, r *displacement.Record) error {
	return s.record(ctx, r)
}

func (s evictionStore) DeletePod(ctx context.Context, name string, o *metav1.DeleteOptions) error {
	_, _, err := s.deleter.Delete(ctx, name, rest.ValidateAllObjectFunc, o)
	return err
}

func (s evictionStore) Detach(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), detachedTimeout)
}

func (s evictionStore) Now() time.Time { return time.Now() }

// Sleep sleeps with jitter.
func (s evictionStore) Sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d/2 + rand.N(d/2+1))
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}
