package criserver

import (
	"context"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// eventBuffer is the number of events that a slow subscriber may lag behind before its stream ends.
const eventBuffer = 1024

// eventBroadcaster distributes events to subscribers.
type eventBroadcaster struct {
	mu          sync.Mutex
	subscribers map[chan *cri.ContainerEventResponse]bool
	closed      bool
}

// subscribe returns a channel of events. The channel is closed if the subscriber is too slow, or the
// broadcaster is closed.
func (b *eventBroadcaster) subscribe() chan *cri.ContainerEventResponse {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := make(chan *cri.ContainerEventResponse, eventBuffer)
	if b.closed {
		close(c)
		return c
	}
	if b.subscribers == nil {
		b.subscribers = map[chan *cri.ContainerEventResponse]bool{}
	}
	b.subscribers[c] = true
	return c
}

func (b *eventBroadcaster) unsubscribe(c chan *cri.ContainerEventResponse) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.subscribers, c)
}

// publish sends an event to all subscribers. It disconnects those that do not keep up.
func (b *eventBroadcaster) publish(e *cri.ContainerEventResponse) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for c := range b.subscribers {
		select {
		case c <- e:
		default:
			delete(b.subscribers, c)
			close(c)
		}
	}
}

// close ends all subscriptions. Later subscriptions end immediately.
func (b *eventBroadcaster) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for c := range b.subscribers {
		close(c)
	}
	b.subscribers, b.closed = nil, true
}

// hasSubscribers reports whether there are subscribers. Without subscribers, callers do not read the
// status for an event.
func (b *eventBroadcaster) hasSubscribers() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.subscribers) > 0
}

// GetContainerEvents implements cri.RuntimeServiceServer.
func (s *runtimeServer) GetContainerEvents(_ *cri.GetEventsRequest, stream grpc.ServerStreamingServer[cri.ContainerEventResponse]) error {
	events := s.events.subscribe()
	defer s.events.unsubscribe(events)
	if err := stream.SendHeader(nil); err != nil { // the client is subscribed from now on
		return err
	}
	for {
		select {
		case <-stream.Context().Done():
			return status.FromContextError(stream.Context().Err()).Err()
		case e, ok := <-events:
			if !ok {
				return status.Error(codes.Unavailable, "GetContainerEvents: the stream has ended: subscribe again and list the containers")
			}
			if err := stream.Send(e); err != nil {
				return err
			}
		}
	}
}

// forwardExits publishes the exits of containers until ctx ends.
func (s *Server) forwardExits(ctx context.Context) {
	s.runtime.Exits(ctx, func(id string) { s.publishContainer(ctx, id, cri.ContainerEventType_CONTAINER_STOPPED_EVENT) })
}

// publishContainer publishes an event of a container with the state of its sandbox.
func (s *Server) publishContainer(ctx context.Context, id string, kind cri.ContainerEventType) {
	if !s.events.hasSubscribers() {
		return
	}
	s.publishEvent(ctx, id, s.sandboxOf(ctx, id), kind)
}

// publishSandbox publishes an event of a sandbox.
func (s *Server) publishSandbox(ctx context.Context, id string, kind cri.ContainerEventType) {
	if s.events.hasSubscribers() {
		s.publishEvent(ctx, id, id, kind)
	}
}

// publishEvent publishes an event of a container or sandbox with the status of the sandbox and its
// containers.
func (s *Server) publishEvent(ctx context.Context, id, sandbox string, kind cri.ContainerEventType) {
	now := time.Now().UnixNano()
	e := &cri.ContainerEventResponse{ContainerId: id, ContainerEventType: kind, CreatedAt: now}
	if state, err := s.runtime.PodSandboxStatus(ctx, sandbox); err == nil { // not removed meanwhile
		e.PodSandboxStatus = state
		e.ContainersStatuses, _ = s.containerStatuses(ctx, sandbox)
	}
	s.events.publish(e)
}

// publishRemoved publishes the removal of a container or sandbox, with the last status of the sandbox.
func (s *Server) publishRemoved(id string, sandbox *cri.PodSandboxStatus) {
	s.events.publish(&cri.ContainerEventResponse{ContainerId: id, ContainerEventType: cri.ContainerEventType_CONTAINER_DELETED_EVENT,
		CreatedAt: time.Now().UnixNano(), PodSandboxStatus: sandbox})
}
