package main

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/berthproject/berth/agent/nodeagent"
	"github.com/berthproject/berth/agent/server"
	"github.com/berthproject/berth/engine/nodepressure"
	"github.com/berthproject/berth/internal/config"
	"github.com/berthproject/berth/internal/localnodes"
)

// localNodeFlags holds the flags of a node on this machine.
type localNodeFlags struct {
	runtime, endpoint       string
	rootDir, logDir, cgroup string
	kubelet                 kubeletFlags
	address, podCIDR        string
	port                    int
	lowDisk                 int64
	insecureRegistries      []string
	endpointSet             bool // --runtime-endpoint or the kubelet file set it
}

// defaultEndpoint is containerd's socket.
const defaultEndpoint = "unix:///run/containerd/containerd.sock"

func (f *localNodeFlags) addFlags(flags *pflag.FlagSet) {
	localnodes.AddRuntimeFlag(flags, &f.runtime)
	flags.StringVar(&f.endpoint, "runtime-endpoint", defaultEndpoint, "socket of the container runtime (CRI v1)")
	flags.StringVar(&f.rootDir, "root-dir", nodeagent.DefaultRoot, "directory for pod volumes, files and logs")
	flags.StringVar(&f.logDir, "log-dir", "", "directory for pod logs (default: log/pods in --root-dir)")
	flags.StringVar(&f.cgroup, "cgroup", "/", "cgroup of the node, below the cgroup mount points; its limits are the node's capacity")
	f.kubelet.addFlags(flags)
	flags.StringVar(&f.address, "node-ip", "", "IP address of the node (default: that of the default route)")
	flags.StringVar(&f.podCIDR, "pod-cidr", "", "podCIDR of a Node that has none (default with the embedded runtime: allocated by a controller, else a free /24 of 10.192.0.0/11)")
	flags.IntVar(&f.port, "port", server.Port, "port for logs, exec and metrics; 0 for a free one")
	flags.Int64Var(&f.lowDisk, lowDiskFlag, nodepressure.DefaultDiskReserve>>20, "the node accepts no new pods if the image or root file system has fewer MiB available")
	insecureRegistryFlag(flags, &f.insecureRegistries)
}

// applyKubeletConfig sets options from the KubeletConfiguration unless flags override them.
func (f *localNodeFlags) applyKubeletConfig(flags *pflag.FlagSet, k *config.Kubelet) {
	f.endpointSet = flags.Changed("runtime-endpoint")
	if k.RuntimeEndpoint != "" && !f.endpointSet {
		f.endpoint, f.endpointSet = k.RuntimeEndpoint, true
	}
	if !flags.Changed("port") {
		f.port = int(k.Port)
	}
	if k.LowDiskSpaceThresholdMB != nil && !flags.Changed(lowDiskFlag) {
		f.lowDisk = *k.LowDiskSpaceThresholdMB
	}
	if k.CgroupRoot != "" && !flags.Changed("cgroup") {
		f.cgroup = k.CgroupRoot
	}
}

// options validates the flags and returns the node agent's options. Credentials and
// configuration files are added by the caller.
func (f *localNodeFlags) options(name string) (nodeagent.Options, error) {
	o := nodeagent.Options{Name: name, Root: f.rootDir, Logs: f.logDir, Cgroup: f.cgroup, Labels: f.kubelet.labels, Address: f.address, PodCIDR: f.podCIDR,
		Port: f.port, LowDiskMiB: f.lowDisk, InsecureRegistries: f.insecureRegistries}
	if problems := validation.IsDNS1123Subdomain(name); len(problems) > 0 {
		return o, fmt.Errorf("--node-name %q: %s", name, problems[0])
	}
	if err := f.kubelet.validateLabels(); err != nil {
		return o, err
	}
	if f.address != "" && net.ParseIP(f.address) == nil {
		return o, fmt.Errorf("--node-ip %q: must be an IP address", f.address)
	}
	if _, _, err := net.ParseCIDR(cmp.Or(f.podCIDR, "10.0.0.0/8")); err != nil {
		return o, fmt.Errorf("--pod-cidr %q: must be a CIDR such as 10.64.0.0/24", f.podCIDR)
	}
	if f.port < 0 || f.port > 65535 {
		return o, fmt.Errorf("--port %d: must be between 0 and 65535", f.port)
	}
	if !strings.HasPrefix(f.cgroup, "/") {
		return o, fmt.Errorf("--cgroup %q: must be a path below the cgroup mount points, such as / or /nodes/n7", f.cgroup)
	}
	if !strings.HasPrefix(f.rootDir, "/") {
		return o, fmt.Errorf("--root-dir %q: must be an absolute path", f.rootDir)
	}
	if f.logDir != "" && !strings.HasPrefix(f.logDir, "/") {
		return o, fmt.Errorf("--log-dir %q: must be an absolute path", f.logDir)
	}
	return o, cmp.Or(validateLowDisk(f.lowDisk), validateInsecureRegistries(f.insecureRegistries))
}

// lowDiskFlag is the kubelet's former flag for the disk reserve.
const lowDiskFlag = "low-diskspace-threshold-mb"

// validateLowDisk validates --low-diskspace-threshold-mb.
func validateLowDisk(mib int64) error {
	if mib < 0 || mib > 1<<40 {
		return fmt.Errorf("--low-diskspace-threshold-mb %d: must be a number of MiB of 0 or more; 0 keeps no reserve", mib)
	}
	return nil
}

// parseTaint parses KEY[=VALUE]:EFFECT.
func parseTaint(s string) (corev1.Taint, error) {
	keyValue, effect, ok := strings.Cut(s, ":")
	key, value, _ := strings.Cut(keyValue, "=")
	t := corev1.Taint{Key: key, Value: value, Effect: corev1.TaintEffect(effect)}
	effects := []corev1.TaintEffect{corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute}
	if !ok || !slices.Contains(effects, t.Effect) {
		return t, errors.New("must be key=value:EFFECT or key:EFFECT with NoSchedule, PreferNoSchedule or NoExecute")
	}
	if problems := slices.Concat(validation.IsQualifiedName(key), validation.IsValidLabelValue(value)); len(problems) > 0 {
		return t, fmt.Errorf("%s", problems[0])
	}
	return t, nil
}

// checkRuntime returns why the selected container runtime cannot run pods, or nil.
func (f *localNodeFlags) checkRuntime() error {
	if !socketExists(f.endpoint) {
		return fmt.Errorf("--runtime-endpoint %s: no container runtime listens there: start containerd or use --simulated", f.endpoint)
	}
	return localnodes.CheckCRI(f.runtime, f.endpoint)
}

// socketExists reports whether the endpoint is an existing Unix socket.
func socketExists(endpoint string) bool {
	info, err := os.Stat(strings.TrimPrefix(endpoint, "unix://"))
	return err == nil && info.Mode()&os.ModeSocket != 0
}
