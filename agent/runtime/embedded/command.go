package embedded

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/berthproject/berth/agent/runtime/embedded/containerinit"
	"github.com/berthproject/berth/agent/runtime/embedded/shim"
)

// command is a command in a container. The agent neither enters the container's PID namespace nor
// forks in it. A helper process outside of the container does (see package containerinit). The
// agent can kill it at any time.
type command struct {
	helper *process // exits with the exit code of the command
	// report is a socket to the helper. The helper kills the command when the agent closes the socket.
	report *os.File
	name   string // for errors
	kill   func(child int)
	child  int // process ID of the command, 0 before it is known
}

// exitDelay is the longest expected time between the end of a process's namespaces and the notification of its exit.
const exitDelay = 100 * time.Millisecond

// certainExitDelay replaces exitDelay if the process has certainly exited: a loaded machine notifies
// late.
const certainExitDelay = 10 * time.Second

// maxStartReport is the maximum size in bytes of a report about a start.
const maxStartReport = 64 << 10

// startCommand starts a command in a container. It kills all processes of the command if ctx ends or the
// runtime's limit for starts expires before the command runs.
func (r *Runtime) startCommand(ctx context.Context, id string, args []string, terminal bool, stdio [3]*os.File) (*command, error) {
	ctx, cancel := context.WithTimeout(ctx, r.opts.startLimit())
	defer cancel()
	c := r.findContainer(id)
	if c == nil {
		return nil, notFound("container", id)
	}
	initProcess := c.runningProcess()
	if initProcess == nil {
		return nil, status.Errorf(codes.FailedPrecondition, "container %s is %v: exec requires a running container", id, c.state())
	}
	spec, err := c.commandSpec(args, terminal)
	if err != nil {
		return nil, err
	}
	target, err := initProcess.duplicateFD()
	if errors.Is(err, os.ErrClosed) || errors.Is(err, os.ErrProcessDone) {
		return nil, status.Errorf(codes.FailedPrecondition, "container %s has just exited", id)
	}
	if err != nil {
		return nil, err
	}
	defer unix.Close(target)
	cmd := &command{name: fmt.Sprintf("command %q in container %s", args, id), kill: func(child int) { r.killCommand(c.record.Group, child) }}
	report, childEnd, err := reportPair(unix.SOCK_SEQPACKET)
	if err != nil {
		return nil, err
	}
	cmd.report = report
	cmd.helper, err = r.shims.spawn(ctx, containerinit.Exec, spec, spawnOptions{args: []string{id}, target: target, report: os.NewFile(uintptr(childEnd), "report"), stdio: stdio})
	if err != nil {
		_ = report.Close()
		if ctx.Err() != nil {
			return nil, cmd.timeoutError(ctx, "did not start in time")
		}
		return nil, err
	}
	if err := cmd.awaitStart(ctx); err != nil {
		cmd.abort()
		cmd.release()
		var startErr *StartError
		delay := exitDelay
		if strings.HasSuffix(err.Error(), unix.ESRCH.Error()) {
			delay = certainExitDelay
		}
		if ctx.Err() == nil && (!errors.As(err, &startErr) || startErr.Code == 128) && c.waitForExit(initProcess, delay) {
			return nil, status.Errorf(codes.FailedPrecondition, "container %s has just exited", id)
		}
		if ctx.Err() != nil || startErr != nil {
			return nil, err
		}
		return nil, fmt.Errorf("exec in container %s: %w", c.record.Config.GetMetadata().GetName(), err)
	}
	return cmd, nil
}

// waitForExit reports whether the container or its init process exits within limit. The exit of the
// container closes the process's handle, perhaps before the exit of the process is detected.
func (c *container) waitForExit(initProcess *process, limit time.Duration) bool {
	t := time.NewTimer(limit)
	defer t.Stop()
	select {
	case <-c.exited:
		return true
	case <-initProcess.exited:
		return true
	case <-t.C:
		return false
	}
}

// commandSpec returns the Spec of a command: that of the container with other arguments.
func (c *container) commandSpec(args []string, terminal bool) (*containerinit.Spec, error) {
	text, err := os.ReadFile(filepath.Join(c.dir, shim.InitFile))
	if err != nil {
		return nil, err
	}
	var initSpec containerinit.Spec
	if err := json.Unmarshal(text, &initSpec); err != nil {
		return nil, err
	}
	spec := &containerinit.Spec{CgroupProcs: initSpec.CgroupProcs, Args: slices.Clone(args), Env: initSpec.Env, Cwd: initSpec.Cwd, Terminal: terminal, User: initSpec.User,
		Capabilities: initSpec.Capabilities, Filter: initSpec.Filter, OOMScoreAdj: initSpec.OOMScoreAdj, Limits: initSpec.Limits}
	if terminal {
		spec.Env = setEnv(spec.Env, "TERM", "xterm")
	}
	return spec, nil
}

// awaitStart waits until the command runs.
func (c *command) awaitStart(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() { _ = c.report.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	packet := make([]byte, maxStartReport)
	for {
		n, err := c.report.Read(packet)
		if ctx.Err() != nil {
			return c.timeoutError(ctx, "did not start in time")
		}
		if err != nil { // the helper was killed
			return errors.Join(errors.New(containerinit.Exec+" has exited"), err)
		}
		text := string(packet[:n])
		child, ok := strings.CutPrefix(text, containerinit.PacketProcess)
		switch {
		case text == containerinit.PacketStarted:
			return nil
		case !ok:
			return parseStartError(text)
		}
		if c.child, err = strconv.Atoi(child); err != nil || c.child <= 1 {
			return fmt.Errorf("invalid report: %q", text)
		}
	}
}

// timeoutError returns the error of a command whose context has ended.
func (c *command) timeoutError(ctx context.Context, failure string) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return status.Errorf(codes.Canceled, "%s was canceled", c.name)
	}
	return status.Errorf(codes.DeadlineExceeded, "%s %s", c.name, failure)
}

// waitOrKill waits until the command exits. It kills the command and its descendants when ctx
// ends.
func (c *command) waitOrKill(ctx context.Context) error {
	select {
	case <-c.helper.exited:
		return nil
	case <-ctx.Done():
		c.abort()
		return c.timeoutError(ctx, "timed out")
	}
}

// abortTimeout bounds the wait for a killed helper. The helper exits later only if the kernel hangs,
// for example in a file system that does not respond.
const abortTimeout = 2 * time.Second

// reapTimeout bounds the wait until the helper has reaped a killed command.
const reapTimeout = 500 * time.Millisecond

// abort kills the helper and all processes of the command. The helper reaps the command first:
// otherwise the command would stay a zombie of the container's init process if that does not reap.
func (c *command) abort() {
	if c.child > 0 && !c.helper.hasExited() { // the helper has not reaped the command, so its ID is valid
		c.kill(c.child)
		if c.helper.wait(reapTimeout) {
			return
		}
	}
	c.helper.kill(syscall.SIGKILL)
	c.helper.wait(abortTimeout)
}

// exitCode returns the exit code of the helper: that of the command, unless a signal killed the helper.
func (c *command) exitCode() int32 {
	state := c.helper.state
	if state.Signaled() {
		return 128 + int32(state.Signal())
	}
	return int32(state.ExitStatus())
}

// release releases the resources of the command. A helper that has not exited is reaped later.
func (c *command) release() {
	_ = c.report.Close()
	c.helper.release()
}
