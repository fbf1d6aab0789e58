package plugins

import (
	"testing"
	"time"

	"github.com/berthproject/berth/engine/descheduling"
	"github.com/berthproject/berth/engine/model"
)

func hours(n int) *time.Duration { d := time.Duration(n) * time.Hour; return &d }

// TestPodLifeTimeFailedPodsAndRestarts checks the criteria of PodLifeTime, RemoveFailedPods and
// RemovePodsHavingTooManyRestarts.
func TestPodLifeTimeFailedPodsAndRestarts(t *testing.T) {
	withAge := func(h int) func(*descheduling.Pod) {
		return func(p *descheduling.Pod) { p.Created = noon.Add(-time.Duration(h) * time.Hour) }
	}
	withPhase := func(phase model.Phase, reason string) func(*descheduling.Pod) {
		return func(p *descheduling.Pod) { p.Phase, p.Details.PhaseReason = phase, reason }
	}
	state := func(list func(*descheduling.PodDetails) *[]descheduling.Container, c descheduling.Container) func(*descheduling.Pod) {
		return func(p *descheduling.Pod) { *list(p.Details) = append(*list(p.Details), c) }
	}
	containers := func(d *descheduling.PodDetails) *[]descheduling.Container { return &d.Containers }
	initContainers := func(d *descheduling.PodDetails) *[]descheduling.Container { return &d.Init }
	ephemeral := func(d *descheduling.PodDetails) *[]descheduling.Container { return &d.Ephemeral }
	terminated := func(reason string, code int32) descheduling.Container {
		return descheduling.Container{Terminated: &descheduling.Termination{Reason: reason, ExitCode: code}, Restarts: 3}
	}
	notReady := func(p *descheduling.Pod) {
		p.Details.Conditions = []descheduling.Condition{{Type: "Ready", Status: "False", Reason: "Slow", LastTransition: noon.Add(-time.Hour)}}
	}
	job := func(p *descheduling.Pod) { p.Details.Owners = append(p.Details.Owners, model.Owner{Kind: "Job"}) }
	snapshot := func() *descheduling.Snapshot {
		return testSnapshot(numberedNodes(2),
			testPod("old", "n1", withAge(5)), testPod("older", "n2", withAge(6)), testPod("job", "n2", job, withAge(4)),
			testPod("crash", "n1", state(containers, descheduling.Container{Waiting: "CrashLoopBackOff", Restarts: 4})),
			testPod("init", "n1", state(initContainers, terminated("Error", 3)), withPhase(model.Pending, "")),
			testPod("debug", "n1", state(ephemeral, terminated("OOMKilled", 137))),
			testPod("slow", "n1", notReady),
			testPod("evicted", "n2", withPhase(model.Failed, "Evicted"), state(containers, terminated("", 1))),
			testPod("nodelost", "n2", withPhase(model.Failed, "NodeLost"), withAge(3), state(initContainers, terminated("Error", 3))),
			testPod("done", "n2", withPhase(model.Succeeded, ""), state(containers, terminated("Completed", 0))))
	}
	for _, c := range []struct {
		s    descheduling.Strategy
		want string
	}{
		{&PodLifeTime{MaxAge: hours(5)}, "older"},
		{&PodLifeTime{MaxAge: hours(2)}, "older old job nodelost"},
		{&PodLifeTime{MaxAge: hours(2), OwnerKinds: []string{"Job"}}, "job"},
		{&PodLifeTime{MaxAge: hours(2), ExcludeOwnerKinds: []string{"Job"}, Scope: descheduling.Scope{Namespaces: descheduling.Namespaces{Include: []string{"default"}}}}, "older old nodelost"},
		{&PodLifeTime{MaxAge: hours(2), Scope: descheduling.Scope{Namespaces: descheduling.Namespaces{Include: []string{"other"}}}}, ""},
		{&PodLifeTime{States: []string{"Pending", "CrashLoopBackOff", "Evicted", "Completed"}}, "crash init done evicted"},
		{&PodLifeTime{States: []string{"Error"}}, ""},
		{&PodLifeTime{States: []string{"Error"}, Init: true}, "nodelost init"},
		{&PodLifeTime{States: []string{"OOMKilled"}}, ""},
		{&PodLifeTime{States: []string{"OOMKilled"}, Ephemeral: true}, "debug"},
		{&PodLifeTime{ExitCodes: []int32{0, 1}}, "done evicted"},
		{&PodLifeTime{ExitCodes: []int32{0, 1}, States: []string{"Failed"}}, "evicted"},
		{&PodLifeTime{Conditions: []ConditionFilter{{Type: "Ready", Status: "False", MinAge: time.Hour}}}, "slow"},
		{&PodLifeTime{Conditions: []ConditionFilter{{Type: "Ready", MinAge: time.Hour + 1}, {Reason: "Fast"}}}, ""},
		{&RemoveFailedPods{}, "evicted nodelost"},
		{&RemoveFailedPods{MinAge: hours(3)}, "nodelost"},
		{&RemoveFailedPods{Reasons: []string{"Evicted", "Error"}}, "evicted"},
		{&RemoveFailedPods{Reasons: []string{"Error"}, Init: true}, "nodelost"},
		{&RemoveFailedPods{ExitCodes: []int32{3}}, ""},
		{&RemoveFailedPods{ExitCodes: []int32{3}, Init: true, ExcludeOwnerKinds: []string{"Job"}}, "nodelost"},
		{&RemoveFailedPods{ExcludeOwnerKinds: []string{"ReplicaSet"}}, ""},
		{&RemovePodsHavingTooManyRestarts{Threshold: 4}, "crash"},
		{&RemovePodsHavingTooManyRestarts{Threshold: 3}, "crash done evicted"},
		{&RemovePodsHavingTooManyRestarts{Threshold: 3, Init: true, States: []string{"Pending", "CrashLoopBackOff"}}, "crash init"},
	} {
		if got := evict(t, snapshot(), &descheduling.Policy{}, &fakeMover{}, c.s); got != c.want {
			t.Errorf("%+v: evicted %q, want %q", c.s, got, c.want)
		}
	}
}

// TestFinishedPodsAreCleanups checks that finished pods need no target node, and that running pods
// do.
func TestFinishedPodsAreCleanups(t *testing.T) {
	failed := testPod("failed", "n1", func(p *descheduling.Pod) { p.Phase = model.Failed })
	s := testSnapshot(numberedNodes(2), testPod("running", "n2"), failed)
	cleanups := map[string]bool{}
	m := &fakeMover{place: func(c *descheduling.Candidate) *descheduling.Node { cleanups[c.Pod.Name] = c.Cleanup; return nil }}
	evict(t, s, &descheduling.Policy{}, m, &PodLifeTime{MaxAge: new(time.Duration)})
	if len(cleanups) != 2 || !cleanups["failed"] || cleanups["running"] {
		t.Errorf("cleanups %v, want failed only", cleanups)
	}
}
