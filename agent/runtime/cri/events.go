package cri

import (
	"context"
	"io"
	"sync"
	"time"

	containerdevents "github.com/containerd/containerd/api/events"
	"github.com/containerd/containerd/api/services/events/v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/berthproject/berth/agent/runtime"
)

// containerdNamespace is containerd's namespace for objects created through CRI.
const containerdNamespace = "k8s.io"

// exitStatusTimeout bounds the wait until the runtime's status shows an exit.
const exitStatusTimeout = 2 * time.Second

// Events calls handle sequentially for each exit of a container or sandbox, until ctx ends or the
// stream breaks. With containerd it also reports each OOM kill. It reports an exit when ContainerStatus
// shows it, at the latest after 2 s. The error is io.EOF if the runtime ended the stream, Unimplemented
// if the runtime has no events.
func (c *Client) Events(ctx context.Context, handle func(runtime.ContainerEvent)) error {
	name, err := c.runtimeName(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	var mu sync.Mutex
	emit := func(e runtime.ContainerEvent) {
		wg.Go(func() {
			if !e.OOM {
				c.waitForExitStatus(ctx, e.Container)
			}
			mu.Lock()
			defer mu.Unlock()
			if ctx.Err() == nil {
				handle(e)
			}
		})
	}
	if name == "containerd" {
		return c.containerdEvents(ctx, emit)
	}
	return c.criEvents(ctx, emit)
}

func (c *Client) runtimeName(ctx context.Context) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.name == "" {
		v, err := c.Version(ctx)
		if err != nil {
			return "", err
		}
		c.name = v.RuntimeName
	}
	return c.name, nil
}

// waitForExitStatus waits until the status of a container shows its exit, about 40 ms after the
// event. It returns immediately for sandboxes.
func (c *Client) waitForExitStatus(ctx context.Context, id string) {
	ctx, cancel := context.WithTimeout(ctx, exitStatusTimeout)
	defer cancel()
	for delay := 5 * time.Millisecond; ; delay = min(2*delay, 100*time.Millisecond) {
		s, err := c.ContainerStatus(ctx, id)
		if err != nil || s.State == cri.ContainerState_CONTAINER_EXITED {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(delay):
		}
	}
}

// containerdEvents reads containerd's event service.
func (c *Client) containerdEvents(ctx context.Context, emit func(runtime.ContainerEvent)) error {
	ctx = metadata.AppendToOutgoingContext(ctx, "containerd-namespace", containerdNamespace)
	stream, err := events.NewEventsClient(c.conn).Subscribe(ctx, &events.SubscribeRequest{Filters: []string{
		`topic=="/tasks/exit",namespace==` + containerdNamespace, `topic=="/tasks/oom",namespace==` + containerdNamespace}})
	if err != nil {
		return err
	}
	for {
		e, err := stream.Recv()
		if err != nil {
			return err
		}
		if event, ok := parseContainerdEvent(e.Topic, e.Event.GetValue()); ok {
			emit(event)
		}
	}
}

// parseContainerdEvent converts an event. It ignores exits of exec processes.
func parseContainerdEvent(topic string, value []byte) (runtime.ContainerEvent, bool) {
	switch topic {
	case "/tasks/exit":
		var e containerdevents.TaskExit
		if err := proto.Unmarshal(value, &e); err != nil || e.ID != e.ContainerID {
			return runtime.ContainerEvent{}, false
		}
		return runtime.ContainerEvent{Container: e.ContainerID}, true
	case "/tasks/oom":
		var e containerdevents.TaskOOM
		if err := proto.Unmarshal(value, &e); err != nil {
			return runtime.ContainerEvent{}, false
		}
		return runtime.ContainerEvent{Container: e.ContainerID, OOM: true}, true
	}
	return runtime.ContainerEvent{}, false
}

// criEvents emits the exits of containers from a CRI event stream, until the stream or ctx ends.
func (c *Client) criEvents(ctx context.Context, emit func(runtime.ContainerEvent)) error {
	stream, err := c.runtime.GetContainerEvents(ctx, &cri.GetEventsRequest{})
	if err != nil {
		return err
	}
	for {
		e, err := stream.Recv()
		switch {
		case err == io.EOF && ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			return err
		case e.ContainerEventType == cri.ContainerEventType_CONTAINER_STOPPED_EVENT:
			emit(runtime.ContainerEvent{Container: e.ContainerId})
		}
	}
}
