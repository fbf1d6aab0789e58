package displacementrecords

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/engine/displacement"
	"github.com/berthproject/berth/internal/displacer"
	"github.com/berthproject/berth/internal/journal"
)

// TestOneRecordPerDisplacement checks that each displaced pod has one record, and that no other pod has one. Several
// actors displace pods in random order, with failing requests, lagging instances and crashes.
func TestOneRecordPerDisplacement(t *testing.T) {
	for seed := range uint64(2) {
		h := newHarness(t, seed, 3)
		h.faults = true
		for range 20 {
			h.createReplica()
		}
		for range 150 {
			h.now = h.now.Add(time.Duration(h.rng.IntN(2000)) * time.Millisecond)
			h.randomEvent()
		}
		h.faults = false
		h.now = h.now.Add(time.Minute)
		h.finish()
		h.check(seed)
	}
}

// randomEvent displaces or creates a pod, updates a cache, processes the queues of an instance or restarts one.
func (h *harness) randomEvent() {
	c := h.instances[h.rng.IntN(len(h.instances))]
	switch n := h.rng.IntN(10); {
	case n < 2:
		h.displace(h.randomPod())
	case n == 2:
		h.displaceByUpstream(h.randomPod())
	case n == 3:
		h.createReplica()
	case n < 6:
		h.syncCache(c, h.rng.IntN(2) == 0)
	case n < 9:
		h.processQueues(c)
	default: // a crash; the next instance has the journal
		i := h.rng.IntN(len(h.instances))
		_ = h.instances[i].o.Journal.Close()
		h.instances[i] = h.start(h.instances[i].dir)
	}
}

// randomPod returns an existing pod, or nil.
func (h *harness) randomPod() *corev1.Pod {
	list, _ := h.client.CoreV1().Pods("ns").List(h.t.Context(), metav1.ListOptions{})
	if len(list.Items) == 0 {
		return nil
	}
	return &list.Items[h.rng.IntN(len(list.Items))]
}

// displace displaces a pod through displacer.Displacer, with retries.
func (h *harness) displace(p *corev1.Pod) {
	if p == nil || h.causes[string(p.UID)] != displacement.None {
		return
	}
	cause := []displacement.Cause{displacement.Taint, displacement.PodGC}[h.rng.IntN(2)]
	for range 100 {
		d := displacer.Displacer{Client: h.client, Now: func() time.Time { return h.now }, Component: "test"}
		if h.rng.IntN(2) == 0 {
			d.Journal = h.instances[0].o.Journal
		}
		if d.Displace(h.t.Context(), displacer.Displacement{Pod: p, Cause: cause, RequestedBy: "test"}) == nil {
			break
		}
		if h.rng.IntN(4) == 0 { // an instance runs in between
			c := h.instances[h.rng.IntN(len(h.instances))]
			h.syncCache(c, true)
			h.processQueues(c)
		}
	}
	h.causes[string(p.UID)], h.byDisplacer[string(p.UID)] = cause, true
}

// displaceByUpstream displaces a pod as upstream does: with the condition and a deletion, or as a kubelet. All
// instances observe it before the pod is deleted.
func (h *harness) displaceByUpstream(p *corev1.Pod) {
	if p == nil || h.causes[string(p.UID)] != displacement.None {
		return
	}
	cause, at := displacement.API, metav1.NewTime(h.now.Truncate(time.Second))
	c := corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: cause.Reason(), LastTransitionTime: at}
	p.DeletionTimestamp = &at
	if h.rng.IntN(2) == 0 {
		cause, p.DeletionTimestamp = displacement.Pressure, nil
		c.Reason, p.Status.Phase, p.Status.Reason = cause.Reason(), corev1.PodFailed, "Evicted"
	}
	p.Status.Conditions = append(p.Status.Conditions, c)
	_ = h.client.Tracker().Update(corev1.SchemeGroupVersion.WithResource("pods"), p, p.Namespace)
	h.causes[string(p.UID)] = cause
}

// finish processes the queues of all instances, deletes the terminating pods and processes the queues again.
func (h *harness) finish() {
	h.processAllQueues()
	list, _ := h.client.CoreV1().Pods("ns").List(h.t.Context(), metav1.ListOptions{})
	for i := range list.Items {
		if list.Items[i].DeletionTimestamp != nil {
			_ = h.client.Tracker().Delete(corev1.SchemeGroupVersion.WithResource("pods"), "ns", list.Items[i].Name)
		}
	}
	h.createReplica()
	h.processAllQueues()
}

// processAllQueues updates the caches and processes the queues of all instances until nothing changes.
func (h *harness) processAllQueues() {
	for range 3 { // the record, its completion and the journal each depend on the previous one
		for _, c := range h.instances {
			h.syncCache(c, true)
			h.syncCache(c, false)
			h.processQueues(c)
		}
	}
}

func (h *harness) check(seed uint64) {
	h.t.Helper()
	records := h.recordsByPod()
	for uid, cause := range h.causes {
		if len(records[uid]) != 1 {
			h.t.Fatalf("seed %d: pod %s has %d records, want 1", seed, uid, len(records[uid]))
		}
		rec, err := journal.ParseDisplacement(records[uid][0].Annotations[journal.Annotation])
		if err != nil || rec.Cause != cause.String() || rec.Deleted == nil {
			h.t.Errorf("seed %d: record of pod %s: %+v, error %v, want cause %v and a deletion time", seed, uid, rec, err, cause)
		}
	}
	if len(records) != len(h.causes) || len(h.causes) < 15 {
		h.t.Errorf("seed %d: %d pods have records, want those of the %d displaced pods", seed, len(records), len(h.causes))
	}
	replacements := map[string]string{}
	for _, c := range h.instances {
		list, malformed, err := journal.Read(c.dir)
		if err != nil || len(malformed) > 0 || len(list) != len(h.causes) {
			h.t.Errorf("seed %d: the journal has %d records, malformed lines %v, error %v, want %d records", seed, len(list), malformed, err, len(h.causes))
		}
		for _, d := range list {
			if h.causes[d.Pod.UID] == displacement.None {
				h.t.Errorf("seed %d: the journal has a record of pod %s, which was not displaced, want none", seed, d.Pod.UID)
			}
			if d.Replacement != nil {
				replacements[d.Pod.UID] = d.Replacement.UID
			}
		}
	}
	if len(replacements) == 0 {
		h.t.Errorf("seed %d: no record has a replacement, want at least one", seed)
	}
}
