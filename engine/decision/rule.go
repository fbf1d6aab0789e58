package decision

// Rule is a rule of placement, in the order in which rules are asked.
type Rule uint8

// The rules, in kube-scheduler's default order.
const (
	NoRule Rule = iota
	SchedulingGates
	NodeUnschedulable
	NodeName
	TaintToleration
	NodeAffinity
	NodePorts
	NodeResourcesFit
	VolumeRestrictions
	NodeVolumeLimits
	VolumeBinding
	VolumeZone
	PodTopologySpread
	InterPodAffinity
	DynamicResources
	NodeResourcesBalancedAllocation
	ImageLocality
	NodeDeclaredFeatures
	GangScheduling
	DefaultPreemption
	// PreFilterResult marks nodes outside of the names that a rule narrowed the
	// search to; they were never judged.
	PreFilterResult
	// HoldAvoid is Berth's own, and not configured: Hold objects of type Avoid. It is
	// asked before all others.
	HoldAvoid
	NumRules
)

var ruleNames = [NumRules]string{
	"", "SchedulingGates", "NodeUnschedulable", "NodeName", "TaintToleration", "NodeAffinity", "NodePorts",
	"NodeResourcesFit", "VolumeRestrictions", "NodeVolumeLimits", "VolumeBinding", "VolumeZone",
	"PodTopologySpread", "InterPodAffinity", "DynamicResources", "NodeResourcesBalancedAllocation",
	"ImageLocality", "NodeDeclaredFeatures", "GangScheduling", "DefaultPreemption", "PreFilterResult", "HoldAvoid",
}

// String is the rule's name as kube-scheduler's configuration spells it.
func (r Rule) String() string {
	if r < NumRules {
		return ruleNames[r]
	}
	return ""
}

// RuleNamed finds a rule by its configuration name.
func RuleNamed(name string) (Rule, bool) {
	for r := SchedulingGates; r < PreFilterResult; r++ {
		if ruleNames[r] == name {
			return r, true
		}
	}
	return NoRule, false
}

// RuleSet is a set of rules.
type RuleSet uint32

// With returns the set with r in it.
func (s RuleSet) With(r Rule) RuleSet { return s | 1<<r }

// Has says whether r is in the set.
func (s RuleSet) Has(r Rule) bool { return s&(1<<r) != 0 }

// Code is a verdict in three values.
type Code uint8

// The verdicts. Only nodes that are Unschedulable can be helped by preemption.
const (
	Fits Code = iota
	Unschedulable
	Unresolvable
)

// String is kube-scheduler's name of the code.
func (c Code) String() string {
	switch c {
	case Unschedulable:
		return "Unschedulable"
	case Unresolvable:
		return "UnschedulableAndUnresolvable"
	}
	return "Success"
}
