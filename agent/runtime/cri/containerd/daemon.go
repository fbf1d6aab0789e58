package containerd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"time"

	"github.com/berthproject/berth/agent/runtime/cri"
	criapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// readyTimeout is how long the daemon may take to be ready; it takes 0.2 s on an idle machine.
const readyTimeout = time.Minute

// Daemon is a private containerd. It is started again when it ends by itself.
type Daemon struct {
	options Options
	config  string
	service *cri.Client
	log     *os.File
	ownsLog bool // whether log is to be closed

	stop context.CancelFunc
	done chan struct{} // closed when the daemon is not started any more

	mu       sync.Mutex
	pid      int // 0 while it does not run
	starts   int
	lastExit error
}

// Start starts a containerd with the given options, or again one that ran with
// them before, and waits until it is ready, has its pause image, and knows the
// containers that it had. The second result is the path of its CRI socket.
func Start(ctx context.Context, o Options) (*Daemon, string, error) {
	if err := o.Validate(); err != nil {
		return nil, "", err
	}
	if err := CheckRequirements(o.PodCIDR != ""); err != nil {
		return nil, "", err
	}
	if err := protectLoopback(o); err != nil {
		return nil, "", err
	}
	config, err := writeConfig(o)
	if err != nil {
		return nil, "", fmt.Errorf("containerd: configuration: %w", err)
	}
	// A socket file of an earlier daemon would be taken for this one's.
	_ = os.Remove(o.socket())
	p := &Daemon{options: o, config: config, log: o.Log, done: make(chan struct{})}
	if p.log == nil {
		p.ownsLog = true
		if p.log, err = os.OpenFile(filepath.Join(o.Dir, "containerd.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o640); err != nil {
			return nil, "", fmt.Errorf("containerd: log: %w", err)
		}
	}
	keep, stop := context.WithCancel(context.Background())
	p.stop = stop
	go p.supervise(keep)
	if err := p.waitUntilReady(ctx); err != nil {
		err = fmt.Errorf("containerd in %s: %w%s", o.Dir, err, p.describeFailure())
		p.Stop()
		return nil, "", err
	}
	return p, o.socket(), nil
}

// waitUntilReady waits until the runtime says that it is ready, and gives it its pause image.
func (p *Daemon) waitUntilReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	var err error
	if p.service, err = cri.Dial(ctx, p.options.socket()); err != nil {
		return err
	}
	for !p.isReady(ctx) {
		select {
		case <-ctx.Done():
			return errors.New("is not ready within " + readyTimeout.String())
		case <-time.After(20 * time.Millisecond):
		}
	}
	if p.options.SandboxImage != "" {
		return nil
	}
	return p.loadPause(ctx)
}

func (p *Daemon) isReady(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	s, err := p.service.Status(ctx)
	if err != nil {
		return false
	}
	for _, c := range s.Conditions {
		if !c.Status && (c.Type == criapi.RuntimeReady || c.Type == criapi.NetworkReady && p.options.PodCIDR != "") {
			return false
		}
	}
	return true
}

// Service is a connection to the daemon; it is closed by Stop.
func (p *Daemon) Service() *cri.Client { return p.service }

// Pid is the daemon's process id, 0 while it does not run.
func (p *Daemon) Pid() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.pid
}

// Starts is how many times the daemon was started.
func (p *Daemon) Starts() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.starts
}

// Kill sends SIGKILL to the daemon, as a crash: it is started again.
func (p *Daemon) Kill() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pid == 0 {
		return nil
	}
	return syscall.Kill(p.pid, syscall.SIGKILL)
}

// Stop ends the daemon and leaves its containers running.
func (p *Daemon) Stop() {
	p.stop()
	<-p.done
	if p.service != nil {
		_ = p.service.Close()
	}
	if p.ownsLog {
		_ = p.log.Close()
	}
}

// supervise runs the daemon until ctx ends, again after each end. It stays on one
// thread: the kernel kills the daemon when the thread that started it ends.
func (p *Daemon) supervise(ctx context.Context) {
	runtime.LockOSThread()
	defer close(p.done)
	defer runtime.UnlockOSThread() // or the thread would end, and with it what else was ever started on it to die so
	for pause := 50 * time.Millisecond; ctx.Err() == nil; pause = min(2*pause, 5*time.Second) {
		if err := removeOrphanedNetns(p.options.state()); err != nil {
			fmt.Fprintln(p.log, "berth: networks of pods that an earlier daemon has forgotten stay:", err)
		}
		began := time.Now()
		err := p.runOnce(ctx)
		p.mu.Lock()
		p.pid, p.lastExit = 0, err
		p.mu.Unlock()
		if time.Since(began) > 10*time.Second {
			pause = 50 * time.Millisecond
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

// runOnce runs the daemon until it ends or ctx does.
func (p *Daemon) runOnce(ctx context.Context) error {
	cmd := exec.Command("containerd", "--config", p.config)
	cmd.Stdout, cmd.Stderr = p.log, p.log
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return err
	}
	p.mu.Lock()
	p.pid = cmd.Process.Pid
	p.starts++
	p.mu.Unlock()
	ended := make(chan struct{})
	stopped := context.AfterFunc(ctx, func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-ended:
		case <-time.After(5 * time.Second):
			_ = cmd.Process.Kill()
		}
	})
	err := cmd.Wait()
	close(ended)
	stopped()
	return err
}

// describeFailure is the end of the daemon's log, for an error.
func (p *Daemon) describeFailure() string {
	p.mu.Lock()
	exit := p.lastExit
	p.mu.Unlock()
	words := ""
	if exit != nil {
		words = fmt.Sprintf(" (it ended: %v)", exit)
	}
	data, err := os.ReadFile(p.log.Name())
	if err != nil || len(data) == 0 {
		return words
	}
	return words + "; the end of its log:\n" + string(data[max(0, len(data)-1500):])
}
