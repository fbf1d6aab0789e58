package decision

// Plugin is a rule of placement, in the order in which rules are asked.
type Plugin uint8

// The rules, in kube-scheduler's default order.
const (
	NoPlugin Plugin = iota
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
	NumPlugins
)

var pluginNames = [NumPlugins]string{
	"", "SchedulingGates", "NodeUnschedulable", "NodeName", "TaintToleration", "NodeAffinity", "NodePorts",
	"NodeResourcesFit", "VolumeRestrictions", "NodeVolumeLimits", "VolumeBinding", "VolumeZone",
	"PodTopologySpread", "InterPodAffinity", "DynamicResources", "NodeResourcesBalancedAllocation",
	"ImageLocality", "NodeDeclaredFeatures", "GangScheduling", "DefaultPreemption", "PreFilterResult", "HoldAvoid",
}

// String is the rule's name as kube-scheduler's configuration spells it.
func (r Plugin) String() string {
	if r < NumPlugins {
		return pluginNames[r]
	}
	return ""
}

// PluginByName finds a rule by its configuration name.
func PluginByName(name string) (Plugin, bool) {
	for r := SchedulingGates; r < PreFilterResult; r++ {
		if pluginNames[r] == name {
			return r, true
		}
	}
	return NoPlugin, false
}

// PluginSet is a set of rules.
type PluginSet uint32

// With returns the set with r in it.
func (s PluginSet) With(r Plugin) PluginSet { return s | 1<<r }

// Has says whether r is in the set.
func (s PluginSet) Has(r Plugin) bool { return s&(1<<r) != 0 }

// Code is a verdict in three values.
type Code uint8

// The verdicts. Only nodes that are Unschedulable can be helped by preemption.
const (
	Success Code = iota
	Unschedulable
	UnschedulableAndUnresolvable
)

// String is kube-scheduler's name of the code.
func (c Code) String() string {
	switch c {
	case Unschedulable:
		return "Unschedulable"
	case UnschedulableAndUnresolvable:
		return "UnschedulableAndUnresolvable"
	}
	return "Success"
}
