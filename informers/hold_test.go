package informers

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	ktesting "k8s.io/client-go/testing"

	"github.com/berthproject/berth/api/v1alpha1"
	"github.com/berthproject/berth/engine/model"
)

const holdFormat = `{"apiVersion":"berth.dev/v1alpha1","kind":"Hold","metadata":{"name":"%s","namespace":"ns","uid":"%[1]s","resourceVersion":"%d"},"spec":{"type":"Reserve",` +
	`"owner":{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"web","uid":"u"},"node":"n1","cause":"Descheduling","count":1,"until":"2030-01-01T00:00:00Z",` +
	`"victim":{"uid":"v","priority":7,"requests":{"cpu":"500m"},"labels":{"app":"web"},"hostPorts":[{"port":80}]}}}`

// holdAPI serves one Hold in the list and one in the watch, or an error.
func holdAPI(t *testing.T, code int) v1alpha1.Client {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path != "/apis/berth.dev/v1alpha1/holds" || code != http.StatusOK {
			w.WriteHeader(max(code, 400))
			fmt.Fprintf(w, `{"apiVersion":"v1","kind":"Status","status":"Failure","reason":"%s","code":%d}`, strings.ReplaceAll(http.StatusText(code), " ", ""), code)
			return
		}
		q := r.URL.Query()
		if q.Get("watch") == "" {
			fmt.Fprintf(w, `{"apiVersion":"berth.dev/v1alpha1","kind":"HoldList","metadata":{"resourceVersion":"5"},"items":[`+holdFormat+`]}`, "first", 5)
			return
		}
		if q.Get("sendInitialEvents") == "true" {
			w.WriteHeader(http.StatusBadRequest) // no streaming lists
			return
		}
		fmt.Fprintf(w, `{"type":"ADDED","object":`+holdFormat+"}\n", "second", 6)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}))
	t.Cleanup(server.Close)
	client, err := v1alpha1.NewClient(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func TestHoldsWatchedWhereServed(t *testing.T) {
	for name, tc := range map[string]struct {
		served        bool
		discoveryCode int // status code
		code          int
		want          string
	}{
		"served":                       {true, http.StatusOK, http.StatusOK, "first second"},
		"not served":                   {false, http.StatusOK, http.StatusNotFound, ""},
		"forbidden":                    {true, http.StatusOK, http.StatusForbidden, ""},
		"served, discovery forbidden":  {true, http.StatusForbidden, http.StatusOK, "first second"},
		"unknown, discovery forbidden": {false, http.StatusForbidden, http.StatusNotFound, ""},
		"both forbidden":               {true, http.StatusForbidden, http.StatusForbidden, ""},
	} {
		t.Run(name, func(t *testing.T) {
			client := fake.NewClientset()
			if tc.served {
				client.Resources = []*metav1.APIResourceList{{GroupVersion: v1alpha1.GroupVersion.String(), APIResources: []metav1.APIResource{{Name: v1alpha1.HoldsResource}}}}
			}
			client.PrependReactor("get", "resource", func(ktesting.Action) (bool, runtime.Object, error) {
				if tc.discoveryCode == http.StatusForbidden {
					return true, nil, apierrors.NewForbidden(schema.GroupResource{}, "", nil)
				}
				return false, nil, nil
			})
			s := New(client)
			s.WatchHolds(holdAPI(t, tc.code))
			onServed := make(chan bool, 10)
			s.OnServed(func(kind string, served bool) {
				if kind == v1alpha1.HoldsResource {
					onServed <- served
				}
			})
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			done := make(chan struct{})
			go func() { s.Run(ctx); close(done) }()
			select {
			case <-s.Synced():
			case <-ctx.Done():
				t.Fatalf("not synced after 30 s: waiting for %v, want all kinds synced", s.Unsynced())
			}
			for served := range onServed {
				if served == (tc.code == http.StatusOK) {
					break // no more events
				}
			}
			var got []string
			for len(got) < len(strings.Fields(tc.want)) {
				<-s.Ready()
				for _, e := range s.Take(nil) {
					h := e.(*model.Hold)
					if p := h.Placeholder; p == nil || p.Spec.Priority != 7 || p.Spec.Requests.MilliCPU != 500 || p.NominatedNodeName != "n1" || p.Owner.UID != "u" || len(p.Spec.Ports) != 1 {
						t.Errorf("placeholder %+v, want the victim's priority, requests, port and owner on n1", h.Placeholder)
					}
					got = append(got, h.Name)
				}
			}
			if joined := strings.Join(got, " "); joined != tc.want {
				t.Errorf("got %q, want %q", joined, tc.want)
			}
			cancel()
			<-done
		})
	}
}

// TestHoldsAuthorizedLater checks that OnServed reports false while Holds are forbidden, and true later.
func TestHoldsAuthorizedLater(t *testing.T) {
	code := http.StatusForbidden
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if code != http.StatusOK {
			w.WriteHeader(code)
			fmt.Fprintf(w, `{"apiVersion":"v1","kind":"Status","status":"Failure","reason":"%s","code":%d}`, strings.ReplaceAll(http.StatusText(code), " ", ""), code)
			return
		}
		fmt.Fprint(w, `{"apiVersion":"berth.dev/v1alpha1","kind":"HoldList","metadata":{"resourceVersion":"5"},"items":[]}`)
	}))
	defer server.Close()
	client, err := v1alpha1.NewClient(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	s := New(fake.NewClientset())
	s.WatchHolds(client)
	var onServed []bool
	s.OnServed(func(_ string, served bool) { onServed = append(onServed, served) })
	k := s.holdKind()
	for _, code = range []int{http.StatusForbidden, http.StatusForbidden, http.StatusInternalServerError, http.StatusOK, http.StatusOK, http.StatusNotFound} {
		_, _ = k.list(t.Context(), metav1.ListOptions{})
	}
	if got, want := fmt.Sprint(onServed), "[false true false]"; got != want {
		t.Errorf("reported %s, want %s", got, want)
	}
}
