package fairness

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"
)

// serveBody sends a body through the filter and returns the status and what the handler read.
func serveBody(t *testing.T, budget *bodyBudget, name string, body io.Reader) (int, string) {
	t.Helper()
	var got string
	handler := withBody(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		data, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		got = string(data)
	}), func(*http.Request, *request.RequestInfo) bool { return false }, serializer.NewCodecFactory(runtime.NewScheme()), budget, 10)
	r := httptest.NewRequest(http.MethodPost, "/api/v1/pods", body)
	ctx := request.WithRequestInfo(context.Background(), &request.RequestInfo{APIVersion: "v1"})
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r.WithContext(request.WithUser(ctx, &user.DefaultInfo{Name: name})))
	return w.Code, got
}

func TestWithBodyReadsBody(t *testing.T) {
	for name, tc := range map[string]struct {
		body io.Reader
		code int
		want string
	}{
		"complete":   {strings.NewReader("0123456789"), http.StatusOK, "0123456789"},
		"too large":  {strings.NewReader("0123456789abc"), http.StatusOK, "0123456789a"}, // the handler returns 413
		"read error": {io.MultiReader(strings.NewReader("01"), errorReader{}), http.StatusBadRequest, ""},
	} {
		if code, got := serveBody(t, newBodyBudget(bodyUse{100, 1}, bodyUse{100, 1}), "a", tc.body); code != tc.code || got != tc.want {
			t.Errorf("%s: got status %d, body %q, want %d, %q", name, code, got, tc.code, tc.want)
		}
	}
}

type errorReader struct{}

func (errorReader) Read([]byte) (int, error) { return 0, errors.New("broken") }

// TestBodyBudgetLimitsUsersAndTotal checks that the bodies of one user's unfinished requests are limited, and that
// other users are not affected until the total is reached.
func TestBodyBudgetLimitsUsersAndTotal(t *testing.T) {
	budget := newBodyBudget(bodyUse{12, 10}, bodyUse{20, 10})
	chargeA, _ := budget.open("a")
	_ = chargeA.add(8)
	for name, want := range map[string]int{"a": http.StatusTooManyRequests, "b": http.StatusOK} {
		if code, _ := serveBody(t, budget, name, bytes.NewReader(make([]byte, 8))); code != want {
			t.Errorf("8 more bytes of user %s: got status %d, want %d", name, code, want)
		}
	}
	chargeB, _ := budget.open("b")
	_ = chargeB.add(8)
	if code, _ := serveBody(t, budget, "c", bytes.NewReader(make([]byte, 8))); code != http.StatusTooManyRequests {
		t.Errorf("8 bytes beyond the total: got status %d, want 429", code)
	}
	for user, want := range map[string]string{
		"a": `bytes of bodies of unfinished requests of user "a": 16: must be at most 12`, "c": "bytes of bodies of unfinished requests of all users: must be at most 20"} {
		charge, err := budget.open(user)
		if err != nil {
			t.Fatalf("opening a body of user %s: got error %v, want none", user, err)
		}
		if err := charge.add(8); err == nil || err.Error() != want {
			t.Errorf("8 bytes of user %s: got error %v, want %s", user, err, want)
		}
		charge.close()
	}
	chargeA.close()
	chargeB.close()
	if budget.sum != (bodyUse{}) || len(budget.users) != 0 {
		t.Errorf("after all requests: got %+v, users %v, want none", budget.sum, budget.users)
	}
}

// TestStalledBodiesAreLimited checks that the number and the bytes of a user's bodies are limited if they stall after one
// byte. Other users are not affected, and the user may send bodies again once the stalled ones have arrived.
func TestStalledBodiesAreLimited(t *testing.T) {
	const stalled = 3
	for name, perUser := range map[string]bodyUse{"number": {bytes: 1 << 20, bodies: stalled}, "bytes": {bytes: stalled*11 + 10, bodies: 100}} {
		budget := newBodyBudget(perUser, bodyUse{1 << 20, 100})
		var served sync.WaitGroup
		var bodies []*io.PipeWriter
		for range stalled {
			read, write := io.Pipe()
			bodies = append(bodies, write)
			served.Go(func() {
				if code, got := serveBody(t, budget, "a", read); code != http.StatusOK || got != "12" {
					t.Errorf("%s: a stalled body that is continued: got status %d, body %q, want 200, 12", name, code, got)
				}
			})
			if _, err := write.Write([]byte("1")); err != nil { // returns when the server has read the byte
				t.Fatal(err)
			}
		}
		for sender, want := range map[string]int{"a": http.StatusTooManyRequests, "b": http.StatusOK} {
			if code, _ := serveBody(t, budget, sender, strings.NewReader("1")); code != want {
				t.Errorf("%s: request of user %s next to %d stalled bodies of user a: got status %d, want %d", name, sender, stalled, code, want)
			}
		}
		for _, body := range bodies {
			_, _ = body.Write([]byte("2"))
			_ = body.Close()
		}
		served.Wait()
		if code, _ := serveBody(t, budget, "a", strings.NewReader("1")); code != http.StatusOK {
			t.Errorf("%s: after all bodies have arrived: got status %d, want 200", name, code)
		}
	}
}

// TestArrivedBodiesDoNotCount checks that requests that wait or run do not count as bodies that have not arrived.
func TestArrivedBodiesDoNotCount(t *testing.T) {
	budget := newBodyBudget(bodyUse{100, 1}, bodyUse{100, 1})
	running, err := budget.open("a")
	if err != nil {
		t.Fatalf("first body: got error %v, want none", err)
	}
	_ = running.add(5)
	running.bodyArrived()
	if code, _ := serveBody(t, budget, "a", strings.NewReader("1")); code != http.StatusOK {
		t.Errorf("request next to one whose body has arrived: got status %d, want 200", code)
	}
	if budget.sum.bytes != 5 {
		t.Errorf("charged bytes: got %d, want 5", budget.sum.bytes)
	}
}

// timedOutWriter is the writer of a request whose timeout has sent the response.
type timedOutWriter struct{ http.ResponseWriter }

func (timedOutWriter) SetReadDeadline(time.Time) error { panic("the response is complete") }

// TestWithBodyEndsAfterTimeout checks that a request that timed out before its body was read uses neither the handler nor
// the writer.
func TestWithBodyEndsAfterTimeout(t *testing.T) {
	handler := withBody(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the handler was called") }),
		func(*http.Request, *request.RequestInfo) bool { return false }, serializer.NewCodecFactory(runtime.NewScheme()), newBodyBudget(bodyUse{100, 1}, bodyUse{100, 1}), 10)
	ctx, cancel := context.WithCancel(request.WithRequestInfo(t.Context(), &request.RequestInfo{APIVersion: "v1"}))
	cancel()
	handler.ServeHTTP(timedOutWriter{httptest.NewRecorder()}, httptest.NewRequest(http.MethodPost, "/api/v1/pods", strings.NewReader("x")).WithContext(ctx))
}
