//go:build linux

package nodeagent

import (
	"cmp"
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

// containerRuntime is a runtime.Service that also reports image layers.
type containerRuntime interface {
	runtime.Service
	disk.Layers
	SandboxImage(ctx context.Context) (string, error)
}

var (
	_ containerRuntime = (*cri.Client)(nil)
	_ containerRuntime = (*embedded.Runtime)(nil)
)

// setDefaults fills empty fields.
func (e *Embedded) setDefaults(o *Options) {
	e.Dir = cmp.Or(e.Dir, filepath.Join(o.Root, "runtime"))
	e.Images = cmp.Or(e.Images, filepath.Join(o.Root, "images"))
	e.Bridge = cmp.Or(e.Bridge, defaultBridge(o.Root))
}

// defaultBridge returns the name of the bridge of the agent whose directory is root.
func defaultBridge(root string) string { return fmt.Sprintf("berth-%08x", hash(root)) }

func hash(text string) uint32 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(text))
	return h.Sum32()
}

// loadOrPickSubnet returns the subnet in file. If there is none it picks a subnet that is unused
// on this machine and saves it. start selects the first candidate.
func loadOrPickSubnet(file string, start uint32) (string, error) {
	if saved, err := os.ReadFile(file); err == nil && len(saved) > 0 {
		return strings.TrimSpace(string(saved)), nil
	}
	subnet, err := virtualnode.FreeSubnet(start)
	if err != nil {
		return "", err
	}
	return subnet, os.WriteFile(file, []byte(subnet+"\n"), 0o600)
}

// open opens the embedded runtime with the built-in images and adopts running containers.
func (e *Embedded) open(ctx context.Context, o *Options) (containerRuntime, error) {
	e.setDefaults(o)
	images, err := store.Open(e.Images, store.Options{BuiltinDir: e.Builtin, InsecureRegistries: o.InsecureRegistries})
	if err != nil {
		return nil, err
	}
	if err := images.EnsureBuiltin(ctx); err != nil {
		return nil, err
	}
	return embedded.New(ctx, embedded.Options{Dir: e.Dir, Images: images, PodCIDR: o.PodCIDR, Bridge: e.Bridge, Log: o.Log})
}
