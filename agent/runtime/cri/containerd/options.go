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

// Options of a private containerd. Dir must be given.
type Options struct {
	// Dir is an absolute path where images, writable layers and configuration are kept; its
	// filesystem is the image filesystem. It is made if missing, and removed by Destroy.
	Dir string
	// State is a short absolute path for sockets and mounts; DIR/s when "".
	// It is removed by Destroy, too.
	State string
	// PodCIDR is the network that pods get addresses of, e.g. 10.88.3.0/24. When it is "" only
	// pods of the host's network run, and the runtime says that its network is not ready.
	PodCIDR string
	// Bridge is the name of the network device that pods hang on: unique on
	// the machine, at most 15 bytes. Must be given with PodCIDR.
	Bridge string
	// Snapshotter is overlayfs when "".
	Snapshotter string
	// SandboxImage overrules the built-in image of the pause program.
	SandboxImage string
	// Log is where the daemon's log goes; DIR/containerd.log when nil.
	Log *os.File
}

// maxSocketPath is what a unix socket's address takes, less the terminating zero.
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

// Validate says all that is wrong with the options.
func (o Options) Validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf("containerd: "+format, args...)) }
	if !filepath.IsAbs(o.Dir) {
		bad("dir %q: must be an absolute path", o.Dir)
	}
	if !filepath.IsAbs(o.state()) {
		bad("state %q: must be an absolute path", o.State)
	} else if long := len(filepath.Join(o.state(), "c.sock.ttrpc")); long > maxSocketPath {
		bad("state %q: a socket there would have a path of %d bytes: must be at most %d; choose a shorter directory", o.state(), long, maxSocketPath)
	}
	switch prefix, err := netip.ParsePrefix(o.PodCIDR); {
	case o.PodCIDR == "" && o.Bridge != "":
		bad("bridge %q: must not be given without podCIDR", o.Bridge)
	case o.PodCIDR == "":
	case err != nil:
		bad("podCIDR %q: must be a network, e.g. 10.88.3.0/24", o.PodCIDR)
	case prefix.Masked() != prefix || prefix.Addr().BitLen()-prefix.Bits() < 2:
		bad("podCIDR %q: must be a network of at least 4 addresses without host bits, e.g. %s", o.PodCIDR, netip.PrefixFrom(prefix.Addr(), min(prefix.Bits(), prefix.Addr().BitLen()-8)).Masked())
	}
	if o.PodCIDR != "" && (o.Bridge == "" || len(o.Bridge) > 15 || strings.ContainsAny(o.Bridge, "/ \t:%")) {
		bad("bridge %q: must be a name of 1 to 15 bytes for a network device, e.g. berth0", o.Bridge)
	}
	return errors.Join(errs...)
}

// CheckRequirements says what this machine lacks to run a private containerd, nil when nothing is.
// withNetwork asks for the CNI plugins, too.
func CheckRequirements(withNetwork bool) error {
	if os.Getuid() != 0 {
		return errors.New("containerd: needs root: it mounts file systems and makes namespaces")
	}
	for _, name := range []string{"containerd", "containerd-shim-runc-v2", "runc"} {
		if _, err := exec.LookPath(name); err != nil {
			return fmt.Errorf("containerd: %s is not on PATH: install containerd and runc", name)
		}
	}
	if !withNetwork {
		return nil
	}
	if _, err := exec.LookPath("iptables"); err != nil {
		return errors.New("containerd: iptables is not on PATH: the network of pods needs it")
	}
	_, err := pluginDir()
	return err
}

// pluginDir is where the CNI plugins are: as distributions have them, or as upstream says.
func pluginDir() (string, error) {
	places := []string{"/opt/cni/bin", "/usr/lib/cni", "/usr/libexec/cni"}
	for _, dir := range places {
		if _, err := os.Stat(filepath.Join(dir, "bridge")); err == nil {
			return dir, nil
		}
	}
	return "", fmt.Errorf("containerd: the CNI plugin bridge is in none of %s: install the CNI plugins", strings.Join(places, ", "))
}
