package container

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/berthproject/berth/agent/cgroup"
	"github.com/berthproject/berth/agent/runtime/cri"
	"github.com/berthproject/berth/agent/runtime/cri/containerd"
	"github.com/berthproject/berth/internal/testkit"
)

// Harness is what a test can use with any runtime.
type Harness struct {
	// Service is a connection to the runtime.
	Service *cri.Client
	// load loads an image into the runtime.
	load func(ctx context.Context, name string, image v1.Image) error
	// Dir is the directory of the images. A test may put other files there.
	Dir string
	// CIDR is the network of the pods.
	CIDR string
	// Cgroup is a cgroup path of this test, such as /berth-test-4711-1. A test may create it
	// and put pods into it. It is removed at the end with everything below it.
	Cgroup string
}

// Containerd is a containerd for one test.
type Containerd struct {
	*Harness
	*containerd.Daemon
	// Service is a connection to containerd.
	Service *cri.Client
	// Socket is the path of the CRI socket.
	Socket string
}

// runtimeCount is the number of runtimes that this process has started.
var runtimeCount atomic.Int64

// StartContainerd starts a containerd. When the test ends, it removes the containerd, its pods
// and Harness.Cgroup. The function change may be nil; it may change the options, for example put
// Dir on another disk.
func StartContainerd(t testing.TB, change func(*containerd.Options)) *Containerd {
	t.Helper()
	if err := containerd.CheckRequirements(true); err != nil {
		testkit.SkipOrFail(t, "containerd", err.Error())
	}
	removeLeftoversOnce()
	n, pid := runtimeCount.Add(1), os.Getpid()
	// Not t.TempDir, because the path of a socket must be short.
	dir, err := os.MkdirTemp(filepath.Split(fmt.Sprintf(runtimeDir, pid, n)))
	if err == nil {
		err = os.Chmod(dir, 0o711) // root of a user namespace must be able to traverse it
	}
	if err != nil {
		t.Fatal(err)
	}
	o := containerd.Options{Dir: dir + "/c", State: dir + "/s", PodCIDR: freeNetwork(t, n), Bridge: bridgeName(pid, n)}
	if change != nil {
		change(&o)
	}
	r := &Containerd{Harness: &Harness{Dir: dir, CIDR: o.PodCIDR, Cgroup: cgroupName(pid, n)}}
	t.Cleanup(func() { r.remove(t, o) })
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	if r.Daemon, r.Socket, err = containerd.Start(ctx, o); err != nil {
		t.Fatal(err)
	}
	r.Service = r.Daemon.Service()
	r.Harness.Service, r.Harness.load = r.Service, r.Daemon.Load
	return r
}

// remove removes everything and reports what it could not remove.
func (r *Containerd) remove(t testing.TB, o containerd.Options) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var err error
	if r.Daemon != nil {
		err = r.Daemon.Destroy(ctx)
	} else {
		err = containerd.Cleanup(ctx, o)
	}
	if err != nil {
		t.Errorf("removing containerd: %v", err)
	}
	r.removeFiles(t, ctx)
}

// removeFiles removes what a test may have created next to the runtime.
func (r *Harness) removeFiles(t testing.TB, ctx context.Context) {
	if host, err := cgroup.Detect(); err != nil {
		t.Errorf("cgroups: %v", err)
	} else if host.Exists(r.Cgroup) {
		_ = host.Kill(r.Cgroup)
		if err := host.Remove(ctx, r.Cgroup); err != nil {
			t.Errorf("removing %s: %v", r.Cgroup, err)
		}
	}
	if err := os.RemoveAll(r.Dir); err != nil {
		t.Errorf("removing %s: %v", r.Dir, err)
	}
}

// freeNetwork returns a network of 256 addresses that no device of this machine uses.
// Processes start their search at different places, so that two processes find different
// networks.
func freeNetwork(t testing.TB, n int64) string {
	t.Helper()
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for i := range int64(1 << 12) {
		k := (int64(os.Getpid())*16 + n + i) % (1 << 12)
		_, network, err := net.ParseCIDR(fmt.Sprintf("10.%d.%d.0/24", 192+k>>8, k&255))
		if err != nil {
			t.Fatal(err)
		}
		inUse := false
		for _, a := range addresses {
			if used, ok := a.(*net.IPNet); ok && (network.Contains(used.IP) || used.Contains(network.IP)) {
				inUse = true
			}
		}
		if !inUse {
			return network.String()
		}
	}
	t.Fatal("no free network among 10.192.0.0/12")
	return ""
}
