package descheduling

// Threshold is a share of what a node offers of a resource, in percent (0 to 100).
type Threshold struct {
	Resource string // as in the API: "cpu", "memory", "pods", "ephemeral-storage", "nvidia.com/gpu"
	Percent  float64
}

// Thresholds are those of several resources, each once, sorted by resource.
type Thresholds []Threshold

// LowNodeUtilization moves pods from nodes that are above a target to nodes that are below all
// thresholds.
type LowNodeUtilization struct {
	// Thresholds: a node at or below all of them is underutilized.
	Thresholds Thresholds
	// Targets: a node above any of them is overutilized. They are of the same resources as Thresholds.
	Targets Thresholds
	// Deviation: both are distances from the average of all nodes, downwards and upwards, in points.
	Deviation bool
	// NumberOfNodes: nothing is done unless more nodes than this are underutilized.
	NumberOfNodes int
	// ExcludeNamespaces: pods of these namespaces stay; what they use counts (evictableNamespaces.exclude).
	ExcludeNamespaces []string
	// PerNode is how many pods a node may lose in a round to this strategy; nil: no limit (evictionLimits.node).
	PerNode *int
	// UseMetrics: nodes and pods are judged by Snapshot.Usage instead of by requests (metricsUtilization).
	UseMetrics bool
}

// Name is the plugin's in policies.
func (*LowNodeUtilization) Name() string { return "LowNodeUtilization" }

// HighNodeUtilization empties nodes that are below all thresholds, onto the others.
type HighNodeUtilization struct {
	// Thresholds: a node at or below all of them is to be emptied.
	Thresholds Thresholds
	// NumberOfNodes: nothing is done unless more nodes than this are underutilized.
	NumberOfNodes int
	// OnlyThresholdingResources spares pods that ask for none of the resources of Thresholds
	// (evictionModes: OnlyThresholdingResources).
	OnlyThresholdingResources bool
	// ExcludeNamespaces: pods of these namespaces stay; what they use counts (evictableNamespaces.exclude).
	ExcludeNamespaces []string
}

// Name is the plugin's in policies.
func (*HighNodeUtilization) Name() string { return "HighNodeUtilization" }
