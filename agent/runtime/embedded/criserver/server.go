package criserver

import (
	"context"
	"errors"
	"time"

	"google.golang.org/grpc"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/berthproject/berth/agent/runtime/embedded"
)

// Server serves CRI for a runtime.
type Server struct {
	runtime *embedded.Runtime
	grpc    *grpc.Server
	events  eventBroadcaster
}

// maxRequest and maxResponse are the maximum sizes of messages in bytes. The output of ExecSync has
// up to 32 MiB.
const (
	maxRequest  = 16 << 20
	maxResponse = 64 << 20
)

// New returns a server for a runtime.
func New(r *embedded.Runtime) *Server {
	s := &Server{runtime: r, grpc: grpc.NewServer(grpc.MaxRecvMsgSize(maxRequest), grpc.MaxSendMsgSize(maxResponse))}
	cri.RegisterRuntimeServiceServer(s.grpc, &runtimeServer{Server: s})
	cri.RegisterImageServiceServer(s.grpc, &imageServer{Server: s})
	return s
}

// stopTimeout bounds the wait for calls when the server stops.
const stopTimeout = 5 * time.Second

// Serve serves calls on the socket until ctx ends. It creates the socket, and removes it before it returns.
func (s *Server) Serve(ctx context.Context, socket string) error {
	listener, err := listen(socket)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go s.forwardExits(ctx)
	stopped := make(chan struct{})
	context.AfterFunc(ctx, func() {
		defer close(stopped)
		timer := time.AfterFunc(stopTimeout, s.grpc.Stop)
		defer timer.Stop()
		s.events.close()
		s.grpc.GracefulStop()
	})
	err = s.grpc.Serve(listener)
	cancel()
	<-stopped
	return errors.Join(err, removeSocket(socket))
}
