package fairness

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

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
		if code, got := serveBody(t, newBodyBudget(100, 100), "a", tc.body); code != tc.code || got != tc.want {
			t.Errorf("%s: got status %d, body %q, want %d, %q", name, code, got, tc.code, tc.want)
		}
	}
}

type errorReader struct{}

func (errorReader) Read([]byte) (int, error) { return 0, errors.New("broken") }

// TestBodyBudgetLimitsUsersAndTotal checks that the bodies of one user's unfinished requests are limited, and that
// other users are not affected until the total is reached.
func TestBodyBudgetLimitsUsersAndTotal(t *testing.T) {
	budget := newBodyBudget(12, 20)
	chargeA := budget.open("a")
	chargeA.add(8)
	for name, want := range map[string]int{"a": http.StatusTooManyRequests, "b": http.StatusOK} {
		if code, _ := serveBody(t, budget, name, bytes.NewReader(make([]byte, 8))); code != want {
			t.Errorf("8 more bytes of user %s: got status %d, want %d", name, code, want)
		}
	}
	chargeB := budget.open("b")
	chargeB.add(8)
	if code, _ := serveBody(t, budget, "c", bytes.NewReader(make([]byte, 8))); code != http.StatusTooManyRequests {
		t.Errorf("8 bytes beyond the total: got status %d, want 429", code)
	}
	chargeA.close()
	chargeB.close()
	if budget.sum != 0 || len(budget.users) != 0 {
		t.Errorf("after all requests: got %d bytes, users %v, want none", budget.sum, budget.users)
	}
}
