package fake

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/berthproject/berth/agent/runtime"
)

// Service is a runtime in memory. Make it with New.
type Service struct {
	mu         sync.Mutex
	serial     int
	sandboxes  []*sandbox
	containers []*container
	images     map[string]*cri.Image // by reference
	failures   map[string][]error
	holds      map[string]chan struct{}
	calls      []string
	readers    map[int]reader
	stubborn   map[string]bool
	exec       func(container *cri.ContainerStatus, command []string) (*cri.ExecSyncResponse, error)
	starting   func(container *cri.ContainerStatus)
	stats      map[string]*cri.ContainerStats
	closed     bool
}

type reader struct {
	events chan runtime.ContainerEvent
	broken chan struct{}
}

var _ runtime.Service = (*Service)(nil)

// New is a runtime that holds the images of refs.
func New(refs ...string) *Service {
	s := &Service{images: map[string]*cri.Image{}, failures: map[string][]error{}, holds: map[string]chan struct{}{},
		readers: map[int]reader{}, stubborn: map[string]bool{}, stats: map[string]*cri.ContainerStats{}}
	for _, ref := range refs {
		s.PutImage(ref, 1<<20)
	}
	return s
}

// Fail makes the next calls of a method, such as "StartContainer", fail with errs in turn;
// a nil error lets a call through.
func (s *Service) Fail(method string, errs ...error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failures[method] = append(s.failures[method], errs...)
}

// Hold holds back calls of a method until release is called or their context ends.
func (s *Service) Hold(method string) (release func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	held := make(chan struct{})
	s.holds[method] = held
	return sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.holds[method] == held {
			delete(s.holds, method)
		}
		close(held)
	})
}

// Calls are the calls that change something, in order: "METHOD NAME".
func (s *Service) Calls() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.calls)
}

// Break ends all streams of events, as a restart of the runtime does; what ends while nobody
// listens is told to nobody.
func (s *Service) Break() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, r := range s.readers {
		close(r.broken)
		delete(s.readers, i)
	}
}

// enter is the start of each call: it waits where it is held and fails where it is told to.
func (s *Service) enter(ctx context.Context, method string) error {
	s.mu.Lock()
	held := s.holds[method]
	s.mu.Unlock()
	if held != nil {
		select {
		case <-held:
		case <-ctx.Done():
		}
	}
	if err := ctx.Err(); err != nil {
		return status.FromContextError(err).Err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return status.Error(codes.Unavailable, "the runtime is closed")
	}
	if errs := s.failures[method]; len(errs) > 0 {
		s.failures[method] = errs[1:]
		return errs[0]
	}
	return nil
}

// did records a call. s.mu is held.
func (s *Service) did(method, name string) { s.calls = append(s.calls, method+" "+name) }

// id is a new one, of the length that runtimes use. s.mu is held.
func (s *Service) id() string {
	s.serial++
	return fmt.Sprintf("%064x", s.serial)
}

func notFound(what, id string) error {
	return status.Errorf(codes.NotFound, "%s %q: not found", what, id)
}

// Version implements runtime.Service.
func (s *Service) Version(ctx context.Context) (*cri.VersionResponse, error) {
	if err := s.enter(ctx, "Version"); err != nil {
		return nil, err
	}
	return &cri.VersionResponse{Version: "0.1.0", RuntimeName: "fake", RuntimeVersion: "1", RuntimeApiVersion: "v1"}, nil
}

// Status implements runtime.Service: all is ready.
func (s *Service) Status(ctx context.Context) (*cri.RuntimeStatus, error) {
	if err := s.enter(ctx, "Status"); err != nil {
		return nil, err
	}
	return &cri.RuntimeStatus{Conditions: []*cri.RuntimeCondition{
		{Type: cri.RuntimeReady, Status: true}, {Type: cri.NetworkReady, Status: true},
	}}, nil
}

// Events implements runtime.Service.
func (s *Service) Events(ctx context.Context, seen func(runtime.ContainerEvent)) error {
	if err := s.enter(ctx, "Events"); err != nil {
		return err
	}
	r := reader{make(chan runtime.ContainerEvent, 1024), make(chan struct{})}
	s.mu.Lock()
	s.serial++
	key := s.serial
	s.readers[key] = r
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.readers, key)
	}()
	for {
		select {
		case e := <-r.events:
			seen(e)
		case <-r.broken:
			return status.Error(codes.Unavailable, "the stream of events broke")
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Listening says how many read Events now.
func (s *Service) Listening() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.readers)
}

// tell gives an event to all readers; one that is full loses it. s.mu is held.
func (s *Service) tell(e runtime.ContainerEvent) {
	for _, r := range s.readers {
		select {
		case r.events <- e:
		default:
		}
	}
}

// Close implements runtime.Service: all later calls fail.
func (s *Service) Close() error {
	s.Break()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return nil
}

func now() int64 { return time.Now().UnixNano() }
