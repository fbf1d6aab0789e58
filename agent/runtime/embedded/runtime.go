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
	"github.com/berthproject/berth/agent/runtime"
)

// Name is how the runtime calls itself, and how ids of its containers begin: berth://.
const Name = "berth"

// Runtime runs containers. It may be used from many goroutines.
type Runtime struct {
	store.ImageService
	opts        Options
	host        *cgroup.Host
	log         klog.Logger
	executables *executables
	shims       *shimFactory
	network     *network.Network // nil: there is none but the host's
	streams     *streamServer
	lock        *os.File
	closed      sync.Once

	mu             sync.Mutex
	sandboxes      map[string]*sandbox
	containers     map[string]*container
	subscribers    map[int]chan runtime.ContainerEvent
	lastSubscriber int // numbers the listeners
	layers         layerSizeCache
}

var _ runtime.Service = (*Runtime)(nil)

// New takes up what runs in the directory, and removes what a killed agent left half done.
func New(_ context.Context, o Options) (*Runtime, error) {
	if err := errors.Join(o.Validate(), CheckRequirements()); err != nil {
		return nil, err
	}
	r := &Runtime{ImageService: store.ImageService{Store: o.Images}, opts: o, log: o.Log,
		sandboxes: map[string]*sandbox{}, containers: map[string]*container{}, subscribers: map[int]chan runtime.ContainerEvent{}}
	if err := r.open(); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

func (r *Runtime) open() (err error) {
	o := r.opts
	if r.host, err = cgroup.Detect(); err != nil {
		return err
	}
	for _, dir := range []string{o.sandboxes(), o.containers()} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return fmt.Errorf("embedded runtime: %w", err)
		}
	}
	if r.lock, err = lockDir(o.Dir); err != nil {
		return err
	}
	if r.executables, err = openExecutables(); err != nil {
		return err
	}
	r.shims = &shimFactory{executables: r.executables, dir: o.Dir, timeout: min(copyTimeout, o.startLimit())}
	if err := r.shims.startZygote(); err != nil { // it takes a moment to be ready
		return fmt.Errorf("embedded runtime: %w", err)
	}
	if o.PodCIDR != "" {
		r.network, err = network.Open(network.Options{Dir: o.network(), CIDR: o.PodCIDR, Bridge: o.Bridge, Log: o.Log})
		if err != nil {
			return err
		}
	}
	if r.streams, err = r.serveStreams(); err != nil {
		return err
	}
	return r.restore()
}

// lockTimeout is how long a lock may be held on: a process that was just being started by who had it
// holds it until it has become what it is to be.
const lockTimeout = 2 * time.Second

// lockDir keeps other runtimes out of the directory.
func lockDir(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("embedded runtime: %w", err)
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

func (o Options) sandboxes() string  { return filepath.Join(o.Dir, "sandboxes") }
func (o Options) containers() string { return filepath.Join(o.Dir, "containers") }
func (o Options) network() string    { return filepath.Join(o.Dir, "network") }

// Close lets go of all; containers run on. It may be called again.
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

// Version says who the runtime is.
func (r *Runtime) Version(context.Context) (*cri.VersionResponse, error) {
	return &cri.VersionResponse{Version: "0.1.0", RuntimeName: Name, RuntimeVersion: "1", RuntimeApiVersion: "v1"}, nil
}

// Status says that the runtime is ready, and its network if it has one.
func (r *Runtime) Status(context.Context) (*cri.RuntimeStatus, error) {
	net := &cri.RuntimeCondition{Type: cri.NetworkReady, Status: true}
	if r.network == nil {
		net = &cri.RuntimeCondition{Type: cri.NetworkReady, Reason: "NoPodCIDR", Message: "no podCIDR was given: only pods of the host's network run"}
	}
	return &cri.RuntimeStatus{Conditions: []*cri.RuntimeCondition{{Type: cri.RuntimeReady, Status: true}, net}}, nil
}

// SandboxImage is the image that sandboxes run: none.
func (r *Runtime) SandboxImage(context.Context) (string, error) { return "", nil }
