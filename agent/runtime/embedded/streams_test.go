package embedded_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/client-go/transport/spdy"
	utilexec "k8s.io/client-go/util/exec"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// stream opens a stream URL and returns its output.
func (h *harness) stream(location string, in io.Reader, tty bool) (out, errOut string, err error) {
	h.t.Helper()
	u, err := url.Parse(location)
	if err != nil {
		h.t.Fatal(err)
	}
	executor, err := remotecommand.NewSPDYExecutor(&rest.Config{Host: u.Host}, http.MethodPost, u)
	if err != nil {
		h.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	var stdout, stderr bytes.Buffer
	options := remotecommand.StreamOptions{Stdin: in, Stdout: &stdout, Stderr: &stderr, Tty: tty}
	if tty {
		options.Stderr = nil
	}
	err = executor.StreamWithContext(ctx, options)
	return stdout.String(), stderr.String(), err
}

// TestExecStreams checks the streams and exit codes of commands, with and without a terminal.
func TestExecStreams(t *testing.T) {
	h := newHarness(t, false)
	sb, sandboxConfig := h.createSandbox("exec", nil)
	id := h.run(sb, sandboxConfig, shell("c", "exec sleep 1000"))
	exec := func(tty bool, command ...string) string {
		location, err := h.Service.Exec(context.Background(), &cri.ExecRequest{ContainerId: id, Cmd: command, Stdin: true, Stdout: true, Stderr: !tty, Tty: tty})
		if err != nil {
			t.Fatal(err)
		}
		return location
	}
	out, errOut, err := h.stream(exec(false, "/bin/sh", "-c", "cat; echo warning >&2; exit 7"), strings.NewReader("input\n"), false)
	var code utilexec.CodeExitError
	if out != "input\n" || errOut != "warning\n" || !errors.As(err, &code) || code.Code != 7 {
		t.Errorf("got %q, %q, %v, want the input, warning, and code 7", out, errOut, err)
	}
	_, _, err = h.stream(exec(false, "missing"), strings.NewReader(""), false)
	if !errors.As(err, &code) || code.Code != 127 {
		t.Errorf("missing program: %v, want code 127", err)
	}
	out, _, err = h.stream(exec(true, "/bin/sh", "-c", "test -t 0 && test -t 1 && read x && echo got $x"), strings.NewReader("a line\n"), true)
	if err != nil || !strings.Contains(out, "got a line") {
		t.Errorf("on a terminal: %q, %v, want got a line", out, err)
	}
}

// TestExecDisconnect checks that a command on a terminal gets SIGHUP when the client disconnects.
func TestExecDisconnect(t *testing.T) {
	h := newHarness(t, false)
	sb, sandboxConfig := h.createSandbox("hangup", nil)
	id := h.run(sb, sandboxConfig, shell("c", "exec sleep 1000"))
	location, err := h.Service.Exec(context.Background(), &cri.ExecRequest{ContainerId: id, Cmd: []string{"/bin/sh", "-c", "echo started; exec sleep 777"}, Stdin: true, Stdout: true, Tty: true})
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(location)
	if err != nil {
		t.Fatal(err)
	}
	executor, err := remotecommand.NewSPDYExecutor(&rest.Config{Host: u.Host}, http.MethodPost, u)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	in, inWriter := io.Pipe() // stays open until the client has disconnected
	defer inWriter.Close()
	out, outWriter := io.Pipe()
	done := make(chan error, 1)
	go func() {
		done <- executor.StreamWithContext(ctx, remotecommand.StreamOptions{Stdin: in, Stdout: outWriter, Tty: true})
	}()
	if _, err := io.ReadFull(out, make([]byte, len("started"))); err != nil {
		t.Fatal(err)
	}
	h.waitUntil("the command sleeps", func() bool { return strings.Contains(h.exec(id, "ps"), "sleep 777") })
	go func() { _, _ = io.Copy(io.Discard, out) }()
	cancel()
	t.Log(<-done)
	h.waitUntil("the command has exited", func() bool { return !strings.Contains(h.exec(id, "ps"), "sleep 777") })
	if s := h.status(id); s.State != cri.ContainerState_CONTAINER_RUNNING {
		t.Errorf("the container is %v, want it running", s.State)
	}
}

// TestAttach checks that a client gets the output from the time of its connection and can write to the container. With
// StdinOnce, a disconnect of the client closes the container's stdin.
func TestAttach(t *testing.T) {
	h := newHarness(t, false)
	sb, sandboxConfig := h.createSandbox("attach", nil)
	for _, tty := range []bool{false, true} {
		c := shell(fmt.Sprintf("tty-%v", tty), "read x; echo got $x; read y || echo closed; echo warning >&2; exit 3")
		c.Stdin, c.StdinOnce, c.Tty = true, true, tty
		id := h.run(sb, sandboxConfig, c)
		location, err := h.Service.Attach(context.Background(), &cri.AttachRequest{ContainerId: id, Stdin: true, Stdout: true, Stderr: !tty, Tty: tty})
		if err != nil {
			t.Fatal(err)
		}
		in := "first\n"
		if tty {
			in += "\x04" // end of file, as typed on a terminal
		}
		out, errOut, err := h.stream(location, strings.NewReader(in), tty)
		if err != nil || !strings.Contains(out, "got first") || !strings.Contains(out+errOut, "warning") {
			t.Errorf("terminal %v: %q, %q, %v, want the input and warning", tty, out, errOut, err)
		}
		if s := h.WaitExited(t, id); s.ExitCode != 3 || !strings.Contains(h.output(sandboxConfig, c), "got first") {
			t.Errorf("terminal %v: exited with %d and log %q, want 3 and got first", tty, s.ExitCode, h.output(sandboxConfig, c))
		}
	}
}

// TestPortForward checks that a stream reaches a port on the pod's loopback address.
func TestPortForward(t *testing.T) {
	h := newHarness(t, true)
	sb, sandboxConfig := h.createSandbox("ports", nil)
	web := config("web", "-listen=127.0.0.1:81") // the pod's loopback address, not the host's
	h.run(sb, sandboxConfig, web)
	h.waitUntil("the pod listens", func() bool { return strings.Contains(h.output(sandboxConfig, web), "listening") })
	location, err := h.Service.PortForward(context.Background(), &cri.PortForwardRequest{PodSandboxId: sb, Port: []int32{81}})
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(location)
	if err != nil {
		t.Fatal(err)
	}
	transport, upgrader, err := spdy.RoundTripperFor(&rest.Config{Host: u.Host})
	if err != nil {
		t.Fatal(err)
	}
	stop, ready := make(chan struct{}), make(chan struct{})
	forward, err := portforward.NewOnAddresses(spdy.NewDialer(upgrader, &http.Client{Transport: transport}, http.MethodPost, u), []string{"127.0.0.1"}, []string{"0:81"}, stop, ready, io.Discard, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- forward.ForwardPorts() }()
	select {
	case <-ready:
	case err := <-done:
		t.Fatal(err)
	}
	ports, err := forward.GetPorts()
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d/", ports[0].Local))
	if err != nil {
		t.Fatal(err)
	}
	text, _ := io.ReadAll(response.Body)
	response.Body.Close()
	if !strings.Contains(string(text), "ports") {
		t.Errorf("response %q, want the host name ports", text)
	}
	close(stop)
	t.Log(<-done)
}

// TestLogs checks that logs have CRI's format for any output and continue in a new file after a
// rotation.
func TestLogs(t *testing.T) {
	h := newHarness(t, false)
	sb, sandboxConfig := h.createSandbox("logs", nil)
	c := shell("c", "head -c 40000 /dev/zero | tr '\\0' x; echo; echo end; while [ ! -e /dev/shm/go ]; do sleep 0.02; done; printf 'no newline'")
	id := h.run(sb, sandboxConfig, c)
	file := filepath.Join(sandboxConfig.LogDirectory, c.LogPath)
	h.waitUntil("the container has printed its lines", func() bool { return strings.HasSuffix(h.output(sandboxConfig, c), "end\n") })
	var tags []string
	text, _ := os.ReadFile(file)
	for line := range strings.Lines(string(text)) {
		f := strings.SplitN(strings.TrimSuffix(line, "\n"), " ", 4)
		if _, err := time.Parse(time.RFC3339Nano, f[0]); err != nil || f[1] != "stdout" {
			t.Errorf("line %.60q, want a timestamp and stdout", line)
		}
		tags = append(tags, fmt.Sprintf("%s%d", f[2], len(f[3])))
	}
	if got, want := strings.Join(tags, " "), "P16384 P16384 F7232 F3"; got != want {
		t.Errorf("lines %s, want %s", got, want)
	}
	if err := os.Rename(file, file+".1"); err != nil {
		t.Fatal(err)
	}
	if err := h.Service.ReopenContainerLog(context.Background(), id); err != nil {
		t.Fatal(err)
	}
	h.exec(id, "touch", "/dev/shm/go")
	h.WaitExited(t, id)
	if text, _ := os.ReadFile(file); strings.Count(string(text), "\n") != 1 || !strings.HasSuffix(string(text), " stdout P no newline\n") {
		t.Errorf("the new log has %q, want one partial line", text)
	}
	if err := h.Service.ReopenContainerLog(context.Background(), id); err == nil {
		t.Error("ReopenContainerLog of an exited container succeeded, want an error")
	}
}
