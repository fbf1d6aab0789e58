package embedded

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"time"

	"golang.org/x/sys/unix"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/cri-streaming/pkg/streaming"
	"k8s.io/cri-streaming/pkg/streaming/remotecommand"
	utilexec "k8s.io/utils/exec"

	"github.com/berthproject/berth/agent/runtime/embedded/shim"
)

// streamServer serves exec, attach and port-forward streams on the machine's loopback address. A
// URL contains a random token that is valid once.
type streamServer struct {
	streaming.Server
	http *http.Server
}

func (r *Runtime) serveStreams() (*streamServer, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("embedded runtime: streams: %w", err)
	}
	config := streaming.DefaultConfig
	config.Addr = listener.Addr().String()
	config.BaseURL = &url.URL{Scheme: "http", Host: config.Addr}
	server, err := streaming.NewServer(config, streamer{r})
	if err != nil {
		_ = listener.Close()
		return nil, fmt.Errorf("embedded runtime: streams: %w", err)
	}
	s := &streamServer{Server: server, http: &http.Server{Handler: server, ReadHeaderTimeout: 30 * time.Second}}
	go func() { _ = s.http.Serve(listener) }()
	return s, nil
}

func (s *streamServer) close() { _ = s.http.Close() }

// Exec returns the URL of a stream that runs a command in the container.
func (r *Runtime) Exec(_ context.Context, request *cri.ExecRequest) (string, error) {
	if err := r.checkRunning(request.GetContainerId()); err != nil {
		return "", err
	}
	response, err := r.streams.GetExec(request)
	return response.GetUrl(), err
}

// Attach returns the URL of a stream to the container's main process.
func (r *Runtime) Attach(_ context.Context, request *cri.AttachRequest) (string, error) {
	if err := r.checkRunning(request.GetContainerId()); err != nil {
		return "", err
	}
	response, err := r.streams.GetAttach(request)
	return response.GetUrl(), err
}

// PortForward returns the URL of a stream to ports of the sandbox.
func (r *Runtime) PortForward(_ context.Context, request *cri.PortForwardRequest) (string, error) {
	s := r.findSandbox(request.GetPodSandboxId())
	if s == nil {
		return "", notFound("sandbox", request.GetPodSandboxId())
	}
	if !s.ready() {
		return "", fmt.Errorf("sandbox %s is not ready", s.record.ID)
	}
	response, err := r.streams.GetPortForward(request)
	return response.GetUrl(), err
}

func (r *Runtime) checkRunning(id string) error {
	c := r.findContainer(id)
	if c == nil {
		return notFound("container", id)
	}
	if state := c.state(); state != cri.ContainerState_CONTAINER_RUNNING {
		return fmt.Errorf("container %s is %v, not running", id, state)
	}
	return nil
}

// streamer implements streaming.Runtime.
type streamer struct{ *Runtime }

// Exec implements streaming.Runtime.
func (s streamer) Exec(ctx context.Context, id string, command []string, in io.Reader, out, errOut io.WriteCloser, tty bool, resize <-chan remotecommand.TerminalSize) error {
	var code int32
	var err error
	if tty {
		code, err = s.execTerminal(ctx, id, command, in, out, resize)
	} else {
		code, err = s.execPiped(ctx, id, command, 0, in, writerOrNil(out), writerOrNil(errOut))
	}
	var startErr *StartError
	if errors.As(err, &startErr) { // exit code as in shells and runc; only text in a stream reaches the client
		for _, w := range []io.WriteCloser{errOut, out} {
			if w != nil {
				fmt.Fprintln(w, startErr)
				break
			}
		}
		return utilexec.CodeExitError{Err: err, Code: startErr.Code}
	}
	if err == nil && code != 0 {
		return utilexec.CodeExitError{Err: fmt.Errorf("command %q terminated with exit code %d", command, code), Code: int(code)}
	}
	return err
}

// writerOrNil returns a nil interface for a nil stream.
func writerOrNil(w io.WriteCloser) io.Writer {
	if w == nil {
		return nil
	}
	return w
}

// execTerminal runs a command on a terminal.
func (r *Runtime) execTerminal(ctx context.Context, id string, command []string, in io.Reader, out io.Writer, resize <-chan remotecommand.TerminalSize) (int32, error) {
	masterFD, slaveFD, err := shim.OpenTerminal()
	if err != nil {
		return 0, err
	}
	_ = unix.SetNonblock(masterFD, true) // enables deadlines
	master, slave := os.NewFile(uintptr(masterFD), "terminal"), os.NewFile(uintptr(slaveFD), "terminal")
	defer master.Close()
	cmd, err := r.startCommand(ctx, id, command, true, [3]*os.File{slave, slave, slave})
	_ = slave.Close()
	if err != nil {
		return 0, err
	}
	defer cmd.release()
	if resize != nil {
		go func() {
			for size := range resize {
				_ = withFD(master, func(fd int) error { shim.Resize(fd, size.Width, size.Height); return nil })
			}
			// The client has disconnected. Closing the terminal sends SIGHUP to its programs.
			_ = master.Close()
		}()
	}
	if in != nil {
		go func() { _, _ = io.Copy(master, in) }()
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if out != nil {
			_, _ = io.Copy(out, master) // EIO when the last program has exited
		}
	}()
	err = cmd.waitOrKill(ctx)
	_ = master.SetReadDeadline(time.Now().Add(outputDrainTimeout))
	<-done
	return cmd.exitCode(), err
}

// withFD calls do with a file's descriptor. It returns os.ErrClosed if the file is closed.
func withFD(f *os.File, do func(fd int) error) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var doErr error
	if err := conn.Control(func(fd uintptr) { doErr = do(int(fd)) }); err != nil {
		return os.ErrClosed // Control fails for no other reason, with an error of an internal package
	}
	return doErr
}

// PortForward implements streaming.Runtime.
func (s streamer) PortForward(ctx context.Context, sandbox string, port int32, stream io.ReadWriteCloser) error {
	defer stream.Close()
	sb := s.findSandbox(sandbox)
	if sb == nil {
		return notFound("sandbox", sandbox)
	}
	conn, err := sb.dial(port, min(dialTimeout, s.opts.startLimit()))
	if err != nil {
		return fmt.Errorf("port %d of pod %s: %w", port, sb.record.Config.GetMetadata().GetName(), err)
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	go func() {
		_, _ = io.Copy(conn, stream)
		if tcpConn, ok := conn.(*net.TCPConn); ok {
			_ = tcpConn.CloseWrite()
		}
	}()
	_, err = io.Copy(stream, conn)
	return err
}
