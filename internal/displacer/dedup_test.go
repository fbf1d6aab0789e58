package displacer

import (
	"errors"
	"strings"
	"testing"

	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	ktesting "k8s.io/client-go/testing"

	"github.com/berthproject/berth/engine/displacement"
	"github.com/berthproject/berth/internal/journal"
)

// TestDisplacementIsCountedOnce checks that retries do not count a displacement again.
func TestDisplacementIsCountedOnce(t *testing.T) {
	connectionLost, throttled := errors.New("EOF"), apierrors.NewTooManyRequests("later", 1)
	forbidden := apierrors.NewForbidden(pods, "a", errors.New("the namespace is terminating"))
	for name, tc := range map[string]struct {
		verb, resource string
		errs           []error // errors of the first requests
		succeeds       bool    // the write succeeds despite the error
	}{
		"no failure":                                 {},
		"the deletion fails":                         {verb: "delete", resource: "pods", errs: []error{connectionLost, throttled, connectionLost}},
		"the event fails":                            {verb: "create", resource: "events", errs: []error{connectionLost, throttled, connectionLost}},
		"the response to the event is lost":          {verb: "create", resource: "events", errs: []error{connectionLost}, succeeds: true},
		"the response to the condition is lost":      {verb: "patch", resource: "pods", errs: []error{connectionLost, connectionLost}, succeeds: true},
		"the event is always rejected":               {verb: "create", resource: "events", errs: []error{forbidden, forbidden, forbidden, forbidden, forbidden, forbidden}},
		"the event is accepted at the third attempt": {verb: "create", resource: "events", errs: []error{forbidden, forbidden}},
	} {
		t.Run(name, func(t *testing.T) {
			pod := lowPriorityPod("a")
			d, client, read := newTestDisplacer(t, pod)
			d.OnRecordLost = nil
			count := 0
			d.OnDisplaced = func(rec *journal.Displacement) {
				if count++; rec.Pod.UID != "uid-a" || rec.Cause != "Taint" {
					t.Errorf("counted %+v, want a Taint displacement of uid-a", rec)
				}
			}
			client.PrependReactor(tc.verb, tc.resource, func(action ktesting.Action) (bool, runtime.Object, error) {
				if len(tc.errs) == 0 || tc.verb == "" {
					return false, nil, nil
				}
				err := tc.errs[0]
				tc.errs = tc.errs[1:]
				if create, ok := action.(ktesting.CreateAction); ok && tc.succeeds {
					if err := client.Tracker().Create(action.GetResource(), create.GetObject(), action.GetNamespace()); err != nil {
						t.Error(err)
					}
				}
				return true, nil, err
			})
			for range 4 {
				_ = d.Displace(t.Context(), Displacement{Pod: pod, Cause: displacement.Taint})
			}
			if strings.Count(recordedRequests(client), "delete:pods:a") == 0 || count != 1 {
				t.Errorf("counted %d times after %s, want once and a deletion", count, recordedRequests(client))
			}
			if list := read(); len(list) != 1 {
				t.Errorf("the journal has %d records, want 1", len(list))
			}
		})
	}
}

func TestDisplacementRecordedByOtherInstanceIsNotCounted(t *testing.T) {
	for instance, want := range map[string]int{"other": 0, "self": 1} {
		pod := lowPriorityPod("a")
		d, client, _ := newTestDisplacer(t, pod)
		d.Instance = "self"
		count, first := 0, true
		d.OnDisplaced = func(*journal.Displacement) { count++ }
		client.PrependReactor("create", "events", func(action ktesting.Action) (bool, runtime.Object, error) {
			create, ok := action.(ktesting.CreateAction)
			if !first || !ok {
				return false, nil, nil
			}
			first = false
			ev, ok := create.GetObject().DeepCopyObject().(*eventsv1.Event)
			if !ok {
				return false, nil, nil
			}
			ev.ReportingInstance = instance
			return true, nil, errors.Join(errors.New("EOF"), client.Tracker().Create(action.GetResource(), ev, action.GetNamespace()))
		})
		for range 3 {
			_ = d.Displace(t.Context(), Displacement{Pod: pod, Cause: displacement.Taint, Failed: true})
		}
		if count != want {
			t.Errorf("event of instance %s: counted %d times, want %d", instance, count, want)
		}
	}
}
