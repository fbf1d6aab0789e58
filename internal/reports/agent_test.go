package reports

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
)

// TestReportsOfAgentsAreLimited checks the maximum sizes of reports and error messages: a node's agent is not trusted.
func TestReportsOfAgentsAreLimited(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.Contains(r.URL.Path, "/good/"):
			_, _ = w.Write([]byte("{}"))
		case strings.Contains(r.URL.Path, "/large/"):
			_, _ = w.Write(bytes.Repeat([]byte(" "), maxAgentReport+1))
		default:
			http.Error(w, strings.Repeat("no report ", 100), http.StatusNotFound)
		}
	}))
	defer server.Close()
	config := &rest.Config{Host: server.URL}
	if data, err := ReadAgentReport(t.Context(), config, "good", DiskReport); err != nil || string(data) != "{}" {
		t.Errorf("got %q, %v; want the report", data, err)
	}
	if data, err := ReadAgentReport(t.Context(), config, "large", DiskReport); err == nil {
		t.Errorf("report of %d bytes: got no error, want one", len(data))
	}
	_, err := ReadAgentReport(t.Context(), config, "other", DiskReport)
	if !apierrors.IsNotFound(err) || !strings.Contains(err.Error(), "no report no report") || len(err.Error()) > maxAgentMessage+100 {
		t.Errorf("got %v, want not found with the first %d bytes of the message", err, maxAgentMessage)
	}
}
