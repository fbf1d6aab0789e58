//go:build linux

package nodeagent

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/klog/v2"

	"github.com/berthproject/berth/agent/image/store"
	"github.com/berthproject/berth/agent/runtime/embedded"
)

// Standalone configures an embedded runtime without an agent.
type Standalone struct {
	// Root is the absolute path of the directory, with the layout of an agent's directory.
	Root string
	// PodCIDR is the network of the pods. The default is one that is unused on this machine, which is
	// saved in the directory.
	PodCIDR string
	// InsecureRegistries may use plain HTTP, as HOST or HOST:PORT.
	InsecureRegistries []string
	Log                klog.Logger
}

// Open opens the runtime and adopts running containers. It sets PodCIDR.
func (s *Standalone) Open(ctx context.Context) (*embedded.Runtime, error) {
	if !filepath.IsAbs(s.Root) {
		return nil, fmt.Errorf("dir %q: must be an absolute path", s.Root)
	}
	if err := os.MkdirAll(s.Root, 0o700); err != nil {
		return nil, err
	}
	if s.PodCIDR == "" {
		var err error
		if s.PodCIDR, err = loadOrPickSubnet(filepath.Join(s.Root, "pod-cidr"), hash(s.Root)); err != nil {
			return nil, err
		}
	}
	images, err := store.Open(filepath.Join(s.Root, "images"), store.Options{InsecureRegistries: s.InsecureRegistries})
	if err != nil {
		return nil, err
	}
	return embedded.New(ctx, embedded.Options{Dir: filepath.Join(s.Root, "runtime"), Images: images, PodCIDR: s.PodCIDR, Bridge: defaultBridge(s.Root), Log: s.Log})
}
