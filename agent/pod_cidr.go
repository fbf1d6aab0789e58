package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"net/netip"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// The podCIDR of a node is a field of its Node object. A controller sets it; agents may
// set it where no controller does.

// NoPodCIDRMessage is the message of the Ready condition of a node that waits for a range.
const NoPodCIDRMessage = "spec.podCIDR is not set: no controller has allocated a range of pod addresses yet (`berth controller nodeipam`, or kube-controller-manager with --allocate-node-cidrs)"

// localPodCIDR returns a range for a simulated node for which the cluster allocates none. The range depends on the
// first node's name, so that several agents rarely use the same ranges.
func localPodCIDR(firstNode string, index int) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(firstNode))
	index = (int(h.Sum32()%16384) + index) % 16384
	return fmt.Sprintf("10.%d.%d.0/24", 64+index/256, index%256)
}

// podCIDR returns the podCIDR of the Node object, or "" before it is set.
func (n *node) podCIDR() string {
	cidr, _ := n.observedPodCIDR.Load().(string)
	return cidr
}

// podCIDRGrace returns how long a simulated node without a range stays ready. A node usually gets a range
// within milliseconds. The grace is longer for agents of many nodes, whose additional status writes
// would delay the start of other nodes.
func (a *Agent) podCIDRGrace() time.Duration {
	return 20*time.Second + time.Duration(len(a.nodes))*20*time.Millisecond
}

// immediateReports is the number of nodes up to which the address of a new range is written
// immediately. The writes of more nodes are spread.
const immediateReports = 100

// firstStatusDelay returns the delay of the status write after the registration. It spreads the writes of nodes that
// started together. The status write of a simulated node without a range is delayed by podCIDRGrace. It then reports
// the node's address, or that the node still has no range.
func (a *Agent) firstStatusDelay(n *node) time.Duration {
	if !n.hasRuntime && n.podCIDR() == "" {
		return a.podCIDRGrace() + time.Duration(a.env.Random(int64(len(a.nodes))*int64(10*time.Millisecond)))
	}
	return time.Duration(a.env.Random(int64(a.opts.StatusInterval)))
}

// podCIDRError returns an error if the node cannot run pods because of its range. A simulated node must have a range
// after podCIDRGrace. The range of a real node must be that of its network.
func (a *Agent) podCIDRError(n *node) error {
	switch observed := n.podCIDR(); {
	case !n.hasRuntime && observed == "" && a.env.Clock.Since(n.started) >= a.podCIDRGrace():
		return errors.New(NoPodCIDRMessage)
	case n.hasRuntime && a.opts.PodCIDR != "" && observed != "" && observed != a.opts.PodCIDR:
		return fmt.Errorf("spec.podCIDR is %s, but the pods' network is %s: restart the agent", observed, a.opts.PodCIDR)
	}
	return nil
}

// simulatedAddresses returns the addresses of a simulated node. Its internal IP is the first
// address of its podCIDR, which no pod gets.
func simulatedAddresses(name, cidr string) []corev1.NodeAddress {
	out := []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: name}}
	if p, err := netip.ParsePrefix(cidr); err == nil {
		out = append(out, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: p.Masked().Addr().Next().String()})
	}
	return out
}

// observePodCIDR applies the range in the API's node object. Pods of a simulated node that have
// no IP get one.
func (a *Agent) observePodCIDR(n *node, object *corev1.Node) {
	if object.Spec.PodCIDR == "" || object.Spec.PodCIDR == n.podCIDR() {
		return
	}
	n.observedPodCIDR.Store(object.Spec.PodCIDR)
	if n.hasRuntime || len(a.nodes) <= immediateReports || a.env.Clock.Since(n.started) >= a.podCIDRGrace() {
		a.Report(n.manifest.Name)
	}
	if n.hasRuntime {
		return
	}
	for _, p := range a.podsOf(n) {
		if len(p.addresses) == 0 && p.reserved {
			p.addresses = n.podIPs.allocate(n.podCIDR(), p.object)
			a.queueStatus(p)
		}
	}
}

// choosePodCIDR sets the range local if the cluster has allocated none to the simulated node. It returns the time until it
// must be called again.
func (a *Agent) choosePodCIDR(n *node, local string) time.Duration {
	if a.ctx.Err() != nil || n.podCIDR() != "" {
		return Never
	}
	switch err := SetPodCIDR(a.ctx, a.opts.Client.CoreV1().Nodes().Patch, n.manifest.Name, local); {
	case err == nil:
		a.opts.Log.Info("The cluster allocates no podCIDR; the node chooses a range itself", "node", n.manifest.Name, "podCIDR", local)
	case a.ctx.Err() == nil:
		a.opts.Log.Error(err, "Failed to set a podCIDR; retrying", "node", n.manifest.Name, "podCIDR", local)
	}
	return statusRetryDelay
}

// PatchNode is the Patch method of a client for nodes.
type PatchNode func(ctx context.Context, name string, kind types.PatchType, data []byte, o metav1.PatchOptions, subresources ...string) (*corev1.Node, error)

// SetPodCIDR sets the range of a node that has none. It fails if the node has a different range.
func SetPodCIDR(ctx context.Context, patch PatchNode, name, cidr string) error {
	data, err := json.Marshal(map[string]any{"spec": map[string]any{"podCIDR": cidr, "podCIDRs": []string{cidr}}})
	if err != nil {
		return err
	}
	_, err = patch(ctx, name, types.StrategicMergePatchType, data, metav1.PatchOptions{})
	return err
}
