package decision

// Plugin is a scheduling plugin, numbered in kube-scheduler's default order.
type Plugin uint8

// The plugins, in kube-scheduler's default order.
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
	// PreFilterResult stands for nodes outside of the node names that a PreFilter plugin
	// returned. The Filter plugins do not run on them.
	PreFilterResult
	// HoldAvoid is Berth's own plugin for Hold objects of type Avoid. It is always enabled and
	// runs before all other filters.
	HoldAvoid
	NumPlugins
)

var pluginNames = [NumPlugins]string{
	"", "SchedulingGates", "NodeUnschedulable", "NodeName", "TaintToleration", "NodeAffinity", "NodePorts",
	"NodeResourcesFit", "VolumeRestrictions", "NodeVolumeLimits", "VolumeBinding", "VolumeZone",
	"PodTopologySpread", "InterPodAffinity", "DynamicResources", "NodeResourcesBalancedAllocation",
	"ImageLocality", "NodeDeclaredFeatures", "GangScheduling", "DefaultPreemption", "PreFilterResult", "HoldAvoid",
}

// String returns the name of the plugin in kube-scheduler's configuration.
func (p Plugin) String() string {
	if p < NumPlugins {
		return pluginNames[p]
	}
	return ""
}

// PluginByName returns the plugin with a name in kube-scheduler's configuration.
func PluginByName(name string) (Plugin, bool) {
	for p := SchedulingGates; p < PreFilterResult; p++ {
		if pluginNames[p] == name {
			return p, true
		}
	}
	return NoPlugin, false
}

// PluginSet is a set of plugins.
type PluginSet uint32

// With returns the set with p added.
func (s PluginSet) With(p Plugin) PluginSet { return s | 1<<p }

// Has reports whether p is in the set.
func (s PluginSet) Has(p Plugin) bool { return s&(1<<p) != 0 }

// Code is the result code of a filter.
type Code uint8

// The codes. Removing pods can only help on nodes that are Unschedulable.
const (
	Success Code = iota
	Unschedulable
	UnschedulableAndUnresolvable
)

// String returns kube-scheduler's name of the code.
func (c Code) String() string {
	switch c {
	case Unschedulable:
		return "Unschedulable"
	case UnschedulableAndUnresolvable:
		return "UnschedulableAndUnresolvable"
	}
	return "Success"
}
