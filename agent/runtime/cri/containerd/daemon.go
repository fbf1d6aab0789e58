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

	"github.com/berthproject/berth/agent/cgroup"
	"github.com/berthproject/berth/agent/runtime/cri"
)

// readyTimeout bounds the start of the daemon, which takes 0.2 s on an idle machine.
const readyTimeout = time.Minute

// Daemon runs a private containerd and restarts it when it exits.
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
		return nil, "", fmt.Errorf("masquerading the traffic of containerd's pods: %w", err)
	}
	config, err := writeConfig(o)
	if err != nil {
		return nil, "", fmt.Errorf("containerd: configuration: %w", err)
	}
	// Dial must not find the socket file of an earlier daemon.
	_ = os.Remove(o.socket())
	d := &Daemon{options: o, config: config, log: o.Log, done: make(chan struct{})}
	if d.log == nil {
		d.ownsLog = true
		if d.log, err = os.OpenFile(filepath.Join(o.Dir, "containerd.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o640); err != nil {
			return nil, "", fmt.Errorf("containerd: log: %w", err)
		}
	}
	superviseCtx, stop := context.WithCancel(context.Background())
	d.stop = stop
	go d.supervise(superviseCtx)
	if err := d.waitUntilReady(ctx); err != nil {
		err = fmt.Errorf("containerd in %s: %w%s", o.Dir, err, d.describeFailure())
		d.Stop()
		return nil, "", err
	}
	return d, o.socket(), nil
}

// waitUntilReady waits until the runtime reports that it is ready, and loads the pause image.
func (d *Daemon) waitUntilReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	var err error
	if d.service, err = cri.Dial(ctx, d.options.socket()); err != nil {
		return err
	}
	for !d.isReady(ctx) {
		select {
		case <-ctx.Done():
			return errors.New("not ready within " + readyTimeout.String())
		case <-time.After(20 * time.Millisecond):
		}
	}
	if d.options.SandboxImage != "" {
		return nil
	}
	return d.loadPause(ctx)
}

func (d *Daemon) isReady(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	s, err := d.service.Status(ctx)
	if err != nil {
		return false
	}
	for _, c := range s.GetStatus().GetConditions() {
		if !c.Status && (c.Type == criapi.RuntimeReady || c.Type == criapi.NetworkReady && d.options.PodCIDR != "") {
			return false
		}
	}
	return true
}

// Service returns a connection to the daemon. Stop closes it.
func (d *Daemon) Service() *cri.Client { return d.service }

// Pid returns the daemon's process ID, or 0 while it does not run.
func (d *Daemon) Pid() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.pid
}

// Starts returns how often the daemon was started.
func (d *Daemon) Starts() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.starts
}

// Kill sends SIGKILL to containerd to simulate a crash. The Daemon then restarts it.
func (d *Daemon) Kill() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.pid == 0 {
		return nil
	}
	return syscall.Kill(d.pid, syscall.SIGKILL)
}

// Stop stops the daemon. Its containers keep running.
func (d *Daemon) Stop() {
	d.stop()
	<-d.done
	if d.service != nil {
		_ = d.service.Close()
	}
	if d.ownsLog {
		_ = d.log.Close()
	}
}

// supervise runs the daemon and restarts it until ctx ends. It locks its thread, because the
// kernel kills the daemon when the thread that started it exits.
func (d *Daemon) supervise(ctx context.Context) {
	runtime.LockOSThread()
	defer close(d.done)
	defer runtime.UnlockOSThread() // otherwise the thread would exit, which kills other processes that it has started
	for delay := 50 * time.Millisecond; ctx.Err() == nil; delay = min(2*delay, 5*time.Second) {
		if err := removeOrphanedNetns(d.options.state()); err != nil {
			fmt.Fprintln(d.log, "berth: failed to remove orphaned network namespaces:", err)
		}
		if err := removeDamagedResults(cniResultDir, d.options.Bridge); err != nil {
			fmt.Fprintln(d.log, "berth: failed to remove damaged results of CNI plugins:", err)
		}
		start := time.Now()
		err := d.runOnce(ctx)
		d.mu.Lock()
		d.pid, d.lastExit = 0, err
		d.mu.Unlock()
		if time.Since(start) > 10*time.Second {
			delay = 50 * time.Millisecond
		}
		select {
		case <-ctx.Done():
		case <-time.After(delay):
		}
	}
}

// runOnce runs the daemon until it exits or ctx ends.
func (d *Daemon) runOnce(ctx context.Context) error {
	cmd := exec.Command("containerd", "--config", d.config)
	cmd.Stdout, cmd.Stderr = d.log, d.log
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return err
	}
	if err := limitCPU(cmd.Process.Pid); err != nil {
		fmt.Fprintln(d.log, "berth: failed to limit the CPU time of containerd and its shims:", err)
	}
	d.mu.Lock()
	d.pid = cmd.Process.Pid
	d.starts++
	d.mu.Unlock()
	exited := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-exited:
		case <-time.After(5 * time.Second):
			_ = cmd.Process.Kill()
		}
	})
	err := cmd.Wait()
	close(exited)
	stop()
	return err
}

// limitCPU moves containerd to the cgroup of runtime processes. Otherwise containerd would stay in this process's
// cgroup, which may be the control plane's. The shims of containerd inherit its cgroup.
func limitCPU(pid int) error {
	host, err := cgroup.Detect()
	if err != nil {
		return err
	}
	return host.AddRuntimeProcess(pid)
}

// describeFailure returns the exit status and the end of the daemon's log for an error message.
func (d *Daemon) describeFailure() string {
	d.mu.Lock()
	exit := d.lastExit
	d.mu.Unlock()
	text := ""
	if exit != nil {
		text = fmt.Sprintf(" (it exited: %v)", exit)
	}
	data, err := os.ReadFile(d.log.Name())
	if err != nil || len(data) == 0 {
		return text
	}
	return text + "; last lines of its log:\n" + string(data[max(0, len(data)-1500):])
}
