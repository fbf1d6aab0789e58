package nodeauth

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apiserver/pkg/admission"
)

func admitNode(node string, a admission.Attributes) error {
	n, _ := a.GetObject().(*corev1.Node)
	name := a.GetName()
	if name == "" && n != nil {
		name = n.Name
	}
	if name != node {
		return forbid(a, "node %q is not allowed to modify node %q", node, name)
	}
	switch a.GetOperation() {
	case admission.Create:
		return admitRegistration(node, a)
	case admission.Update:
		return admitNodeUpdate(node, a)
	}
	return nil
}

// admitRegistration allows a node to create its Node object. Only then may it set taints.
func admitRegistration(node string, a admission.Attributes) error {
	n, ok := a.GetObject().(*corev1.Node)
	if !ok {
		return forbid(a, "unexpected type %T", a.GetObject())
	}
	if labels := forbiddenLabels(nil, n.Labels); len(labels) > 0 {
		return forbid(a, "node %q is not allowed to set the following labels: %s", node, strings.Join(labels, ", "))
	}
	if len(n.OwnerReferences) > 0 {
		return forbid(a, "node %q is not allowed to set ownerReferences", node)
	}
	return nil
}

func admitNodeUpdate(node string, a admission.Attributes) error {
	oldNode, oldOK := a.GetOldObject().(*corev1.Node)
	newNode, newOK := a.GetObject().(*corev1.Node)
	if !oldOK || !newOK {
		return forbid(a, "unexpected type %T", a.GetObject())
	}
	// A node that removes its own taints could attract pods.
	if !equality.Semantic.DeepEqual(oldNode.Spec.Taints, newNode.Spec.Taints) {
		return forbid(a, "node %q is not allowed to modify taints", node)
	}
	if labels := forbiddenLabels(oldNode.Labels, newNode.Labels); len(labels) > 0 {
		return forbid(a, "is not allowed to modify labels: %s", strings.Join(labels, ", "))
	}
	if !equality.Semantic.DeepEqual(oldNode.OwnerReferences, newNode.OwnerReferences) {
		return forbid(a, "node %q is not allowed to modify ownerReferences", node)
	}
	return nil
}

// kubeletLabels are the kubernetes.io labels that a node may set.
var kubeletLabels = []string{
	corev1.LabelHostname,
	corev1.LabelTopologyZone, corev1.LabelTopologyRegion,
	corev1.LabelFailureDomainBetaZone, corev1.LabelFailureDomainBetaRegion,
	corev1.LabelInstanceType, corev1.LabelInstanceTypeStable,
	corev1.LabelOSStable, corev1.LabelArchStable, "beta.kubernetes.io/os", "beta.kubernetes.io/arch",
}

// forbiddenLabels returns the changed labels that a node may not set, sorted.
func forbiddenLabels(before, after map[string]string) []string {
	var forbidden []string
	check := func(key string) {
		old, existed := before[key]
		value, exists := after[key]
		if (existed != exists || old != value) && !isAllowedLabel(key) && !slices.Contains(forbidden, key) {
			forbidden = append(forbidden, key)
		}
	}
	for key := range before {
		check(key)
	}
	for key := range after {
		check(key)
	}
	slices.Sort(forbidden)
	return forbidden
}

// isAllowedLabel reports whether a node may set the label: any label outside of kubernetes.io and
// k8s.io, and the kubelet's own labels inside. It never allows node-restriction.kubernetes.io,
// which administrators use to isolate workloads.
func isAllowedLabel(key string) bool {
	domain, _, prefixed := strings.Cut(key, "/")
	if !prefixed || slices.Contains(kubeletLabels, key) {
		return true
	}
	switch {
	case inDomain(domain, "kubelet.kubernetes.io"), inDomain(domain, "node.kubernetes.io"):
		return true
	case inDomain(domain, "node-restriction.kubernetes.io"):
		return false
	}
	return !inDomain(domain, "kubernetes.io") && !inDomain(domain, "k8s.io")
}

// inDomain reports whether domain is root or a subdomain of it.
func inDomain(domain, root string) bool {
	return domain == root || strings.HasSuffix(domain, "."+root)
}

// onlyResizeChanged reports whether two claims are equal except for the fields that a node reports
// for a resize, managed fields and resource version.
func onlyResizeChanged(before, after *corev1.PersistentVolumeClaim) bool {
	before, after = before.DeepCopy(), after.DeepCopy()
	for _, c := range []*corev1.PersistentVolumeClaim{before, after} {
		c.Status.Capacity = nil
		c.Status.Conditions = nil
		c.Status.AllocatedResources = nil
		c.Status.AllocatedResourceStatuses = nil
		c.ManagedFields = nil
		c.ResourceVersion = ""
	}
	return equality.Semantic.DeepEqual(before, after)
}
