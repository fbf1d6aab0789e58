//go:build linux

package nodeagent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"strings"

	"github.com/berthproject/berth/agent/image/store"
	"github.com/berthproject/berth/agent/runtime/cri"
	"github.com/berthproject/berth/agent/runtime/embedded"
	"github.com/berthproject/berth/agent/runtime/embedded/criserver"
	"github.com/berthproject/berth/agent/virtualnode"
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

// connect opens the embedded runtime with the built-in images, adopts running containers, and connects to
// its CRI server in this process. The returned disconnect closes both, and removes the pod network if
// there are no pods.
func (e *Embedded) connect(ctx context.Context, o *Options) (client *cri.Client, disconnect func(), err error) {
	e.setDefaults(o)
	images, err := store.Open(e.Images, store.Options{BuiltinDir: e.Builtin, InsecureRegistries: o.InsecureRegistries})
	if err != nil {
		return nil, nil, err
	}
	if err := images.EnsureBuiltin(ctx); err != nil {
		return nil, nil, err
	}
	r, err := embedded.New(ctx, embedded.Options{Dir: e.Dir, Images: images, PodCIDR: o.PodCIDR, Bridge: e.Bridge, Log: o.Log})
	if err != nil {
		return nil, nil, err
	}
	client, stop := criserver.Connect(r)
	return client, func() {
		stop()
		ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
		defer cancel()
		if err := errors.Join(r.RemoveNetworkIfUnused(ctx), r.Close()); err != nil {
			o.Log.Error(err, "Failed to close the embedded runtime, leaving its network for the next agent", "node", o.Name)
		}
	}, nil
}
