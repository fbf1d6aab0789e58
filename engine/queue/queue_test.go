package queue

import (
	"strings"
	"testing"
	"time"

	"github.com/berthproject/berth/engine/decision"
)

var (
	t0  = time.Unix(1000, 0)
	fit = decision.RuleSet(0).With(decision.NodeResourcesFit)
)

func after(d time.Duration) time.Time { return t0.Add(d) }

func testQueue() *Queue {
	cfg := DefaultConfig()
	cfg.Cares = cares
	return New(cfg)
}

// next takes a pod and returns its uid, "" when there is none.
func next(q *Queue, now time.Time) string {
	a, _ := q.Next(now)
	return a.UID
}

func TestOrderIsPriorityThenEntryThenName(t *testing.T) {
	q := testQueue()
	q.Enter(after(1), Pod{UID: "late", Namespace: "ns", Name: "a"})
	q.Enter(t0, Pod{UID: "z", Namespace: "ns", Name: "z"})
	q.Enter(t0, Pod{UID: "b", Namespace: "ns", Name: "b"})
	q.Enter(after(2), Pod{UID: "high", Namespace: "ns", Name: "c", Priority: 5})
	for _, want := range []string{"high", "b", "z", "late", ""} {
		if got := next(q, after(3)); got != want {
			t.Fatalf("next is %q, want %q", got, want)
		}
	}
}

func TestRejectedPodWaitsForAChangeThatConcernsIt(t *testing.T) {
	q := testQueue()
	q.Enter(t0, Pod{UID: "a"})
	next(q, t0)
	q.Reject(t0, "a", fit)
	q.Changed(after(time.Second), decision.Delta{Kinds: decision.NodeTaints})
	if got := q.Where("a"); got != Unschedulable {
		t.Fatalf("after a taint change the pod is in %v", got)
	}
	q.Changed(after(5*time.Second), decision.Delta{Kinds: decision.PodRemoved})
	if got := q.Where("a"); got != Active {
		t.Fatalf("after its back-off and a removal the pod is in %v", got)
	}
}

func TestChangeInFlightCountsOnReturn(t *testing.T) {
	q := testQueue()
	q.Enter(t0, Pod{UID: "a"})
	next(q, t0)
	q.Changed(t0, decision.Delta{Kinds: decision.NodeAdded})
	q.Reject(t0, "a", fit)
	if got := q.Where("a"); got != Backoff {
		t.Fatalf("the pod is in %v, want the back-off", got)
	}
}

func TestErrorsBackOffByThemselves(t *testing.T) {
	q := testQueue()
	q.Enter(t0, Pod{UID: "a"})
	now := t0
	for _, want := range []time.Duration{2, 3, 5, 9, 11, 11} { // 1, 2, 4, 8, 10, 10 s and the rest of the window
		if got := next(q, now); got != "a" {
			t.Fatalf("next is %q", got)
		}
		q.Fail(now, "a")
		if got := q.Wake(now).Sub(now); got != want*time.Second {
			t.Fatalf("wakes after %v, want %v s", got, want)
		}
		if got := next(q, now); got != "" {
			t.Fatal("a pod that failed was taken before its time")
		}
		now = q.Wake(now)
	}
	next(q, now)
	q.Reject(now, "a", 0)
	q.Changed(now, decision.Delta{Kinds: decision.GroupChanged}) // rejected by no rule: any change will do
	if got := next(q, now); got != "a" {
		t.Fatal("a rejected pod is taken from the back-off when nothing is active")
	}
}

func TestLeftoversAreTriedAfterFiveMinutes(t *testing.T) {
	q := testQueue()
	q.Enter(t0, Pod{UID: "a"})
	next(q, t0)
	q.Reject(t0, "a", fit)
	now, asked := t0, 0
	for q.Where("a") == Unschedulable {
		now = q.Wake(now)
		q.mature(now)
		asked++
	}
	if got := now.Sub(t0); got != 5*time.Minute || asked != 10 {
		t.Fatalf("flushed after %v and %d looks", got, asked)
	}
}

// Only who got a node as a leftover is counted, not who was flushed some time before: a gated pod is, every five minutes.
func TestWhoGetsANodeAsALeftoverIsCounted(t *testing.T) {
	const gate = decision.SchedulingGates
	for name, tc := range map[string]struct {
		gated bool // at first, and still so after five minutes
		want  uint64
	}{"rejected": {false, 1}, "gated": {true, 0}} {
		q, p := testQueue(), Pod{UID: "a"}
		if tc.gated {
			q.EnterGated(t0, p, gate)
		} else {
			q.Enter(t0, p)
			next(q, t0)
			q.Reject(t0, "a", fit)
		}
		now := after(6 * time.Minute)
		if got := next(q, now); got != "a" {
			t.Fatalf("%s: after six minutes %q is tried", name, got)
		}
		if tc.gated {
			q.EnterGated(now, p, gate)
			q.Update(now, p, true)
			next(q, now)
		}
		if q.Granted("a"); q.Counts().Flushed != tc.want {
			t.Errorf("%s: %d pods got a node as leftovers, want %d", name, q.Counts().Flushed, tc.want)
		}
	}
}

func TestArrivalsNamePoolAndCause(t *testing.T) {
	q := testQueue()
	q.Enter(t0, Pod{UID: "a"})
	next(q, t0)
	q.Reject(t0, "a", fit)
	q.Changed(t0, decision.Delta{Kinds: decision.NodeAdded})
	var got []string
	q.Arrivals(func(p Pool, c Cause, n uint64) { got = append(got, p.String()+" "+c.String()) })
	want := []string{"active PodAdd", "backoff NodeAdd", "unschedulable ScheduleAttemptFailure"}
	if len(got) != len(want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("arrival %d is %q, want %q", i, got[i], want[i])
		}
	}
}

// TestEveryCauseHasKubeSchedulersName holds the label values of queue_incoming_pods_total. A star stands for what was done to the object.
func TestEveryCauseHasKubeSchedulersName(t *testing.T) {
	for cause, want := range map[Cause]string{
		PodAdd: "PodAdd", PodUpdate: "PodUpdate", GatesGone: "PodUpdatePodSchedulingGatesEliminated", AttemptFailed: "ScheduleAttemptFailure",
		BackoffComplete: "BackoffComplete", Leftover: "UnschedulableTimeout", ForceActivate: "ForceActivate", Audited: "SelfAudit",
	} {
		if got := cause.String(); got != want {
			t.Errorf("cause %d is %q, want %q", cause, got, want)
		}
	}
	changes := map[decision.Change]string{
		decision.NodeAdded: "NodeAdd", decision.NodeRemoved: "NodeDelete", decision.NodeAllocatable: "NodeUpdateNodeAllocatable",
		decision.NodeLabels: "NodeUpdateNodeLabel", decision.NodeTaints: "NodeUpdateNodeTaint", decision.NodeSchedulable: "NodeUpdateNodeTaint",
		decision.NodeFeatures: "NodeUpdateNodeDeclaredFeature", decision.PodAssigned: "AssignedPodAdd", decision.PodRelabelled: "AssignedPodUpdatePodLabel",
		decision.PodScaledDown: "AssignedPodUpdatePodScaleDown", decision.PodLeaving: "AssignedPodUpdate", decision.PodRemoved: "AssignedPodDelete",
		decision.GroupChanged: "Group*", decision.NamespaceRelabel: "Namespace*", decision.ClaimChanged: "PersistentVolumeClaim*",
		decision.VolumeChanged: "PersistentVolume*", decision.ClassChanged: "storage.k8s.io/StorageClass*", decision.CSINodeChanged: "storage.k8s.io/CSINode*",
		decision.CSIDriverChanged: "storage.k8s.io/CSIDriver*", decision.CapacityChanged: "storage.k8s.io/CSIStorageCapacity*",
		decision.AttachmentChanged: "storage.k8s.io/VolumeAttachment*", decision.BudgetChanged: "PodDisruptionBudget*",
		decision.DevicesChanged: "resource.k8s.io/ResourceClaim*", decision.HoldEnded: "berth.dev/Hold*",
	}
	if len(changes) != decision.NumChanges {
		t.Errorf("%d kinds of changes are looked at, there are %d", len(changes), decision.NumChanges)
	}
	for kind, name := range changes {
		for done, d := range map[string]decision.Delta{"Add": {Kinds: kind, New: t}, "Update": {Kinds: kind, Old: t, New: t}, "Delete": {Kinds: kind, Old: t}} {
			q := testQueue()
			q.Enter(t0, Pod{UID: "a"})
			next(q, t0)
			q.Reject(t0, "a", 0)
			q.Changed(t0, d)
			woken, want := "", strings.Replace(name, "*", done, 1)
			q.Arrivals(func(p Pool, c Cause, n uint64) {
				if p == Backoff {
					woken += c.String()
				}
			})
			if woken != want {
				t.Errorf("%s of change %b wakes by %q, want %q", done, kind, woken, want)
			}
		}
	}
}
