package main

import (
	"context"
	"os"
	"slices"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/descheduler/pkg/api"
	"sigs.k8s.io/descheduler/pkg/descheduler"
	"sigs.k8s.io/descheduler/pkg/descheduler/evictions"
	nodeutil "sigs.k8s.io/descheduler/pkg/descheduler/node"
	podutil "sigs.k8s.io/descheduler/pkg/descheduler/pod"
	"sigs.k8s.io/descheduler/pkg/features"
	"sigs.k8s.io/descheduler/pkg/framework/pluginregistry"
	"sigs.k8s.io/descheduler/pkg/framework/profile"
	frameworktypes "sigs.k8s.io/descheduler/pkg/framework/types"
)

// cycle is the outcome of one cycle: namespace/name of pods, in order.
type cycle struct{ evicted, refused []string }

// runner is a profile of the descheduler.
type runner interface {
	RunDeschedulePlugins(context.Context, []*corev1.Node) *frameworktypes.Status
	RunBalancePlugins(context.Context, []*corev1.Node) *frameworktypes.Status
}

// loadPolicy reads a policy as the descheduler does, from a file.
func loadPolicy(policy []byte, client kubernetes.Interface) (*api.DeschedulerPolicy, error) {
	f, err := os.CreateTemp("", "policy-*.json")
	if err != nil {
		return nil, err
	}
	defer os.Remove(f.Name())
	if _, err := f.Write(policy); err != nil {
		return nil, err
	}
	if err := f.Close(); err != nil {
		return nil, err
	}
	return descheduler.LoadPolicyConfig(f.Name(), client, pluginregistry.PluginRegistry)
}

// runCycle runs a cycle with the objects. Evictions of blocked pods are rejected, as by a budget.
// It returns an error if a profile cannot be built.
func runCycle(policy *api.DeschedulerPolicy, objects []runtime.Object, blocked []string) (c cycle, err error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	client := fake.NewClientset(objects...)
	factory := informers.NewSharedInformerFactory(client, 0)
	core := factory.Core().V1()
	pods := core.Pods().Informer()
	for _, informer := range []cache.SharedIndexInformer{core.Nodes().Informer(), core.Namespaces().Informer(), core.PersistentVolumeClaims().Informer(),
		factory.Scheduling().V1().PriorityClasses().Informer(), factory.Policy().V1().PodDisruptionBudgets().Informer()} {
		_ = informer // requested so that it is filled
	}
	client.PrependReactor("create", "pods", c.answer(pods.GetIndexer(), blocked))
	profiles, err := buildProfiles(ctx, policy, client, factory)
	if err != nil {
		return c, err
	}
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	selector := ""
	if policy.NodeSelector != nil {
		selector = *policy.NodeSelector
	}
	nodes, err := nodeutil.ReadyNodes(ctx, client, core.Nodes().Lister(), selector)
	if err != nil || len(nodes) < 2 {
		return c, err
	}
	for _, p := range profiles {
		p.RunDeschedulePlugins(ctx, nodes)
	}
	for _, p := range profiles {
		p.RunBalancePlugins(ctx, nodes)
	}
	return c, nil
}

// answer returns a reactor that answers evictions as the API server does.
func (c *cycle) answer(pods cache.Indexer, blocked []string) clienttesting.ReactionFunc {
	return func(action clienttesting.Action) (bool, runtime.Object, error) {
		create, ok := action.(clienttesting.CreateAction)
		if !ok || action.GetSubresource() != "eviction" {
			return false, nil, nil
		}
		e, ok := create.GetObject().(*policyv1.Eviction)
		if !ok {
			return false, nil, nil
		}
		key := e.Namespace + "/" + e.Name
		if slices.Contains(blocked, key) {
			c.refused = append(c.refused, key)
			return true, nil, apierrors.NewTooManyRequests("it would violate a disruption budget", 10)
		}
		c.evicted = append(c.evicted, key)
		if pod, exists, _ := pods.GetByKey(key); exists {
			return true, nil, pods.Delete(pod)
		}
		return true, nil, nil
	}
}

func buildProfiles(ctx context.Context, policy *api.DeschedulerPolicy, client kubernetes.Interface, factory informers.SharedInformerFactory) ([]runner, error) {
	pods := factory.Core().V1().Pods().Informer()
	assigned, err := podutil.BuildGetPodsAssignedToNodeFunc(pods)
	if err != nil {
		return nil, err
	}
	options := evictions.NewOptions().WithPolicyGroupVersion("policy/v1").WithMetricsEnabled(false).WithGracePeriodSeconds(policy.GracePeriodSeconds).
		WithMaxPodsToEvictPerNode(policy.MaxNoOfPodsToEvictPerNode).WithMaxPodsToEvictPerNamespace(policy.MaxNoOfPodsToEvictPerNamespace).
		WithMaxPodsToEvictTotal(policy.MaxNoOfPodsToEvictTotal)
	evictor, err := evictions.NewPodEvictor(ctx, client, &events.FakeRecorder{}, pods, features.DefaultMutableFeatureGate, options)
	if err != nil {
		return nil, err
	}
	var out []runner
	for _, p := range policy.Profiles {
		r, err := profile.NewProfile(ctx, p, pluginregistry.PluginRegistry, profile.WithClientSet(client), profile.WithSharedInformerFactory(factory),
			profile.WithPodEvictor(evictor), profile.WithGetPodsAssignedToNodeFnc(assigned))
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, nil
}
