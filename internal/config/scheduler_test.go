package config

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	schedulerv1 "k8s.io/kube-scheduler/config/v1"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/placement"
)

const schedulerHead = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"

func TestDefaultProfileIsThatOfTheEngine(t *testing.T) {
	k := DefaultKubeScheduler()
	if _, err := compileScheduler(&schedulerv1.KubeSchedulerConfiguration{}); err != nil {
		t.Fatal(err)
	}
	if len(k.Profiles) != 1 || !reflect.DeepEqual(k.Profiles[0], placement.DefaultConfig()) {
		t.Errorf("got  %+v\nwant %+v", k.Profiles, placement.DefaultConfig())
	}
	if k.Parallelism != 16 || k.InitialBackoff != time.Second || k.MaxBackoff != 10*time.Second ||
		k.LeaderElection != (LeaderElection{true, 15 * time.Second, 10 * time.Second, 2 * time.Second, "kube-system", "kube-scheduler"}) {
		t.Errorf("defaults are %+v", k)
	}
}

func readScheduler(t *testing.T, text string) (KubeScheduler, error) {
	t.Helper()
	return ReadKubeScheduler(berthFile(t, schedulerHead+text)[0])
}

func TestPluginPrecedence(t *testing.T) {
	f := func(plugins string, want func(*placement.Config)) {
		t.Helper()
		k, err := readScheduler(t, "profiles: [{plugins: "+plugins+"}]")
		if err != nil {
			t.Error(err)
			return
		}
		c := placement.DefaultConfig()
		want(&c)
		if !reflect.DeepEqual(k.Profiles[0], c) {
			t.Errorf("%s:\ngot  %+v\nwant %+v", plugins, k.Profiles[0], c)
		}
	}
	without := func(rs []decision.Rule, r decision.Rule) []decision.Rule {
		return slices.DeleteFunc(slices.Clone(rs), func(x decision.Rule) bool { return x == r })
	}
	f(`{filter: {disabled: [{name: TaintToleration}]}, postFilter: {disabled: [{name: DefaultPreemption}]}}`, func(c *placement.Config) {
		c.Filter, c.Preemption = without(c.Filter, decision.TaintToleration), false
	})
	f(`{multiPoint: {disabled: [{name: ImageLocality}]}}`, func(c *placement.Config) { c.Score = c.Score[:len(c.Score)-1] })
	f(`{score: {disabled: [{name: "*"}], enabled: [{name: NodeResourcesFit, weight: 3}]}}`, func(c *placement.Config) {
		c.Score = []placement.WeightedRule{{Rule: decision.NodeResourcesFit, Weight: 3}}
	})
	// Listed again at multiPoint: set anew in its place.
	f(`{multiPoint: {enabled: [{name: NodeAffinity, weight: 9}]}}`, func(c *placement.Config) { c.Score[1].Weight = 9 })
	// The point's own list goes before multiPoint, and ahead of it.
	f(`{multiPoint: {enabled: [{name: ImageLocality, weight: 9}]}, score: {enabled: [{name: ImageLocality, weight: 5}]}}`, func(c *placement.Config) {
		last := len(c.Score) - 1
		c.Score = append([]placement.WeightedRule{{Rule: decision.ImageLocality, Weight: 5}}, c.Score[:last]...)
	})
	f(`{filter: {enabled: [{name: NodeDeclaredFeatures}]}}`, func(c *placement.Config) {
		c.Filter = append([]decision.Rule{decision.NodeDeclaredFeatures}, c.Filter[:len(c.Filter)-1]...)
	})
}

func TestBadSchedulerFilesAreRefused(t *testing.T) {
	args := func(name, args string) string {
		return "profiles: [{pluginConfig: [{name: " + name + ", args: {" + args + "}}]}]"
	}
	for text, want := range map[string]string{
		"paralelism: 3":                                                       `unknown field "paralelism"`,
		"parallelism: 0":                                                      "parallelism: 0: must be at least 1",
		"parallelism: many":                                                   "parallelism",
		"podInitialBackoffSeconds: 20":                                        "podMaxBackoffSeconds: 10: must be at least podInitialBackoffSeconds, 20",
		"percentageOfNodesToScore: 101":                                       "percentageOfNodesToScore: 101: must be between 0 and 100",
		"leaderElection: {leaseDuration: 5s}":                                 "leaderElection.leaseDuration: 5s: must be above renewDeadline, 10s",
		"extenders: [{urlPrefix: http://x}]":                                  "extenders: 1 given",
		"profiles: [{schedulerName: a}, {schedulerName: a}]":                  `profiles[1].schedulerName: "a": another profile`,
		"profiles: [{}, {}]":                                                  "profiles[0].schedulerName: must be given",
		"profiles: [{plugins: {filter: {enabled: [{name: NodeFit}]}}}]":       `profiles[0].plugins.filter.enabled[0]: "NodeFit": no such plugin; there are NodeUnschedulable`,
		"profiles: [{plugins: {filter: {enabled: [{name: ImageLocality}]}}}]": "does not extend filter",
		"profiles: [{plugins: {score: {enabled: [{name: ImageLocality, weight: -1}]}}}]":                                                        "weight of ImageLocality: -1: must be at least 1",
		`profiles: [{plugins: {bind: {disabled: [{name: "*"}]}}}]`:                                                                              "profiles[0].plugins.bind: no plugin: DefaultBinder must be enabled",
		args("NodeResourcesFit", "scoringStrategy: {type: Best}"):                                                                               `profiles[0].pluginConfig[0].args.scoringStrategy.type: "Best": must be LeastAllocated`,
		args("NodeResourcesFit", "scoringStrategy: {resources: [{name: cpu, weight: 101}]}"):                                                    "weight: 101: must be between 1 and 100",
		args("NodeResourcesFit", "strategy: {}"):                                                                                                `unknown field "strategy"`,
		args("InterPodAffinity", "hardPodAffinityWeight: 101"):                                                                                  "hardPodAffinityWeight: 101: must be between 0 and 100",
		args("PodTopologySpread", "defaultingType: List, defaultConstraints: [{maxSkew: 0, topologyKey: z, whenUnsatisfiable: DoNotSchedule}]"): "defaultConstraints[0].maxSkew: 0: must be at least 1",
		args("NodeAffinity", "kind: Wrong"):                                                                                                     `kind: "Wrong": must be NodeAffinityArgs`,
		args("VolumeBinding", "bindTimeoutSeconds: -1"):                                                                                         "bindTimeoutSeconds: -1: must be at least 0",
		args("ImageLocality", "x: 1"):                                                                                                           "ImageLocality takes no arguments",
	} {
		if _, err := readScheduler(t, text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\ngot  %v\nwant %s", text, err, want)
		}
	}
}
