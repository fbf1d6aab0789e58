package rebalance

// RemoveDuplicates spreads the pods of an owner: of pods with the same owners and the same images no
// node keeps more than the average over the nodes that they can run on, rounded up.
type RemoveDuplicates struct {
	Namespaces Namespaces
	// ExcludeOwnerKinds: pods with an owner of such a kind stay where they are.
	ExcludeOwnerKinds []string
}

// Name is the plugin's in policies.
func (*RemoveDuplicates) Name() string { return "RemoveDuplicates" }
