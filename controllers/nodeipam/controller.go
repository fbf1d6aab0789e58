package nodeipam

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"

	"github.com/berthproject/berth/controllers/workqueue"
	"github.com/berthproject/berth/engine/nodeipam"
)

const (
	// workers is the number of concurrent writes.
	workers = 30
	// exhaustedDelay is the time until the allocation for a node is retried if no range was free.
	exhaustedDelay = 10 * time.Second
	// component is the upstream source of the events.
	component = "cidrAllocator"
)

// byRange is the index of pods by the range that contains their address.
const byRange = "nodeipam-range"

type controller struct {
	client kubernetes.Interface
	nodes  corelisters.NodeLister
	pods   cache.Indexer
	events record.EventRecorder
	queue  *workqueue.Queue[string]
	log    klog.Logger

	mu        sync.Mutex
	allocator *nodeipam.Allocator
}

// Run allocates ranges until ctx is done. It starts factory, which supplies nodes and pods. It returns an error only if
// it cannot start.
func Run(ctx context.Context, client kubernetes.Interface, factory informers.SharedInformerFactory, o nodeipam.Options, log klog.Logger) error {
	if err := o.Validate(); err != nil {
		return err
	}
	pods, nodes := factory.Core().V1().Pods(), factory.Core().V1().Nodes()
	broadcaster := record.NewBroadcaster(record.WithContext(ctx))
	defer broadcaster.Shutdown()
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: client.CoreV1().Events("")})
	c := &controller{client: client, nodes: nodes.Lister(), pods: pods.Informer().GetIndexer(), log: log, allocator: nodeipam.New(o),
		events: broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: component})}
	c.queue = workqueue.New(ctx, "node_ipam_controller", "Setting the node's podCIDR", log, c.reconcile)
	if err := pods.Informer().AddIndexers(cache.Indexers{byRange: c.indexByRange}); err != nil {
		return err
	}
	factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), nodes.Informer().HasSynced, pods.Informer().HasSynced) {
		return nil
	}
	if err := c.claimAll(); err != nil {
		return err
	}
	for _, p := range machineNetworks(log) {
		c.allocator.Reserve(p)
	}
	if err := workqueue.Watch(nodes.Informer(), c.onNode); err != nil {
		return err
	}
	c.queue.Run(ctx, workers)
	return nil
}

// machineNetworks returns the networks of the machine that the controller runs on, including the bridges of other
// clusters. If a range overlapped them, nodes could not reach this machine.
func machineNetworks(log klog.Logger) (out []netip.Prefix) {
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		log.Error(err, "Failed to read the networks of this machine; podCIDRs may overlap them")
	}
	for _, a := range addresses {
		if p, err := netip.ParsePrefix(a.String()); err == nil && p.Addr().Is4() {
			out = append(out, p.Masked())
		}
	}
	return out
}

// indexByRange indexes pods that do not use the host network and have not finished.
func (c *controller) indexByRange(obj any) ([]string, error) {
	p, ok := obj.(*corev1.Pod)
	if !ok || p.Spec.HostNetwork || p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
		return nil, nil
	}
	var out []string
	for _, ip := range p.Status.PodIPs {
		address, err := netip.ParseAddr(ip.IP)
		if err != nil {
			continue
		}
		if r, ok := c.allocator.RangeOf(address); ok {
			out = append(out, r.String())
		}
	}
	return out, nil
}

// usedByOtherNodes reports whether pods that are not bound to the node have addresses in the range.
func (c *controller) usedByOtherNodes(node string, r netip.Prefix) bool {
	pods, err := c.pods.ByIndex(byRange, r.String())
	if err != nil {
		return true // cannot happen: Run adds the index
	}
	for _, obj := range pods {
		if p, ok := obj.(*corev1.Pod); ok && p.Spec.NodeName != node {
			return true
		}
	}
	return false
}

// claimAll claims the ranges of all existing nodes.
func (c *controller) claimAll() error {
	nodes, err := c.nodes.List(labels.Everything())
	if err != nil {
		return err
	}
	for _, n := range nodes {
		c.claim(n)
	}
	return nil
}

func (c *controller) onNode(old, cur *corev1.Node) {
	switch {
	case cur == nil:
		c.mu.Lock()
		c.allocator.Release(old.Name)
		c.mu.Unlock()
	case len(cur.Spec.PodCIDRs) == 0:
		c.queue.Add(cur.Name)
	case old == nil || len(old.Spec.PodCIDRs) == 0 || old.UID != cur.UID:
		c.claim(cur)
	}
}

// claim claims the ranges in a node's spec.
func (c *controller) claim(n *corev1.Node) {
	var ranges []netip.Prefix
	for _, text := range n.Spec.PodCIDRs {
		if p, err := netip.ParsePrefix(text); err == nil {
			ranges = append(ranges, p.Masked())
		}
	}
	if len(ranges) == 0 {
		return
	}
	c.mu.Lock()
	other := c.allocator.Claim(n.Name, ranges)
	c.mu.Unlock()
	if other != "" {
		c.log.Info("Two nodes have overlapping podCIDRs", "node", n.Name, "podCIDRs", n.Spec.PodCIDRs, "otherNode", other)
		c.events.Eventf(n, corev1.EventTypeWarning, "CIDROverlap", "podCIDR %s overlaps that of node %s: pods of both nodes may get the same address; delete one of the nodes", n.Spec.PodCIDRs[0], other)
	}
}

// reconcile sets the podCIDR of a node without one.
func (c *controller) reconcile(ctx context.Context, name string) (time.Duration, error) {
	n, err := c.nodes.Get(name)
	if apierrors.IsNotFound(err) || err == nil && len(n.Spec.PodCIDRs) > 0 {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	r, err := c.allocate(name)
	if errors.Is(err, nodeipam.ErrExhausted) {
		c.log.Info("No podCIDR is free for the node", "node", name, "err", err.Error())
		c.events.Eventf(n, corev1.EventTypeNormal, "CIDRNotAvailable", "Node %s status is now: CIDRNotAvailable", name)
		return exhaustedDelay, nil
	}
	if err != nil {
		return 0, err
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": n.UID}, "spec": map[string]any{"podCIDR": r.String(), "podCIDRs": []string{r.String()}}})
	if err != nil {
		return 0, err
	}
	_, err = c.client.CoreV1().Nodes().Patch(ctx, name, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
	switch {
	case err == nil:
		return 0, nil
	case apierrors.IsNotFound(err):
		c.releaseIfDeleted(name)
		return 0, nil
	case apierrors.IsConflict(err) || apierrors.IsInvalid(err): // another Node with this name, or the node already has a range
		return 0, fmt.Errorf("node %s: %w", name, err)
	}
	// The range stays claimed: the API server may have set it.
	c.events.Eventf(n, corev1.EventTypeNormal, "CIDRAssignmentFailed", "Node %s status is now: CIDRAssignmentFailed", name)
	return 0, fmt.Errorf("node %s: setting spec.podCIDR %s: %w", name, r, err)
}

// releaseIfDeleted releases the range of a node that is not in the cache. The node may have been deleted before the
// range was allocated.
func (c *controller) releaseIfDeleted(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, err := c.nodes.Get(name); apierrors.IsNotFound(err) {
		c.allocator.Release(name)
	}
}

// allocate returns the range of an earlier attempt, or a free one.
func (c *controller) allocate(name string) (netip.Prefix, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r, ok := c.allocator.Claimed(name); ok {
		return r, nil
	}
	return c.allocator.Allocate(name, func(r netip.Prefix) bool { return c.usedByOtherNodes(name, r) })
}
