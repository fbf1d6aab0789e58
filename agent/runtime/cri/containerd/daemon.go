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

	criapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/berthproject/berth/agent/runtime/cri"
)

// readyTimeout bounds the start of the daemon, which takes 0.2 s on an idle machine.
const readyTimeout = time.Minute

// Daemon is a private containerd. It is restarted when it exits.
type Daemon struct {
	options Options
	config  string
	service *cri.Client
	log     *os.File
	ownsLog bool // close log in Stop

	stop context.CancelFunc
	done chan struct{} // closed when the daemon is no longer restarted

	mu       sync.Mutex
	pid      int // 0 while it does not run
	starts   int
	lastExit error
}

// Start starts a containerd with the given options, or restarts an earlier one. It waits until
// the daemon is ready, has the pause image and has loaded its containers. It also returns the
// path of the CRI socket.
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
	if err := masquerade(o); err != nil {
		return nil, "", fmt.Errorf("containerd: %w", err)
	}
	config, err := writeConfig(o)
	if err != nil {
		return nil, "", fmt.Errorf("containerd: configuration: %w", err)
	}
	// Dial must not find the socket file of an earlier daemon.
	_ = os.Remove(o.socket())
	p := &Daemon{options: o, config: config, log: o.Log, done: make(chan struct{})}
	if p.log == nil {
		p.ownsLog = true
		if p.log, err = os.OpenFile(filepath.Join(o.Dir, "containerd.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o640); err != nil {
			return nil, "", fmt.Errorf("containerd: log: %w", err)
		}
	}
	superviseCtx, stop := context.WithCancel(context.Background())
	p.stop = stop
	go p.supervise(superviseCtx)
	if err := p.waitUntilReady(ctx); err != nil {
		err = fmt.Errorf("containerd in %s: %w%s", o.Dir, err, p.describeFailure())
		p.Stop()
		return nil, "", err
	}
	return p, o.socket(), nil
}

// waitUntilReady waits until the runtime reports that it is ready, and loads the pause image.
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
			return errors.New("not ready within " + readyTimeout.String())
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

// Service returns a connection to the daemon. Stop closes it.
func (p *Daemon) Service() *cri.Client { return p.service }

// Pid returns the daemon's process ID, or 0 while it does not run.
func (p *Daemon) Pid() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.pid
}

// Starts returns how often the daemon was started.
func (p *Daemon) Starts() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.starts
}

// Kill sends SIGKILL to the daemon to simulate a crash. The daemon is restarted.
func (p *Daemon) Kill() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pid == 0 {
		return nil
	}
	return syscall.Kill(p.pid, syscall.SIGKILL)
}

// Stop stops the daemon. Its containers keep running.
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

// supervise runs the daemon and restarts it until ctx ends. It locks its thread, because the
// kernel kills the daemon when the thread that started it exits.
func (p *Daemon) supervise(ctx context.Context) {
	runtime.LockOSThread()
	defer close(p.done)
	defer runtime.UnlockOSThread() // or the thread would exit and kill other processes that it has started
	for pause := 50 * time.Millisecond; ctx.Err() == nil; pause = min(2*pause, 5*time.Second) {
		if err := removeOrphanedNetns(p.options.state()); err != nil {
			fmt.Fprintln(p.log, "berth: failed to remove orphaned network namespaces:", err)
		}
		start := time.Now()
		err := p.runOnce(ctx)
		p.mu.Lock()
		p.pid, p.lastExit = 0, err
		p.mu.Unlock()
		if time.Since(start) > 10*time.Second {
			pause = 50 * time.Millisecond
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

// runOnce runs the daemon until it exits or ctx ends.
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

// describeFailure returns the exit status and the end of the daemon's log for an error message.
func (p *Daemon) describeFailure() string {
	p.mu.Lock()
	exit := p.lastExit
	p.mu.Unlock()
	text := ""
	if exit != nil {
		text = fmt.Sprintf(" (it exited: %v)", exit)
	}
	data, err := os.ReadFile(p.log.Name())
	if err != nil || len(data) == 0 {
		return text
	}
	return text + "; last lines of its log:\n" + string(data[max(0, len(data)-1500):])
}
