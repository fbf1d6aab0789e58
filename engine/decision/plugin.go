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
	// returned; they are not filtered.
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
func (r Plugin) String() string {
	if r < NumPlugins {
		return pluginNames[r]
	}
	return ""
}

// PluginByName returns the plugin with a name in kube-scheduler's configuration.
func PluginByName(name string) (Plugin, bool) {
	for r := SchedulingGates; r < PreFilterResult; r++ {
		if pluginNames[r] == name {
			return r, true
		}
	}
	return NoPlugin, false
}

// PluginSet is a set of plugins.
type PluginSet uint32

// With returns the set with r added.
func (s PluginSet) With(r Plugin) PluginSet { return s | 1<<r }

// Has reports whether r is in the set.
func (s PluginSet) Has(r Plugin) bool { return s&(1<<r) != 0 }

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
