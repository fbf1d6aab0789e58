package scheduler

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement/framework"
	"github.com/berthproject/berth/engine/scheduling"
	"github.com/berthproject/berth/engine/scheduling/profiles"
	"github.com/berthproject/berth/internal/conversion"
)

// largePod returns a pod whose affinity terms differ from those of all other pods.
func largePod(n, terms, values int) *corev1.Pod {
	antiAffinity := &corev1.PodAntiAffinity{}
	for t := range terms {
		r := metav1.LabelSelectorRequirement{Key: fmt.Sprintf("key-%d-%d", n, t), Operator: metav1.LabelSelectorOpIn}
		for v := range values {
			r.Values = append(r.Values, fmt.Sprintf("%s-%d-%d-%d", strings.Repeat("v", 40), n, t, v))
		}
		antiAffinity.PreferredDuringSchedulingIgnoredDuringExecution = append(antiAffinity.PreferredDuringSchedulingIgnoredDuringExecution,
			corev1.WeightedPodAffinityTerm{Weight: 1, PodAffinityTerm: corev1.PodAffinityTerm{TopologyKey: "zone",
				LabelSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{r}}}})
	}
	name := fmt.Sprint("pod-", n)
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "tenant", Name: name, UID: types.UID(name), Labels: map[string]string{"n": name}},
		Spec: corev1.PodSpec{SchedulerName: "default-scheduler", Affinity: &corev1.Affinity{PodAntiAffinity: antiAffinity}}}
}

// TestChurnOfLargePodsUsesBoundedMemory checks that pods with large specifications that are created and deleted one
// at a time leave a bounded amount of memory.
func TestChurnOfLargePodsUsesBoundedMemory(t *testing.T) {
	profile, err := framework.NewProfile(framework.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	config := scheduling.DefaultConfig()
	config.Profiles = []profiles.Profile{profiles.New(profile, 1, 0)}
	m, converter, decisions := scheduling.New(config), conversion.New(), newDecisionCache()
	metrics := newMetrics([]framework.Config{*profile.Config()}, clock.RealClock{})
	now := time.Unix(0, 0)
	m.Step(now, []scheduling.Event{&model.Node{Name: "n1", UID: "n1", Ready: true, AllocatablePods: 110, Allocatable: model.Resources{MilliCPU: 4000, Memory: 8 << 30},
		Labels: model.LabelsOf(map[string]string{"zone": "a"})}}, 10)
	before := heap()
	bytes := 0
	const pods = 400
	for n := range pods {
		object := largePod(n, 100, 60)
		pod := converter.Pod(object)
		bytes += pod.Spec.Bytes()
		effects, _ := m.Step(now, []scheduling.Event{pod}, 10)
		if len(effects) != 1 {
			t.Fatalf("effects %v, want a Bind", effects)
		}
		bind := effects[0].(scheduling.Bind)
		decisions.onDecided(now, effects)
		metrics.onStep(m, nil, effects, time.Millisecond)
		object.Spec.NodeName = bind.Node
		m.Step(now, []scheduling.Event{scheduling.Outcome{ID: bind.ID, Result: scheduling.Done}, converter.Pod(object)}, 10)
		m.Step(now, []scheduling.Event{scheduling.Remove{Object: pod}}, 10)
	}
	usage := m.CacheUsage()
	_, shared := converter.Usage()
	_, recent := decisions.usage()
	t.Logf("created specifications of %d MiB; caches: index %d, classes %d, specifications %d, decisions %d, pending counts %d KiB; heap +%d MiB", bytes>>20,
		usage.IndexBytes>>10, usage.ClassBytes>>10, shared>>10, recent>>10, metrics.evaluations.bytes>>10, (heap()-before)>>20)
	if bytes < 150<<20 {
		t.Fatalf("created specifications of %d MiB, want at least 150", bytes>>20)
	}
	total := usage.IndexBytes + usage.ClassBytes + shared + recent + metrics.evaluations.bytes
	if limit := 100 << 20; total > limit {
		t.Errorf("the caches use %d MiB, want at most %d", total>>20, limit>>20)
	}
	runtime.KeepAlive(converter)
	runtime.KeepAlive(decisions)
	runtime.KeepAlive(metrics)
}

// heap returns the bytes of live objects.
func heap() int {
	runtime.GC()
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return int(s.HeapAlloc)
}
