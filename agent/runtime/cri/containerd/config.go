package containerd

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
)

// writeConfig writes the configuration files of the daemon and of CNI. It returns the path of the daemon's file.
func writeConfig(o Options) (path string, err error) {
	for _, dir := range []string{o.Dir, o.root(), o.state(), o.netDir()} {
		if err := os.MkdirAll(dir, 0o711); err != nil {
			return "", err
		}
	}
	plugins := ""
	if o.PodCIDR != "" {
		if plugins, err = pluginDir(); err != nil {
			return "", err
		}
		list, err := cniConfig(o)
		if err != nil {
			return "", err
		}
		if err := os.WriteFile(filepath.Join(o.netDir(), "10-berth.conflist"), list, 0o644); err != nil {
			return "", err
		}
	}
	path = filepath.Join(o.Dir, "containerd.toml")
	return path, os.WriteFile(path, []byte(containerdConfig(o, plugins)), 0o644)
}

// containerdConfig returns the daemon's configuration. plugins is the directory of the CNI plugins.
// containerd 1.3 to 2.x reads version 2.
func containerdConfig(o Options, plugins string) string {
	q := strconv.Quote // containerd's TOML parser accepts Go escapes
	snapshotter := o.Snapshotter
	if snapshotter == "" {
		snapshotter = "overlayfs"
	}
	return `version = 2
root = ` + q(o.root()) + `
state = ` + q(filepath.Join(o.state(), "run")) + `
# Snapshotters and services that are not used only cost time at start.
disabled_plugins = ["io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.devmapper",
  "io.containerd.snapshotter.v1.zfs", "io.containerd.tracing.processor.v1.otlp", "io.containerd.internal.v1.tracing", "io.containerd.internal.v1.opt", "io.containerd.nri.v1.nri"]
[grpc]
  address = ` + q(o.socket()) + `
[ttrpc]
  address = ` + q(o.socket()+".ttrpc") + `
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = ` + q(o.sandboxImage()) + `
  disable_tcp_service = true
  stream_server_address = "127.0.0.1"
  # Root in another container may lack the right to lower a score.
  restrict_oom_score_adj = true
  # Network namespaces are mounted where Destroy looks for them.
  netns_mounts_under_state_dir = true
[plugins."io.containerd.grpc.v1.cri".cni]
  bin_dir = ` + q(plugins) + `
  conf_dir = ` + q(o.netDir()) + `
[plugins."io.containerd.grpc.v1.cri".containerd]
  snapshotter = ` + q(snapshotter) + `
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
  SystemdCgroup = false
  Root = ` + q(filepath.Join(o.state(), "runc")) + `
`
}

// cniConfig returns the CNI configuration: a bridge with an address, pod addresses and host
// ports.
func cniConfig(o Options) ([]byte, error) {
	prefix, err := netip.ParsePrefix(o.PodCIDR)
	if err != nil {
		return nil, fmt.Errorf("containerd: podCIDR %q: %w", o.PodCIDR, err)
	}
	route := "0.0.0.0/0"
	if prefix.Addr().Is6() {
		route = "::/0"
	}
	type object = map[string]any
	return json.MarshalIndent(object{
		"cniVersion": "0.4.0",
		"name":       o.Bridge,
		"plugins": []object{{
			"type": "bridge", "bridge": o.Bridge, "isGateway": true, "hairpinMode": true,
			"ipam": object{
				"type": "host-local", "dataDir": filepath.Join(o.Dir, "addresses"),
				"ranges": [][]object{{{"subnet": o.PodCIDR}}},
				"routes": []object{{"dst": route}},
			},
		}, {
			"type": "portmap", "capabilities": object{"portMappings": true}, "snat": true,
		}},
	}, "", "  ")
}
