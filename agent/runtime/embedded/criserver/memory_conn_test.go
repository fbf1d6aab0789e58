package criserver

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// stubRuntime keeps the request of RunPodSandbox. The name of the pod selects the result.
type stubRuntime struct {
	cri.UnimplementedRuntimeServiceServer
	config *cri.PodSandboxConfig
	events chan *cri.ContainerEventResponse
}

func (s *stubRuntime) RunPodSandbox(ctx context.Context, request *cri.RunPodSandboxRequest) (*cri.RunPodSandboxResponse, error) {
	s.config = request.GetConfig()
	switch s.config.GetMetadata().GetName() {
	case "wait":
		<-ctx.Done()
		return nil, ctx.Err()
	case "plain":
		return nil, errors.New("no room")
	case "status":
		return nil, fmt.Errorf("pod: %w", status.Error(codes.NotFound, "no image"))
	}
	return &cri.RunPodSandboxResponse{PodSandboxId: "id"}, nil
}

func (s *stubRuntime) GetContainerEvents(_ *cri.GetEventsRequest, stream grpc.ServerStreamingServer[cri.ContainerEventResponse]) error {
	if err := stream.SendHeader(nil); err != nil {
		return err
	}
	for {
		select {
		case e := <-s.events:
			if err := stream.Send(e); err != nil {
				return err
			}
		case <-stream.Context().Done():
			return stream.Context().Err()
		}
	}
}

func connectStub() (*stubRuntime, cri.RuntimeServiceClient, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	conn, s := &memoryConn{closed: ctx}, &stubRuntime{events: make(chan *cri.ContainerEventResponse)}
	cri.RegisterRuntimeServiceServer(conn, s)
	return s, cri.NewRuntimeServiceClient(conn), cancel
}

func sandboxRequest(name string) *cri.RunPodSandboxRequest {
	return &cri.RunPodSandboxRequest{Config: &cri.PodSandboxConfig{Metadata: &cri.PodSandboxMetadata{Name: name}}}
}

func TestMemoryConnCopiesMessages(t *testing.T) {
	s, client, _ := connectStub()
	request := sandboxRequest("a")
	if r, err := client.RunPodSandbox(t.Context(), request); err != nil || r.GetPodSandboxId() != "id" {
		t.Fatalf("%v, %v, want id", r, err)
	}
	request.Config.Metadata.Name = "changed"
	if got := s.config.GetMetadata().GetName(); got != "a" {
		t.Errorf("the service has the name %q after a change by the client, want a", got)
	}
}

func TestMemoryConnErrors(t *testing.T) {
	_, client, closeConn := connectStub()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for name, tc := range map[string]struct {
		ctx     context.Context
		code    codes.Code
		message string
	}{
		"plain":  {t.Context(), codes.Unknown, "no room"},
		"status": {t.Context(), codes.NotFound, "pod: rpc error: code = NotFound desc = no image"},
		"ended":  {ended, codes.Canceled, "context canceled"},
	} {
		_, err := client.RunPodSandbox(tc.ctx, sandboxRequest(name))
		if s, ok := status.FromError(err); !ok || s.Code() != tc.code || s.Message() != tc.message {
			t.Errorf("%s: %v, want %v with %q", name, err, tc.code, tc.message)
		}
	}
	if _, err := client.CheckpointContainer(t.Context(), &cri.CheckpointContainerRequest{}); status.Code(err) != codes.Unimplemented {
		t.Errorf("call without an implementation: %v, want Unimplemented", err)
	}
	conn := &memoryConn{closed: t.Context()}
	if err := conn.Invoke(t.Context(), "/none/None", nil, nil); status.Code(err) != codes.Unimplemented {
		t.Errorf("unknown method: %v, want Unimplemented", err)
	}
	if _, err := conn.NewStream(t.Context(), nil, "/none/None"); status.Code(err) != codes.Unimplemented {
		t.Errorf("unknown stream: %v, want Unimplemented", err)
	}
	result := make(chan error)
	go func() {
		_, err := client.RunPodSandbox(context.Background(), sandboxRequest("wait"))
		result <- err
	}()
	closeConn()
	if err := <-result; status.Code(err) != codes.Canceled {
		t.Errorf("call in progress when the connection is closed: %v, want Canceled", err)
	}
}

func TestMemoryConnStream(t *testing.T) {
	s, client, closeConn := connectStub()
	stream, err := client.GetContainerEvents(t.Context(), &cri.GetEventsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Header(); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"a", "b"} {
		s.events <- &cri.ContainerEventResponse{ContainerId: id}
		if e, err := stream.Recv(); err != nil || e.GetContainerId() != id {
			t.Errorf("%v, %v, want the event of %s", e, err, id)
		}
	}
	s.events <- &cri.ContainerEventResponse{ContainerId: "lost"} // Send does not block after the end
	closeConn()
	if e, err := stream.Recv(); err == nil && e.GetContainerId() != "lost" || err != nil && status.Code(err) != codes.Canceled {
		t.Errorf("%v, %v, want the last event or Canceled", e, err)
	}
	if _, err := stream.Recv(); status.Code(err) != codes.Canceled {
		t.Errorf("after the end: %v, want Canceled", err)
	}
}
