package podproxy

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	genericrest "k8s.io/apiserver/pkg/registry/generic/rest"
)

// TestLogEndsWithoutData checks that the last data of a log does not arrive together with its end,
// because upstream's WebSocket stream drops such data.
func TestLogEndsWithoutData(t *testing.T) {
	const text = "DONE"
	node := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "4") // its reader returns the last data with io.EOF
		_, _ = io.WriteString(w, text)
	}))
	defer node.Close()
	location, err := url.Parse(node.URL)
	if err != nil {
		t.Fatal(err)
	}
	s := &logStreamer{&genericrest.LocationStreamer{Location: location, Transport: http.DefaultTransport}}
	stream, _, _, err := s.InputStream(context.Background(), "", "")
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	buffer := make([]byte, 64)
	if n, err := stream.Read(buffer); string(buffer[:n]) != text || err != nil {
		t.Errorf("first read: %q, %v, want %q without an error", buffer[:n], err, text)
	}
	if n, err := stream.Read(buffer); n != 0 || err != io.EOF {
		t.Errorf("second read: %d bytes, %v, want the end", n, err)
	}
}
