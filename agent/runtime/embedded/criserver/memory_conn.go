package criserver

import (
	"context"
	"io"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// memoryConn connects clients and services of gRPC in one process. A call runs in the goroutine of its
// caller: on a busy machine, each change of goroutines that a transport needs would delay it. As through
// a transport, messages are copied and errors are statuses.
type memoryConn struct {
	methods map[string]method
	streams map[string]stream
	closed  context.Context // ends when the connection is closed
}

// method is a method of a service.
type method struct {
	service any
	handler grpc.MethodHandler
}

// stream is a method of a service that returns a stream.
type stream struct {
	service any
	handler grpc.StreamHandler
}

// RegisterService implements grpc.ServiceRegistrar. It must be called before the first call.
func (c *memoryConn) RegisterService(desc *grpc.ServiceDesc, service any) {
	if c.methods == nil {
		c.methods, c.streams = map[string]method{}, map[string]stream{}
	}
	for i := range desc.Methods {
		c.methods["/"+desc.ServiceName+"/"+desc.Methods[i].MethodName] = method{service, desc.Methods[i].Handler}
	}
	for i := range desc.Streams {
		c.streams["/"+desc.ServiceName+"/"+desc.Streams[i].StreamName] = stream{service, desc.Streams[i].Handler}
	}
}

// Invoke implements grpc.ClientConnInterface.
func (c *memoryConn) Invoke(ctx context.Context, name string, args, reply any, _ ...grpc.CallOption) error {
	m, ok := c.methods[name]
	if !ok {
		return status.Errorf(codes.Unimplemented, "unknown method %s", name)
	}
	ctx, cancel := c.callContext(ctx)
	defer cancel()
	if err := ctx.Err(); err != nil {
		return toStatus(err)
	}
	response, err := m.handler(m.service, ctx, func(request any) error { copyMessage(request, args); return nil }, nil)
	if err != nil {
		return toStatus(err)
	}
	copyMessage(reply, response)
	return nil
}

// callContext returns the context of a call, which also ends with the connection.
func (c *memoryConn) callContext(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(c.closed, cancel)
	return ctx, func() { stop(); cancel() }
}

// copyMessage makes to a copy of from.
func copyMessage(to, from any) {
	proto.Reset(to.(proto.Message))
	proto.Merge(to.(proto.Message), from.(proto.Message))
}

// toStatus returns the error that a client of a gRPC server receives.
func toStatus(err error) error {
	if s, ok := status.FromError(err); ok {
		return s.Err()
	}
	return status.FromContextError(err).Err()
}

// NewStream implements grpc.ClientConnInterface for methods with one request and a stream of responses.
func (c *memoryConn) NewStream(ctx context.Context, _ *grpc.StreamDesc, name string, _ ...grpc.CallOption) (grpc.ClientStream, error) {
	s, ok := c.streams[name]
	if !ok {
		return nil, status.Errorf(codes.Unimplemented, "unknown method %s", name)
	}
	ctx, cancel := c.callContext(ctx)
	out := &memoryStream{ctx: ctx, requests: make(chan proto.Message, 1), responses: make(chan proto.Message), header: make(chan struct{}, 1), ended: make(chan struct{})}
	go func() {
		defer cancel()
		defer close(out.ended)
		out.err = io.EOF
		if err := s.handler(s.service, serverEnd{out}); err != nil {
			out.err = toStatus(err)
		}
	}()
	return clientEnd{out}, nil
}
