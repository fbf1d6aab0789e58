package ui

import (
	"context"
	"net/http"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/berthproject/berth/drain"
	"github.com/berthproject/berth/ui/simulation"
)

const at = "at=2026-03-01T12:00:00Z"

var historyPaths = []string{"/ui/api/history/range", "/ui/api/history/fleet?" + at, "/ui/api/history/queue?namespace=shop&" + at, "/ui/api/history/pod?namespace=shop&name=web-0&" + at,
	"/ui/api/history/budgets?" + at, "/ui/api/history/zones?" + at, "/ui/api/history/drain?node=n1&surge=true&" + at, "/ui/api/history/descheduler?max-evictions=3&" + at,
	"/ui/api/history/node/pressure?name=n1&" + at}

// newHistoryPage returns a page whose answers are the bearer token and the time.
func newHistoryPage(t *testing.T) *Server {
	t.Helper()
	answer := func(c *rest.Config, at time.Time) ([]byte, error) {
		return []byte(c.BearerToken + " " + at.Format(time.RFC3339)), nil
	}
	list := func(_ context.Context, c *rest.Config, _ string, at time.Time) ([]byte, error) { return answer(c, at) }
	now := func(_ context.Context, c *rest.Config, _ string) ([]byte, error) { return answer(c, time.Time{}) }
	s, err := New(Options{Cluster: &rest.Config{}, Answers: Answers{Queue: now, Displacements: now, NodePressure: now, NodeDisk: now,
		Drain: func(_ context.Context, c *rest.Config, _ []string, _ drain.Options) ([]byte, error) {
			return answer(c, time.Time{})
		},
		Simulate: func(context.Context, *rest.Config, SimulationRequest, func(*simulation.Frame) error) (*simulation.Result, error) {
			return nil, nil
		},
		Zones:       func(_ context.Context, c *rest.Config) ([]byte, error) { return answer(c, time.Time{}) },
		Descheduler: func(_ context.Context, c *rest.Config, _ *int) ([]byte, error) { return answer(c, time.Time{}) },
		Pod:         func(_ context.Context, c *rest.Config, _, _ string) ([]byte, error) { return answer(c, time.Time{}) },
		History: &History{Range: now, Fleet: list, Queue: list, Budgets: list, NodePressure: list,
			Pod: func(_ context.Context, c *rest.Config, _, _ string, at time.Time) ([]byte, error) {
				return answer(c, at)
			},
			Zones: func(_ context.Context, c *rest.Config, at time.Time) ([]byte, error) { return answer(c, at) },
			Drain: func(_ context.Context, c *rest.Config, nodes []string, o drain.Options, at time.Time) ([]byte, error) {
				if len(nodes) != 1 || nodes[0] != "n1" || !o.Surge {
					t.Errorf("drain: got nodes %v and options %+v, want n1 and surge", nodes, o)
				}
				return answer(c, at)
			},
			Descheduler: func(_ context.Context, c *rest.Config, limit *int, at time.Time) ([]byte, error) {
				if limit == nil || *limit != 3 {
					t.Errorf("descheduler: got limit %v, want 3", limit)
				}
				return answer(c, at)
			}}}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestHistoryUsesCredentialsOfTheUser(t *testing.T) {
	s := newHistoryPage(t)
	for i, path := range historyPaths {
		if w := request(s, http.MethodGet, path, ""); w.Code != http.StatusUnauthorized {
			t.Errorf("%s without a token: got status %d, want 401", path, w.Code)
		}
		want := "good 2026-03-01T12:00:00Z"
		if i == 0 {
			want = "good 0001-01-01T00:00:00Z"
		}
		if w := request(s, http.MethodGet, path, "", "Authorization", "Bearer good"); w.Code != http.StatusOK || w.Body.String() != want {
			t.Errorf("%s: got status %d %q, want 200 and %q", path, w.Code, w.Body, want)
		}
	}
	for _, path := range []string{"/ui/api/history/fleet", "/ui/api/history/queue?at=yesterday", "/ui/api/history/fleet?namespace=a/b&" + at, "/ui/api/history/pod?namespace=shop&" + at, "/ui/api/history/pod?namespace=shop&name=web-0",
		"/ui/api/history/zones", "/ui/api/history/drain?" + at, "/ui/api/history/drain?node=n1", "/ui/api/history/descheduler?max-evictions=-1&" + at, "/ui/api/history/node/pressure?name=N&" + at, "/ui/api/history/budgets?namespace=A&" + at} {
		if w := request(s, http.MethodGet, path, "", "Authorization", "Bearer good"); w.Code != http.StatusBadRequest {
			t.Errorf("%s: got status %d, want 400", path, w.Code)
		}
	}
}

func TestPageWithoutRecording(t *testing.T) {
	s := newPage(t, &rest.Config{}, false)
	if w := request(s, http.MethodGet, historyPaths[0], "", "Authorization", "Bearer good"); w.Code != http.StatusOK || w.Body.String() != "{}" {
		t.Errorf("range: got status %d %s, want 200 and {}", w.Code, w.Body)
	}
	for _, path := range historyPaths[1:] {
		if w := request(s, http.MethodGet, path, "", "Authorization", "Bearer good"); w.Code != http.StatusNotFound {
			t.Errorf("%s: got status %d, want 404", path, w.Code)
		}
	}
}
