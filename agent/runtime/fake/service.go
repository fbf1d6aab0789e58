package fake

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/berthproject/berth/agent/runtime"
)

// Service is a runtime in memory. Create it with New.
type Service struct {
	mu             sync.Mutex
	serial         int
	sandboxes      []*sandbox
	containers     []*container
	images         map[string]*cri.Image    // by reference
	failures       map[string][]error       // by method
	blocked        map[string]chan struct{} // by method; closed by release
	calls          []string
	streams        map[int]eventStream
	ignoresSIGTERM map[string]bool // by container name
	onExec         func(container *cri.ContainerStatus, command []string) (*cri.ExecSyncResponse, error)
	onStart        func(container *cri.ContainerStatus)
	stats          map[string]*cri.ContainerStats // by container ID
	handlers       []*cri.RuntimeHandler
	closed         bool
}

// eventStream is a current call of Events.
type eventStream struct {
	events chan runtime.ContainerEvent
	broken chan struct{} // closed by BreakEventStreams
}

var _ runtime.Service = (*Service)(nil)

// New returns a runtime with the images refs.
func New(refs ...string) *Service {
	s := &Service{images: map[string]*cri.Image{}, failures: map[string][]error{}, blocked: map[string]chan struct{}{},
		streams: map[int]eventStream{}, ignoresSIGTERM: map[string]bool{}, stats: map[string]*cri.ContainerStats{}}
	for _, ref := range refs {
		s.PutImage(ref, 1<<20)
	}
	return s
}

// Fail makes the next calls of a method, for example "StartContainer", return errs in order. A nil
// error lets a call through.
func (s *Service) Fail(method string, errs ...error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failures[method] = append(s.failures[method], errs...)
}

// Block delays calls of a method until release is called or their context ends.
func (s *Service) Block(method string) (release func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	blocked := make(chan struct{})
	s.blocked[method] = blocked
	return sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.blocked[method] == blocked {
			delete(s.blocked, method)
		}
		close(blocked)
	})
}

// Calls returns the recorded calls in order, as "METHOD NAME". Calls that only read are not recorded.
func (s *Service) Calls() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.calls)
}

// BreakEventStreams ends all event streams like a restart of the runtime. Events without a reader
// are lost.
func (s *Service) BreakEventStreams() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, stream := range s.streams {
		close(stream.broken)
		delete(s.streams, i)
	}
}

// beginCall starts each call: it blocks after Block and fails after Fail.
func (s *Service) beginCall(ctx context.Context, method string) error {
	s.mu.Lock()
	blocked := s.blocked[method]
	s.mu.Unlock()
	if blocked != nil {
		select {
		case <-blocked:
		case <-ctx.Done():
		}
	}
	if err := ctx.Err(); err != nil {
		return status.FromContextError(err).Err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return status.Error(codes.Unavailable, "runtime is closed")
	}
	if errs := s.failures[method]; len(errs) > 0 {
		s.failures[method] = errs[1:]
		return errs[0]
	}
	return nil
}

// Record appends a line to Calls. Other fakes call it if a test checks the order of calls across fakes.
func (s *Service) Record(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, line)
}

// recordCall records a call. s.mu must be held.
func (s *Service) recordCall(method, name string) { s.calls = append(s.calls, method+" "+name) }

// newID returns a new ID of the usual length. s.mu must be held.
func (s *Service) newID() string {
	s.serial++
	return fmt.Sprintf("%064x", s.serial)
}

func notFound(kind, id string) error {
	return status.Errorf(codes.NotFound, "%s %q: not found", kind, id)
}

// Version implements runtime.Service.
func (s *Service) Version(ctx context.Context) (*cri.VersionResponse, error) {
	if err := s.beginCall(ctx, "Version"); err != nil {
		return nil, err
	}
	return &cri.VersionResponse{Version: "0.1.0", RuntimeName: "fake", RuntimeVersion: "1", RuntimeApiVersion: "v1"}, nil
}

// Status implements runtime.Service. All conditions are true.
func (s *Service) Status(ctx context.Context) (*cri.StatusResponse, error) {
	if err := s.beginCall(ctx, "Status"); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return &cri.StatusResponse{RuntimeHandlers: s.handlers, Status: &cri.RuntimeStatus{Conditions: []*cri.RuntimeCondition{
		{Type: cri.RuntimeReady, Status: true}, {Type: cri.NetworkReady, Status: true},
	}}}, nil
}

// SetHandlers sets the handlers that Status reports. There are none at first, as in old runtimes.
func (s *Service) SetHandlers(handlers ...*cri.RuntimeHandler) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handlers = handlers
}

// Events implements runtime.Service.
func (s *Service) Events(ctx context.Context, handle func(runtime.ContainerEvent)) error {
	if err := s.beginCall(ctx, "Events"); err != nil {
		return err
	}
	stream := eventStream{make(chan runtime.ContainerEvent, 1024), make(chan struct{})}
	s.mu.Lock()
	s.serial++
	key := s.serial
	s.streams[key] = stream
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.streams, key)
	}()
	for {
		select {
		case e := <-stream.events:
			handle(e)
		case <-stream.broken:
			return status.Error(codes.Unavailable, "event stream broke")
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// EventStreams returns the number of current readers of Events.
func (s *Service) EventStreams() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.streams)
}

// publish sends an event to all readers; a full buffer loses it. s.mu must be held.
func (s *Service) publish(e runtime.ContainerEvent) {
	for _, stream := range s.streams {
		select {
		case stream.events <- e:
		default:
		}
	}
}

// Close implements runtime.Service. All later calls fail.
func (s *Service) Close() error {
	s.BreakEventStreams()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return nil
}

func now() int64 { return time.Now().UnixNano() }
