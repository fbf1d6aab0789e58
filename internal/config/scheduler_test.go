package config

import (
	"reflect"
	"slices"
	"testing"
	"time"

	schedulerv1 "k8s.io/kube-scheduler/config/v1"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/placement/framework"
)

const schedulerHeader = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"

func TestDefaultProfileMatchesEngine(t *testing.T) {
	k := DefaultKubeScheduler()
	diags := &diagnostics{}
	if compileScheduler(diags, &schedulerv1.KubeSchedulerConfiguration{}); len(diags.errs) > 0 || len(diags.warnings) > 0 {
		t.Fatalf("got errors %v and warnings %q, want none", diags.errs, diags.warnings)
	}
	if len(k.Profiles) != 1 || !reflect.DeepEqual(k.Profiles[0], framework.DefaultConfig()) {
		t.Errorf("got  %+v\nwant %+v", k.Profiles, framework.DefaultConfig())
	}
	if k.InitialBackoff != time.Second || k.MaxBackoff != 10*time.Second ||
		k.LeaderElection != (LeaderElection{true, 15 * time.Second, 10 * time.Second, 2 * time.Second, "kube-system", "kube-scheduler"}) {
		t.Errorf("got defaults %+v, want kube-scheduler's", k)
	}
}

func readScheduler(t *testing.T, text string) (KubeScheduler, error) {
	t.Helper()
	return ReadKubeScheduler(documentsOf(t, schedulerHeader+text)[0])
}

func TestPluginPrecedence(t *testing.T) {
	check := func(plugins string, want func(*framework.Config)) {
		t.Helper()
		k, err := readScheduler(t, "profiles: [{plugins: "+plugins+"}]")
		if err != nil {
			t.Error(err)
			return
		}
		c := framework.DefaultConfig()
		want(&c)
		if !reflect.DeepEqual(k.Profiles[0], c) {
			t.Errorf("%s:\ngot  %+v\nwant %+v", plugins, k.Profiles[0], c)
		}
	}
	without := func(list []decision.Plugin, removed decision.Plugin) []decision.Plugin {
		return slices.DeleteFunc(slices.Clone(list), func(p decision.Plugin) bool { return p == removed })
	}
	check(`{filter: {disabled: [{name: TaintToleration}]}, postFilter: {disabled: [{name: DefaultPreemption}]}}`, func(c *framework.Config) {
		c.Filter, c.Preemption = without(c.Filter, decision.TaintToleration), false
	})
	check(`{multiPoint: {disabled: [{name: ImageLocality}]}}`, func(c *framework.Config) { c.Score = c.Score[:len(c.Score)-1] })
	check(`{score: {disabled: [{name: "*"}], enabled: [{name: NodeResourcesFit, weight: 3}]}}`, func(c *framework.Config) {
		c.Score = []framework.WeightedPlugin{{Plugin: decision.NodeResourcesFit, Weight: 3}}
	})
	// A plugin listed again at multiPoint keeps its position.
	check(`{multiPoint: {enabled: [{name: NodeAffinity, weight: 9}]}}`, func(c *framework.Config) { c.Score[1].Weight = 9 })
	// The list of the point comes before multiPoint and overrides it.
	check(`{multiPoint: {enabled: [{name: ImageLocality, weight: 9}]}, score: {enabled: [{name: ImageLocality, weight: 5}]}}`, func(c *framework.Config) {
		last := len(c.Score) - 1
		c.Score = append([]framework.WeightedPlugin{{Plugin: decision.ImageLocality, Weight: 5}}, c.Score[:last]...)
	})
	check(`{filter: {enabled: [{name: NodeDeclaredFeatures}]}}`, func(c *framework.Config) {
		c.Filter = append([]decision.Plugin{decision.NodeDeclaredFeatures}, c.Filter[:len(c.Filter)-1]...)
	})
}
