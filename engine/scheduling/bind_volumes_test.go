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

// newVolumeTest returns a machineTest with all plugins, two nodes, a volume on n1 and claims. Claims
// of class "csi" can be provisioned on any node.
func newVolumeTest(t *testing.T, timeout time.Duration) *machineTest {
	t.Helper()
	cfg := framework.DefaultConfig()
	cfg.VolumeBindTimeout = timeout
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
		&model.StorageClass{Name: "csi", Provisioner: "x", WaitForFirstConsumer: true},
		newVolume(model.ClaimRef{}), claim("c", "local"), claim("d", "local"), claim("m", "csi"))
	return s
}

func newVolume(claim model.ClaimRef) *model.PersistentVolume {
	return &model.PersistentVolume{Name: "v", Class: "local", Capacity: 10, Phase: "Available", Claim: claim,
		Affinity: &model.VolumeNodeAffinity{Terms: []model.NodeSelectorTerm{{Labels: []model.Requirement{{Key: framework.HostnameKey, Op: model.In, Values: []string{"n1"}}}}}}}
}

func claim(name, class string) *model.PersistentVolumeClaim {
	return &model.PersistentVolumeClaim{Namespace: "ns", Name: name, UID: name, Class: &class, Request: 5}
}

func podWithClaims(name string, claims ...string) *model.Pod {
	p := &model.Pod{Namespace: "ns", Name: name, UID: name, Spec: &model.PodSpec{SchedulerName: "default-scheduler"}}
	for _, c := range claims {
		p.Spec.Claims = append(p.Spec.Claims, model.PodClaim{Claim: c})
	}
	return p
}

// expectError checks that a report of the last step has an error with the text.
func (s *machineTest) expectError(text string) {
	s.t.Helper()
	for _, e := range s.last {
		if r, ok := e.(ReportUnschedulable); ok && strings.Contains(r.Summary.Error, text) {
			return
		}
	}
	s.t.Errorf("effects %+v, want a report with error %q", s.last, text)
}

func TestBindAfterVolumesAreBound(t *testing.T) {
	s := newVolumeTest(t, 10*time.Minute)
	s.step("volumes:a:n1", podWithClaims("a", "c"))
	if plan := s.last[0].(BindVolumes).Plan; len(plan.Bind) != 1 || plan.Bind[0].Volume.Name != "v" || plan.Bind[0].Claim.Name != "c" {
		t.Errorf("plan %+v, want to bind claim c to volume v", plan)
	}
	written := s.outcome(0, Done)
	s.step("report:b:unschedulable", podWithClaims("b", "d")) // the volume is in use while the first pod is in flight
	s.step("", written)
	s.step("", newVolume(model.ClaimRef{Namespace: "ns", Name: "c", UID: "c"}))
	bound := claim("c", "local")
	bound.VolumeName, bound.Bound = "v", true
	s.step("bind:a:n1", bound)
}

// TestUnboundPVCTimesOut checks that a claim that is not bound within the profile's timeout fails the
// attempt and releases the volume.
func TestUnboundPVCTimesOut(t *testing.T) {
	s := newVolumeTest(t, 10*time.Minute)
	s.step("volumes:a:n1", podWithClaims("a", "c"))
	s.step("", s.outcome(0, Done))
	s.wait(10*time.Minute - time.Second)
	s.step("")
	if !s.m.state.Assumed("a") || s.m.state.VolumePlan("a") == nil {
		t.Fatal("the attempt ended early")
	}
	s.wait(time.Second)
	s.step("report:a:error volumes:b:n1", podWithClaims("b", "d"))
	s.expectError("not bound within 10m0s")
	s.expectPool("a", queue.ErrorBackoff)
	if s.m.state.VolumePlan("a") != nil {
		t.Error("the plan is still assumed")
	}
}

func TestZeroVolumeBindTimeout(t *testing.T) {
	s := newVolumeTest(t, 0)
	s.step("volumes:a:n1", podWithClaims("a", "c"))
	s.step("report:a:error", s.outcome(0, Done))
}

func TestBindVolumesOutcomes(t *testing.T) {
	for _, tc := range []struct {
		result  Result
		effects string
		text    string
	}{
		{Refused, "report:a:error", `binding volumes for node "n1" was refused: server error`},
		{Conflict, "", ""},
	} {
		s := newVolumeTest(t, time.Minute)
		s.step("volumes:a:n1", podWithClaims("a", "c"))
		s.step(tc.effects, s.outcome(0, tc.result))
		if tc.text != "" {
			s.expectError(tc.text)
		}
		s.expectPool("a", queue.ErrorBackoff)
		if s.m.state.Assumed("a") || s.m.state.VolumePlan("a") != nil {
			t.Errorf("%s: volumes are still assumed", tc.result)
		}
	}
}

func TestUnknownBindVolumesIsRetried(t *testing.T) {
	s := newVolumeTest(t, time.Minute)
	s.step("volumes:a:n1", podWithClaims("a", "c"))
	s.step("", s.outcome(0, Unknown))
	s.wait(s.m.cfg.RetryInterval)
	s.step("volumes:a:n1")
}

// TestSelectedNodeRemovedByProvisioner checks that a pod is rescheduled after the provisioner removed
// the selected node.
func TestSelectedNodeRemovedByProvisioner(t *testing.T) {
	s := newVolumeTest(t, 10*time.Minute)
	cordoned := &model.Node{Name: "n1", UID: "n1", Unschedulable: true}
	s.step("", cordoned)
	s.step("volumes:a:n2", podWithClaims("a", "m"))
	s.step("", s.outcome(0, Done))
	selected := claim("m", "csi")
	selected.HasSelectedNode, selected.SelectedNode = true, "n2"
	s.step("", selected)
	s.step("report:a:error", claim("m", "csi"))
	s.expectError(`persistentvolumeclaim "m" must no longer be provisioned for node "n2"`)
	s.wait(2 * time.Second)
	s.step("volumes:a:n2")
}

// TestDeletedPodReleasesVolumes checks that the deletion of a pod in flight requeues the pods that
// wait for its volume.
func TestDeletedPodReleasesVolumes(t *testing.T) {
	s := newVolumeTest(t, 10*time.Minute)
	s.step("volumes:a:n1", podWithClaims("a", "c"))
	s.step("report:b:unschedulable", podWithClaims("b", "d"))
	s.wait(2 * time.Second)
	s.step("volumes:b:n1", Remove{podWithClaims("a", "c")})
	s.step("report:a:unschedulable", podWithClaims("a", "c"))
	s.wait(2 * time.Second)
	otherPod := podWithClaims("b", "d")
	otherPod.NodeName = "n2" // by another client
	s.step("volumes:a:n1", otherPod)
}

// TestTerminatingPodReleasesVolumes checks that a pod in flight releases its volume when it terminates.
func TestTerminatingPodReleasesVolumes(t *testing.T) {
	s := newVolumeTest(t, 10*time.Minute)
	s.step("volumes:a:n1", podWithClaims("a", "c"))
	s.step("", s.outcome(0, Unknown))
	s.step("report:b:unschedulable", podWithClaims("b", "d"))
	s.wait(2 * time.Second)
	terminating := podWithClaims("a", "c")
	terminating.Deleting = true
	s.step("volumes:b:n1", terminating)
}

// TestPreemptedAssumedPodReleasesVolumes checks that an assumed pod releases its volume when it is
// preempted.
func TestPreemptedAssumedPodReleasesVolumes(t *testing.T) {
	s := newVolumeTest(t, 10*time.Minute)
	n1 := &model.Node{Name: "n1", UID: "n1", AllocatablePods: 10, Allocatable: model.Resources{MilliCPU: 1000}, Labels: model.Labels{{Key: framework.HostnameKey, Value: "n1"}}}
	s.step("", Remove{&model.Node{Name: "n2", UID: "n2"}}, n1)
	low, high := podWithClaims("a", "c"), podWithClaims("high")
	low.Spec.Requests.MilliCPU, high.Spec.Requests.MilliCPU, high.Spec.Priority = 600, 600, 1
	s.step("volumes:a:n1", low)
	s.step("report:b:unschedulable", podWithClaims("b", "d"))
	s.wait(2 * time.Second)
	s.step("report:high:unschedulable report:a:unschedulable preempt:high:n1 volumes:b:n1 report:a:unschedulable", high)
}
