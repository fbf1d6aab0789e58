package conformance_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement"
	"github.com/berthproject/berth/engine/scheduling"
	"github.com/berthproject/berth/explain"
)

// TestSchedulingMessages compares the texts of FailedScheduling, without what
// preemption and device claims add to them.
func TestSchedulingMessages(t *testing.T) {
	families := loadFamilies(t, "scheduling")
	different := divergent(t)
	for _, family := range slices.Sorted(maps.Keys(families)) {
		passed := 0
		for _, raw := range families[family] {
			var v schedulingVector
			if err := json.Unmarshal(raw, &v); err != nil {
				t.Fatalf("%s: %v", family, err)
			}
			if v.Expect.Message == "" || different[v.ID] {
				continue
			}
			if got, want := v.message(t), withoutPreemption(v.Expect.Message); got != want {
				t.Errorf("%s (%s)\n  got  %s\n  want %s", v.ID, v.Note, got, want)
				continue
			}
			passed++
		}
		fmt.Printf("%s: %d messages passed\n", family, passed)
	}
}

// message decides as the scheduling machine does and words the summary.
func (v *schedulingVector) message(t *testing.T) string {
	t.Helper()
	configs, err := v.profiles()
	if err != nil {
		t.Fatalf("%s: %v", v.ID, err)
	}
	state, pod, err := v.cluster(configs)
	if err != nil {
		t.Fatalf("%s: %v", v.ID, err)
	}
	own := max(0, slices.IndexFunc(configs, func(c placement.Config) bool { return c.Name == pod.Spec.SchedulerName }))
	profile, err := placement.NewProfile(configs[own])
	if err != nil {
		t.Fatalf("%s: %v", v.ID, err)
	}
	return explain.Message(decide(scheduling.Placed(profile, seed, 0).New(state), pod))
}

func decide(p scheduling.Placer, pod *model.Pod) *decision.Summary {
	var s decision.Summary
	p.Decide(pod, &s)
	return &s
}

// withoutPreemption cuts what comes after the first sentence: it is preemption's.
func withoutPreemption(message string) string {
	if !strings.HasPrefix(message, "0/") {
		return message
	}
	for _, begins := range []string{". no new claims to deallocate", ". not found", ". preemption:"} {
		if i := strings.Index(message, begins); i >= 0 {
			return message[:i+1]
		}
	}
	return message
}
