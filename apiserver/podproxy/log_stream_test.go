package podproxy

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/iotest"

	genericrest "k8s.io/apiserver/pkg/registry/generic/rest"
	"k8s.io/apiserver/pkg/registry/rest"
)

// dataErrTransport responds with a body whose last bytes arrive together with io.EOF.
type dataErrTransport struct{ body string }

func (d dataErrTransport) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(iotest.DataErrReader(strings.NewReader(d.body)))}, nil
}

// TestLogEndsWithEmptyRead checks that the last bytes do not arrive together with io.EOF: the WebSocket handler drops
// bytes that it reads together with an error.
func TestLogEndsWithEmptyRead(t *testing.T) {
	var s rest.ResourceStreamer = &logStreamer{&genericrest.LocationStreamer{Location: &url.URL{Scheme: "https", Host: "agent:1"}, Transport: dataErrTransport{"DONE"}}}
	stream, _, _, err := s.InputStream(t.Context(), "v1", "")
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	buf := make([]byte, 2048)
	for {
		n, err := stream.Read(buf)
		if err != nil {
			if err != io.EOF {
				t.Error(err)
			}
			break
		}
		got.Write(buf[:n])
	}
	if got.String() != "DONE" {
		t.Errorf("got %q, want DONE", got.String())
	}
}
