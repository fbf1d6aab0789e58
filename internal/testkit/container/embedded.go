package container

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"k8s.io/klog/v2"

	"github.com/berthproject/berth/agent/image/store"
	"github.com/berthproject/berth/agent/runtime/embedded"
	"github.com/berthproject/berth/agent/runtime/embedded/criserver"
	"github.com/berthproject/berth/internal/testkit"
)

// Embedded is an embedded runtime for one test. Harness.Service is connected to its CRI server.
type Embedded struct {
	*Harness
	Runtime *embedded.Runtime
	Options embedded.Options
	// disconnect ends the CRI server.
	disconnect func()
}

// StartEmbedded starts an embedded runtime. It is removed with its pods and r.Cgroup when
// the test ends. Without network only pods of the host network run. The function change
// may be nil; it may change the options, for example put Dir on another disk.
func StartEmbedded(t testing.TB, withNetwork bool, change func(*embedded.Options)) *Embedded {
	t.Helper()
	if err := embedded.CheckRequirements(); err != nil {
		testkit.SkipOrFail(t, "embedded runtime", err.Error())
	}
	removeLeftoversOnce()
	n, pid := runtimeCount.Add(1), os.Getpid()
	dir, err := os.MkdirTemp(filepath.Split(fmt.Sprintf(runtimeDir, pid, n)))
	if err != nil {
		t.Fatal(err)
	}
	o := embedded.Options{Dir: dir + "/c", Log: klog.Background()}
	if withNetwork {
		o.PodCIDR, o.Bridge = freeNetwork(t, n), bridgeName(pid, n)
	}
	if change != nil {
		change(&o)
	}
	if o.Images == nil {
		o.Images, err = store.Open(filepath.Join(filepath.Dir(o.Dir), "images"), store.Options{Limits: store.Limits{MinFree: -1}, InsecureRegistries: []string{"127.0.0.1"}})
		if err != nil {
			t.Fatal(err)
		}
	}
	r := &Embedded{Harness: &Harness{Dir: dir, CIDR: o.PodCIDR, Cgroup: cgroupName(pid, n)}, Options: o}
	r.load = r.loadImage
	t.Cleanup(func() { r.remove(t) })
	r.open(t)
	return r
}

func (r *Embedded) open(t testing.TB) {
	t.Helper()
	var err error
	if r.Runtime, err = embedded.New(context.Background(), r.Options); err != nil {
		t.Fatal(err)
	}
	r.Service, r.disconnect = criserver.Connect(r.Runtime)
}

// Restart drops the runtime as if its process had ended, and starts another one.
func (r *Embedded) Restart(t testing.TB) {
	t.Helper()
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	r.open(t)
}

// Close ends the connection and the runtime. Containers keep running.
func (r *Embedded) Close() error {
	if r.disconnect != nil {
		r.disconnect()
		r.disconnect = nil
	}
	return r.Runtime.Close()
}

func (r *Embedded) loadImage(ctx context.Context, reference string, image v1.Image) error {
	ref, err := name.ParseReference(reference)
	if err != nil {
		return err
	}
	file, err := os.CreateTemp(r.Dir, "image")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	defer file.Close()
	if err := tarball.Write(ref, image, file); err != nil {
		return err
	}
	if _, err := file.Seek(0, 0); err != nil {
		return err
	}
	_, err = r.Options.Images.Load(ctx, file, reference, nil)
	return err
}

func (r *Embedded) remove(t testing.TB) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var err error
	if r.Runtime != nil {
		if r.disconnect != nil {
			r.disconnect()
		}
		err = r.Runtime.Destroy(ctx)
	} else {
		err = embedded.Cleanup(ctx, r.Options)
	}
	if err != nil {
		t.Errorf("removing the embedded runtime: %v", err)
	}
	r.removeFiles(t, ctx)
}
