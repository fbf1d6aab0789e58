package componentserver

import (
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"k8s.io/client-go/kubernetes/fake"
)

// TestBlockedRequestsDoNotDelayReviews checks that requests whose handlers do not return do not block the reviews of
// other requests.
func TestBlockedRequestsDoNotDelayReviews(t *testing.T) {
	const blocked = 50
	var started, ended sync.WaitGroup
	release := make(chan struct{})
	s := newServer(newClient(fake.NewClientset()))
	s.Protected = http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Block") != "" {
			started.Done()
			<-release
		}
	})
	handler, err := s.Handler()
	if err != nil {
		t.Fatal(err)
	}
	get := func(token, block string) int {
		response, request := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/metrics", nil)
		request.Header.Set("Authorization", "Bearer "+token)
		request.Header.Set("Block", block)
		handler.ServeHTTP(response, request)
		return response.Code
	}
	started.Add(blocked)
	for range blocked {
		ended.Go(func() { get("good", "yes") })
	}
	started.Wait()
	for token, want := range map[string]int{"good": http.StatusOK, "forged": http.StatusUnauthorized} {
		if code := get(token, ""); code != want {
			t.Errorf("token %q while %d requests are blocked: status %d, want %d", token, blocked, code, want)
		}
	}
	close(release)
	ended.Wait()
}
