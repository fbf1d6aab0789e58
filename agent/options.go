package agent

import (
	"fmt"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"

	"github.com/berthproject/berth/agent/runtime"
)

// Heartbeats: the kubelet's defaults.
const (
	leaseRenewal   = 10 * time.Second
	lasts          = 4 // renewals that a Lease lasts
	missed         = 3 // renewals after which an agent takes itself to have been silent
	statusInterval = 5 * time.Minute
)

// Options of an agent.
type Options struct {
	Client kubernetes.Interface
	// Nodes to serve, as they are to be registered: labels, taints, capacity.
	// More than one only with a runtime that can do so.
	Nodes []*corev1.Node
	// Runtime makes the runtime; it reports through its argument.
	Runtime func(report func(runtime.Report)) runtime.Runtime
	Log     klog.Logger
	// Writers is how many requests may be under way at once; 16 when 0.
	Writers int
	// Pressure watches a node for shortages; nil, or an answer of nil: nobody does.
	Pressure func(node string) Pressure
	// Events takes what is told about pods and nodes; nil: nothing is told.
	Events record.EventRecorder
	// LeaseRenewal is how often each node's Lease is renewed; 10 s when 0.
	LeaseRenewal time.Duration
}

// Uniform is a node of the given size with the labels that every node has.
// memory is a quantity such as "16Gi".
func Uniform(name string, cpu, memory resource.Quantity) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Status: corev1.NodeStatus{Capacity: corev1.ResourceList{
			corev1.ResourceCPU: cpu, corev1.ResourceMemory: memory,
		}},
	}
}

// complete fills in what a node manifest leaves out: labels, pods,
// ephemeral storage, addresses, versions.
func complete(n *corev1.Node, index int) (*corev1.Node, error) {
	n = n.DeepCopy()
	if n.Name == "" {
		return nil, fmt.Errorf("node %d: metadata.name: must be given", index)
	}
	labels := map[string]string{
		corev1.LabelHostname: n.Name, corev1.LabelOSStable: "linux", corev1.LabelArchStable: "amd64",
	}
	for k, v := range n.Labels {
		labels[k] = v
	}
	n.Labels = labels
	if n.Status.Capacity == nil {
		n.Status.Capacity = n.Status.Allocatable.DeepCopy()
	}
	if len(n.Status.Capacity) == 0 {
		return nil, fmt.Errorf("node %q: status.capacity: must be given, e.g. {cpu: 8, memory: 16Gi}", n.Name)
	}
	for name, q := range map[corev1.ResourceName]string{corev1.ResourcePods: "110", corev1.ResourceEphemeralStorage: "100Gi"} {
		if _, ok := n.Status.Capacity[name]; !ok {
			n.Status.Capacity[name] = resource.MustParse(q)
		}
	}
	if n.Status.Allocatable == nil {
		n.Status.Allocatable = corev1.ResourceList{}
	}
	for name, q := range n.Status.Capacity {
		if _, ok := n.Status.Allocatable[name]; !ok {
			n.Status.Allocatable[name] = q
		}
	}
	if n.Status.NodeInfo.KubeletVersion != "" { // a machine that has been looked at
		return n, nil
	}
	if n.Spec.PodCIDR == "" {
		n.Spec.PodCIDR = fmt.Sprintf("10.%d.%d.0/24", 64+(index/256)%64, index%256)
		n.Spec.PodCIDRs = []string{n.Spec.PodCIDR}
	}
	n.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: n.Name}, {Type: corev1.NodeInternalIP, Address: hostAddress(index)}}
	n.Status.NodeInfo = corev1.NodeSystemInfo{
		OperatingSystem: "linux", Architecture: "amd64", KubeletVersion: Version,
		ContainerRuntimeVersion: "simulated://1", OSImage: "simulated", KernelVersion: kernel(),
	}
	return n, nil
}

// Version is what nodes report as their kubelet's version: the release of the
// API that this agent speaks.
const Version = "v1.37.2-berth"

// hostAddress is a made-up address of a simulated node.
func hostAddress(index int) string {
	index++ // .0 is the network
	return fmt.Sprintf("10.%d.%d.%d", 128+(index>>16)&63, (index>>8)&255, index&255)
}

func kernel() string {
	b, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return "unknown"
	}
	return string(b[:max(len(b)-1, 0)])
}
