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

	"github.com/berthproject/berth/agent/runtime"
	"github.com/berthproject/berth/agent/runtime/embedded/inside"
	"github.com/berthproject/berth/agent/runtime/embedded/shim"
)

// container is one of a sandbox.
type container struct {
	dir    string
	record containerRecord // does not change
	// busy is held by who starts or removes it.
	busy sync.Mutex

	mu      sync.Mutex
	shim    *process // nil before it is started and after a restart of the agent that found it ended
	first   *process // the container's first process
	started time.Time
	exit    *shim.Exit
	oom     bool
	removed bool
	// over is closed when exit is known.
	over chan struct{}
}

func newContainer(dir string, record containerRecord) *container {
	return &container{dir: dir, record: record, over: make(chan struct{})}
}

// state is the container's, in CRI's terms.
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

// running is the container's first process, nil if it does not run.
func (c *container) running() *process {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.exit != nil {
		return nil
	}
	return c.first
}

func (c *container) letGo() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range []*process{c.shim, c.first} {
		if p != nil {
			p.close()
		}
	}
}

// launch starts the shim, and waits until the container runs or cannot; then it has ended, and says why.
func (c *container) launch(r *Runtime, box *sandbox) error {
	err := c.start(r, box)
	if err == nil || errors.As(err, new(*StartError)) { // the second: its shim has noted it
		return err
	}
	exit := shim.Exit{Code: 128, Finished: time.Now(), Reason: "StartError", Message: err.Error()}
	err = &StartError{Message: err.Error(), Code: exit.Code}
	if noted := shim.WriteExit(c.dir, exit); noted != nil {
		r.log.Error(noted, "How a container ended cannot be noted", "container", c.record.ID)
	}
	c.mu.Lock()
	p := c.shim
	c.mu.Unlock()
	if p == nil {
		r.ended(c, exit)
		return err
	}
	p.kill(syscall.SIGKILL) // what it has started ends with it
	return err
}

// start is launch, which may leave half of it.
func (c *container) start(r *Runtime, box *sandbox) error {
	lock, err := os.OpenFile(filepath.Join(c.dir, shim.LockFile), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return err
	}
	errorsTo, err := os.OpenFile(filepath.Join(c.dir, "shim.log"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer errorsTo.Close()
	report, theirs, err := reportPair()
	if err != nil {
		return err
	}
	defer report.Close()
	var p *process
	err = box.hold(func(sandbox int) (err error) {
		p, err = r.shims.start(c.dir, [...]int{shim.HandedErrors: int(errorsTo.Fd()), shim.HandedReport: theirs, shim.HandedSandbox: sandbox, shim.HandedLock: int(lock.Fd())})
		return err
	})
	_ = unix.Close(theirs)
	if err != nil {
		return err
	}
	c.mu.Lock()
	c.shim = p
	c.mu.Unlock()
	go r.attend(c)
	_, _ = report.Write([]byte{shim.Go}) // where the shim has ended already begun hears of that
	return c.begun(report, r.opts.startLimit())
}

// reportPair is what shim and agent speak by until the container has started.
func reportPair() (ours *os.File, theirs int, err error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, -1, fmt.Errorf("socketpair: %w", err)
	}
	if err := unix.SetNonblock(pair[0], true); err != nil {
		return nil, -1, errors.Join(err, unix.Close(pair[0]), unix.Close(pair[1]))
	}
	return os.NewFile(uintptr(pair[0]), "report"), pair[1], nil
}

// begun takes in what the shim says of the start, if it does within a time.
func (c *container) begun(report *os.File, limit time.Duration) error {
	if err := report.SetReadDeadline(time.Now().Add(limit)); err != nil {
		return err
	}
	text := make([]byte, 64<<10)
	n, err := report.Read(text)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return fmt.Errorf("%s did not come to an end within %v", c.stuck(), limit)
	}
	if string(text[:n]) == "ok" {
		return c.join()
	}
	code, message, _ := strings.Cut(string(text[:n]), " ")
	number, err := strconv.Atoi(code)
	if err != nil {
		message = "its shim ended" + c.lastWords()
		number = 128
	}
	return &StartError{Message: message, Code: number}
}

// stuck says what a container's start is at.
func (c *container) stuck() string {
	const otherwise = "the start of its first process"
	ids, err := shim.ReadProcesses(c.dir)
	if err != nil || shim.StartOf(ids.Container) != ids.Start {
		return otherwise
	}
	name, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(ids.Container), "comm"))
	index, ok := inside.Mounting(strings.TrimSpace(string(name)))
	text, err := os.ReadFile(filepath.Join(c.dir, shim.InitFile))
	var spec inside.Spec
	if !ok || err != nil || json.Unmarshal(text, &spec) != nil || index >= len(spec.Mounts) {
		return otherwise
	}
	m := &spec.Mounts[index]
	return fmt.Sprintf("mounting %s at %s (its file system does not answer)", m.What(), m.Target)
}

// lastWords is what the shim has printed, which it does only when something is wrong with it.
func (c *container) lastWords() string {
	text, _ := os.ReadFile(filepath.Join(c.dir, "shim.log"))
	line, _, _ := strings.Cut(string(text), "\n")
	if line != "" {
		line = ": " + line
	}
	return line
}

// join takes in the container's first process, as the shim has noted it.
func (c *container) join() error {
	ids, err := shim.ReadProcesses(c.dir)
	if err != nil {
		return err
	}
	first := findProcess(ids.Container, ids.Start)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.first, c.started = first, ids.Started
	return nil
}

// attend waits for the end of a container's shim and takes in how the container ended.
func (r *Runtime) attend(c *container) {
	<-c.shim.over
	exit, err := shim.ReadExit(c.dir)
	if err != nil {
		// Somebody killed the shim. The container must not go on without: nobody would know of its end.
		if err := r.host.Kill(c.record.Group); err != nil {
			r.log.Error(err, "A container without its shim cannot be killed", "container", c.record.ID)
		}
		exit = shim.Exit{Code: 137, Finished: time.Now(), Reason: "ContainerStatusUnknown", Message: "the process that kept the container's exit status was killed" + c.lastWords()}
		if err := shim.WriteExit(c.dir, exit); err != nil && !errors.Is(err, os.ErrNotExist) {
			r.log.Error(err, "How a container ended cannot be noted", "container", c.record.ID)
		}
	}
	r.ended(c, exit)
}

// ended takes in how a container ended, and tells who listens.
func (r *Runtime) ended(c *container, exit shim.Exit) {
	// In the process namespace of the sandbox it may leave others behind.
	if err := r.host.Kill(c.record.Group); err != nil {
		r.log.Error(err, "What a container has left behind cannot be killed", "container", c.record.ID)
	}
	oom := r.host.OOMKills(c.record.Group) > 0 // whatever its own code is, as containerd says it: one of its other processes, perhaps
	c.mu.Lock()
	if c.exit == nil {
		c.exit, c.oom = &exit, oom
		close(c.over)
	}
	for _, p := range []*process{c.shim, c.first} {
		if p != nil {
			p.close()
		}
	}
	c.mu.Unlock()
	r.tell(runtime.ContainerEvent{Container: c.record.ID})
}

// hold calls do with a pidfd of the process that holds the sandbox's namespaces.
func (s *sandbox) hold(do func(fd int) error) error {
	s.mu.Lock()
	p := s.process
	s.mu.Unlock()
	if p == nil || p.ended() {
		return errors.New("its sandbox is down")
	}
	return p.control(do)
}
