package embedded

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/berthproject/berth/agent/runtime"
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

// launch starts the shim, and waits until the container runs or cannot.
func (c *container) launch(r *Runtime, box *sandbox) error {
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
	report, theirs, err := os.Pipe()
	if err != nil {
		return err
	}
	defer report.Close()
	var p *process
	err = box.hold(func(sandbox int) (err error) {
		p, err = r.shims.start(c.dir, [...]int{shim.HandedErrors: int(errorsTo.Fd()), shim.HandedReport: int(theirs.Fd()), shim.HandedSandbox: sandbox, shim.HandedLock: int(lock.Fd())})
		return err
	})
	_ = theirs.Close()
	if err != nil {
		return err
	}
	c.mu.Lock()
	c.shim = p
	c.mu.Unlock()
	go r.attend(c)
	return c.begun(report)
}

// begun takes in what the shim says of the start.
func (c *container) begun(report *os.File) error {
	text := make([]byte, 64<<10)
	n, _ := report.Read(text)
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
	oom := exit.Code == 137 && r.host.OOMKills(c.record.Group) > 0
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
