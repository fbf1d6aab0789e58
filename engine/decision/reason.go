package decision

import "strings"

// ReasonKind is the kind of a reason. With a Subject it determines kube-scheduler's text.
type ReasonKind uint8

// The kinds of reasons.
const (
	NoReason ReasonKind = iota
	ReasonUnschedulable
	ReasonNodeName
	ReasonTaint
	ReasonNodeAffinity
	ReasonEnforcedAffinity
	ReasonPorts
	ReasonTooManyPods
	ReasonInsufficient // Subject: the resource
	ReasonDiskConflict
	ReasonReadWriteOncePod
	ReasonMaxVolumes
	ReasonDriverMissing // Subject: the driver
	ReasonVolumeAffinity
	ReasonNoVolumeToBind
	ReasonNoStorage
	ReasonVolumeZone
	ReasonTopologySpread
	ReasonTopologySpreadLabel
	ReasonPodAffinity
	ReasonPodAntiAffinity
	ReasonExistingAntiAffinity
	ReasonFeatures
	ReasonVolumeNotFound
	ReasonAvoidHold            // Subject: the hold's cause; Have: its count; Object: its name
	ReasonNoVictims            // no pod of lower priority is on the node
	ReasonPreemptionNotHelpful // the pod does not fit even without the victims
	ReasonText                 // Subject: the whole text (PreFilter rejections, parse errors)
	numReasonKinds
)

var reasonTexts = [numReasonKinds]string{
	ReasonUnschedulable:        "node(s) were unschedulable",
	ReasonNodeName:             "node(s) didn't match the requested node name",
	ReasonTaint:                "node(s) had untolerated taint(s)",
	ReasonNodeAffinity:         "node(s) didn't match Pod's node affinity/selector",
	ReasonEnforcedAffinity:     "node(s) didn't match scheduler-enforced node affinity",
	ReasonPorts:                "node(s) didn't have free ports for the requested pod ports",
	ReasonTooManyPods:          "Too many pods",
	ReasonInsufficient:         "Insufficient ",
	ReasonDiskConflict:         "node(s) had no available disk",
	ReasonReadWriteOncePod:     "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod",
	ReasonMaxVolumes:           "node(s) exceed max volume count",
	ReasonDriverMissing:        "node(s) did not have the CSI driver installed: ",
	ReasonVolumeAffinity:       "node(s) didn't match PersistentVolume's node affinity",
	ReasonNoVolumeToBind:       "node(s) didn't find available persistent volumes to bind",
	ReasonNoStorage:            "node(s) did not have enough free storage",
	ReasonVolumeZone:           "node(s) had no available volume zone",
	ReasonTopologySpread:       "node(s) didn't match pod topology spread constraints",
	ReasonTopologySpreadLabel:  "node(s) didn't match pod topology spread constraints (missing required label)",
	ReasonPodAffinity:          "node(s) didn't match pod affinity rules",
	ReasonPodAntiAffinity:      "node(s) didn't match pod anti-affinity rules",
	ReasonExistingAntiAffinity: "node(s) didn't satisfy existing pods anti-affinity rules",
	ReasonFeatures:             "node(s) didn't match Pod's required features",
	ReasonAvoidHold:            "node(s) were avoided after displacements of the owner's pods",
	ReasonVolumeNotFound:       "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)",
	ReasonNoVictims:            "No preemption victims found for incoming pod",
	ReasonPreemptionNotHelpful: "Preemption is not helpful for scheduling",
}

// Reason is one reason of a rejection with its numbers. For ReasonInsufficient and
// ReasonTooManyPods, Want is requested, Used is in use and Have is allocatable, in thousandths of
// a core, bytes or counts. For ReasonTopologySpread, Want is maxSkew, Used is the count of the
// domain and Have the minimum over the domains.
type Reason struct {
	Kind             ReasonKind
	Subject          string // resource, topology key, taint, port or volume
	Want, Used, Have int64
	// Object is the pod, volume or term that conflicts, if there is one.
	Object string
}

// String returns the text of kube-scheduler.
func (r *Reason) String() string {
	switch r.Kind {
	case ReasonText:
		return r.Subject
	case ReasonInsufficient, ReasonDriverMissing:
		return reasonTexts[r.Kind] + r.Subject
	}
	return reasonTexts[r.Kind]
}

// JoinReasons returns the texts of several reasons, separated by commas.
func JoinReasons(rs []Reason) string {
	var b strings.Builder
	for i := range rs {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(rs[i].String())
	}
	return b.String()
}
