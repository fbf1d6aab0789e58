package conformance_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/placement/fastpath"
	"github.com/berthproject/berth/engine/placement/framework"
	"github.com/berthproject/berth/engine/preemption"
	"github.com/berthproject/berth/explain"
)

// TestSchedulingMessages checks the messages of FailedScheduling events, without the parts about device claims.
func TestSchedulingMessages(t *testing.T) {
	families := loadFamilies(t, "scheduling")
	divergent := divergentIDs(t)
	for _, family := range slices.Sorted(maps.Keys(families)) {
		passed := 0
		for _, raw := range families[family] {
			var v schedulingVector
			if err := json.Unmarshal(raw, &v); err != nil {
				t.Fatalf("%s: %v", family, err)
			}
			if v.Expect.Message == "" || divergent[v.ID] {
				continue
			}
			if got, want := v.message(t), withoutDevices(v.Expect.Message); got != want {
				t.Errorf("%s (%s)\n  got  %s\n  want %s", v.ID, v.Note, got, want)
				continue
			}
			passed++
		}
		fmt.Printf("%s: %d messages passed\n", family, passed)
	}
}

// message makes the decision of the vector and returns its message.
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
	profileIndex := max(0, slices.IndexFunc(configs, func(c framework.Config) bool { return c.Name == pod.Spec.SchedulerName }))
	profile, err := framework.NewProfile(configs[profileIndex])
	if err != nil {
		t.Fatalf("%s: %v", v.ID, err)
	}
	var summary decision.Summary
	fastpath.NewEngine(state, profile, seed).Decide(pod, &summary)
	if v.Expect.Preemption != nil { // older vectors have no preemption
		summary.Preemption = preemption.NewPlanner(state, profile, seed, preemption.Options{}).Plan(pod, &summary)
	}
	return explain.Message(&summary)
}

// withoutDevices removes the two texts about device claims that kube-scheduler adds to the message of a failed
// preemption.
func withoutDevices(message string) string {
	if !strings.HasPrefix(message, "0/") {
		return message
	}
	message = strings.Replace(message, ". no new claims to deallocate, ", ". ", 1)
	if before, cut := strings.CutSuffix(message, ". not found"); cut {
		return before + "."
	}
	return message
}
