package podproxy

import (
	"context"
	"errors"
	"io"

	genericrest "k8s.io/apiserver/pkg/registry/generic/rest"
	"k8s.io/apiserver/pkg/registry/rest"
)

// logStreamer is a stream from a node agent whose end arrives without data. Upstream's WebSocket
// stream drops data that a Read returns together with io.EOF.
type logStreamer struct{ *genericrest.LocationStreamer }

var _ rest.ResourceStreamer = &logStreamer{}

// InputStream implements rest.ResourceStreamer.
func (s *logStreamer) InputStream(ctx context.Context, apiVersion, accept string) (io.ReadCloser, bool, string, error) {
	stream, flush, contentType, err := s.LocationStreamer.InputStream(ctx, apiVersion, accept)
	if stream != nil {
		stream = separateEnd{stream}
	}
	return stream, flush, contentType, err
}

// separateEnd returns data and io.EOF from different calls of Read.
type separateEnd struct{ io.ReadCloser }

// Read implements io.Reader.
func (s separateEnd) Read(p []byte) (int, error) {
	n, err := s.ReadCloser.Read(p)
	if n > 0 && errors.Is(err, io.EOF) {
		err = nil // the next call returns it again
	}
	return n, err
}
