package answers

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"

	"github.com/berthproject/berth/internal/settings"
	"github.com/berthproject/berth/internal/testkit/recordings"
)

// newAuthorizer serves SelfSubjectAccessReviews. allowed has entries of the form "resource namespace", or
// "*" for everything.
func newAuthorizer(t *testing.T, allowed ...string) *rest.Config {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var review authorizationv1.SelfSubjectAccessReview
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil || !strings.HasSuffix(r.URL.Path, "/selfsubjectaccessreviews") {
			t.Errorf("got a request for %s, %v; want an access review", r.URL.Path, err)
		}
		a := review.Spec.ResourceAttributes
		for _, x := range allowed {
			review.Status.Allowed = review.Status.Allowed || x == "*" || x == a.Resource+" "+a.Namespace && a.Verb == "list"
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(&review)
	}))
	t.Cleanup(server.Close)
	return &rest.Config{Host: server.URL, ContentConfig: rest.ContentConfig{ContentType: "application/json"}}
}

// allResourcesBut returns the entries of newAuthorizer for all resources that a decision depends on except one.
func allResourcesBut(excluded string) []string {
	var out []string
	for _, resources := range decisionResources {
		for _, r := range resources {
			if r != excluded {
				out = append(out, r+" ")
			}
		}
	}
	return out
}

func TestHistoryShowsWhatTheUserMayList(t *testing.T) {
	dir := t.TempDir()
	recordings.Run(t, dir, false)
	s, err := settings.Load(nil)
	if err != nil {
		t.Fatal(err)
	}
	a, at := Source{Settings: s, Journal: dir}, time.Unix(1001, 0)
	for _, tc := range []struct {
		name, namespace                  string
		allowed                          []string
		nodes, pod                       bool // in the fleet
		fleet, queue, explain, timeRange bool // allowed
	}{
		{"all permissions", "", []string{"*"}, true, true, true, true, true, true},
		{"no permissions", "", nil, false, false, false, false, false, false},
		{"allowed namespace", "shop", []string{"pods shop"}, false, true, true, true, false, true},
		{"forbidden namespace", "shop", []string{"pods other"}, false, false, false, false, false, false},
		{"allowed namespace without the pod", "other", []string{"pods other"}, false, false, true, true, false, true},
		{"all namespaces, allowed in one", "", []string{"pods shop"}, false, false, false, false, false, false},
		{"nodes only", "", []string{"nodes "}, true, false, true, false, false, false},
		{"nodes and pods", "", []string{"nodes ", "pods "}, true, true, true, true, false, true},
	} {
		config := newAuthorizer(t, tc.allowed...)
		fleet, err := a.fleetAt(t.Context(), config, tc.namespace, at)
		if allowed := err == nil; allowed != tc.fleet || !allowed && !apierrors.IsForbidden(err) {
			t.Errorf("%s: fleet: got %v, want allowed %t", tc.name, err, tc.fleet)
		}
		if got := strings.Contains(string(fleet), `"name":"n1"`); got != tc.nodes {
			t.Errorf("%s: got nodes %t, want %t: %s", tc.name, got, tc.nodes, fleet)
		}
		if got := strings.Contains(string(fleet), `"name":["web"]`); got != tc.pod {
			t.Errorf("%s: got the pod %t, want %t: %s", tc.name, got, tc.pod, fleet)
		}
		_, err = a.queueAt(t.Context(), config, tc.namespace, at)
		if allowed := err == nil; allowed != tc.queue {
			t.Errorf("%s: queue: got %v, want allowed %t", tc.name, err, tc.queue)
		}
		_, err = a.recordedRange(t.Context(), config, tc.namespace)
		if allowed := err == nil; allowed != tc.timeRange {
			t.Errorf("%s: range: got %v, want allowed %t", tc.name, err, tc.timeRange)
		}
		explanation, err := a.explainPodAt(t.Context(), config, "shop", "web", at)
		if allowed := err == nil; allowed != tc.explain || allowed && !strings.Contains(string(explanation), `"choice": "n1"`) {
			t.Errorf("%s: pod: got %s, %v, want allowed %t", tc.name, explanation, err, tc.explain)
		}
	}
	for _, resource := range []string{"holds", "resourceclaims", "nodes"} {
		if _, err := a.explainPodAt(t.Context(), newAuthorizer(t, allResourcesBut(resource)...), "shop", "web", at); !apierrors.IsForbidden(err) {
			t.Errorf("all resources but %s: pod: got %v, want forbidden", resource, err)
		}
	}
	config := newAuthorizer(t, "*")
	if queue, err := a.queueAt(t.Context(), config, "shop", at); err != nil || !strings.Contains(string(queue), `"pod": "shop/web"`) {
		t.Errorf("got queue %s, %v; want shop/web", queue, err)
	}
	if _, err := a.fleetAt(t.Context(), config, "", time.Unix(999, 0)); !apierrors.IsNotFound(err) {
		t.Errorf("before the recording: got %v, want not found", err)
	}
}
