package embedded

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/klog/v2"

	"github.com/berthproject/berth/agent/cgroup"
	"github.com/berthproject/berth/agent/image/store"
	"github.com/berthproject/berth/agent/network"
)

// Name is the name of the runtime and the prefix of its container IDs, berth://.
const Name = "berth"

// Runtime runs containers. It is safe for concurrent use.
type Runtime struct {
	store.ImageService
	opts        Options
	host        *cgroup.Host
	log         klog.Logger
	executables *executables
	shims       *shimFactory
	network     *network.Network // nil: only the host's network
	streams     *streamServer
	lock        *os.File
	closed      sync.Once

	mu             sync.Mutex
	sandboxes      map[string]*sandbox
	containers     map[string]*container
	subscribers    map[int]chan string
	lastSubscriber int // last key of subscribers
	layers         layerSizeCache
}

// New returns a runtime that uses o.Dir. It adopts running containers and removes incomplete objects of a
// killed agent.
func New(_ context.Context, o Options) (*Runtime, error) {
	if err := errors.Join(o.Validate(), CheckRequirements()); err != nil {
		return nil, err
	}
	r := &Runtime{ImageService: store.ImageService{Store: o.Images}, opts: o, log: o.Log,
		sandboxes: map[string]*sandbox{}, containers: map[string]*container{}, subscribers: map[int]chan string{}}
	if err := r.open(); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// open opens the directory, the network and the stream server, starts the zygote, and adopts existing pods.
func (r *Runtime) open() (err error) {
	o := r.opts
	if r.host, err = cgroup.Detect(); err != nil {
		return err
	}
	for _, dir := range []string{o.sandboxesDir(), o.containersDir()} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return fmt.Errorf("creating a directory of the embedded runtime: %w", err)
		}
	}
	if r.lock, err = lockDir(o.Dir); err != nil {
		return err
	}
	if r.executables, err = openExecutables(); err != nil {
		return err
	}
	r.shims = &shimFactory{executables: r.executables, dir: o.Dir, timeout: min(forkTimeout, o.startLimit()), limitCPU: r.limitCPU}
	if err := r.shims.startZygote(); err != nil { // start early: it needs some time
		return fmt.Errorf("starting the first shim of the embedded runtime: %w", err)
	}
	if o.PodCIDR != "" {
		r.network, err = network.Open(network.Options{Dir: o.networkDir(), CIDR: o.PodCIDR, Bridge: o.Bridge, Log: o.Log})
		if err != nil {
			return err
		}
	}
	if r.streams, err = r.serveStreams(); err != nil {
		return err
	}
	return r.restore()
}

// limitCPU moves the zygote out of the cgroup of the control plane, which may be this process's. The zygote's children
// inherit its cgroup: shims, and containers and commands until they join the cgroup of their pod.
func (r *Runtime) limitCPU(pid int) {
	if err := r.host.AddRuntimeProcess(pid); err != nil {
		r.log.Error(err, "Failed to limit the CPU time of shims and commands", "pid", pid)
	}
}

// lockTimeout bounds the wait for the lock of a killed agent. A child that the agent was starting
// holds the lock until its execve.
const lockTimeout = 2 * time.Second

// lockDir locks the directory against other runtimes.
func lockDir(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("locking the directory of the embedded runtime: %w", err)
	}
	for deadline := time.Now().Add(lockTimeout); ; time.Sleep(10 * time.Millisecond) {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return f, nil
		}
		if err != unix.EINTR && time.Now().After(deadline) {
			_ = f.Close()
			return nil, fmt.Errorf("embedded runtime: dir %s: in use by another process (it holds %s): stop it, or choose another directory", dir, f.Name())
		}
	}
}

func (o Options) sandboxesDir() string  { return filepath.Join(o.Dir, "sandboxes") }
func (o Options) containersDir() string { return filepath.Join(o.Dir, "containers") }
func (o Options) networkDir() string    { return filepath.Join(o.Dir, "network") }

// Close releases all resources of this process. Containers keep running. It is idempotent.
func (r *Runtime) Close() (err error) {
	r.closed.Do(func() {
		if r.streams != nil {
			r.streams.close()
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		for _, c := range r.containers {
			c.closeHandles()
		}
		for _, s := range r.sandboxes {
			s.closeHandles()
		}
		if r.shims != nil {
			r.shims.close()
		}
		if r.executables != nil {
			r.executables.close()
		}
		if r.lock != nil {
			err = r.lock.Close()
		}
	})
	return err
}

// Version returns the runtime's name and version.
func (r *Runtime) Version(context.Context) (*cri.VersionResponse, error) {
	return &cri.VersionResponse{Version: "0.1.0", RuntimeName: Name, RuntimeVersion: "1", RuntimeApiVersion: "v1"}, nil
}

// Status returns the conditions of the runtime and its network.
func (r *Runtime) Status(context.Context) (*cri.RuntimeStatus, error) {
	net := &cri.RuntimeCondition{Type: cri.NetworkReady, Status: true}
	if r.network == nil {
		net = &cri.RuntimeCondition{Type: cri.NetworkReady, Reason: "NoPodCIDR", Message: "no podCIDR: only pods with the host network can run"}
	}
	return &cri.RuntimeStatus{Conditions: []*cri.RuntimeCondition{{Type: cri.RuntimeReady, Status: true}, net}}, nil
}

// PodCIDR returns the network of the pods, or "" if there is none.
func (r *Runtime) PodCIDR() string { return r.opts.PodCIDR }
