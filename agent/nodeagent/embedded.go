package nodeagent

import (
	"context"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"strings"

	"github.com/berthproject/berth/agent/disk"
	"github.com/berthproject/berth/agent/image/store"
	"github.com/berthproject/berth/agent/runtime"
	"github.com/berthproject/berth/agent/runtime/cri"
	"github.com/berthproject/berth/agent/runtime/embedded"
	"github.com/berthproject/berth/agent/virtualnode"
)

// Embedded says where the embedded runtime has its things. Fields that are empty have a default.
type Embedded struct {
	// Dir is for sandboxes, containers and their writable layers; runtime in Options.Root.
	Dir string
	// Images is the store of images; images in Options.Root.
	Images string
	// Builtin is the store with the built-in images, which several nodes may share; that of Images.
	Builtin string
	// Bridge is the network device that pods hang on; called after Options.Root.
	Bridge string
}

// containerRuntime runs containers, and knows of images what CRI has no words for.
type containerRuntime interface {
	runtime.Service
	disk.Layers
	SandboxImage(ctx context.Context) (string, error)
}

var (
	_ containerRuntime = (*cri.Client)(nil)
	_ containerRuntime = (*embedded.Runtime)(nil)
)

// setDefaults puts defaults in.
func (e *Embedded) setDefaults(o *Options) (err error) {
	h := fnv.New32a()
	_, _ = h.Write([]byte(o.Root))
	for field, otherwise := range map[*string]string{&e.Dir: filepath.Join(o.Root, "runtime"), &e.Images: filepath.Join(o.Root, "images"), &e.Bridge: fmt.Sprintf("berth-%08x", h.Sum32())} {
		if *field == "" {
			*field = otherwise
		}
	}
	if o.PodCIDR == "" {
		o.PodCIDR, err = loadOrPickSubnet(filepath.Join(o.Root, "pod-cidr"), h.Sum32())
	}
	return err
}

// loadOrPickSubnet is a network that nobody on this machine had when the node was made. It stays the node's.
func loadOrPickSubnet(file string, start uint32) (string, error) {
	if kept, err := os.ReadFile(file); err == nil && len(kept) > 0 {
		return strings.TrimSpace(string(kept)), nil
	}
	subnet, err := virtualnode.FreeSubnet(start)
	if err != nil {
		return "", err
	}
	return subnet, os.WriteFile(file, []byte(subnet+"\n"), 0o600)
}

// open makes the embedded runtime, with the built-in images in its store. Containers that run are taken up.
func (e *Embedded) open(ctx context.Context, o *Options) (containerRuntime, error) {
	if err := e.setDefaults(o); err != nil {
		return nil, err
	}
	images, err := store.Open(e.Images, store.Options{BuiltinDir: e.Builtin})
	if err != nil {
		return nil, err
	}
	if err := images.EnsureBuiltin(ctx); err != nil {
		return nil, err
	}
	return embedded.New(ctx, embedded.Options{Dir: e.Dir, Images: images, PodCIDR: o.PodCIDR, Bridge: e.Bridge, Log: o.Log})
}
