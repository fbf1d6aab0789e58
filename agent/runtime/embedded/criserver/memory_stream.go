package criserver

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// memoryStream is a stream of responses to one request. Sending a response blocks until the client
// receives it.
type memoryStream struct {
	ctx       context.Context
	requests  chan proto.Message
	responses chan proto.Message
	header    chan struct{} // the service has sent its header
	ended     chan struct{} // closed when the service has returned, with err
	err       error
}

// clientEnd is a client's end of a stream.
type clientEnd struct{ *memoryStream }

var _ grpc.ClientStream = clientEnd{}

// Header blocks until the service has sent its header or returned.
func (c clientEnd) Header() (metadata.MD, error) {
	select {
	case <-c.header:
		return nil, nil
	case <-c.ended:
		return nil, c.err
	}
}

// Trailer returns nothing.
func (c clientEnd) Trailer() metadata.MD { return nil }

// CloseSend has no effect: there is one request.
func (c clientEnd) CloseSend() error { return nil }

// Context returns the stream's context.
func (c clientEnd) Context() context.Context { return c.ctx }

// SendMsg sends the request.
func (c clientEnd) SendMsg(m any) error {
	c.requests <- proto.Clone(m.(proto.Message))
	return nil
}

// RecvMsg blocks until the service sends a response or returns.
func (c clientEnd) RecvMsg(m any) error {
	select {
	case response := <-c.responses:
		copyMessage(m, response)
		return nil
	case <-c.ended:
		return c.err
	}
}

// serverEnd is a service's end of a stream.
type serverEnd struct{ *memoryStream }

var _ grpc.ServerStream = serverEnd{}

// SetHeader has no effect.
func (s serverEnd) SetHeader(metadata.MD) error { return nil }

// SendHeader reports to the client that the service handles its request.
func (s serverEnd) SendHeader(metadata.MD) error {
	select {
	case s.header <- struct{}{}:
	default:
	}
	return nil
}

// SetTrailer has no effect.
func (s serverEnd) SetTrailer(metadata.MD) {}

// Context returns the stream's context.
func (s serverEnd) Context() context.Context { return s.ctx }

// SendMsg blocks until the client receives the response or the stream ends.
func (s serverEnd) SendMsg(m any) error {
	select {
	case s.responses <- proto.Clone(m.(proto.Message)):
		return nil
	case <-s.ctx.Done():
		return status.FromContextError(s.ctx.Err()).Err()
	}
}

// RecvMsg blocks until the client has sent its request.
func (s serverEnd) RecvMsg(m any) error {
	select {
	case request := <-s.requests:
		copyMessage(m, request)
		return nil
	case <-s.ctx.Done():
		return status.FromContextError(s.ctx.Err()).Err()
	}
}
