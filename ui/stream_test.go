package ui

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/berthproject/berth/ui/simulation"
)

// streamFor runs a stream for a time, and returns its events and comments and how often it computed an answer.
func streamFor(t *testing.T, d, interval time.Duration, get func(n int) ([]byte, error)) (texts []string, computed int) {
	t.Helper()
	w := httptest.NewRecorder()
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	e := &events{w: w, controller: http.NewResponseController(w)}
	sendAnswers(ctx, e, interval, func() (string, []byte, int) {
		computed++
		return computeEvent(ctx, make(chan struct{}, 1), answerTimeout, func(context.Context) ([]byte, error) { return get(computed) })
	})
	for _, text := range strings.Split(strings.TrimSpace(w.Body.String()), "\n\n") {
		texts = append(texts, strings.ReplaceAll(text, "\n", " "))
	}
	return texts, computed
}

func TestStreamsSendChangedAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got, computed := streamFor(t, 9*time.Second, 2*time.Second, func(n int) ([]byte, error) { return fmt.Appendf(nil, `{"n":%d}`, n/3), nil })
		want := []string{`event: answer data: {"n":0}`, `event: answer data: {"n":1}`}
		if fmt.Sprint(got) != fmt.Sprint(want) || computed != 5 {
			t.Errorf("got %q from %d computations, want %q from 5", got, computed, want)
		}
		if got, _ := streamFor(t, 40*time.Second, time.Minute, func(int) ([]byte, error) { return []byte("1"), nil }); fmt.Sprint(got) != "[event: answer data: 1 : heartbeat : heartbeat]" {
			t.Errorf("got %q, want an answer and two heartbeats", got)
		}
		if got, _ := streamFor(t, time.Second, time.Minute, func(int) ([]byte, error) { return []byte("{\n \"a\": 1\n}"), nil }); got[0] != `event: answer data: {"a":1}` {
			t.Errorf("got %q, want JSON without line breaks", got)
		}
	})
}

func TestStreamsLimitTheirCost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, computed := streamFor(t, 2*time.Minute, time.Second, func(int) ([]byte, error) {
			time.Sleep(time.Second)
			return []byte("1"), nil
		})
		if want := 4; computed != want { // every 36 s
			t.Errorf("answers that take a second were computed %d times in two minutes, want %d", computed, want)
		}
	})
}

// TestStreamsAreAuthorizedAgain checks that a stream shows when the user may no longer read the answer, and may again.
func TestStreamsAreAuthorizedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got, _ := streamFor(t, time.Minute, 2*time.Second, func(n int) ([]byte, error) {
			if n == 2 {
				return nil, apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", errors.New("forbidden"))
			}
			return []byte("1"), nil
		})
		if len(got) < 3 || !strings.Contains(got[1], `"code":403`) || got[2] != "event: answer data: 1" {
			t.Errorf("got %q, want an answer, a failure and an answer", got)
		}
		got, computed := streamFor(t, time.Hour, time.Second, func(int) ([]byte, error) { return nil, apierrors.NewUnauthorized("expired") })
		if len(got) != 1 || computed != 1 || !strings.Contains(got[0], `"code":401`) {
			t.Errorf("got %q from %d computations, want one failure that ends the stream", got, computed)
		}
		if _, computed := streamFor(t, 10*time.Minute, time.Second, func(int) ([]byte, error) { return nil, errors.New("down") }); computed > 30 {
			t.Errorf("a failing answer was computed %d times in 10 minutes", computed)
		}
	})
}

func TestStreamsAreLimited(t *testing.T) {
	api := newAPIServer(t)
	s := newPage(t, &rest.Config{Host: api.URL}, false)
	stream := func(path string) *httptest.ResponseRecorder {
		return request(s, http.MethodGet, path, "", "Authorization", "Bearer good", "Accept", eventStream)
	}
	for range maxUserStreams {
		if s.streams.acquire("") == nil {
			t.Fatal("the limit is reached too early")
		}
	}
	for _, path := range []string{"/ui/api/queue?every=3", "/ui/api/fleet", "/ui/cluster/api/v1/pods?watch=1", "/ui/cluster/api/v1/pods?watch"} {
		if w := stream(path); w.Code != http.StatusTooManyRequests {
			t.Errorf("%s: got status %d %s, want 429", path, w.Code, w.Body)
		}
	}
	if w := stream("/ui/cluster/api/v1/pods?watch=false"); w.Code != http.StatusOK {
		t.Errorf("a list: got status %d %s, want 200", w.Code, w.Body)
	}
	for _, every := range []string{"", "0", "61", "x"} {
		if w := stream("/ui/api/queue?every=" + every); w.Code != http.StatusBadRequest {
			t.Errorf("every=%s: got status %d, want 400", every, w.Code)
		}
	}
	if w := request(s, http.MethodGet, "/ui/api/fleet", "", "Authorization", "Bearer bad"); w.Code != http.StatusUnauthorized {
		t.Errorf("got status %d with an invalid token, want 401", w.Code)
	}
	if w := stream("/ui/api/fleet?namespace=a/b"); w.Code != http.StatusBadRequest {
		t.Errorf("got status %d for an invalid namespace, want 400", w.Code)
	}
}

func TestUserLimit(t *testing.T) {
	l := newUserLimit(2, 3)
	a1, a2 := l.acquire("a"), l.acquire("a")
	if a1 == nil || a2 == nil || l.acquire("a") != nil {
		t.Error("user a: must have two uses")
	}
	b := l.acquire("b")
	if b == nil || l.acquire("c") != nil {
		t.Error("three uses in total")
	}
	a1()
	a1()
	if l.used != 2 || l.acquire("c") == nil {
		t.Errorf("%d uses after an end, want 2, and room for another user", l.used)
	}
}

func TestSimulationsAreLimited(t *testing.T) {
	api := newAPIServer(t)
	s := newPage(t, &rest.Config{Host: api.URL}, false)
	post := func(body, token string) *httptest.ResponseRecorder {
		return request(s, http.MethodPost, "/ui/api/simulate", body, "Authorization", "Bearer "+token, "Origin", "http://"+host)
	}
	if w := post(`{"scenario":"node n1"}`, "good"); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "event: result") {
		t.Errorf("got status %d %s, want a result", w.Code, w.Body)
	}
	for _, c := range []struct {
		body, token string
		code        int
	}{
		{`{"scenario":"node n1"}`, "bad", http.StatusUnauthorized},
		{`{`, "good", http.StatusBadRequest},
		{`{"scenario":"` + strings.Repeat("x", maxScenario+1) + `"}`, "good", http.StatusBadRequest},
		{`{"dump":"` + strings.Repeat("x", maxSimulationBody) + `"}`, "good", http.StatusBadRequest},
	} {
		if w := post(c.body, c.token); w.Code != c.code {
			t.Errorf("%.40s with token %s: status %d %s, want %d", c.body, c.token, w.Code, w.Body, c.code)
		}
	}
	if w := request(s, http.MethodPost, "/ui/api/simulate", "{}", "Authorization", "Bearer good", "Origin", "http://other.example"); w.Code != http.StatusForbidden {
		t.Errorf("another origin: status %d, want 403", w.Code)
	}
	release := s.simulationUsers.acquire("")
	if w := post(`{}`, "good"); w.Code != http.StatusTooManyRequests {
		t.Errorf("a second simulation of a user: status %d, want 429", w.Code)
	}
	time.AfterFunc(100*time.Millisecond, release)
	if w := post(`{}`, "good"); w.Code != http.StatusOK {
		t.Errorf("shortly before the end of the first: status %d, want 200", w.Code)
	}
}

// TestSimulationsRunInTheOrderOfRequests checks that a user who simulates again waits for the users who have waited
// meanwhile, however long.
func TestSimulationsRunInTheOrderOfRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &Server{simulating: make(chan struct{}, 1)}
		var turns []string
		wait := func(ctx context.Context, user string) (end func()) {
			if end = s.waitTurn(ctx, startEvents(httptest.NewRecorder())); end != nil {
				turns = append(turns, user)
			}
			return end
		}
		end := wait(t.Context(), "a")
		disconnected, disconnect := context.WithCancel(t.Context())
		go wait(disconnected, "disconnected")
		synctest.Wait()
		go func() { defer wait(t.Context(), "b")() }()
		time.Sleep(time.Minute)
		disconnect()
		synctest.Wait()
		end()
		end = wait(t.Context(), "a")
		end()
		if got := strings.Join(turns, " "); got != "a b a" {
			t.Errorf("turns %q, want a b a", got)
		}
	})
}

// TestErrorsOfScenariosAreTheUsers checks the status of errors that the user causes.
func TestErrorsOfScenariosAreTheUsers(t *testing.T) {
	api := newAPIServer(t)
	s := newPage(t, &rest.Config{Host: api.URL}, false)
	s.o.Answers.Simulate = func(_ context.Context, _ *rest.Config, r SimulationRequest, _ func(*simulation.Frame) error) (*simulation.Result, error) {
		_, err := simulation.Parse(r.Scenario, simulation.DefaultLimits)
		return nil, err
	}
	w := request(s, http.MethodPost, "/ui/api/simulate", `{"scenario":"nodes"}`, "Authorization", "Bearer good", "Origin", "http://"+host)
	if !strings.Contains(w.Body.String(), `"code":422`) || !strings.Contains(w.Body.String(), `"line":1`) {
		t.Errorf("got %s, want a failure with code 422 and line 1", w.Body)
	}
}
