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

// TestResourceClaimUpdatesGatedPod checks that a pod gated by a device claim is evaluated again when
// the claim is created or deleted.
func TestResourceClaimUpdatesGatedPod(t *testing.T) {
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
		t.Errorf("the reason with the claim is %q, want another one", after)
	}
	s.step("gated:a:DynamicResources", Remove{&model.ResourceClaim{Namespace: "ns", Name: "c"}})
	if reason := s.last[0].(ReportGated).Verdict.Reasons[0].String(); reason != before {
		t.Errorf("without the claim the reason is %q, want %q", reason, before)
	}
	if decision.ResourceClaimChanged&plugins.Events(decision.DynamicResources) == 0 {
		t.Error("DynamicResources does not register ResourceClaimChanged")
	}
}

// TestOtherSchedulersNominationsReserveNothing checks that only nominations of this scheduler's pods
// reserve resources.
func TestOtherSchedulersNominationsReserveNothing(t *testing.T) {
	s := newMachineTest(t)
	nominated := func(uid, scheduler string) *model.Pod {
		return &model.Pod{Namespace: "ns", Name: uid, UID: uid, NominatedNodeName: "n2",
			Spec: &model.PodSpec{SchedulerName: scheduler, NeverPreempts: true, Requests: model.Resources{MilliCPU: 5000}}}
	}
	s.step("report:own-pod:unschedulable", &model.Node{Name: "n2"}, nominated("own-pod", "default-scheduler"), nominated("other-pod", "other"))
	id, _ := s.m.State().NodeID("n2")
	if got := s.m.State().Nominated(id); len(got) != 1 || got[0].UID != "own-pod" {
		t.Errorf("pods %v are nominated to n2, want only own-pod", got)
	}
}
