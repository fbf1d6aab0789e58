package cri_test

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	criapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/berthproject/berth/agent/runtime"
	"github.com/berthproject/berth/agent/runtime/cri"
)

// TestDialErrorNamesEndpoint checks that errors of Dial have the endpoint and the cause.
func TestDialErrorNamesEndpoint(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	for endpoint, want := range map[string]string{
		"unix:///missing/c.sock": "waiting for the socket",
		"tcp://localhost:1":      "must be the absolute path of a unix socket",
		"unix://relative/c.sock": "must be the absolute path of a unix socket",
		"npipe:////./pipe/cri":   "must be the absolute path of a unix socket",
		"/missing/dir/c.sock":    "waiting for the socket",
	} {
		_, err := cri.Dial(ctx, endpoint)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), endpoint) {
			t.Errorf("%q: %v, want an error with the endpoint and %q", endpoint, err, want)
		}
	}
}

// stub is a minimal runtime that is not containerd.
type stub struct {
	criapi.UnimplementedRuntimeServiceServer
	criapi.UnimplementedImageServiceServer
	events   []*criapi.ContainerEventResponse // nil: no event stream
	failures int                              // number of calls that fail with Unavailable
	stopErrs []error                          // results of StopPodSandbox, in order
	stops    int                              // number of calls of StopPodSandbox
}

func (s *stub) StopPodSandbox(context.Context, *criapi.StopPodSandboxRequest) (*criapi.StopPodSandboxResponse, error) {
	err := s.stopErrs[s.stops]
	s.stops++
	return &criapi.StopPodSandboxResponse{}, err
}

func (s *stub) Version(context.Context, *criapi.VersionRequest) (*criapi.VersionResponse, error) {
	if s.failures > 0 {
		s.failures--
		return nil, status.Error(codes.Unavailable, "starting")
	}
	return &criapi.VersionResponse{RuntimeName: "stub", RuntimeApiVersion: "v1"}, nil
}

func (s *stub) GetContainerEvents(_ *criapi.GetEventsRequest, stream grpc.ServerStreamingServer[criapi.ContainerEventResponse]) error {
	if s.events == nil {
		return status.Error(codes.Unimplemented, "events are not supported")
	}
	for _, e := range s.events {
		if err := stream.Send(e); err != nil {
			return err
		}
	}
	<-stream.Context().Done()
	return nil
}

// serveStub serves s on a socket until the test ends, and returns a client of it.
func serveStub(t *testing.T, s *stub) *cri.Client {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "bc")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	socket := filepath.Join(dir, "s")
	server := grpc.NewServer()
	criapi.RegisterRuntimeServiceServer(server, s)
	criapi.RegisterImageServiceServer(server, s)
	// The socket file appears after Dial has started to wait for it.
	go func() {
		listener, err := net.Listen("unix", socket)
		if err == nil {
			_ = server.Serve(listener)
		}
	}()
	t.Cleanup(server.Stop)
	client, err := cri.Dial(context.Background(), "unix://"+socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	return client
}

func TestReadsAreRetried(t *testing.T) {
	c := serveStub(t, &stub{failures: 3})
	if v, err := c.Version(context.Background()); err != nil || v.RuntimeName != "stub" {
		t.Errorf("version %v, %v, want runtime name stub", v, err)
	}
}

func TestCloseStopsRetries(t *testing.T) {
	c := serveStub(t, &stub{failures: 1 << 30})
	time.AfterFunc(20*time.Millisecond, func() { c.Close() })
	if _, err := c.Version(context.Background()); err == nil {
		t.Error("Version succeeded after Close, want an error")
	}
}

// TestCRIEvents checks that Events reports exits only if the runtime is not containerd, and fails with
// Unimplemented if that runtime has no events.
func TestCRIEvents(t *testing.T) {
	c := serveStub(t, &stub{})
	if err := c.Events(context.Background(), nil); status.Code(err) != codes.Unimplemented {
		t.Errorf("a runtime without events: %v, want Unimplemented", err)
	}
	c = serveStub(t, &stub{events: []*criapi.ContainerEventResponse{
		{ContainerId: "a", ContainerEventType: criapi.ContainerEventType_CONTAINER_STARTED_EVENT},
		{ContainerId: "a", ContainerEventType: criapi.ContainerEventType_CONTAINER_STOPPED_EVENT},
	}})
	ctx, cancel := context.WithCancel(context.Background())
	var got []runtime.ContainerEvent
	err := c.Events(ctx, func(e runtime.ContainerEvent) { got = append(got, e); cancel() })
	if err == nil || len(got) != 1 || got[0] != (runtime.ContainerEvent{Container: "a"}) {
		t.Errorf("got %v, %v, want the exit of a", got, err)
	}
}

// TestMutatingCallsAreNotRepeated checks that a mutating call is repeated only if the runtime did
// not receive it.
func TestMutatingCallsAreNotRepeated(t *testing.T) {
	starting := status.Error(codes.Unknown, "server is not initialized yet")
	for name, tc := range map[string]struct {
		results []error
		calls   int
		code    codes.Code
	}{
		"while starting":               {results: []error{starting, starting, nil}, calls: 3},
		"when the client disconnected": {results: []error{status.Error(codes.Unavailable, "error reading from server: EOF")}, calls: 1, code: codes.Unavailable},
		"when the socket is missing":   {results: []error{status.Error(codes.Unavailable, "connection error: desc = \"transport: Error while dialing: no such file\""), nil}, calls: 2},
		"when it fails":                {results: []error{status.Error(codes.Unknown, "network is removed")}, calls: 1, code: codes.Unknown},
	} {
		s := &stub{stopErrs: tc.results}
		if err := serveStub(t, s).StopPodSandbox(context.Background(), "x"); status.Code(err) != tc.code || s.stops != tc.calls {
			t.Errorf("%s: %v after %d calls, want %v after %d", name, err, s.stops, tc.code, tc.calls)
		}
	}
}
