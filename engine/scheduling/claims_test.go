package scheduling

import (
	"testing"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement/framework"
	"github.com/berthproject/berth/engine/placement/plugins"
	"github.com/berthproject/berth/engine/queue"
	"github.com/berthproject/berth/engine/scheduling/profiles"
)

// A pod that waits for a device claim is evaluated again when the claim appears.
func TestPVCRequeuesWaitingPod(t *testing.T) {
	profile, err := framework.NewProfile(framework.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	cfg := DefaultConfig()
	cfg.Profiles = []profiles.Profile{{Name: "default-scheduler", NewPlacer: func(s *cluster.State) profiles.Placer { return profiles.New(profile, 1, 0).NewPlacer(s) }}}
	s := &machineTest{t: t, m: New(cfg), now: t0}
	waiting := &model.Pod{Namespace: "ns", Name: "a", UID: "a", Spec: &model.PodSpec{
		SchedulerName: "default-scheduler", ResourceClaims: []model.PodResourceClaim{{Name: "gpu", Claim: "c"}},
	}}
	s.step("gated:a:DynamicResources", waiting)
	s.expectPool("a", queue.Gated)
	before := s.last[0].(ReportGated).Verdict.Reasons[0].String()
	s.step("gated:a:DynamicResources", &model.ResourceClaim{Namespace: "ns", Name: "c"})
	if after := s.last[0].(ReportGated).Verdict.Reasons[0].String(); after == before {
		t.Errorf("the reason is still %q", after)
	}
	s.step("gated:a:DynamicResources", Remove{&model.ResourceClaim{Namespace: "ns", Name: "c"}})
	if again := s.last[0].(ReportGated).Verdict.Reasons[0].String(); again != before {
		t.Errorf("without the claim the reason is %q, want %q", again, before)
	}
}

// Only nominations of this scheduler's pods reserve resources.
func TestForeignNominationsReserveNothing(t *testing.T) {
	s := newMachineTest(t)
	nominated := func(uid, scheduler string) *model.Pod {
		return &model.Pod{Namespace: "ns", Name: uid, UID: uid, NominatedNodeName: "n2",
			Spec: &model.PodSpec{SchedulerName: scheduler, NeverPreempts: true, Requests: model.Resources{MilliCPU: 5000}}}
	}
	s.step("report:ours:unschedulable", &model.Node{Name: "n2"}, nominated("ours", "default-scheduler"), nominated("theirs", "other"))
	id, _ := s.m.State().NodeID("n2")
	if got := s.m.State().Nominated(id); len(got) != 1 || got[0].UID != "ours" {
		t.Errorf("nominated to n2 are %v, want only this scheduler's pod", got)
	}
	if decision.ResourceClaimChanged&plugins.Events(decision.DynamicResources) == 0 {
		t.Error("a change of device claims requeues no pod")
	}
}
