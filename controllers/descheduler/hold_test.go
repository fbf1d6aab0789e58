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
	"k8s.io/utils/clock"

	"github.com/berthproject/berth/api/v1alpha1"
	"github.com/berthproject/berth/engine/model"
)

// shelf is a fake API of Holds, by name.
type shelf map[string]*v1alpha1.Hold

func (s shelf) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	say := func(code int, o any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(o)
	}
	fail := func(code int, reason metav1.StatusReason) {
		say(code, metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: "Failure", Reason: reason, Code: int32(code)})
	}
	name := path.Base(r.URL.Path)
	sent := &v1alpha1.Hold{}
	if r.Method == http.MethodPost || r.Method == http.MethodPut {
		if json.NewDecoder(r.Body).Decode(sent) != nil {
			fail(400, metav1.StatusReasonBadRequest)
			return
		}
		name = sent.Name
	}
	have := s[name]
	switch {
	case r.Method == http.MethodPost && have != nil:
		fail(409, metav1.StatusReasonAlreadyExists)
	case r.Method == http.MethodPost, r.Method == http.MethodPut:
		sent.APIVersion, sent.Kind, sent.UID, sent.ResourceVersion = "berth.dev/v1alpha1", "Hold", "u", "1"
		s[name] = sent
		say(200, sent)
	case have == nil:
		fail(404, metav1.StatusReasonNotFound)
	case r.Method == http.MethodDelete:
		delete(s, name)
		say(200, metav1.Status{Status: "Success"})
	default:
		say(200, have)
	}
}

func holder(t *testing.T, s shelf) *Runner {
	t.Helper()
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	c, err := v1alpha1.NewClient(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	return &Runner{clock: clock.RealClock{}, o: Options{Holds: c}}
}

func TestOnlyOwnHoldsAreChanged(t *testing.T) {
	want := &model.Hold{Namespace: "ns", Name: "reserve-1", Node: "n2", Cause: "Rebalance", Count: 1, Until: time.Now().Add(time.Minute).Truncate(time.Second), Victim: "uid-1", VictimName: "web-1",
		Owner: model.Owner{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web", UID: "rs"},
		Placeholder: &model.Pod{Labels: model.LabelsOf(map[string]string{"app": "web"}), Spec: &model.PodSpec{Priority: 5, Ports: []model.HostPort{{IP: "0.0.0.0", Protocol: "TCP", Port: 80}},
			Requests: model.Resources{MilliCPU: 250, Memory: 1 << 30, Scalars: []model.Scalar{{Name: "example.com/gpu", Amount: 2}}}}}}
	others := func(until time.Duration) *v1alpha1.Hold {
		return &v1alpha1.Hold{TypeMeta: metav1.TypeMeta{APIVersion: "berth.dev/v1alpha1", Kind: "Hold"}, ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "reserve-1", Labels: map[string]string{makerLabel: "other-component"}},
			Spec: v1alpha1.HoldSpec{Node: "n2", Until: metav1.NewTime(time.Now().Add(until))}}
	}
	s := shelf{}
	r := holder(t, s)
	if err, _ := r.createHold(t.Context(), want); err != nil {
		t.Fatal(err)
	}
	v := s["reserve-1"].Spec.Victim
	if got := slices.Sorted(maps.Keys(v.Requests)); s["reserve-1"].Labels[makerLabel] != Component || v.Name != "web-1" || v.Priority != 5 || v.Labels["app"] != "web" || len(v.HostPorts) != 1 ||
		len(got) != 3 || v.Requests.Cpu().MilliValue() != 250 || !s["reserve-1"].Spec.Until.Time.Equal(want.Until) {
		t.Errorf("created %+v from %+v", s["reserve-1"].Spec, v)
	}
	want.Victim = "uid-2"
	if err, _ := r.createHold(t.Context(), want); err != nil || s["reserve-1"].Spec.Victim.UID != "uid-2" {
		t.Errorf("own Hold is not replaced: %v", err)
	}
	if err, _ := r.deleteHold(t.Context(), want); err != nil || len(s) != 0 {
		t.Errorf("own Hold is not deleted: %v", err)
	}
	if err, _ := r.deleteHold(t.Context(), want); err != nil {
		t.Errorf("Hold that does not exist: %v", err)
	}
	s["reserve-1"] = others(time.Hour)
	for what, do := range map[string]func() (error, bool){"made": func() (error, bool) { return r.createHold(t.Context(), want) }, "deleted": func() (error, bool) { return r.deleteHold(t.Context(), want) }} {
		if err, final := do(); err == nil || !final || !strings.Contains(err.Error(), "was created by other-component") || s["reserve-1"].Labels[makerLabel] != "other-component" {
			t.Errorf("Hold of another component: %s: %v, final %v", what, err, final)
		}
	}
	s["reserve-1"] = others(-time.Hour)
	if err, _ := r.createHold(t.Context(), want); err != nil || s["reserve-1"].Labels[makerLabel] != Component {
		t.Errorf("an expired Hold causes a conflict: %v", err)
	}
}
