//go:build linux

package nodeagent

import (
	"context"
	"fmt"
	"maps"
	"net"
	"os"
	goruntime "runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/berthproject/berth/agent"
	"github.com/berthproject/berth/agent/cgroup"
)

// newNode returns the Node object to register. The container runtime may not run yet.
func (o *Options) newNode(host *cgroup.Host, port int) (*corev1.Node, error) {
	n := &corev1.Node{}
	n.Name = o.Name
	n.Labels = map[string]string{corev1.LabelHostname: o.Name, corev1.LabelOSStable: "linux", corev1.LabelArchStable: goruntime.GOARCH}
	maps.Copy(n.Labels, o.Labels)
	n.Spec.Taints = o.Taints
	var err error
	if n.Status.Capacity, err = o.capacity(host); err != nil {
		return nil, err
	}
	n.Status.Allocatable = allocatable(&o.Kubelet, n.Status.Capacity)
	if err := checkAllocatable(o.Name, n.Status.Capacity, n.Status.Allocatable); err != nil {
		return nil, err
	}
	n.Status.Addresses = o.addresses()
	n.Status.DaemonEndpoints.KubeletEndpoint.Port = int32(port)
	n.Status.NodeInfo = corev1.NodeSystemInfo{
		OperatingSystem: "linux", Architecture: goruntime.GOARCH, KubeletVersion: agent.Version,
		OSImage: osImage(), KernelVersion: firstLine("/proc/sys/kernel/osrelease"),
		MachineID: firstLine("/etc/machine-id"), BootID: firstLine("/proc/sys/kernel/random/boot_id"), SystemUUID: strings.ToLower(firstLine("/sys/class/dmi/id/product_uuid")),
	}
	return n, nil
}

// describeRuntime sets version and features of the container runtime in the Node object.
func (n *node) describeRuntime(ctx context.Context) error {
	version, err := n.runtime.Version(ctx)
	if err != nil {
		return fmt.Errorf("node %s: reading the version of the container runtime at %s: %w", n.opts.Name, n.opts.Endpoint, err)
	}
	n.object.Status.NodeInfo.ContainerRuntimeVersion = version.RuntimeName + "://" + version.RuntimeVersion
	status, err := n.runtime.Status(ctx)
	if err != nil {
		return fmt.Errorf("node %s: reading the features of the container runtime at %s: %w", n.opts.Name, n.opts.Endpoint, err)
	}
	setRuntimeFeatures(&n.object.Status, status)
	return nil
}

// setRuntimeFeatures sets the features of a node that its container runtime reports. Old runtimes report
// none.
func setRuntimeFeatures(node *corev1.NodeStatus, runtime *cri.StatusResponse) {
	if f := runtime.GetFeatures(); f != nil {
		node.Features = &corev1.NodeFeatures{SupplementalGroupsPolicy: &f.SupplementalGroupsPolicy}
	}
	for _, h := range runtime.GetRuntimeHandlers() {
		recursive, users := h.GetFeatures().GetRecursiveReadOnlyMounts(), h.GetFeatures().GetUserNamespaces()
		node.RuntimeHandlers = append(node.RuntimeHandlers, corev1.NodeRuntimeHandler{Name: h.GetName(),
			Features: &corev1.NodeRuntimeHandlerFeatures{RecursiveReadOnlyMounts: &recursive, UserNamespaces: &users}})
	}
}

// checkAllocatable returns an error if reservations and thresholds leave nothing for pods.
func checkAllocatable(name string, capacity, allocatable corev1.ResourceList) error {
	for resourceName, signal := range map[corev1.ResourceName]string{corev1.ResourceCPU: "", corev1.ResourceMemory: " and evictionHard[memory.available]",
		corev1.ResourceEphemeralStorage: " and evictionHard[nodefs.available]"} {
		if total, q := capacity[resourceName], allocatable[resourceName]; q.Sign() <= 0 {
			return fmt.Errorf("node %s: KubeletConfiguration: systemReserved[%s], kubeReserved[%s]%s: the sum exceeds the node's %s (%s) and leaves nothing for pods: lower the values", name, resourceName, resourceName, signal, resourceName, total.String())
		}
	}
	return nil
}

// capacity returns the machine's CPUs, the cgroup's memory and the size of the file system of the
// agent's directory.
func (o *Options) capacity(host *cgroup.Host) (corev1.ResourceList, error) {
	group, err := host.Open(o.Cgroup)
	if err != nil {
		return nil, fmt.Errorf("node %s: %w", o.Name, err)
	}
	defer group.Close()
	memory, err := group.Capacity()
	if err != nil {
		return nil, fmt.Errorf("node %s: %w", o.Name, err)
	}
	var fs unix.Statfs_t
	if err := unix.Statfs(o.Root, &fs); err != nil {
		return nil, fmt.Errorf("node %s: file system of %s: %w", o.Name, o.Root, err)
	}
	return corev1.ResourceList{
		corev1.ResourceCPU:              *resource.NewQuantity(int64(goruntime.NumCPU()), resource.DecimalSI),
		corev1.ResourceMemory:           *resource.NewQuantity(memory, resource.BinarySI),
		corev1.ResourcePods:             *resource.NewQuantity(maxPods(&o.Kubelet), resource.DecimalSI),
		corev1.ResourceEphemeralStorage: *resource.NewQuantity(int64(fs.Blocks)*fs.Frsize, resource.BinarySI),
	}, nil
}

func (o *Options) addresses() []corev1.NodeAddress {
	address := o.Address
	if address == "" {
		address = machineAddress()
	}
	return []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: o.Name}, {Type: corev1.NodeInternalIP, Address: address}}
}

// watchAddresses updates the node's status when its address changes, for example on a laptop.
func (n *node) watchAddresses(ctx context.Context) {
	reported := n.object.Status.Addresses
	for tick := time.NewTicker(healthInterval); ; {
		if current := n.opts.addresses(); !slices.Equal(current, reported) {
			reported = current
			n.agent.Report(n.opts.Name)
		}
		select {
		case <-ctx.Done():
			tick.Stop()
			return
		case <-tick.C:
		}
	}
}

// machineAddress returns the source address for outgoing traffic, or 127.0.0.1 without a route.
func machineAddress() string {
	conn, err := net.Dial("udp", "192.0.2.1:9") // UDP: no packet is sent
	if err != nil {
		return "127.0.0.1"
	}
	defer conn.Close()
	return conn.LocalAddr().(*net.UDPAddr).IP.String()
}

// osImage returns the name of the operating system.
func osImage() string {
	release, _ := os.ReadFile("/etc/os-release")
	for l := range strings.Lines(string(release)) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(l), "PRETTY_NAME="); ok {
			return strings.Trim(name, `"`)
		}
	}
	return "Linux"
}

// firstLine returns the first line of a file, or "" if it cannot be read.
func firstLine(file string) string {
	text, _ := os.ReadFile(file)
	first, _, _ := strings.Cut(string(text), "\n")
	return strings.TrimSpace(first)
}
