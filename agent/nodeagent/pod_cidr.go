//go:build linux

package nodeagent

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/agent"
	"github.com/berthproject/berth/agent/virtualnode"
)

const (
	// readTimeout bounds the first read of the node. If the API server does not answer, a node that
	// has run before continues with its range.
	readTimeout = 5 * time.Second
	// pollInterval is the time between reads of a node that waits for its range.
	pollInterval = 100 * time.Millisecond
	// waitNotice is the time until OnWait is called.
	waitNotice = 3 * time.Second
)

// managesNetwork reports whether the agent creates the pods' network, which needs the node's range. The
// network of a container runtime that runs already is configured elsewhere.
func (o *Options) managesNetwork() bool { return o.Embedded != nil || o.startRuntime != nil }

// networkPodCIDR returns the range of the pods' network, or "" if the agent does not create it.
func (n *node) networkPodCIDR() string {
	if !n.opts.managesNetwork() {
		return ""
	}
	return n.opts.PodCIDR
}

// savedPodCIDR is the file with the range of the node's network.
func (o *Options) savedPodCIDR() string { return filepath.Join(o.Root, "pod-cidr") }

// setPodCIDR sets opts.PodCIDR, the range of the pods' network: that of the Node object, of
// --pod-cidr, or one that a controller allocates now.
func (n *node) setPodCIDR(ctx context.Context) error {
	o := &n.opts
	if !o.managesNetwork() {
		setSpecPodCIDR(n.object, o.PodCIDR)
		return nil
	}
	cidr, err := n.findPodCIDR(ctx)
	if err != nil {
		return fmt.Errorf("node %s: %w", o.Name, err)
	}
	prefix, err := netip.ParsePrefix(cidr)
	if err != nil || !prefix.Addr().Is4() {
		return fmt.Errorf("node %s: spec.podCIDR %q: must be an IPv4 CIDR, such as 10.128.3.0/24: pods have IPv4 addresses", o.Name, cidr)
	}
	if device, err := virtualnode.DeviceWithin(prefix, o.bridge()); err != nil {
		return fmt.Errorf("node %s: %w", o.Name, err)
	} else if device != "" {
		return fmt.Errorf("node %s: spec.podCIDR %s: the network device %s of this machine has an address in it: remove the device, or delete the Node to get another range", o.Name, cidr, device)
	}
	o.PodCIDR = cidr
	if o.rangeAddress && o.Address == "" {
		o.Address = prefix.Masked().Addr().Next().String()
	}
	n.object.Status.Addresses = o.addresses()
	if err := os.WriteFile(o.savedPodCIDR(), []byte(cidr+"\n"), 0o600); err != nil { // a full disk must not prevent the agent from freeing space
		o.Log.Error(err, "Failed to save the podCIDR", "node", o.Name)
	}
	return nil
}

// bridge returns the name of the bridge of the pods' network.
func (o *Options) bridge() string {
	switch {
	case o.virtualBridge != "":
		return o.virtualBridge
	case o.Embedded != nil && o.Embedded.Bridge != "":
		return o.Embedded.Bridge
	}
	return defaultBridge(o.Root)
}

// findPodCIDR returns the range to use.
func (n *node) findPodCIDR(ctx context.Context) (string, error) {
	o := &n.opts
	readCtx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	existing, err := n.client.CoreV1().Nodes().Get(readCtx, o.Name, metav1.GetOptions{})
	saved, _ := os.ReadFile(o.savedPodCIDR())
	savedCIDR := strings.TrimSpace(string(saved))
	switch {
	case err == nil && existing.Spec.PodCIDR != "" && o.PodCIDR != "" && o.PodCIDR != existing.Spec.PodCIDR:
		return "", fmt.Errorf("--pod-cidr %s: the Node has spec.podCIDR %s, which cannot change: remove the flag, or delete the Node", o.PodCIDR, existing.Spec.PodCIDR)
	case err == nil && existing.Spec.PodCIDR != "":
		return existing.Spec.PodCIDR, nil
	case o.PodCIDR != "":
		return n.usePodCIDR(ctx, o.PodCIDR, err)
	case err != nil && !apierrors.IsNotFound(err) && savedCIDR != "":
		o.Log.Info("Failed to read the node; its pods keep the range of the last start", "node", o.Name, "podCIDR", savedCIDR, "err", err.Error())
		return savedCIDR, nil
	case o.PodCIDRTimeout == 0:
		return n.chooseLocal(ctx, err)
	}
	return n.awaitPodCIDR(ctx)
}

// chooseLocal returns the range of the last start, or one that is unused on this machine.
func (n *node) chooseLocal(ctx context.Context, readErr error) (string, error) {
	cidr, err := loadOrPickSubnet(n.opts.savedPodCIDR(), hash(n.opts.Root))
	if err != nil {
		return "", err
	}
	return n.usePodCIDR(ctx, cidr, readErr)
}

// usePodCIDR returns cidr, a range that no controller allocated. readErr is the error of reading
// the Node; if it is nil, the Node exists and usePodCIDR sets its range.
func (n *node) usePodCIDR(ctx context.Context, cidr string, readErr error) (string, error) {
	setSpecPodCIDR(n.object, cidr)
	if readErr != nil {
		return cidr, nil // the agent registers the node with this range
	}
	return cidr, agent.SetPodCIDR(ctx, n.client.CoreV1().Nodes().Patch, n.opts.Name, cidr)
}

func setSpecPodCIDR(n *corev1.Node, cidr string) {
	if n.Spec.PodCIDR = cidr; cidr != "" {
		n.Spec.PodCIDRs = []string{cidr}
	}
}

// awaitPodCIDR registers the node as not ready and waits for a controller to allocate a range.
// After PodCIDRTimeout it chooses a local range.
func (n *node) awaitPodCIDR(ctx context.Context) (string, error) {
	o := &n.opts
	start, lastReport, notified := time.Now(), time.Time{}, false
	var firstResponse time.Time // first response of the API server
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		existing, err := n.client.CoreV1().Nodes().Get(ctx, o.Name, metav1.GetOptions{})
		if err == nil && existing.Spec.PodCIDR != "" {
			return existing.Spec.PodCIDR, nil
		}
		responded := err == nil || apierrors.IsNotFound(err)
		if responded && firstResponse.IsZero() {
			firstResponse = time.Now()
		}
		if responded && o.PodCIDRTimeout > 0 && time.Since(firstResponse) > o.PodCIDRTimeout {
			o.Log.Info("The cluster allocates no podCIDR; the node chooses one", "node", o.Name, "timeout", o.PodCIDRTimeout)
			return n.chooseLocal(ctx, err)
		}
		if time.Since(lastReport) > healthInterval {
			lastReport = time.Now()
			if err := n.reportWaiting(ctx, existing, err); err != nil && ctx.Err() == nil {
				o.Log.Error(err, "Failed to register the node; retrying", "node", o.Name)
			}
		}
		if !notified && time.Since(start) > waitNotice {
			notified = true
			o.Log.Info("The node waits for its podCIDR", "node", o.Name, "hint", agent.NoPodCIDRMessage)
			o.OnWait(agent.NoPodCIDRMessage + "; or start the agent with --pod-cidr")
		}
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-tick.C:
		}
	}
}

// reportWaiting creates the node or renews its status. readErr is the error of reading it.
func (n *node) reportWaiting(ctx context.Context, existing *corev1.Node, readErr error) error {
	now := metav1.Now()
	ready := corev1.NodeCondition{Type: corev1.NodeReady, Status: corev1.ConditionFalse, Reason: "KubeletNotReady", Message: agent.NoPodCIDRMessage, LastHeartbeatTime: now, LastTransitionTime: now}
	nodes := n.client.CoreV1().Nodes()
	switch {
	case apierrors.IsNotFound(readErr):
		desired := n.object.DeepCopy()
		desired.Status.Conditions = []corev1.NodeCondition{ready}
		_, err := nodes.Create(ctx, desired, metav1.CreateOptions{})
		return err
	case readErr != nil:
		return readErr
	}
	existing = existing.DeepCopy()
	if i := slices.IndexFunc(existing.Status.Conditions, func(c corev1.NodeCondition) bool { return c.Type == corev1.NodeReady }); i < 0 {
		existing.Status.Conditions = append(existing.Status.Conditions, ready)
	} else {
		if existing.Status.Conditions[i].Status == ready.Status {
			ready.LastTransitionTime = existing.Status.Conditions[i].LastTransitionTime
		}
		existing.Status.Conditions[i] = ready
	}
	_, err := nodes.UpdateStatus(ctx, existing, metav1.UpdateOptions{})
	return err
}
