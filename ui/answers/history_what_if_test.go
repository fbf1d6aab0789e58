package answers

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"

	"github.com/berthproject/berth/drain"
	"github.com/berthproject/berth/internal/config"
	"github.com/berthproject/berth/internal/settings"
	"github.com/berthproject/berth/internal/testkit/recordings"
)

// TestEarlierPreviews checks the answers for two times, and that they require the permissions of the present ones.
func TestEarlierPreviews(t *testing.T) {
	dir := t.TempDir()
	first, second := recordings.Cluster(t, dir)
	s, err := settings.Load(nil)
	if err != nil {
		t.Fatal(err)
	}
	a := Source{Settings: s, Journal: dir, Policy: config.DefaultDescheduler().Policy}
	type get = func(ctx context.Context, c *rest.Config, at time.Time) ([]byte, error)
	for name, tc := range map[string]struct {
		get           get
		first, second []string // parts of the answer
		forbidden     []string // permissions that do not suffice
	}{
		"budgets": {func(ctx context.Context, c *rest.Config, at time.Time) ([]byte, error) {
			return a.budgetsAt(ctx, c, "shop", at)
		},
			[]string{`"minAvailable":"50%"`, `"disruptionsAllowed":1`, `"web-9":"1970-01-01T00:16:40Z"`, `"reason":"SufficientPods"`}, []string{`"disruptionsAllowed":0`, `"reason":"InsufficientPods"`}, []string{"pods shop"}},
		"zones": {a.zonesAt, []string{`"nodes":2,"ready":2`}, []string{`"name":"r/a","state":"FullDisruption","nodes":1,"ready":0`, `"ready":"Unknown","since":"1970-01-01T00:18:20Z"`}, []string{"pods "}},
		"drain": {func(ctx context.Context, c *rest.Config, at time.Time) ([]byte, error) {
			return a.drainAt(ctx, c, []string{"n1"}, drain.Options{IgnoreDaemonSets: true}, at)
		}, []string{`"outcome": "moved"`, `"to": "n2"`}, []string{`"outcome": "pending"`}, allResourcesBut("poddisruptionbudgets")},
		"descheduler": {func(ctx context.Context, c *rest.Config, at time.Time) ([]byte, error) {
			return a.deschedulerAt(ctx, c, nil, at)
		}, []string{`"from": "n1"`, `"to": "n2"`, `"supported": true`}, []string{`"moves": []`}, allResourcesBut("holds")},
		"node": {func(ctx context.Context, c *rest.Config, at time.Time) ([]byte, error) {
			return a.nodePressureAt(ctx, c, "n1", at)
		},
			[]string{`{"node":"n1"}`}, []string{`{"node":"n1"}`}, []string{"nodes "}},
	} {
		for at, want := range map[time.Time][]string{first: tc.first, second: tc.second} {
			data, err := tc.get(t.Context(), newAuthorizer(t, "*"), at)
			if err != nil || !json.Valid(data) {
				t.Errorf("%s at %v: got %s, %v", name, at.Unix(), data, err)
			}
			for _, part := range want {
				if !strings.Contains(string(data), part) {
					t.Errorf("%s at %v: got %s, want %s", name, at.Unix(), data, part)
				}
			}
		}
		if data, err := tc.get(t.Context(), newAuthorizer(t, tc.forbidden...), first); !apierrors.IsForbidden(err) {
			t.Errorf("%s with permissions %q: got %s, %v, want forbidden", name, tc.forbidden, data, err)
		}
		if _, err := tc.get(t.Context(), newAuthorizer(t, "*"), first.Add(-time.Second)); !apierrors.IsNotFound(err) {
			t.Errorf("%s before the recording: got %v, want not found", name, err)
		}
	}
	if _, err := a.nodePressureAt(t.Context(), newAuthorizer(t, "*"), "n2", first); !apierrors.IsNotFound(err) {
		t.Errorf("report of n2: got %v, want not found", err)
	}
	var list policyv1.PodDisruptionBudgetList
	if data, err := a.budgetsAt(t.Context(), newAuthorizer(t, "*"), "other", first); err != nil || json.Unmarshal(data, &list) != nil || len(list.Items) != 0 {
		t.Errorf("budgets of another namespace: got %s, %v, want none", data, err)
	}
}
