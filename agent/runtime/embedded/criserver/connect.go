package criserver

import (
	"context"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	criclient "github.com/berthproject/berth/agent/runtime/cri"
	"github.com/berthproject/berth/agent/runtime/embedded"
)

// Connect returns a client of a runtime in this process. Their connection is in memory: no other process
// can use it. stop closes it: calls in progress are canceled.
func Connect(r *embedded.Runtime) (client *criclient.Client, stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	s := &Server{runtime: r}
	conn := &memoryConn{closed: ctx}
	cri.RegisterRuntimeServiceServer(conn, &runtimeServer{Server: s})
	cri.RegisterImageServiceServer(conn, &imageServer{Server: s})
	forwarded := make(chan struct{})
	go func() {
		defer close(forwarded)
		s.forwardExits(ctx)
	}()
	client = criclient.Connect(conn)
	return client, func() {
		_ = client.Close()
		cancel()
		s.events.close()
		<-forwarded
	}
}
