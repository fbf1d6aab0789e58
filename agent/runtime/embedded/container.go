package embedded

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/berthproject/berth/agent/runtime/embedded/containerinit"
	"github.com/berthproject/berth/agent/runtime/embedded/shim"
)

// container is a container with its shim and its init process.
type container struct {
	dir    string
	record containerRecord // immutable
	// opMu serializes start and removal.
	opMu sync.Mutex
	// joinMu is held while a container starts in the PID namespace of this one.
	joinMu sync.Mutex

	mu          sync.Mutex
	shim        *process // nil before the start, and if a restart found the container exited
	initProcess *process
	started     time.Time               // zero if the program has not run
	user        *cri.LinuxContainerUser // at the start; nil if unknown
	exit        *shim.Exit              // nil until the container has exited
	oom         bool                    // the OOM killer has killed a process of the container; set with exit
	// exited is closed when exit is set.
	exited chan struct{}
}

func newContainer(dir string, record containerRecord) *container {
	return &container{dir: dir, record: record, exited: make(chan struct{})}
}

// state returns the container's state in CRI's terms.
func (c *container) state() cri.ContainerState {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.exit != nil:
		return cri.ContainerState_CONTAINER_EXITED
	case c.shim != nil && !c.started.IsZero():
		return cri.ContainerState_CONTAINER_RUNNING
	}
	return cri.ContainerState_CONTAINER_CREATED
}

// runningProcess returns the container's init process, or nil if it is not running.
func (c *container) runningProcess() *process {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.exit != nil {
		return nil
	}
	return c.initProcess
}

func (c *container) closeHandles() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range []*process{c.shim, c.initProcess} {
		if p != nil {
			p.close()
		}
	}
}

// launch starts the container and waits until it runs. After an error, the container exits and its
// exit status has the error.
func (c *container) launch(r *Runtime, sb *sandbox) error {
	err := c.start(r, sb)
	if err == nil || errors.As(err, new(*StartError)) { // a StartError is already recorded by the shim
		return err
	}
	exit := shim.Exit{Code: 128, Finished: time.Now(), Reason: "StartError", Message: err.Error()}
	err = &StartError{Message: err.Error(), Code: exit.Code}
	if writeErr := shim.WriteExit(c.dir, exit); writeErr != nil {
		r.log.Error(writeErr, "Failed to record exit status of container", "container", c.record.ID)
	}
	c.mu.Lock()
	p := c.shim
	c.mu.Unlock()
	if p == nil {
		r.recordExit(c, exit)
		return err
	}
	// The kernel kills the shim's children with it, unless another container in a shared PID namespace
	// stops them first.
	p.kill(syscall.SIGKILL)
	if ids, err := shim.ReadProcesses(c.dir); err == nil {
		killProcess(ids.Container, ids.Start)
	}
	return err
}

// start starts the shim and waits until the container runs. After an error the start may be
// incomplete.
func (c *container) start(r *Runtime, sb *sandbox) error {
	lock, err := os.OpenFile(filepath.Join(c.dir, shim.LockFile), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return err
	}
	stderr, err := os.OpenFile(filepath.Join(c.dir, "shim.log"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer stderr.Close()
	sandboxFD, err := r.openNamespaces(c, sb)
	if err != nil {
		return err
	}
	defer unix.Close(sandboxFD)
	report, childEnd, err := reportPair(unix.SOCK_STREAM)
	if err != nil {
		return err
	}
	defer report.Close()
	p, err := r.shims.startShim(c.dir, [...]int{shim.PassedStderr: int(stderr.Fd()), shim.PassedReport: childEnd, shim.PassedSandbox: sandboxFD, shim.PassedLock: int(lock.Fd())})
	_ = unix.Close(childEnd)
	if err != nil {
		return err
	}
	c.mu.Lock()
	c.shim = p
	c.mu.Unlock()
	go r.monitor(c)
	_, _ = report.Write([]byte{shim.Go}) // if the shim has exited, awaitStart fails
	return c.awaitStart(report, r.opts.startLimit())
}

// reportPair returns a socket pair of the given type, which connects the agent with a process that
// it starts.
func reportPair(kind int) (agentEnd *os.File, childEnd int, err error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, kind|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, -1, fmt.Errorf("creating a socket pair: %w", err)
	}
	if err := unix.SetNonblock(pair[0], true); err != nil {
		return nil, -1, errors.Join(err, unix.Close(pair[0]), unix.Close(pair[1]))
	}
	return os.NewFile(uintptr(pair[0]), "report"), pair[1], nil
}

// awaitStart reads the shim's report about the start. It fails after limit.
func (c *container) awaitStart(report *os.File, limit time.Duration) error {
	if err := report.SetReadDeadline(time.Now().Add(limit)); err != nil {
		return err
	}
	text := make([]byte, maxStartReport)
	n, err := report.Read(text)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return fmt.Errorf("%s timed out after %v", c.describeHungStart(), limit)
	}
	if string(text[:n]) == "ok" {
		return c.recordInitProcess()
	}
	code, message, _ := strings.Cut(string(text[:n]), " ")
	exitCode, err := strconv.Atoi(code)
	if err != nil {
		message = "shim exited" + c.shimOutput()
		exitCode = 128
	}
	return &StartError{Message: message, Code: exitCode}
}

// describeHungStart describes the step at which the start of a container hangs.
func (c *container) describeHungStart() string {
	const unknownStep = "starting the init process"
	ids, err := shim.ReadProcesses(c.dir)
	if err != nil || shim.StartTime(ids.Container) != ids.Start {
		return unknownStep
	}
	name, _ := os.ReadFile("/proc/" + strconv.Itoa(ids.Container) + "/comm")
	index, ok := containerinit.MountIndex(strings.TrimSpace(string(name)))
	text, err := os.ReadFile(filepath.Join(c.dir, shim.InitFile))
	var spec containerinit.Spec
	if !ok || err != nil || json.Unmarshal(text, &spec) != nil || index >= len(spec.Mounts) {
		return unknownStep
	}
	m := &spec.Mounts[index]
	return fmt.Sprintf("mounting %s at %s (the file system does not respond)", m.Describe(), m.Target)
}

// shimOutput returns ": " and the first line that the shim has printed, or "" if there is none. The
// shim prints only internal errors.
func (c *container) shimOutput() string {
	text, _ := os.ReadFile(filepath.Join(c.dir, "shim.log"))
	line, _, _ := strings.Cut(string(text), "\n")
	if line != "" {
		line = ": " + line
	}
	return line
}

// recordInitProcess opens the init process that the shim has recorded. It sets the start time and
// user of the container.
func (c *container) recordInitProcess() error {
	ids, err := shim.ReadProcesses(c.dir)
	if err != nil {
		return err
	}
	initProcess := findProcess(ids.Container, ids.Start)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.initProcess, c.started, c.user = initProcess, ids.Started, readUser(c.dir)
	return nil
}

// monitor waits until the container's shim exits and records the container's exit status.
func (r *Runtime) monitor(c *container) {
	<-c.shim.exited
	exit, err := shim.ReadExit(c.dir)
	if err != nil {
		// The shim was killed. Kill the container, because its exit could not be observed.
		if err := r.host.Kill(c.record.Group); err != nil {
			r.log.Error(err, "Failed to kill container without shim", "container", c.record.ID)
		}
		exit = shim.Exit{Code: 137, Finished: time.Now(), Reason: "ContainerStatusUnknown", Message: "the container's shim was killed" + c.shimOutput()}
		if err := shim.WriteExit(c.dir, exit); err != nil && !errors.Is(err, os.ErrNotExist) {
			r.log.Error(err, "Failed to record exit status of container", "container", c.record.ID)
		}
	}
	r.recordExit(c, exit)
}

// recordExit kills remaining processes of the container, records its exit status and publishes an
// event.
func (r *Runtime) recordExit(c *container, exit shim.Exit) {
	// With a shared PID namespace, processes of the container may remain.
	if err := r.host.Kill(c.record.Group); err != nil {
		r.log.Error(err, "Failed to kill remaining processes of container", "container", c.record.ID)
	}
	oom := r.host.OOMKills(c.record.Group) > 0 // as in containerd, a kill of any process of the container counts
	c.mu.Lock()
	if c.exit == nil {
		c.exit, c.oom = &exit, oom
		close(c.exited)
	}
	c.mu.Unlock()
	c.closeHandles()
	r.publishExit(c.record.ID)
}

// openProcess returns a pidfd of the process that holds the sandbox's namespaces. The caller closes
// it.
func (s *sandbox) openProcess() (int, error) {
	s.mu.Lock()
	p := s.process
	s.mu.Unlock()
	if p == nil || p.hasExited() {
		return -1, errors.New("sandbox is not ready")
	}
	return p.duplicateFD()
}
