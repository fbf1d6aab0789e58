package displacementrecords

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/engine/displacement"
	"github.com/berthproject/berth/executor"
	"github.com/berthproject/berth/internal/journal"
)

// TestOneRecordPerDisplacement displaces pods by several actors in random order, with failing requests, lagging
// instances and crashes. Each displaced pod must have one record, and no other pod may have one.
func TestOneRecordPerDisplacement(t *testing.T) {
	for seed := range uint64(2) {
		w := newHarness(t, seed, 3)
		w.faults = true
		for range 20 {
			w.createReplica()
		}
		for range 150 {
			w.now = w.now.Add(time.Duration(w.rng.IntN(2000)) * time.Millisecond)
			w.randomEvent()
		}
		w.faults = false
		w.now = w.now.Add(time.Minute)
		w.finish()
		w.check(seed)
	}
}

// randomEvent executes a random event.
func (w *harness) randomEvent() {
	c := w.instances[w.rng.IntN(len(w.instances))]
	switch n := w.rng.IntN(10); {
	case n < 2:
		w.displace(w.randomPod())
	case n == 2:
		w.displaceByUpstream(w.randomPod())
	case n == 3:
		w.createReplica()
	case n < 6:
		w.syncCaches(c, w.rng.IntN(2) == 0)
	case n < 9:
		w.processQueues(c)
	default: // a crash; the next instance has the journal
		i := w.rng.IntN(len(w.instances))
		_ = w.instances[i].o.Journal.Close()
		w.instances[i] = w.start(w.instances[i].dir)
	}
}

// randomPod returns an existing pod, or nil.
func (w *harness) randomPod() *corev1.Pod {
	list, _ := w.client.CoreV1().Pods("ns").List(w.t.Context(), metav1.ListOptions{})
	if len(list.Items) == 0 {
		return nil
	}
	return &list.Items[w.rng.IntN(len(list.Items))]
}

// displace displaces a pod through executor.Displacer, with retries.
func (w *harness) displace(p *corev1.Pod) {
	if p == nil || w.causes[string(p.UID)] != displacement.None {
		return
	}
	cause := []displacement.Cause{displacement.Taint, displacement.PodGC}[w.rng.IntN(2)]
	for range 100 {
		d := executor.Displacer{Client: w.client, Now: func() time.Time { return w.now }, Component: "test"}
		if w.rng.IntN(2) == 0 {
			d.Journal = w.instances[0].o.Journal
		}
		if d.Displace(w.t.Context(), executor.Displacement{Pod: p, Cause: cause, By: "test"}) == nil {
			break
		}
		if w.rng.IntN(4) == 0 { // an instance runs in between
			c := w.instances[w.rng.IntN(len(w.instances))]
			w.syncCaches(c, true)
			w.processQueues(c)
		}
	}
	w.causes[string(p.UID)], w.byDisplacer[string(p.UID)] = cause, true
}

// displaceByUpstream displaces a pod as upstream does: with the condition and a deletion, or as a kubelet. All
// instances observe it before the pod is deleted.
func (w *harness) displaceByUpstream(p *corev1.Pod) {
	if p == nil || w.causes[string(p.UID)] != displacement.None {
		return
	}
	cause, at := displacement.API, metav1.NewTime(w.now.Truncate(time.Second))
	c := corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: cause.Reason(), LastTransitionTime: at}
	p.DeletionTimestamp = &at
	if w.rng.IntN(2) == 0 {
		cause, p.DeletionTimestamp = displacement.Pressure, nil
		c.Reason, p.Status.Phase, p.Status.Reason = cause.Reason(), corev1.PodFailed, "Evicted"
	}
	p.Status.Conditions = append(p.Status.Conditions, c)
	_ = w.client.Tracker().Update(corev1.SchemeGroupVersion.WithResource("pods"), p, p.Namespace)
	w.causes[string(p.UID)] = cause
}

// finish processes everything in all instances and deletes all terminating pods.
func (w *harness) finish() {
	for range 3 {
		for _, c := range w.instances {
			w.syncCaches(c, true)
			w.syncCaches(c, false)
			w.processQueues(c)
		}
	}
	list, _ := w.client.CoreV1().Pods("ns").List(w.t.Context(), metav1.ListOptions{})
	for i := range list.Items {
		if list.Items[i].DeletionTimestamp != nil {
			_ = w.client.Tracker().Delete(corev1.SchemeGroupVersion.WithResource("pods"), "ns", list.Items[i].Name)
		}
	}
	w.createReplica()
	for range 3 {
		for _, c := range w.instances {
			w.syncCaches(c, true)
			w.syncCaches(c, false)
			w.processQueues(c)
		}
	}
}

func (w *harness) check(seed uint64) {
	w.t.Helper()
	records := w.recordsOf()
	for uid, cause := range w.causes {
		if len(records[uid]) != 1 {
			w.t.Fatalf("seed %d: pod %s has %d records, want 1", seed, uid, len(records[uid]))
		}
		rec, err := journal.ParseDisplacement(records[uid][0].Annotations[journal.Annotation])
		if err != nil || rec.Cause != cause.String() || rec.Gone == nil {
			w.t.Errorf("seed %d: record of pod %s: %+v, error %v, want cause %v and a deletion time", seed, uid, rec, err, cause)
		}
	}
	if len(records) != len(w.causes) || len(w.causes) < 15 {
		w.t.Errorf("seed %d: %d pods have records, %d were displaced", seed, len(records), len(w.causes))
	}
	replacements := map[string]string{}
	for _, c := range w.instances {
		list, badLines, err := journal.Read(c.dir)
		if err != nil || len(badLines) > 0 || len(list) != len(w.causes) {
			w.t.Errorf("seed %d: the journal has %d records of %d, %v, %v", seed, len(list), len(w.causes), badLines, err)
		}
		for _, d := range list {
			if w.causes[d.Pod.UID] == displacement.None {
				w.t.Errorf("seed %d: the journal has a record of pod %s", seed, d.Pod.UID)
			}
			if d.Replacement != nil {
				replacements[d.Pod.UID] = d.Replacement.UID
			}
		}
	}
	if len(replacements) == 0 {
		w.t.Errorf("seed %d: no record has a replacement", seed)
	}
}
