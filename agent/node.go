package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
)

// node is a node that the agent serves.
type node struct {
	manifest   *corev1.Node          // from the options, with defaults
	hasRuntime bool                  // false: simulated
	lease      *coordinationv1.Lease // as last written
	// localPodCIDR is the range of a simulated node for which the cluster allocates none.
	localPodCIDR    string
	started         time.Time
	observedPodCIDR atomic.Value // string; the range in the API
	podIPs          ipAllocator  // of a simulated node; used only by the loop
	uid             atomic.Value // types.UID of the object in the API
	observed        *corev1.Node // manifest merged with labels, taints and resources of other clients; used only by the loop

	addresses         func() []corev1.NodeAddress // current addresses
	reportedAddresses []corev1.NodeAddress        // addresses in pod statuses; used only by the loop

	pressure           PressureManager // nil: node pressure is not watched
	conditionsRestored sync.Once       // pressure gets the conditions that the API had at start
	registered         atomic.Bool     // the API has, or had, the node
	activePods         activePods
	// restoredAllocations are those stored by the previous agent. allocationsChanged is set while the current ones are
	// not stored.
	restoredAllocations map[types.UID]Allocation
	allocationsChanged  bool
	allocationsFailed   bool // the last attempt to store them failed
	allocationsRetryAt  time.Time
	deferredResizes     map[*pod]bool
	// The periodic requests: registration and status writes, Lease renewals, and the choice of a podCIDR.
	status, leases, cidrChoice *RepeatedTask
	heartbeats                 bool          // the node was registered; used only by status
	registrationDelay          time.Duration // used only by status
	statusFailed               bool          // the last write failed; used only by status
	lastRenewal                time.Time     // of the Lease; used only by leases
	renewalFailed              bool          // the last renewal failed; used only by leases
	unschedulable              bool          // as last recorded in an event; used only by the loop
	shuttingDown               atomic.Bool   // shutdown has begun, and may be complete
	shutdown                   *nodeShutdown // shutdown in progress; used only by the loop
}

// newNode returns a node with a complete manifest. index is the position of the manifest in Options.Nodes.
func (a *Agent) newNode(manifest *corev1.Node, hasRuntime bool, index int) *node {
	n := &node{started: a.env.now(), manifest: manifest, hasRuntime: hasRuntime, addresses: a.opts.Addresses, deferredResizes: map[*pod]bool{}}
	name := manifest.Name
	heartbeat := func(kind HeartbeatKind, failed *bool) func(time.Duration, func()) clock.Timer {
		return func(d time.Duration, f func()) clock.Timer {
			if *failed {
				return a.env.Clock.AfterFunc(d, f)
			}
			return a.env.Heartbeat(name, kind, d, f)
		}
	}
	n.status = NewRepeatedTask(a.nodeWrites.start, heartbeat(StatusHeartbeat, &n.statusFailed), func() time.Duration { return a.runStatusWrite(n) })
	n.leases = NewRepeatedTask(a.leaseWrites.start, heartbeat(LeaseHeartbeat, &n.renewalFailed), func() time.Duration { return a.runLeaseRenewal(n) })
	if !hasRuntime && manifest.Spec.PodCIDR == "" {
		n.localPodCIDR = localPodCIDR(a.opts.Nodes[0].Name, index)
		if a.opts.PodCIDRTimeout == 0 {
			manifest.Spec.PodCIDR, manifest.Spec.PodCIDRs = n.localPodCIDR, []string{n.localPodCIDR}
		}
	}
	n.cidrChoice = NewRepeatedTask(a.tasks.start, a.env.Clock.AfterFunc, func() time.Duration { return a.choosePodCIDR(n, n.localPodCIDR) })
	n.observedPodCIDR.Store(manifest.Spec.PodCIDR)
	switch {
	case n.addresses != nil:
	case hasRuntime:
		n.addresses = func() []corev1.NodeAddress { return manifest.Status.Addresses }
	default:
		n.addresses = func() []corev1.NodeAddress { return simulatedAddresses(name, n.podCIDR()) }
	}
	n.reportedAddresses = n.addresses()
	return n
}

// runStatusWrite registers the node, or writes its status, and returns the time until the next write.
func (a *Agent) runStatusWrite(n *node) time.Duration {
	ctx := a.ctx
	if ctx.Err() != nil {
		return Never
	}
	err := a.syncNodeStatus(ctx, n)
	n.statusFailed = err != nil
	switch {
	case err != nil && ctx.Err() != nil:
		return Never
	case err != nil && !n.heartbeats:
		a.opts.Log.Error(err, "Failed to register the node; retrying", "node", n.manifest.Name)
		n.registrationDelay = min(max(2*n.registrationDelay, minRegistrationDelay), maxRegistrationDelay)
		return a.env.jitter(n.registrationDelay, 0.2)
	case err != nil:
		a.opts.Log.Error(err, "Failed to update the node status; retrying", "node", n.manifest.Name)
		return min(a.env.jitter(a.opts.StatusInterval, heartbeatJitter), statusRetryDelay)
	case !n.heartbeats:
		n.heartbeats = true
		n.leases.Trigger()
		return a.firstStatusDelay(n)
	}
	return a.env.jitter(a.opts.StatusInterval, heartbeatJitter)
}

const (
	// The delay between attempts to register a node doubles up to a maximum.
	minRegistrationDelay = 100 * time.Millisecond
	maxRegistrationDelay = 7 * time.Second
	// statusRetryDelay is the delay before a failed node status write is retried.
	statusRetryDelay = 10 * time.Second
	// conflictRetries is how often a status write is retried because another client has changed the node. The delay
	// grows by a factor of 5.
	conflictRetries    = 3
	conflictRetryDelay = 10 * time.Millisecond
)

// syncNodeStatus creates the node, or updates labels, capacity and conditions of the existing
// one. It keeps the fields that other clients set.
func (a *Agent) syncNodeStatus(ctx context.Context, n *node) error {
	delay := conflictRetryDelay
	for range conflictRetries {
		if err := a.updateNodeStatus(ctx, n); !apierrors.IsConflict(err) {
			return err
		}
		// Other clients may taint or label the node at the same time.
		if !a.env.Sleep(ctx, a.env.jitter(delay, 0.1)) {
			return ctx.Err()
		}
		delay *= 5
	}
	return a.updateNodeStatus(ctx, n)
}

func (a *Agent) updateNodeStatus(ctx context.Context, n *node) error {
	nodes := a.opts.Client.CoreV1().Nodes()
	desired := n.manifest.DeepCopy()
	desired.Status.Addresses = n.addresses()
	desired.Status.Conditions = a.nodeConditions(n, nil, metav1.NewTime(a.env.now()))
	if a.opts.Images != nil {
		desired.Status.Images = a.opts.Images(desired.Name)
	}
	existing, err := a.getOrCreate(ctx, n, desired)
	if err != nil || existing == nil {
		return err
	}
	if !n.hasRuntime && n.podCIDR() == "" { // the watch has not delivered the range yet
		desired.Status.Addresses = simulatedAddresses(desired.Name, existing.Spec.PodCIDR)
	}
	n.restoreConditions(existing.Status.Conditions)
	if patch := metadataPatch(desired, existing); patch != nil {
		if existing, err = nodes.Patch(ctx, desired.Name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			return fmt.Errorf("patching labels and annotations: %w", err)
		}
	}
	oldStatus := &existing.Status
	existing = existing.DeepCopy()
	capacity := desired.Status.Capacity
	existing.Status.Allocatable = mergeAllocatable(desired.Status.Allocatable, &existing.Status, capacity)
	existing.Status.Capacity = withUnreported(desired.Status.Capacity, existing.Status.Capacity, capacity)
	existing.Status.Addresses, existing.Status.NodeInfo, existing.Status.DaemonEndpoints = desired.Status.Addresses, desired.Status.NodeInfo, desired.Status.DaemonEndpoints
	if a.opts.Images != nil {
		existing.Status.Images = desired.Status.Images
	}
	if desired.Status.Features != nil {
		existing.Status.Features = desired.Status.Features
	}
	if desired.Status.RuntimeHandlers != nil {
		existing.Status.RuntimeHandlers = desired.Status.RuntimeHandlers
	}
	existing.Status.Conditions = a.nodeConditions(n, existing.Status.Conditions, metav1.NewTime(a.env.now()))
	if _, err = nodes.UpdateStatus(ctx, existing, metav1.UpdateOptions{}); err == nil {
		a.recordStatusChanges(n, oldStatus, &existing.Status)
	}
	return err
}

// getOrCreate returns the existing Node object, or nil if it creates the node or must not create it. The
// first call tries to create the node before it reads it, because most nodes that register are new
// and thousands may register together.
func (a *Agent) getOrCreate(ctx context.Context, n *node, desired *corev1.Node) (*corev1.Node, error) {
	nodes := a.opts.Client.CoreV1().Nodes()
	if n.registered.Load() || a.opts.ExternallyRegistered {
		existing, err := nodes.Get(ctx, desired.Name, metav1.GetOptions{})
		switch {
		case !apierrors.IsNotFound(err):
			return existing, err
		case a.opts.ExternallyRegistered:
			return nil, nil
		}
	}
	_, err := nodes.Create(ctx, desired, metav1.CreateOptions{})
	if err != nil { // perhaps the node exists, and the agent may not create nodes
		existing, getErr := nodes.Get(ctx, desired.Name, metav1.GetOptions{})
		if getErr != nil {
			return nil, err
		}
		n.registered.Store(true)
		return existing, nil
	}
	n.registered.Store(true)
	n.conditionsRestored.Do(func() {}) // a new node has no conditions to restore
	a.recordStatusChanges(n, nil, &desired.Status)
	return nil, nil
}

// restoreConditions passes the conditions that the API has when the agent starts to the pressure manager. Only the
// first call has an effect.
func (n *node) restoreConditions(conditions []corev1.NodeCondition) {
	n.conditionsRestored.Do(func() {
		if r, ok := n.pressure.(ConditionRestorer); ok {
			r.RestoreConditions(conditions)
		}
	})
}

// metadataPatch returns a merge patch with the labels and annotations of desired that existing lacks or has
// with another value, nil if there are none.
func metadataPatch(desired, existing *corev1.Node) []byte {
	changes := map[string]map[string]string{}
	addChanges := func(field string, desired, existing map[string]string) {
		for k, v := range desired {
			if current, ok := existing[k]; ok && current == v {
				continue
			}
			if changes[field] == nil {
				changes[field] = map[string]string{}
			}
			changes[field][k] = v
		}
	}
	addChanges("labels", desired.Labels, existing.Labels)
	addChanges("annotations", desired.Annotations, existing.Annotations)
	if len(changes) == 0 {
		return nil
	}
	patch, _ := json.Marshal(map[string]any{"metadata": changes})
	return patch
}

// syncAddresses queues a status write for every pod that has not terminated if the node's addresses changed.
func (a *Agent) syncAddresses(n *node) {
	addresses := n.addresses()
	if slices.Equal(addresses, n.reportedAddresses) {
		return
	}
	n.reportedAddresses = addresses
	for _, p := range a.podsOf(n) {
		if phase := p.object.Status.Phase; phase != corev1.PodSucceeded && phase != corev1.PodFailed {
			a.queueStatus(p)
		}
	}
}

// objectUID returns the UID of the node's object in the API, or "" if it is not known yet.
func (n *node) objectUID() types.UID {
	uid, _ := n.uid.Load().(types.UID)
	return uid
}

// handleNode applies the labels, taints and resources that other clients set in the node object.
func (a *Agent) handleNode(object *corev1.Node) {
	n := a.nodes[object.Name]
	if n == nil {
		return
	}
	if n.objectUID() != object.UID {
		n.uid.Store(object.UID)
		a.reconcileMirrors()
	}
	a.observePodCIDR(n, object)
	a.syncAddresses(n)
	a.recordSchedulable(n, object.Spec.Unschedulable)
	merged := *n.manifest
	merged.Labels, merged.Spec.Taints = object.Labels, object.Spec.Taints
	merged.Status.Allocatable = mergeAllocatable(merged.Status.Allocatable, &object.Status, merged.Status.Capacity)
	if !hasResources(object.Status.Allocatable, merged.Status.Allocatable) {
		a.Report(object.Name) // an administrator has changed the capacity
	}
	if previous := n.observed; previous != nil && maps.Equal(previous.Labels, merged.Labels) && equality.Semantic.DeepEqual(previous.Spec.Taints, merged.Spec.Taints) &&
		equality.Semantic.DeepEqual(previous.Status.Allocatable, merged.Status.Allocatable) {
		return
	}
	n.observed = &merged
	a.state.UpsertNode(a.converter.Node(&merged))
	a.retryResizes(n)
}
