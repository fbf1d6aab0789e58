package displacementrecords

import (
	"errors"
	"net/http"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ktesting "k8s.io/client-go/testing"
)

// newRejectingHarness returns a harness with one instance and one evicted pod, whose API answers all requests with
// the verb for events with an error. It also returns the instance and the number of these requests.
func newRejectingHarness(t *testing.T, verb string, response error) (*harness, *instance, *int) {
	h := newHarness(t, 1, 1)
	calls := 0
	h.client.PrependReactor(verb, "events", func(ktesting.Action) (bool, runtime.Object, error) {
		calls++
		return true, nil, response
	})
	h.createReplica()
	o, err := h.client.Tracker().Get(corev1.SchemeGroupVersion.WithResource("pods"), "ns", "p1")
	if err != nil {
		t.Fatal(err)
	}
	p := o.(*corev1.Pod)
	at := metav1.NewTime(h.now)
	p.DeletionTimestamp = &at
	p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue,
		Reason: "DeletionByTaintManager", LastTransitionTime: at})
	if err := h.client.Tracker().Update(corev1.SchemeGroupVersion.WithResource("pods"), p, "ns"); err != nil {
		t.Fatal(err)
	}
	c := h.instances[0]
	h.syncCache(c, true)
	return h, c, &calls
}

func TestRejectedRecordIsNotRetriedForever(t *testing.T) {
	for _, tc := range []struct {
		code    int32
		retried bool
	}{{http.StatusUnprocessableEntity, false}, {http.StatusBadRequest, false}, {http.StatusRequestEntityTooLarge, false}, {http.StatusForbidden, false},
		{http.StatusUnauthorized, true}, {http.StatusTooManyRequests, true}, {http.StatusInternalServerError, true}} {
		_, c, calls := newRejectingHarness(t, "create", &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: tc.code}})
		_, err := c.writeMissingRecord(t.Context(), "u1")
		if retried := err != nil; retried != tc.retried || *calls != 1 || (len(c.pending) > 0) != tc.retried {
			t.Errorf("status %d: error %v, %d requests, %d pending, want retried %v", tc.code, err, *calls, len(c.pending), tc.retried)
		}
		list, _, err := c.o.Journal.Read()
		if err != nil || (len(list) == 1) == tc.retried {
			t.Errorf("status %d: the journal has %d records, error %v, want one unless the write is retried", tc.code, len(list), err)
		}
	}
}

func TestRecordRetriesStopAtMaxAge(t *testing.T) {
	h, c, calls := newRejectingHarness(t, "create", errors.New("connection refused"))
	if _, err := c.writeMissingRecord(t.Context(), "u1"); err == nil {
		t.Error("before the maximum age: no error, want one that causes a retry")
	}
	h.now = h.now.Add(maxRecordAge + time.Second)
	if _, err := c.writeMissingRecord(t.Context(), "u1"); err != nil || *calls != 2 || len(c.pending) > 0 {
		t.Errorf("after the maximum age: error %v, %d requests, want 2; %d pending, want 0", err, *calls, len(c.pending))
	}
}

func TestRejectedCompletionIsNotRetriedForever(t *testing.T) {
	h, c, calls := newRejectingHarness(t, "patch", apierrors.NewBadRequest("rejected"))
	if _, err := c.writeMissingRecord(t.Context(), "u1"); err != nil {
		t.Fatal(err)
	}
	h.syncCache(c, false)
	if err := h.client.Tracker().Delete(corev1.SchemeGroupVersion.WithResource("pods"), "ns", "p1"); err != nil {
		t.Fatal(err)
	}
	h.syncCache(c, true)
	key := owner{"ns", "rs"}
	if len(c.openRecords[key]) != 1 {
		t.Fatalf("open records %v, want one", c.openRecords)
	}
	if _, err := c.completeRecords(t.Context(), key); err != nil || *calls != 1 || len(c.openRecords[key]) != 0 {
		t.Errorf("error %v, %d requests, want 1; open records %v, want none", err, *calls, c.openRecords)
	}
}
