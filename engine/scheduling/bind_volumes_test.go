package scheduling

import (
	"strings"
	"testing"
	"time"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement/framework"
	"github.com/berthproject/berth/engine/queue"
	"github.com/berthproject/berth/engine/scheduling/profiles"
)

// stored returns a machineTest with all plugins, two nodes, a volume on n1 and a claim "c" on it. Claims
// of class "made" can be provisioned anywhere.
func stored(t *testing.T, limit time.Duration) *machineTest {
	t.Helper()
	cfg := framework.DefaultConfig()
	cfg.VolumeBindTimeout = limit
	p, err := framework.NewProfile(cfg)
	if err != nil {
		t.Fatal(err)
	}
	c := DefaultConfig()
	c.Profiles, c.AuditInterval = []profiles.Profile{profiles.New(p, 1, 0)}, 0
	s := &machineTest{t: t, m: New(c), now: t0}
	host := func(n string) model.Labels {
		return model.Labels{{Key: framework.HostnameKey, Value: n}}
	}
	s.step("", &model.Node{Name: "n1", UID: "n1", AllocatablePods: 10, Labels: host("n1")}, &model.Node{Name: "n2", UID: "n2", AllocatablePods: 10, Labels: host("n2")},
		&model.StorageClass{Name: "local", Provisioner: "kubernetes.io/no-provisioner", WaitForFirstConsumer: true},
		&model.StorageClass{Name: "made", Provisioner: "x", WaitForFirstConsumer: true},
		disk(model.ClaimRef{}), claim("c", "local"), claim("d", "local"), claim("m", "made"))
	return s
}

func disk(of model.ClaimRef) *model.PersistentVolume {
	return &model.PersistentVolume{Name: "v", Class: "local", Capacity: 10, Phase: "Available", Claim: of,
		Affinity: &model.VolumeNodeAffinity{Terms: []model.NodeSelectorTerm{{Labels: []model.Requirement{{Key: framework.HostnameKey, Op: model.In, Values: []string{"n1"}}}}}}}
}

func claim(name, class string) *model.PersistentVolumeClaim {
	return &model.PersistentVolumeClaim{Namespace: "ns", Name: name, UID: name, Class: &class, Request: 5}
}

func using(name string, claims ...string) *model.Pod {
	p := &model.Pod{Namespace: "ns", Name: name, UID: name, Spec: &model.PodSpec{SchedulerName: "default-scheduler"}}
	for _, c := range claims {
		p.Spec.Claims = append(p.Spec.Claims, model.PodClaim{Claim: c})
	}
	return p
}

func (s *machineTest) rejects(words string) {
	s.t.Helper()
	for _, e := range s.last {
		if r, ok := e.(ReportUnschedulable); ok && strings.Contains(r.Summary.Error, words) {
			return
		}
	}
	s.t.Errorf("no rejection has %q: %+v", words, s.last)
}

func TestBindAfterVolumesAreBound(t *testing.T) {
	s := stored(t, 10*time.Minute)
	s.step("volumes:a:n1", using("a", "c"))
	if plan := s.last[0].(BindVolumes).Plan; len(plan.Bind) != 1 || plan.Bind[0].Volume.Name != "v" || plan.Bind[0].Claim.Name != "c" {
		t.Errorf("got plan %+v", plan)
	}
	written := s.answer(0, Done)
	s.step("report:b:unschedulable", using("b", "d")) // the volume is in use while the first pod is in flight
	s.step("", written)
	s.step("", disk(model.ClaimRef{Namespace: "ns", Name: "c", UID: "c"}))
	bound := claim("c", "local")
	bound.VolumeName, bound.Bound = "v", true
	s.step("bind:a:n1", bound)
}

// A claim that is not bound within the profile's limit fails the attempt and releases the volume.
func TestUnboundPVCTimesOut(t *testing.T) {
	s := stored(t, 10*time.Minute)
	s.step("volumes:a:n1", using("a", "c"))
	s.step("", s.answer(0, Done))
	s.wait(10*time.Minute - time.Second)
	s.step("")
	if !s.m.state.Assumed("a") || s.m.state.VolumePlan("a") == nil {
		t.Fatal("the attempt ended early")
	}
	s.wait(time.Second)
	s.step("report:a:error volumes:b:n1", using("b", "d"))
	s.rejects("not bound within 10m0s")
	s.expectPool("a", queue.ErrorBackoff)
	if s.m.state.VolumePlan("a") != nil {
		t.Error("the plan is still assumed")
	}
}

func TestZeroVolumeBindTimeout(t *testing.T) {
	s := stored(t, 0)
	s.step("volumes:a:n1", using("a", "c"))
	s.step("report:a:error", s.answer(0, Done))
}

func TestBindVolumesOutcomes(t *testing.T) {
	for _, tc := range []struct {
		result  Result
		effects string
		words   string
	}{
		{Refused, "report:a:error", `binding volumes for node "n1" was refused: why`},
		{Conflict, "", ""},
	} {
		s := stored(t, time.Minute)
		s.step("volumes:a:n1", using("a", "c"))
		s.step(tc.effects, s.answer(0, tc.result))
		if tc.words != "" {
			s.rejects(tc.words)
		}
		s.expectPool("a", queue.ErrorBackoff)
		if s.m.state.Assumed("a") || s.m.state.VolumePlan("a") != nil {
			t.Errorf("%s: volumes are still assumed", tc.result)
		}
	}
}

func TestUnknownBindVolumesIsRetried(t *testing.T) {
	s := stored(t, time.Minute)
	s.step("volumes:a:n1", using("a", "c"))
	s.step("", s.answer(0, Unknown))
	s.wait(s.m.cfg.RetryInterval)
	s.step("volumes:a:n1")
}

// The provisioner removes the selected node: the pod is rescheduled immediately.
func TestSelectedNodeRemovedByProvisioner(t *testing.T) {
	s := stored(t, 10*time.Minute)
	full := &model.Node{Name: "n1", UID: "n1", Unschedulable: true}
	s.step("", full)
	s.step("volumes:a:n2", using("a", "m"))
	s.step("", s.answer(0, Done))
	chosen := claim("m", "made")
	chosen.HasSelectedNode, chosen.SelectedNode = true, "n2"
	s.step("", chosen)
	s.step("report:a:error", claim("m", "made"))
	s.rejects(`persistentvolumeclaim "m" must no longer be provisioned for node "n2"`)
	s.wait(2 * time.Second)
	s.step("volumes:a:n2")
}

// A pod in flight is deleted before any write: pods that wait for its volume are requeued.
func TestDeletedPodReleasesVolumes(t *testing.T) {
	s := stored(t, 10*time.Minute)
	s.step("volumes:a:n1", using("a", "c"))
	s.step("report:b:unschedulable", using("b", "d"))
	s.wait(2 * time.Second)
	s.step("volumes:b:n1", Remove{using("a", "c")})
	s.step("report:a:unschedulable", using("a", "c"))
	s.wait(2 * time.Second)
	otherPod := using("b", "d")
	otherPod.NodeName = "n2" // by another client
	s.step("volumes:a:n1", otherPod)
}

// So are pods that wait for the volume of a terminating pod,
func TestTerminatingPodReleasesVolumes(t *testing.T) {
	s := stored(t, 10*time.Minute)
	s.step("volumes:a:n1", using("a", "c"))
	s.step("", s.answer(0, Unknown))
	s.step("report:b:unschedulable", using("b", "d"))
	s.wait(2 * time.Second)
	terminating := using("a", "c")
	terminating.Deleting = true
	s.step("volumes:b:n1", terminating)
}

// and of an assumed pod that is preempted.
func TestPreemptedAssumedPodReleasesVolumes(t *testing.T) {
	s := stored(t, 10*time.Minute)
	n1 := &model.Node{Name: "n1", UID: "n1", AllocatablePods: 10, Allocatable: model.Resources{MilliCPU: 1000}, Labels: model.Labels{{Key: framework.HostnameKey, Value: "n1"}}}
	s.step("", Remove{&model.Node{Name: "n2", UID: "n2"}}, n1)
	low, high := using("a", "c"), using("high")
	low.Spec.Requests.MilliCPU, high.Spec.Requests.MilliCPU, high.Spec.Priority = 600, 600, 1
	s.step("volumes:a:n1", low)
	s.step("report:b:unschedulable", using("b", "d"))
	s.wait(2 * time.Second)
	s.step("report:high:unschedulable report:a:unschedulable preempt:high:n1 volumes:b:n1 report:a:unschedulable", high)
}
