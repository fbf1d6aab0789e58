package containerd

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Options configures a private containerd. Dir is required.
type Options struct {
	// Dir is the absolute path of images, writable layers and configuration. Its file system is the
	// image file system. Start creates it, Destroy removes it.
	Dir string
	// State is a short absolute path for sockets and mounts, by default DIR/s. Destroy removes it.
	State string
	// PodCIDR is the network of the pods, for example 10.88.3.0/24. Without it only pods with the
	// host's network run, and the runtime reports its network as not ready.
	PodCIDR string
	// Bridge is the name of the network bridge: unique on the machine, at most 15 bytes. Required
	// with PodCIDR.
	Bridge string
	// Snapshotter is containerd's snapshotter, by default overlayfs.
	Snapshotter string
	// SandboxImage replaces the built-in pause image.
	SandboxImage string
	// Log receives the daemon's output, by default DIR/containerd.log.
	Log *os.File
}

// maxSocketPath is the maximum length of a unix socket path in bytes, without the terminating zero.
const maxSocketPath = 107

func (o Options) state() string {
	if o.State == "" {
		return filepath.Join(o.Dir, "s")
	}
	return o.State
}

func (o Options) socket() string { return filepath.Join(o.state(), "c.sock") }
func (o Options) root() string   { return filepath.Join(o.Dir, "root") }
func (o Options) netDir() string { return filepath.Join(o.Dir, "net.d") }

func (o Options) sandboxImage() string {
	if o.SandboxImage == "" {
		return PauseImage
	}
	return o.SandboxImage
}

// Validate returns all errors of the options.
func (o Options) Validate() error {
	var errs []error
	addError := func(format string, args ...any) { errs = append(errs, fmt.Errorf("containerd: "+format, args...)) }
	if !filepath.IsAbs(o.Dir) {
		addError("dir %q: must be an absolute path", o.Dir)
	}
	if !filepath.IsAbs(o.state()) {
		addError("state %q: must be an absolute path", o.State)
	} else if length := len(filepath.Join(o.state(), "c.sock.ttrpc")); length > maxSocketPath {
		addError("state %q: the socket path has %d bytes: must be at most %d: choose a shorter directory", o.state(), length, maxSocketPath)
	}
	switch prefix, err := netip.ParsePrefix(o.PodCIDR); {
	case o.PodCIDR == "" && o.Bridge != "":
		addError("bridge %q: requires podCIDR", o.Bridge)
	case o.PodCIDR == "":
	case err != nil:
		addError("podCIDR %q: must be a CIDR, for example 10.88.3.0/24", o.PodCIDR)
	case prefix.Masked() != prefix || prefix.Addr().BitLen()-prefix.Bits() < 2:
		addError("podCIDR %q: must have at least 4 addresses and no host bits, for example %s", o.PodCIDR, netip.PrefixFrom(prefix.Addr(), min(prefix.Bits(), prefix.Addr().BitLen()-8)).Masked())
	}
	if o.PodCIDR != "" && (o.Bridge == "" || len(o.Bridge) > 15 || strings.ContainsAny(o.Bridge, "/ \t:%")) {
		addError("bridge %q: must be a network device name of 1 to 15 bytes, for example berth0", o.Bridge)
	}
	return errors.Join(errs...)
}

// CheckRequirements returns an error that names what this machine lacks to run a private containerd.
// withNetwork includes the CNI plugins.
func CheckRequirements(withNetwork bool) error {
	if os.Getuid() != 0 {
		return errors.New("containerd: requires root to mount file systems and create namespaces")
	}
	for _, name := range []string{"containerd", "containerd-shim-runc-v2", "runc"} {
		if _, err := exec.LookPath(name); err != nil {
			return fmt.Errorf("containerd: %s not found in PATH: install containerd and runc", name)
		}
	}
	if !withNetwork {
		return nil
	}
	if _, err := exec.LookPath("iptables"); err != nil {
		return errors.New("containerd: iptables not found in PATH: the pod network requires it")
	}
	_, err := pluginDir()
	return err
}

// pluginDir returns the directory of the CNI plugins: upstream's or a distribution's.
func pluginDir() (string, error) {
	dirs := []string{"/opt/cni/bin", "/usr/lib/cni", "/usr/libexec/cni"}
	for _, dir := range dirs {
		if _, err := os.Stat(filepath.Join(dir, "bridge")); err == nil {
			return dir, nil
		}
	}
	return "", fmt.Errorf("containerd: CNI plugin bridge not found in %s: install the CNI plugins", strings.Join(dirs, ", "))
}
