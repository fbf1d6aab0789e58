package model

import (
	"slices"
	"time"
)

// PersistentVolume is a PersistentVolume as scheduling reads it.
type PersistentVolume struct {
	Name        string
	Labels      Labels
	Class       string
	Capacity    int64 // bytes
	AccessModes AccessModes
	Block       bool                // volumeMode Block
	Affinity    *VolumeNodeAffinity // nil: no constraint
	Claim       ClaimRef            // zero if free
	Phase       string
	CSI         CSIVolume // zero if no CSI driver handles the volume
	// Migrated replaces Affinity on nodes that have migrated CSI.InTree, because the driver
	// has its own topology labels. Nil: no constraint.
	Migrated *VolumeNodeAffinity
	// MigrationError is why Migrated cannot be determined, or empty.
	MigrationError string
	Deleting       bool
	// AttributesClass is volumeAttributesClassName.
	AttributesClass string
	ResourceVersion string
}

// CSIVolume identifies a volume of a CSI driver.
type CSIVolume struct {
	Driver string
	Handle string
	// InTree is the in-tree plugin that Driver replaces; empty for a native CSI volume. It
	// applies only on nodes that have migrated the plugin.
	InTree string
}

// VolumeNodeAffinity is the required node affinity of a volume. A node must match one of
// the terms; no terms match no node.
type VolumeNodeAffinity struct{ Terms []NodeSelectorTerm }

// Matches reports whether the affinity allows a node. A nil affinity allows all nodes.
func (a *VolumeNodeAffinity) Matches(n *Node) bool {
	return a == nil || slices.ContainsFunc(a.Terms, func(t NodeSelectorTerm) bool { return t.Matches(n.Labels, n.Name) })
}

// ClaimRef names the claim of a volume.
type ClaimRef struct{ Namespace, Name, UID string }

// AccessModes is a set of access modes.
type AccessModes uint8

// The access modes. UnknownMode stands for any other, which no volume has.
const (
	ReadWriteOnce AccessModes = 1 << iota
	ReadOnlyMany
	ReadWriteMany
	ReadWriteOncePod
	UnknownMode
)

// PersistentVolumeClaim is a claim as scheduling reads it.
type PersistentVolumeClaim struct {
	Namespace, Name, UID string
	Labels               Labels
	// Class is storageClassName; nil if the field is absent.
	Class           *string
	VolumeName      string // volumeName
	Bound           bool   // annotation pv.kubernetes.io/bind-completed
	HasSelectedNode bool   // annotation volume.kubernetes.io/selected-node exists
	SelectedNode    string // its value
	Request         int64  // bytes
	AccessModes     AccessModes
	Block           bool
	Selector        *Selector // nil: any volume
	// SelectorError is why the selector is invalid, or empty.
	SelectorError   string
	Lost            bool // phase Lost
	Deleting        bool
	Owner           Owner // controller
	AttributesClass string
	ResourceVersion string
}

// ClassName returns the name of the storage class, or "".
func (c *PersistentVolumeClaim) ClassName() string {
	if c.Class == nil {
		return ""
	}
	return *c.Class
}

// StorageClass is a storage class as scheduling reads it.
type StorageClass struct {
	Name        string
	Provisioner string
	// WaitForFirstConsumer delays binding until a pod uses the claim.
	WaitForFirstConsumer bool
	// Topologies restrict where volumes may be provisioned. Without any, there is no restriction.
	Topologies []NodeSelectorTerm
}

// CSINode lists the CSI drivers of a node.
type CSINode struct {
	Name     string
	Drivers  []CSINodeDriver
	Migrated []string // in-tree plugins handled through CSI, sorted
}

// CSINodeDriver is one driver of a CSINode.
type CSINodeDriver struct {
	Name         string
	NodeID       string
	TopologyKeys []string
	// Limit is the maximum number of attached volumes; negative: no limit.
	Limit int64
}

// CSIDriver is a CSI driver as scheduling reads it.
type CSIDriver struct {
	Name string
	// StorageCapacity is set if CSIStorageCapacity objects limit provisioning.
	StorageCapacity bool
	// PreventPodSchedulingIfMissing rejects nodes without the driver.
	PreventPodSchedulingIfMissing bool
}

// CSIStorageCapacity is the free capacity of a class in a topology segment.
type CSIStorageCapacity struct {
	Namespace, Name string
	Class           string
	Topology        *Selector // nil matches no node
	Capacity        *int64    // bytes; nil is unknown
	MaxSize         *int64    // bytes
}

// VolumeAttachment is a volume that is attached, or being attached, to a node.
type VolumeAttachment struct {
	Name, Attacher, Node, Volume string
}

// VolumePlan lists what must happen to a pod's claims before the pod can be bound to a
// node: volumes to bind and volumes to provision.
type VolumePlan struct {
	Node string
	// BindTimeout is how long to wait for the claims to be bound (bindTimeoutSeconds of the
	// profile). 0: do not wait.
	BindTimeout time.Duration
	Bind        []ClaimVolume            // smallest claim first
	Provision   []*PersistentVolumeClaim // claims with an already selected node first
}

// ClaimVolume is a claim and the volume to bind it to.
type ClaimVolume struct {
	Claim  *PersistentVolumeClaim
	Volume *PersistentVolume
}

// EveryClaim reports whether f returns true for every claim of the plan. It stops at the
// first false.
func (p *VolumePlan) EveryClaim(f func(*PersistentVolumeClaim) bool) bool {
	for _, b := range p.Bind {
		if !f(b.Claim) {
			return false
		}
	}
	for _, c := range p.Provision {
		if !f(c) {
			return false
		}
	}
	return true
}
