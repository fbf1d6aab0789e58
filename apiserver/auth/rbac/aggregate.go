package rbac

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	rbaclisters "k8s.io/client-go/listers/rbac/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

// Aggregator sets the rules of ClusterRoles with an aggregationRule to the union of the rules of the
// selected roles.
type Aggregator struct {
	client kubernetes.Interface
	roles  rbaclisters.ClusterRoleLister
	synced cache.InformerSynced
	queue  workqueue.TypedRateLimitingInterface[string]
}

// NewAggregator returns an aggregator that watches ClusterRoles through factory and updates them
// with client.
func NewAggregator(client kubernetes.Interface, factory informers.SharedInformerFactory) (*Aggregator, error) {
	informer := factory.Rbac().V1().ClusterRoles()
	a := &Aggregator{
		client: client,
		roles:  informer.Lister(),
		synced: informer.Informer().HasSynced,
		queue:  workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[string]()),
	}
	_, err := informer.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { a.enqueueAll() },
		UpdateFunc: func(any, any) { a.enqueueAll() },
		DeleteFunc: func(any) { a.enqueueAll() },
	})
	return a, err
}

// enqueueAll enqueues all aggregated roles: there are few, and any role can be part of each.
func (a *Aggregator) enqueueAll() {
	roles, err := a.roles.List(labels.Everything())
	if err != nil {
		utilruntime.HandleError(fmt.Errorf("listing clusterroles to aggregate: %w", err))
		return
	}
	for _, role := range roles {
		if role.AggregationRule != nil {
			a.queue.Add(role.Name)
		}
	}
}

// Run syncs roles until ctx is done.
func (a *Aggregator) Run(ctx context.Context) {
	defer a.queue.ShutDown()
	if !cache.WaitForCacheSync(ctx.Done(), a.synced) {
		return
	}
	go wait.UntilWithContext(ctx, func(ctx context.Context) {
		for a.processNextWorkItem(ctx) {
		}
	}, time.Second)
	<-ctx.Done()
}

func (a *Aggregator) processNextWorkItem(ctx context.Context) bool {
	name, shutdown := a.queue.Get()
	if shutdown {
		return false
	}
	defer a.queue.Done(name)
	if err := a.syncClusterRole(ctx, name); err != nil {
		if !apierrors.IsConflict(err) {
			utilruntime.HandleErrorWithContext(ctx, err, "Failed to aggregate a ClusterRole", "clusterrole", name)
		}
		a.queue.AddRateLimited(name)
		return true
	}
	a.queue.Forget(name)
	return true
}

func (a *Aggregator) syncClusterRole(ctx context.Context, name string) error {
	role, err := a.roles.Get(name)
	if apierrors.IsNotFound(err) || err == nil && role.AggregationRule == nil {
		return nil
	}
	if err != nil {
		return err
	}
	rules, err := a.aggregatedRules(role)
	if err != nil {
		return err
	}
	if equality.Semantic.DeepEqual(rules, role.Rules) {
		return nil
	}
	changed := role.DeepCopy()
	changed.Rules = rules
	_, err = a.client.RbacV1().ClusterRoles().Update(ctx, changed, metav1.UpdateOptions{})
	return err
}

// aggregatedRules returns the distinct rules of the roles that the selectors of aggregated match, sorted
// by role name within each selector.
func (a *Aggregator) aggregatedRules(aggregated *rbacv1.ClusterRole) ([]rbacv1.PolicyRule, error) {
	var rules []rbacv1.PolicyRule
	for i := range aggregated.AggregationRule.ClusterRoleSelectors {
		selector, err := metav1.LabelSelectorAsSelector(&aggregated.AggregationRule.ClusterRoleSelectors[i])
		if err != nil {
			return nil, fmt.Errorf("clusterrole %s: aggregationRule.clusterRoleSelectors[%d]: %w", aggregated.Name, i, err)
		}
		sources, err := a.roles.List(selector)
		if err != nil {
			return nil, err
		}
		slices.SortFunc(sources, func(x, y *rbacv1.ClusterRole) int { return strings.Compare(x.Name, y.Name) })
		for _, source := range sources {
			if source.Name == aggregated.Name {
				continue
			}
			for _, rule := range source.Rules {
				if !slices.ContainsFunc(rules, func(r rbacv1.PolicyRule) bool { return equality.Semantic.DeepEqual(r, rule) }) {
					rules = append(rules, rule)
				}
			}
		}
	}
	return rules, nil
}
