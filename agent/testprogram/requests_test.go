package testprogram

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// TestSendRequests checks that the number of requests depends on rate and duration only, although the server is slow, and
// that failures count.
func TestSendRequests(t *testing.T) {
	const requests = 200
	arrived, answer := atomic.Int64{}, make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if arrived.Add(1) == requests {
			close(answer)
		}
		<-answer // no response before all requests have arrived
		if r.URL.Path == "/fails" {
			http.Error(w, "no", http.StatusServiceUnavailable)
		}
	}))
	defer server.Close()
	var out strings.Builder
	if err := sendRequests("1000", "200ms", []string{server.URL, server.URL + "/fails"}, &out); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); arrived.Load() != requests || !strings.Contains(got, "sent 200 failed 100 in ") {
		t.Errorf("%d requests arrived, report %q; want 200 requests, of which half failed", arrived.Load(), got)
	}
}
