package descheduler

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/berthproject/berth/api/v1alpha1"
	"github.com/berthproject/berth/controllers/runner"
	"github.com/berthproject/berth/engine/model"
)

// fakeHoldAPI is a fake API of Holds, by name.
type fakeHoldAPI map[string]*v1alpha1.Hold

func (a fakeHoldAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	respond := func(code int, o any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(o)
	}
	fail := func(code int, reason metav1.StatusReason) {
		respond(code, metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: "Failure", Reason: reason, Code: int32(code)})
	}
	name := path.Base(r.URL.Path)
	received := &v1alpha1.Hold{}
	if r.Method == http.MethodPost || r.Method == http.MethodPut {
		if json.NewDecoder(r.Body).Decode(received) != nil {
			fail(http.StatusBadRequest, metav1.StatusReasonBadRequest)
			return
		}
		name = received.Name
	}
	existing := a[name]
	switch {
	case r.Method == http.MethodPost && existing != nil:
		fail(http.StatusConflict, metav1.StatusReasonAlreadyExists)
	case r.Method == http.MethodPost, r.Method == http.MethodPut:
		received.APIVersion, received.Kind, received.UID, received.ResourceVersion = "berth.dev/v1alpha1", "Hold", "u", "1"
		a[name] = received
		respond(http.StatusOK, received)
	case existing == nil:
		fail(http.StatusNotFound, metav1.StatusReasonNotFound)
	case r.Method == http.MethodDelete:
		delete(a, name)
		respond(http.StatusOK, metav1.Status{Status: "Success"})
	default:
		respond(http.StatusOK, existing)
	}
}

func newHoldRunner(t *testing.T, s fakeHoldAPI) *Runner {
	t.Helper()
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	c, err := v1alpha1.NewClient(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	return &Runner{env: runner.Production(), o: Options{Holds: c}}
}

// TestHoldsOfOtherComponentsAreNotChanged checks that the descheduler creates, replaces and deletes its Holds. It
// replaces a Hold of another component only if the Hold has expired.
func TestHoldsOfOtherComponentsAreNotChanged(t *testing.T) {
	want := &model.Hold{Namespace: "ns", Name: "reserve-1", Node: "n2", Cause: "Descheduling", Count: 1, Until: time.Now().Add(time.Minute).Truncate(time.Second), Victim: "uid-1", VictimName: "web-1",
		Owner: model.Owner{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web", UID: "rs"},
		Placeholder: &model.Pod{Labels: model.LabelsOf(map[string]string{"app": "web"}), Spec: &model.PodSpec{Priority: 5, Ports: []model.HostPort{{IP: "0.0.0.0", Protocol: "TCP", Port: 80}},
			Requests: model.Resources{MilliCPU: 250, Memory: 1 << 30, Scalars: []model.Scalar{{Name: "example.com/gpu", Amount: 2}}}}}}
	otherHold := func(until time.Duration) *v1alpha1.Hold {
		return &v1alpha1.Hold{TypeMeta: metav1.TypeMeta{APIVersion: "berth.dev/v1alpha1", Kind: "Hold"}, ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "reserve-1", Labels: map[string]string{creatorLabel: "other-component"}},
			Spec: v1alpha1.HoldSpec{Node: "n2", Until: metav1.NewTime(time.Now().Add(until))}}
	}
	s := fakeHoldAPI{}
	r := newHoldRunner(t, s)
	if _, err := r.createHold(t.Context(), want); err != nil {
		t.Fatal(err)
	}
	v := s["reserve-1"].Spec.Victim
	if got := slices.Sorted(maps.Keys(v.Requests)); s["reserve-1"].Labels[creatorLabel] != Component || v.Name != "web-1" || v.Priority != 5 || v.Labels["app"] != "web" || len(v.HostPorts) != 1 ||
		len(got) != 3 || v.Requests.Cpu().MilliValue() != 250 || !s["reserve-1"].Spec.Until.Time.Equal(want.Until) {
		t.Errorf("created Hold %+v with victim %+v, want the spec and victim of the model", s["reserve-1"].Spec, v)
	}
	want.Victim = "uid-2"
	if _, err := r.createHold(t.Context(), want); err != nil || s["reserve-1"].Spec.Victim.UID != "uid-2" {
		t.Errorf("replacing a Hold of the descheduler: got error %v and victim %+v, want victim uid-2", err, s["reserve-1"].Spec.Victim)
	}
	if _, err := r.deleteHold(t.Context(), want); err != nil || len(s) != 0 {
		t.Errorf("deleting a Hold of the descheduler: got error %v and %d Holds, want none", err, len(s))
	}
	if _, err := r.deleteHold(t.Context(), want); err != nil {
		t.Errorf("deleting a Hold that does not exist: %v", err)
	}
	s["reserve-1"] = otherHold(time.Hour)
	for action, call := range map[string]func() (bool, error){"create": func() (bool, error) { return r.createHold(t.Context(), want) }, "delete": func() (bool, error) { return r.deleteHold(t.Context(), want) }} {
		if final, err := call(); err == nil || !final || !strings.Contains(err.Error(), "was created by other-component") || s["reserve-1"].Labels[creatorLabel] != "other-component" {
			t.Errorf("%s a Hold of another component: error %v, final %v, want a final error", action, err, final)
		}
	}
	s["reserve-1"] = otherHold(-time.Hour)
	if _, err := r.createHold(t.Context(), want); err != nil || s["reserve-1"].Labels[creatorLabel] != Component {
		t.Errorf("replacing an expired Hold: got error %v and labels %v, want creator %s", err, s["reserve-1"].Labels, Component)
	}
}
