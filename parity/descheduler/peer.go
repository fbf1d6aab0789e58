package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/events"
	"k8s.io/component-base/featuregate"
	"sigs.k8s.io/descheduler/pkg/api"
	"sigs.k8s.io/descheduler/pkg/descheduler"
	"sigs.k8s.io/descheduler/pkg/descheduler/evictions"
	podutil "sigs.k8s.io/descheduler/pkg/descheduler/pod"
	"sigs.k8s.io/descheduler/pkg/features"
	"sigs.k8s.io/descheduler/pkg/framework/pluginregistry"
	frameworkprofile "sigs.k8s.io/descheduler/pkg/framework/profile"
	frameworktypes "sigs.k8s.io/descheduler/pkg/framework/types"
)

// runner is a profile of the descheduler.
type runner interface {
	RunDeschedulePlugins(context.Context, []*corev1.Node) *frameworktypes.Status
	RunBalancePlugins(context.Context, []*corev1.Node) *frameworktypes.Status
}

// realDescheduler is the Kubernetes descheduler with an API that grants every eviction and
// removes the pod from the informer at once.
type realDescheduler struct {
	profiles []runner
	names    []string
	nodes    []*corev1.Node
	evicted  map[string]bool
}

func newRealDescheduler(ctx context.Context, w *Workload) (*realDescheduler, error) {
	p := &realDescheduler{nodes: w.Nodes, evicted: map[string]bool{}}
	objects := []apiruntime.Object{&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default"}}}
	for _, n := range w.Nodes {
		objects = append(objects, n)
	}
	client := fake.NewClientset(objects...)
	factory := informers.NewSharedInformerFactory(client, 0)
	pods := factory.Core().V1().Pods().Informer()
	client.PrependReactor("create", "pods", func(action clienttesting.Action) (bool, apiruntime.Object, error) {
		create, ok := action.(clienttesting.CreateAction)
		if !ok || action.GetSubresource() != "eviction" {
			return false, nil, nil
		}
		if e, ok := create.GetObject().(*policyv1.Eviction); ok {
			p.evicted[e.Namespace+"/"+e.Name] = true
			if err := pods.GetIndexer().Delete(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: e.Namespace, Name: e.Name}}); err != nil {
				return true, nil, err
			}
		}
		return true, nil, nil
	})
	policy, err := loadPolicy(w.Policy, client)
	if err != nil {
		return nil, err
	}
	assigned, err := podutil.BuildGetPodsAssignedToNodeFunc(pods)
	if err != nil {
		return nil, err
	}
	gates := featuregate.NewFeatureGate()
	if err := gates.Add(map[featuregate.Feature]featuregate.FeatureSpec{features.EvictionsInBackground: {PreRelease: featuregate.Alpha}}); err != nil {
		return nil, err
	}
	evictor, err := evictions.NewPodEvictor(ctx, client, &events.FakeRecorder{}, pods, gates, evictions.NewOptions().WithPolicyGroupVersion("policy/v1"))
	if err != nil {
		return nil, err
	}
	for _, profile := range policy.Profiles {
		runner, err := frameworkprofile.NewProfile(ctx, profile, pluginregistry.PluginRegistry,
			frameworkprofile.WithClientSet(client), frameworkprofile.WithSharedInformerFactory(factory),
			frameworkprofile.WithPodEvictor(evictor), frameworkprofile.WithGetPodsAssignedToNodeFnc(assigned),
			frameworkprofile.WithProfileInstanceID(profile.Name))
		if err != nil {
			return nil, fmt.Errorf("profile %s: %w", profile.Name, err)
		}
		p.profiles, p.names = append(p.profiles, runner), append(p.names, profile.Name)
	}
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	for i := range w.Placed { // not through the client, which would store a second copy of each
		if err := pods.GetIndexer().Add(w.pod(i)); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// loadPolicy reads a policy as the descheduler does, from a file.
func loadPolicy(raw json.RawMessage, client *fake.Clientset) (*api.DeschedulerPolicy, error) {
	dir, err := os.MkdirTemp("", "berth-parity-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "policy.yaml")
	if err := os.WriteFile(file, raw, 0o600); err != nil {
		return nil, err
	}
	descheduler.SetupPlugins()
	return descheduler.LoadPolicyConfig(file, client, pluginregistry.PluginRegistry)
}

// pass makes one pass of all strategies.
func (p *realDescheduler) pass(ctx context.Context) (*Result, error) {
	r := &Result{By: map[string]int{}}
	runtime.GC()
	before := readMeters()
	for _, balance := range []bool{false, true} {
		for i, profile := range p.profiles {
			evictedBefore := len(p.evicted)
			run := profile.RunDeschedulePlugins
			if balance {
				run = profile.RunBalancePlugins
			}
			if s := run(ctx, p.nodes); s != nil && s.Err != nil {
				return nil, fmt.Errorf("%s: %w", p.names[i], s.Err)
			}
			if n := len(p.evicted) - evictedBefore; n > 0 {
				r.By[p.names[i]] = n
			}
		}
	}
	r.Evicted = len(p.evicted)
	return r, readMeters().since(before, r)
}
