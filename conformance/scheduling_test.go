package conformance_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement"
	"github.com/berthproject/berth/engine/placement/framework"
	"github.com/berthproject/berth/internal/config"
	"github.com/berthproject/berth/internal/conversion"
)

// schedulingVector is a recorded decision of kube-scheduler. testdata/scheduling describes
// the format.
type schedulingVector struct {
	ID           string            `json:"id"`
	Note         string            `json:"note"`
	Config       json.RawMessage   `json:"config"`
	FeatureGates map[string]bool   `json:"featureGates"`
	Direct       bool              `json:"direct"`
	Inadmissible []string          `json:"inadmissible"`
	Objects      []json.RawMessage `json:"objects"`
	Pod          string            `json:"pod"`
	Expect       expectation       `json:"expect"`
}

// maxDeviceVectors is the maximum number of vectors that may differ because they need device claims.
const maxDeviceVectors = 4

// TestScheduling checks that decisions are those of kube-scheduler.
func TestScheduling(t *testing.T) {
	families := loadFamilies(t, "scheduling")
	if len(families) == 0 {
		skipWithoutVectors(t, "scheduling")
	}
	fmt.Println("scheduling: expect.message is compared by TestSchedulingMessages")
	divergent := divergentIDs(t)
	deliberate := 0
	for _, family := range slices.Sorted(maps.Keys(families)) {
		t.Run(family, func(t *testing.T) { deliberate += runSchedulingFamily(t, family, families[family], divergent) })
	}
	if deliberate > maxDeviceVectors {
		t.Errorf("docs/reference/differences.md lists %d scheduling vectors as different, want at most %d", deliberate, maxDeviceVectors)
	}
}

// runSchedulingFamily runs the vectors of a family and returns the number of those that differ deliberately.
func runSchedulingFamily(t *testing.T, family string, vectors []json.RawMessage, divergentIDs map[string]bool) int {
	passed, failed, deliberate, withPreemption := 0, 0, 0, 0
	for _, raw := range vectors {
		var v schedulingVector
		if err := json.Unmarshal(raw, &v); err != nil {
			t.Fatalf("%s: %v", family, err)
		}
		if v.Expect.Preemption != nil {
			withPreemption++
		}
		mismatches := v.run(decision.NoPlugin)
		switch {
		case divergentIDs[v.ID] && len(mismatches) == 0:
			failed++
			t.Errorf("%s (%s) is listed in docs/reference/differences.md, but does not differ: remove it there", v.ID, v.Note)
		case divergentIDs[v.ID]:
			deliberate++
		case len(mismatches) > 0:
			failed++
			t.Errorf("%s (%s)\n  %s", v.ID, v.Note, strings.Join(mismatches, "\n  "))
		default:
			passed++
		}
	}
	line := fmt.Sprintf("%s: %d passed, %d failed, preemption compared in %d", family, passed, failed, withPreemption)
	if deliberate > 0 {
		line += fmt.Sprintf(" (%d differ on purpose, docs/reference/differences.md)", deliberate)
	}
	fmt.Println(line)
	return deliberate
}

// seed is the seed of all decisions. The compared values do not depend on it.
const seed = 7

// run makes the decision of the vector and returns the differences. The profile has all plugins but without, which
// may be NoPlugin.
func (v *schedulingVector) run(without decision.Plugin) []string {
	configs, err := v.profiles()
	if err != nil {
		return []string{err.Error()}
	}
	state, pod, err := v.cluster(configs)
	if err != nil {
		return []string{err.Error()}
	}
	// All profiles ignore a pod of another scheduler; use the first one.
	profileIndex := max(0, slices.IndexFunc(configs, func(c framework.Config) bool { return c.Name == pod.Spec.SchedulerName }))
	if without != decision.NoPlugin {
		configs[profileIndex] = withoutPlugin(configs[profileIndex], without)
	}
	profile, err := framework.NewProfile(configs[profileIndex])
	if err != nil {
		return []string{err.Error()}
	}
	record := placement.Evaluate(state, profile, seed, pod)
	mismatches := v.Expect.differences(newExpectation(record))
	mismatches = append(mismatches, v.preemptionDifferences(state, profile, pod, record)...)
	if without != decision.NoPlugin {
		return mismatches
	}
	return append(mismatches, fastPathDifferences(state, profile, pod, record)...)
}

// profiles reads the configuration of the vector and applies its feature gates.
func (v *schedulingVector) profiles() ([]framework.Config, error) {
	k := config.DefaultKubeScheduler()
	if len(v.Config) > 0 {
		var head runtime.TypeMeta
		if err := json.Unmarshal(v.Config, &head); err != nil {
			return nil, fmt.Errorf("config: %w", err)
		}
		var err error
		k, err = config.ReadKubeScheduler(config.Document{File: "config", APIVersion: head.APIVersion, Kind: head.Kind, JSON: v.Config})
		if err != nil {
			return nil, err
		}
	}
	for gate, enabled := range v.FeatureGates {
		if gate != "TaintTolerationComparisonOperators" {
			return nil, fmt.Errorf("featureGates: %q: must be TaintTolerationComparisonOperators", gate)
		}
		for i := range k.Profiles {
			k.Profiles[i].NumericTolerations = enabled
		}
	}
	return k.Profiles, nil
}

// cluster returns the state of the vector and its pod, as a scheduler with the profiles has them. The pod of a
// direct vector is not part of the state, even if it names a node.
func (v *schedulingVector) cluster(profiles []framework.Config) (*cluster.State, *model.Pod, error) {
	converter := conversion.New()
	var objects []runtime.Object
	var pod *model.Pod
	for i, raw := range v.Objects {
		o, _, err := scheme.Codecs.UniversalDeserializer().Decode(raw, nil, nil)
		if err != nil {
			return nil, nil, fmt.Errorf("objects[%d]: %w", i, err)
		}
		if p, ok := o.(*corev1.Pod); ok {
			if p.UID == "" {
				p.UID = types.UID(p.Namespace + "/" + p.Name)
			}
			if p.Namespace+"/"+p.Name == v.Pod {
				pod = converter.Pod(p)
				if v.Direct {
					continue
				}
			}
		}
		objects = append(objects, o)
	}
	if pod == nil {
		return nil, nil, fmt.Errorf("pod %q is not among the objects", v.Pod)
	}
	var schedulers []string
	for _, p := range profiles {
		schedulers = append(schedulers, p.Name)
	}
	state, _, ignored := converter.Snapshot(objects, schedulers...)
	if ignored > 0 {
		return nil, nil, fmt.Errorf("%d objects are of kinds that scheduling does not read", ignored)
	}
	return state, pod, nil
}
