package model

import (
	"slices"
	"time"
)

// PersistentVolume is what scheduling reads of a volume.
type PersistentVolume struct {
	Name        string
	Labels      Labels
	Class       string
	Capacity    int64 // bytes
	AccessModes AccessModes
	Block       bool                // volumeMode Block
	Affinity    *VolumeNodeAffinity // nil: no constraint
	Claim       ClaimRef            // who has it; zero when free
	Phase       string
	CSI         CSIVolume // zero when no CSI driver handles it
	// Migrated is what holds instead of Affinity on nodes that have migrated
	// CSI.InTree: the driver has topology labels of its own. Nil: no constraint.
	Migrated *VolumeNodeAffinity
	// MigrationError says why Migrated cannot be told; empty when it can.
	MigrationError string
	Deleting       bool
	// AttributesClass is volumeAttributesClassName.
	AttributesClass string
	ResourceVersion string
}

// CSIVolume is a volume as a CSI driver knows it.
type CSIVolume struct {
	Driver string
	Handle string
	// InTree is the in-tree plugin that Driver stands in for; empty for a volume
	// that was CSI from the start. It counts only on nodes that migrated it.
	InTree string
}

// VolumeNodeAffinity is a volume's required node affinity: alternatives, by labels
// only. Without any it matches no node.
type VolumeNodeAffinity struct{ Terms []NodeSelectorTerm }

// Matches says whether a node is among those that the affinity allows. A nil one
// allows all.
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

// PersistentVolumeClaim is what scheduling reads of a claim.
type PersistentVolumeClaim struct {
	Namespace, Name, UID string
	Labels               Labels
	// Class is storageClassName; nil when the field is absent.
	Class           *string
	VolumeName      string // volumeName
	Bound           bool   // annotation pv.kubernetes.io/bind-completed
	HasSelectedNode bool   // annotation volume.kubernetes.io/selected-node is there
	SelectedNode    string // its value
	Request         int64  // bytes
	AccessModes     AccessModes
	Block           bool
	Selector        *Selector // nil: any volume
	// SelectorError is what is wrong with the selector; empty when it is well formed.
	SelectorError   string
	Lost            bool // phase Lost
	Deleting        bool
	Owner           Owner // controller
	AttributesClass string
	ResourceVersion string
}

// ClassName is the name of the claim's storage class, empty when it has none.
func (c *PersistentVolumeClaim) ClassName() string {
	if c.Class == nil {
		return ""
	}
	return *c.Class
}

// StorageClass is what scheduling reads of a class.
type StorageClass struct {
	Name        string
	Provisioner string
	// WaitForFirstConsumer delays binding until a pod needs the claim.
	WaitForFirstConsumer bool
	// Topologies restrict where volumes may be made; none: anywhere.
	Topologies []NodeSelectorTerm
}

// CSINode is a node's installed drivers.
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
	// Limit is the number of volumes that can be attached; negative: no limit.
	Limit int64
}

// CSIDriver is what scheduling reads of a driver.
type CSIDriver struct {
	Name string
	// StorageCapacity: CSIStorageCapacity objects must be consulted.
	StorageCapacity bool
	// PreventPodSchedulingIfMissing rejects nodes that lack the driver.
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

// VolumeAttachment is a volume attached, or being attached, to a node.
type VolumeAttachment struct {
	Name, Attacher, Node, Volume string
}

// VolumePlan is what must happen to a pod's claims before it can be bound to a
// node: free volumes are reserved, others are made for that node.
type VolumePlan struct {
	Node string
	// BindTimeout is how long the claims may take to be bound once that is asked for; the
	// profile's bindTimeoutSeconds. 0: what is not bound then is given up.
	BindTimeout time.Duration
	Bind        []ClaimVolume            // smallest claim first
	Provision   []*PersistentVolumeClaim // those that a node was chosen for before go first
}

// ClaimVolume is a claim and the volume that it is to get.
type ClaimVolume struct {
	Claim  *PersistentVolumeClaim
	Volume *PersistentVolume
}

// EveryClaim says whether f holds for all claims of the plan; it stops at the first for which
// it does not.
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
