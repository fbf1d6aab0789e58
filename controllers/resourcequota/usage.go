package resourcequota

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	quotav1 "k8s.io/apiserver/pkg/quota/v1"
	"k8s.io/apiserver/pkg/quota/v1/generic"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"

	"github.com/berthproject/berth/controllers/runner"
	"github.com/berthproject/berth/controllers/workqueue"
	"github.com/berthproject/berth/internal/quota"
)

// usage computes what the objects of a namespace use of a quota.
type usage struct {
	env      runner.Environment
	onChange func(namespace string)
	listers  map[schema.GroupResource]cache.GenericLister
	synced   []cache.InformerSynced
	counts   *counts
}

// newUsage returns a usage that calls onChange with the namespaces in which the usage may have decreased.
func newUsage(ctx context.Context, env runner.Environment, d discovery.DiscoveryInterface, objects metadata.Interface, factory informers.SharedInformerFactory, onChange func(string)) *usage {
	core := factory.Core().V1()
	u := &usage{env: env, onChange: onChange, listers: map[schema.GroupResource]cache.GenericLister{}, counts: newCounts(ctx, d, objects, onChange)}
	for name, informer := range map[string]cache.SharedIndexInformer{
		"pods": core.Pods().Informer(), "services": core.Services().Informer(), "persistentvolumeclaims": core.PersistentVolumeClaims().Informer(),
	} {
		resource := corev1.Resource(name)
		u.listers[resource] = cache.NewGenericLister(informer.GetIndexer(), resource)
		u.synced = append(u.synced, informer.HasSynced)
	}
	return u
}

// watch enqueues quotas when pods finish and when objects are deleted or change their size.
func (u *usage) watch(factory informers.SharedInformerFactory) error {
	core := factory.Core().V1()
	if err := workqueue.Watch(core.Pods().Informer(), func(old, cur *corev1.Pod) {
		now := u.env.Now()
		finished := old != nil && cur != nil && !quota.HasEnded(old, now) && quota.HasEnded(cur, now)
		if cur == nil || finished || old != nil && old.Generation != cur.Generation {
			u.onChange(namespaceOf(old, cur))
		}
	}); err != nil {
		return err
	}
	if err := workqueue.Watch(core.Services().Informer(), func(old, cur *corev1.Service) {
		if old != nil {
			u.onChange(namespaceOf(old, cur))
		}
	}); err != nil {
		return err
	}
	return workqueue.Watch(core.PersistentVolumeClaims().Informer(), func(old, cur *corev1.PersistentVolumeClaim) {
		if old != nil {
			u.onChange(namespaceOf(old, cur))
		}
	})
}

// namespaceOf returns the namespace of an object of which one state is nil.
func namespaceOf[T interface {
	comparable
	GetNamespace() string
}](old, cur T) string {
	var zero T
	if cur != zero {
		return cur.GetNamespace()
	}
	return old.GetNamespace()
}

// compute returns the usage of the resources that a quota limits. With an error the result lacks resources.
func (u *usage) compute(ctx context.Context, q *corev1.ResourceQuota) (corev1.ResourceList, error) {
	list := func(resource schema.GroupResource, namespace string) ([]runtime.Object, error) {
		return u.list(ctx, resource, namespace)
	}
	registry := generic.NewRegistry(quota.Evaluators(list))
	for name := range q.Spec.Hard {
		text, ok := strings.CutPrefix(string(name), "count/")
		if resource := schema.ParseGroupResource(text); ok && registry.Get(resource) == nil {
			registry.Add(quota.CountEvaluator(resource, list))
		}
	}
	used, err := quotav1.CalculateUsage(q.Namespace, q.Spec.Scopes, q.Spec.Hard, registry, q.Spec.ScopeSelector)
	if err != nil {
		return used, fmt.Errorf("counting the usage of quota %s/%s: %w", q.Namespace, q.Name, err)
	}
	return used, nil
}

func (u *usage) list(ctx context.Context, resource schema.GroupResource, namespace string) ([]runtime.Object, error) {
	lister := u.listers[resource]
	if lister == nil {
		var err error
		if lister, err = u.counts.lister(ctx, resource); lister == nil || err != nil {
			return nil, err
		}
	}
	return lister.ByNamespace(namespace).List(labels.Everything())
}
