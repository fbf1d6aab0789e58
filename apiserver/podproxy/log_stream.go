package podproxy

import (
	"context"
	"io"

	genericrest "k8s.io/apiserver/pkg/registry/generic/rest"
	"k8s.io/apiserver/pkg/registry/rest"
)

// logStreamer streams a log from a node agent.
type logStreamer struct{ *genericrest.LocationStreamer }

var _ rest.ResourceStreamer = &logStreamer{}

// InputStream returns the log. Its last bytes never arrive together with io.EOF, because the
// WebSocket handler of k8s.io/apimachinery drops such bytes.
func (s *logStreamer) InputStream(ctx context.Context, apiVersion, acceptHeader string) (io.ReadCloser, bool, string, error) {
	stream, flush, contentType, err := s.LocationStreamer.InputStream(ctx, apiVersion, acceptHeader)
	if stream != nil {
		stream = lateEOF{stream}
	}
	return stream, flush, contentType, err
}

// lateEOF returns errors only from calls that read no bytes.
type lateEOF struct{ io.ReadCloser }

func (l lateEOF) Read(b []byte) (int, error) {
	n, err := l.ReadCloser.Read(b)
	if n > 0 {
		return n, nil // the next call returns the error again
	}
	return n, err
}
