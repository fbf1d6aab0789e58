package embedded

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/cri-streaming/pkg/streaming/remotecommand"

	"github.com/berthproject/berth/agent/runtime/embedded/shim"
)

// shimTimeout bounds the wait for a reply of a shim.
const shimTimeout = 10 * time.Second

// dialShim connects to the control socket of the container's shim.
func (c *container) dialShim() (*net.UnixConn, error) {
	dir, err := os.Open(c.dir) // the directory's path may be too long for a socket address
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	name := fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), shim.Socket)
	return net.DialUnix("unixpacket", nil, &net.UnixAddr{Name: name, Net: "unixpacket"})
}

// ReopenContainerLog reopens the container's log file at its path.
func (r *Runtime) ReopenContainerLog(_ context.Context, id string) error {
	c := r.findContainer(id)
	if c == nil {
		return notFound("container", id)
	}
	if state := c.state(); state != cri.ContainerState_CONTAINER_RUNNING {
		return status.Errorf(codes.FailedPrecondition, "container %s is %v: the log can be reopened only while it is running", id, state)
	}
	conn, err := c.dialShim()
	if err != nil {
		return fmt.Errorf("reopening log of container %s: %w", id, err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(shimTimeout))
	if _, err := conn.Write([]byte{shim.PacketReopen}); err != nil {
		return fmt.Errorf("reopening log of container %s: %w", id, err)
	}
	reply := make([]byte, 4096)
	n, err := conn.Read(reply)
	if err != nil {
		return fmt.Errorf("reopening log of container %s: %w", id, err)
	}
	if n > 1 {
		return fmt.Errorf("reopening log of container %s: %s", id, reply[1:n])
	}
	return nil
}

// Attach implements streaming.Runtime.
func (s streamer) Attach(ctx context.Context, id string, in io.Reader, out, errOut io.WriteCloser, _ bool, resize <-chan remotecommand.TerminalSize) error {
	c := s.findContainer(id)
	if c == nil {
		return notFound("container", id)
	}
	conn, err := c.dialShim()
	if err != nil {
		return fmt.Errorf("attaching to container %s: %w", id, err)
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	if _, err := conn.Write([]byte{shim.PacketAttach}); err != nil {
		return err
	}
	go func() {
		for size := range resize {
			packet := []byte{shim.PacketResize, byte(size.Width), byte(size.Width >> 8), byte(size.Height), byte(size.Height >> 8)}
			if _, err := conn.Write(packet); err != nil {
				return
			}
		}
	}()
	if in != nil {
		go forwardStdin(conn, in)
	}
	packet := make([]byte, 2*shim.MaxPacket)
	for {
		n, err := conn.Read(packet)
		if n == 0 || errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) {
			return nil // the container has exited, or the client has disconnected
		}
		if err != nil {
			return err
		}
		var w io.Writer
		switch packet[0] {
		case shim.PacketOut:
			w = writerOrNil(out)
		case shim.PacketErr:
			w = writerOrNil(errOut)
		}
		if w != nil {
			if _, err := w.Write(packet[1:n]); err != nil {
				return err
			}
		}
	}
}

// forwardStdin sends the input to the container, then the end of the input.
func forwardStdin(conn *net.UnixConn, in io.Reader) {
	packet := make([]byte, shim.MaxPacket)
	packet[0] = shim.PacketIn
	for {
		n, err := in.Read(packet[1:])
		if n > 0 {
			if _, err := conn.Write(packet[:n+1]); err != nil {
				return
			}
		}
		if err != nil {
			_, _ = conn.Write([]byte{shim.PacketClose})
			return
		}
	}
}
