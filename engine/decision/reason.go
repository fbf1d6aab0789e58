package decision

import "strings"

// Why is the kind of a reason; with a Subject it becomes kube-scheduler's text.
type Why uint8

// The kinds of reasons.
const (
	NoReason Why = iota
	WhyUnschedulable
	WhyNodeName
	WhyTaint
	WhyNodeAffinity
	WhyEnforcedAffinity
	WhyPorts
	WhyTooManyPods
	WhyInsufficient // Subject: the resource
	WhyDiskConflict
	WhyReadWriteOncePod
	WhyMaxVolumes
	WhyDriverMissing // Subject: the driver
	WhyVolumeAffinity
	WhyNoVolumeToBind
	WhyNoStorage
	WhyVolumeZone
	WhySpread
	WhySpreadLabel
	WhyAffinity
	WhyAntiAffinity
	WhyExistingAntiAffinity
	WhyFeatures
	WhyVolumeGone
	WhyAvoid     // Subject: the hold's cause; Have: its count; Who: its name
	WhyNoVictims // nobody of lower priority is there
	WhyNotHelped // leaving pods would not help
	WhyText      // Subject: the whole text (pre-filter refusals, faults)
	numWhy
)

var whyTexts = [numWhy]string{
	WhyUnschedulable:        "node(s) were unschedulable",
	WhyNodeName:             "node(s) didn't match the requested node name",
	WhyTaint:                "node(s) had untolerated taint(s)",
	WhyNodeAffinity:         "node(s) didn't match Pod's node affinity/selector",
	WhyEnforcedAffinity:     "node(s) didn't match scheduler-enforced node affinity",
	WhyPorts:                "node(s) didn't have free ports for the requested pod ports",
	WhyTooManyPods:          "Too many pods",
	WhyInsufficient:         "Insufficient ",
	WhyDiskConflict:         "node(s) had no available disk",
	WhyReadWriteOncePod:     "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod",
	WhyMaxVolumes:           "node(s) exceed max volume count",
	WhyDriverMissing:        "node(s) did not have the CSI driver installed: ",
	WhyVolumeAffinity:       "node(s) didn't match PersistentVolume's node affinity",
	WhyNoVolumeToBind:       "node(s) didn't find available persistent volumes to bind",
	WhyNoStorage:            "node(s) did not have enough free storage",
	WhyVolumeZone:           "node(s) had no available volume zone",
	WhySpread:               "node(s) didn't match pod topology spread constraints",
	WhySpreadLabel:          "node(s) didn't match pod topology spread constraints (missing required label)",
	WhyAffinity:             "node(s) didn't match pod affinity rules",
	WhyAntiAffinity:         "node(s) didn't match pod anti-affinity rules",
	WhyExistingAntiAffinity: "node(s) didn't satisfy existing pods anti-affinity rules",
	WhyFeatures:             "node(s) didn't match Pod's required features",
	WhyAvoid:                "node(s) were held off after pods of the same owner had to leave",
	WhyVolumeGone:           "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)",
	WhyNoVictims:            "No preemption victims found for incoming pod",
	WhyNotHelped:            "Preemption is not helpful for scheduling",
}

// Reason is one reason of a rejection with its numbers. Which numbers are set
// depends on Why: for WhyInsufficient and WhyTooManyPods Want is asked for,
// Used is taken, Have is allocatable; for WhySpread Want is maxSkew, Used the
// domain's count, Have the minimum.
type Reason struct {
	Why              Why
	Subject          string // resource, topology key, taint, port, volume: what it is about
	Want, Used, Have int64
	// Who is the pod, volume or term in the way, where there is one.
	Who string
}

// String is kube-scheduler's text.
func (r *Reason) String() string {
	switch r.Why {
	case WhyText:
		return r.Subject
	case WhyInsufficient, WhyDriverMissing:
		return whyTexts[r.Why] + r.Subject
	}
	return whyTexts[r.Why]
}

// Texts are kube-scheduler's texts of several reasons, joined for errors.
func Texts(rs []Reason) string {
	var b strings.Builder
	for i := range rs {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(rs[i].String())
	}
	return b.String()
}
