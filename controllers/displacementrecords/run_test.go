package displacementrecords

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"

	"github.com/berthproject/berth/api/v1alpha1"
	"github.com/berthproject/berth/engine/displacement"
	"github.com/berthproject/berth/internal/displacer"
	"github.com/berthproject/berth/internal/journal"
)

// TestRecordOfNodeAgent checks that the controller writes no second event for an eviction that a node agent has
// recorded, and counts the displacement.
func TestRecordOfNodeAgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, 1, 0)
		h.now = time.Now()
		h.createReplica()
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		counted := 0
		process := newProcess(h.client)
		process.Informers = informers.NewSharedInformerFactory(h.client, 0)
		go func() {
			done <- run(ctx, *process, &fakeHoldStore{holds: map[string]*v1alpha1.Hold{}}, Options{OnDisplaced: func(*journal.Displacement) { counted++ }})
		}()
		synctest.Wait()
		p := h.randomPod()
		record := newRecordEvent(t, "ns", h.now, func(d *journal.Displacement) {
			d.Pod.Name, d.Pod.UID, d.Cause, d.Writer = p.Name, string(p.UID), displacement.Pressure.String(), displacer.NodeAgent
		})
		if _, err := h.client.EventsV1().Events("ns").Create(ctx, record, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		p.Status.Phase, p.Status.Reason, p.Status.Message = corev1.PodFailed, "Evicted", "The node was low on resource: memory."
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "TerminationByKubelet", LastTransitionTime: metav1.Now()}}
		if _, err := h.client.CoreV1().Pods("ns").UpdateStatus(ctx, p, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if counted != 1 {
			t.Errorf("counted %d displacements, want 1", counted)
		}
		if list, err := h.client.EventsV1().Events("ns").List(ctx, metav1.ListOptions{}); err != nil || len(list.Items) != 1 || list.Items[0].Name != record.Name {
			t.Errorf("events %+v, error %v, want only %s", list, err, record.Name)
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		process.Informers.Shutdown()
	})
}

// TestRun checks that an evicted pod gets a record, and its owner a Hold. The record names the replacement after
// it is ready on another node, and the Hold is deleted after the pressure has ended.
func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, 1, 0)
		h.now = time.Now()
		h.createReplica()
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}
		_ = h.client.Tracker().Add(node)
		store := &fakeHoldStore{holds: map[string]*v1alpha1.Hold{}}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		process := newProcess(h.client)
		process.Informers = informers.NewSharedInformerFactory(h.client, 0)
		go func() {
			done <- run(ctx, *process, store, Options{Backoff: displacement.Backoff{First: time.Hour, Max: time.Hour}})
		}()
		synctest.Wait()

		p := h.randomPod()
		p.Status.Phase, p.Status.Reason, p.Status.Message = corev1.PodFailed, "Evicted", "The node was low on resource: memory."
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "TerminationByKubelet", LastTransitionTime: metav1.Now()}}
		if _, err := h.client.CoreV1().Pods("ns").UpdateStatus(ctx, p, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		synctest.Wait() // the controller reads h.now
		h.now = time.Now()
		h.createReplica()
		time.Sleep(10 * time.Second)
		synctest.Wait()
		records := h.recordsByPod()[string(p.UID)]
		if len(records) != 1 {
			t.Fatalf("%d records, want 1", len(records))
		}
		d, _ := journal.ParseDisplacement(records[0].Annotations[journal.Annotation])
		if d.Cause != "Pressure" || d.Deleted == nil || d.Replacement == nil || d.Replacement.Ready == nil {
			t.Errorf("record %+v, want a deletion time and a ready replacement", d)
		}
		if hold := store.hold(); hold == nil || hold.Spec.Node != "n1" {
			t.Errorf("Hold %+v, want one for n1", hold)
		}
		node = node.DeepCopy()
		node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeMemoryPressure, Status: corev1.ConditionFalse, LastHeartbeatTime: metav1.Now()}}
		if _, err := h.client.CoreV1().Nodes().UpdateStatus(ctx, node, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if hold := store.hold(); hold != nil {
			t.Errorf("Hold %+v after the pressure has ended, want none", hold)
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		process.Informers.Shutdown()
	})
}
